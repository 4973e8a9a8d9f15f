//! Reads block headers: the newest, and those at given heights.

use alloy::primitives::U64;
use braid_primitives::Block;
use serde_json::json;

use super::{
    client::Request,
    connect::Node,
    health::Class,
    kept::now_s,
    member::Member,
    wire::{Header, hex, parse},
};
use crate::NodeError;

const METHOD: &str = "eth_getBlockByNumber";

impl Node {
    /// Returns the height of the newest block, in a fraction of the bytes of its header.
    pub async fn height(&self) -> Result<u64, NodeError> {
        let request = &Request { method: "eth_blockNumber", params: json!([]) };
        self.ask(Class::Quick, |member| async move {
            let height = member.get::<U64>(request).await?.to();
            check_height(request.method, height)?;
            member.health().head = Some(height);
            Ok(height)
        })
        .await
    }

    /// Returns the newest block.
    ///
    /// # Errors
    /// [`NodeError`], also when the node answers null.
    pub async fn latest_block(&self) -> Result<Block, NodeError> {
        self.ask(Class::Quick, |member| self.newest_block_of(member)).await
    }

    /// Returns the block at a height of the node's present chain, if there is one.
    pub async fn block_at(&self, number: u64) -> Result<Option<Block>, NodeError> {
        self.ask(Class::Quick, |member| self.block_of(member, number)).await
    }

    /// Returns the blocks at several heights of the node's present chain, in one message; the first missing one ends
    /// the list.
    pub async fn blocks_at(&self, numbers: impl IntoIterator<Item = u64>) -> Result<Vec<Block>, NodeError> {
        let requests: Vec<Request> = numbers.into_iter().map(header_at).collect();
        let requests = requests.as_slice();
        self.ask(Class::Quick, |member| async move {
            let mut blocks = Vec::with_capacity(requests.len());
            for raw in member.connection.batch(requests).await? {
                match parse::<Option<Header>>(METHOD, &raw?)? {
                    Some(header) => blocks.push(self.remember(METHOD, header)?),
                    None => break,
                }
            }
            Ok(blocks)
        })
        .await
    }

    /// Returns the newest block of one node.
    pub(super) async fn newest_block_of(&self, member: &Member) -> Result<Block, NodeError> {
        let request = Request { method: METHOD, params: json!(["latest", false]) };
        let header: Option<Header> = member.get(&request).await?;
        let missing = || NodeError::Malformed { method: METHOD, why: "null for the newest block".into() };
        let header = header.ok_or_else(missing)?;
        let block = self.remember(METHOD, header)?;
        check_height(METHOD, block.number)?;
        member.health().head = Some(block.number);
        Ok(block)
    }

    /// Returns the block of one node at a height, if there is one.
    pub(super) async fn block_of(&self, member: &Member, number: u64) -> Result<Option<Block>, NodeError> {
        let header: Option<Header> = member.get(&header_at(number)).await?;
        header.map(|header| self.remember(METHOD, header)).transpose()
    }

    /// Returns the block of a header, and keeps its bloom to check the block's logs.
    pub(super) fn remember(&self, method: &'static str, header: Header) -> Result<Block, NodeError> {
        let bloom = header.logs_bloom;
        let block = header.block(method)?;
        if let Some(bloom) = bloom {
            self.inner.headers.lock().insert(block.hash, bloom);
        }
        Ok(block)
    }
}

/// Number and timestamp of the first block of proof of stake. There has been at most one block in 12 s since.
const MERGE: (u64, u64) = (15_537_394, 1_663_224_179);

/// Time between two blocks, in seconds.
const SLOT_SECONDS: u64 = 12;

/// Blocks by which a fork of mainnet may be ahead of its clock.
const AHEAD: u64 = 100_000;

/// Returns a height that Ethereum cannot have reached at a time; `None` if the clock cannot be right.
const fn out_of_reach(unix_seconds: u64) -> Option<u64> {
    let (number, timestamp) = MERGE;
    match unix_seconds.checked_sub(timestamp) {
        Some(since) => Some(number + since / SLOT_SECONDS + AHEAD),
        None => None,
    }
}

/// Checks that Ethereum can have reached the height of a node's newest block: one that it invents would be searched for
/// ever.
pub(super) fn check_height(method: &'static str, number: u64) -> Result<(), NodeError> {
    if out_of_reach(now_s()).is_none_or(|height| number < height) {
        return Ok(());
    }
    Err(NodeError::Malformed {
        method,
        why: format!("block {number}, which Ethereum cannot have reached by this machine's clock"),
    })
}

fn header_at(number: u64) -> Request {
    Request { method: METHOD, params: json!([hex(number), false]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_height_beyond_the_clock_is_out_of_reach() {
        // Block 24,000,000 is of December 2025.
        assert!((24_000_000..24_500_000).contains(&(out_of_reach(1_766_000_000).unwrap() - AHEAD)));
        assert_eq!(out_of_reach(0), None, "the clock of a machine without one");
        assert!(check_height(METHOD, 24_700_000).is_ok() && check_height(METHOD, 1 << 40).is_err());
    }
}
