//! Finds how far blocks cannot be read by ranges, and reads a few of them by their hashes.

use crate::{
    Node,
    node::{LogFilter, PlacedLog},
};

/// Newest blocks of a stretch whose logs are asked for by block hash when ranges fail. Other parts of a node answer that.
pub(crate) const MOST_BY_HASH: u64 = 256;

/// Blocks whose logs are asked for by hash in one message.
const BLOCKS_PER_MESSAGE: usize = 16;

/// Blocks that cannot be read by ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// Whether the node gives the logs of no range at all.
    pub(crate) is_all: bool,
}

impl Stretch {
    pub(crate) fn contains(&self, block: u64) -> bool {
        (self.first..=self.last).contains(&block)
    }

    /// Returns the first block that is read by its hash.
    pub(crate) fn first_by_hash(&self) -> u64 {
        self.first.max(self.last.saturating_sub(MOST_BY_HASH - 1))
    }
}

/// Returns the blocks from `from` on up to the next one that can be read, in a search of the blocks `all`: the distance
/// doubles until a block can be read, and the first such block is searched between the last two. `None` if the node does
/// not answer, or can read the first block.
pub(crate) async fn stretch_from(node: &Node, from: u64, all: (u64, u64), filter: &LogFilter) -> Option<Stretch> {
    if can_read(node, from, filter).await? {
        return None;
    }
    let (mut below, mut distance) = (from, 1);
    let mut above = loop {
        let probe = from.saturating_add(distance).min(all.1);
        if probe <= below {
            let earlier = [from.saturating_sub(1), all.0];
            for block in earlier.into_iter().filter(|block| *block < from) {
                if can_read(node, block, filter).await? {
                    return Some(Stretch { first: from, last: all.1, is_all: false });
                }
            }
            return Some(Stretch { first: from, last: all.1, is_all: true });
        }
        if can_read(node, probe, filter).await? {
            break probe;
        }
        (below, distance) = (probe, distance.saturating_mul(2));
    };
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if can_read(node, middle, filter).await? { above = middle } else { below = middle }
    }
    Some(Stretch { first: from, last: below, is_all: false })
}

/// Returns whether a node gives the logs of a block; `None` if it limits the rate of calls, or answers nothing else.
async fn can_read(node: &Node, block: u64, filter: &LogFilter) -> Option<bool> {
    match node.logs_between(block, block, filter).await {
        Ok(_) => Some(true),
        Err(error) if error.is_rate_limit() => None,
        Err(_) => node.height().await.is_ok().then_some(false),
    }
}

/// Returns the logs of blocks by the blocks' hashes, or their receipts; `None` if a node fails at that too.
pub(crate) async fn logs_by_hash(node: &Node, from: u64, to: u64, filter: &LogFilter) -> Option<Vec<PlacedLog>> {
    let heights: Vec<u64> = (from..=to).collect();
    let mut logs = Vec::new();
    for chunk in heights.chunks(BLOCKS_PER_MESSAGE) {
        let blocks = node.blocks_at(chunk.iter().copied()).await.ok()?;
        if blocks.len() != chunk.len() {
            return None;
        }
        logs.extend(node.logs_by_hash(&blocks, filter).await.ok()?.concat());
    }
    Some(logs)
}
