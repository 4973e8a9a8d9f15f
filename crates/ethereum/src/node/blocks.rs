//! Reads block headers: the newest, and those at given heights.

use alloy::primitives::U64;
use braid_primitives::Block;
use serde_json::json;

use super::{
    client::Request,
    connect::Node,
    health::Class,
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
        let block = self.remember(METHOD, header.ok_or_else(missing)?)?;
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

fn header_at(number: u64) -> Request {
    Request { method: METHOD, params: json!([hex(number), false]) }
}
