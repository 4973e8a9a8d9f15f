//! Finds how far blocks cannot be read by ranges, and reads a few of them by their hashes.

use crate::{
    Node,
    node::{LogFilter, PlacedLog},
};

/// Most blocks in a row whose logs are asked for by block hash when ranges fail. Other parts of a node answer that.
pub(crate) const MOST_BY_HASH: u64 = 64;

/// Blocks whose logs are asked for by hash in one message.
const BLOCKS_PER_MESSAGE: usize = 16;

/// Returns the last block from `from` on up to which no block can be read, in a search of the blocks `all`: the distance
/// doubles until a block can be read, and the first such block is searched between the last two. `None` if the node
/// gives the logs of no block.
pub(crate) async fn last_of(node: &Node, from: u64, all: (u64, u64), filter: &LogFilter) -> Option<u64> {
    let (mut below, mut distance) = (from, 1);
    let mut above = loop {
        let probe = from.saturating_add(distance).min(all.1);
        if probe <= below {
            // To the end no block can be read. That is the node's failure unless it gives the logs of an earlier one.
            let earlier = [from.saturating_sub(1), all.0];
            for block in earlier.into_iter().filter(|block| *block < from) {
                if can_read(node, block, filter).await {
                    return Some(all.1);
                }
            }
            return None;
        }
        if can_read(node, probe, filter).await {
            break probe;
        }
        (below, distance) = (probe, distance.saturating_mul(2));
    };
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if can_read(node, middle, filter).await { above = middle } else { below = middle }
    }
    Some(below)
}

/// Returns whether a node gives the logs of a block.
pub(crate) async fn can_read(node: &Node, block: u64, filter: &LogFilter) -> bool {
    node.logs_between(block, block, filter).await.is_ok()
}

/// Returns the logs of blocks by the blocks' hashes; `None` if a node fails at that too.
pub(crate) async fn logs_by_hash(node: &Node, from: u64, to: u64, filter: &LogFilter) -> Option<Vec<PlacedLog>> {
    let heights: Vec<u64> = (from..=to).collect();
    let mut logs = Vec::new();
    for chunk in heights.chunks(BLOCKS_PER_MESSAGE) {
        let blocks = node.blocks_at(chunk.iter().copied()).await.ok()?;
        if blocks.len() != chunk.len() {
            return None;
        }
        logs.extend(node.logs_alone(&blocks, filter).await.ok()?.concat());
    }
    Some(logs)
}
