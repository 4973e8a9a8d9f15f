//! Blocks: the newest, and those of given heights.

use alloy::primitives::U64;
use braid_primitives::Block;
use serde_json::json;

use super::{
    client::Request,
    connect::{Node, lock},
    health::Class,
    wire::{Header, hex, parse},
};
use crate::NodeError;

const METHOD: &str = "eth_getBlockByNumber";

impl Node {
    /// Height of the newest block: a fraction of what its header takes.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn height(&self) -> Result<u64, NodeError> {
        let request = &Request { method: "eth_blockNumber", params: json!([]) };
        self.ask(Class::Quick, |member| async move {
            let height: U64 = member.get(request).await?;
            let height = height.to();
            member.health().head = Some(height);
            Ok(height)
        })
        .await
    }

    /// The newest block.
    ///
    /// # Errors
    /// [`NodeError`], also when the node answers null.
    pub async fn latest_block(&self) -> Result<Block, NodeError> {
        let request = &Request { method: METHOD, params: json!(["latest", false]) };
        self.ask(Class::Quick, |member| async move {
            let header: Option<Header> = member.get(request).await?;
            let missing = || NodeError::Malformed { method: METHOD, why: "null for the newest block".into() };
            let block = self.remember(METHOD, header.ok_or_else(missing)?)?;
            member.health().head = Some(block.number);
            Ok(block)
        })
        .await
    }

    /// The block at a height of the node's present chain, if it has one there.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn block_at(&self, number: u64) -> Result<Option<Block>, NodeError> {
        let header: Option<Header> = self.get(METHOD, json!([hex(number), false])).await?;
        header.map(|header| self.remember(METHOD, header)).transpose()
    }

    /// The blocks of several heights of the node's present chain, in one message; the first that is missing ends the list.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn blocks_at(&self, numbers: impl IntoIterator<Item = u64>) -> Result<Vec<Block>, NodeError> {
        let request = |number| Request { method: METHOD, params: json!([hex(number), false]) };
        let requests: Vec<Request> = numbers.into_iter().map(request).collect();
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

    /// The block of a header, whose bloom is kept for checking its logs.
    pub(super) fn remember(&self, method: &'static str, header: Header) -> Result<Block, NodeError> {
        let bloom = header.logs_bloom;
        let block = header.block(method)?;
        if let Some(bloom) = bloom {
            lock(&self.inner.headers).insert(block.hash, bloom);
        }
        Ok(block)
    }
}
