//! Asks whether a node has a block: for the count of its transactions, or for its header where a node does not count
//! them. Both are null for an unknown block.

use braid_primitives::B256;
use serde::de::IgnoredAny;
use serde_json::{json, value::RawValue};

use super::{client::Request, member::Member, wire::parse};
use crate::NodeError;

const COUNT: &str = "eth_getBlockTransactionCountByHash";
const HEADER: &str = "eth_getBlockByHash";

/// A way to ask whether a node has a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Count,
    /// Takes 20 kB on mainnet.
    Header,
}

impl Presence {
    pub(super) fn request(self, block_hash: B256) -> Request {
        match self {
            Self::Count => Request { method: COUNT, params: json!([block_hash]) },
            Self::Header => Request { method: HEADER, params: json!([block_hash, false]) },
        }
    }

    /// Reads the answer to [`Self::request`].
    ///
    /// # Errors
    /// [`NodeError::UnknownBlock`] if the node does not have the block.
    pub(super) fn check(self, block_hash: B256, answer: Result<Box<RawValue>, NodeError>) -> Result<(), NodeError> {
        let unknown = NodeError::UnknownBlock { hash: block_hash };
        let method = if self == Self::Count { COUNT } else { HEADER };
        match answer {
            Err(error) if error.is_unknown_block() => Err(unknown),
            answer => parse::<Option<IgnoredAny>>(method, &answer?)?.map(|_| ()).ok_or(unknown),
        }
    }
}

impl Member {
    /// Does what asks whether the node has blocks; again with headers if the node refuses to count transactions, which
    /// is remembered.
    pub(super) async fn with_presence<T, F>(&self, work: impl Fn(Presence) -> F) -> Result<T, NodeError>
    where
        F: Future<Output = Result<T, NodeError>>,
    {
        if self.counts.is_recent() {
            return work(Presence::Header).await;
        }
        match work(Presence::Count).await {
            Err(error) if error.is_refusal_of(COUNT) => {
                let result = work(Presence::Header).await?;
                if self.counts.note(&error) {
                    let node = self.name.as_str();
                    tracing::warn!(node, %error, "the node does not count a block's transactions: it is asked for headers instead");
                }
                Ok(result)
            }
            result => result,
        }
    }
}
