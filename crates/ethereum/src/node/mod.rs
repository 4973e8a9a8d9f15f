//! A client for one node: the few methods that Braid needs, each with a deadline and a clear error.

mod client;
mod endpoint;
mod http;
pub(crate) mod multicall;
mod read;
mod state;
mod wire;

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use alloy::{primitives::U64, pubsub::RawSubscription, rpc::types::Log as RpcLog};
use braid_primitives::{Address, B256, Block, Bytes, CHAIN_ID, U256};
use serde::de::DeserializeOwned;
use serde_json::{Value, json, value::RawValue};

pub use client::Traffic;
pub use endpoint::Endpoint;
pub use multicall::MULTICALL3;
pub use state::AccountState;
pub use wire::{FeeHistory, LogFilter, PlacedLog};

use client::{Connection, Request};
pub(crate) use wire::hex;
use wire::{Header, place_logs};

use crate::NodeError;

/// How to talk to a node.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// How long one request may take.
    pub timeout: Duration,
    /// How many requests may be under way at once.
    pub concurrency: usize,
    /// How often a request is made in all when the node refuses for a moment (429, 5xx, garbled answers).
    pub attempts: u32,
}

impl Default for NodeConfig {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(15), concurrency: 8, attempts: 3 }
    }
}

/// One node. Cheap to clone; clones share the connection.
#[derive(Clone)]
pub struct Node {
    inner: Arc<Inner>,
}

struct Inner {
    connection: Connection,
    config: NodeConfig,
    /// See [`Node::lends_code`].
    lends_code: OnceLock<bool>,
}

/// What a follower asks of a node for one block, answered together.
#[derive(Clone, Debug)]
pub struct BlockLogs {
    /// The block's logs in order.
    pub logs: Vec<PlacedLog>,
    /// Fee history up to that block, if the node gave one.
    pub fees: Option<FeeHistory>,
}

impl Node {
    /// Connects to the node at a URL or ipc path, and checks that it serves chain 1.
    ///
    /// # Errors
    /// [`NodeError::BadUrl`], [`NodeError::Unreachable`], [`NodeError::Timeout`] or [`NodeError::WrongChain`]; none of
    /// them shows more of the URL than scheme and host.
    pub async fn connect(url: &str) -> Result<Self, NodeError> {
        Self::connect_with(url, NodeConfig::default()).await
    }

    /// As [`Node::connect`], with other limits.
    ///
    /// # Errors
    /// As [`Node::connect`].
    pub async fn connect_with(url: &str, config: NodeConfig) -> Result<Self, NodeError> {
        let endpoint = Endpoint::parse(url)?;
        let connection = Connection::new(endpoint, config.timeout, config.concurrency);
        let node = Self { inner: Arc::new(Inner { connection, config, lends_code: OnceLock::new() }) };
        node.check_chain().await?;
        Ok(node)
    }

    /// The node's address, safe to show.
    pub fn endpoint(&self) -> &Endpoint {
        self.inner.connection.endpoint()
    }

    /// What went over the wire so far.
    pub fn traffic(&self) -> Traffic {
        self.inner.connection.traffic()
    }

    /// Checks that the node still serves chain 1.
    ///
    /// # Errors
    /// [`NodeError::WrongChain`], or that it did not answer.
    pub async fn check_chain(&self) -> Result<(), NodeError> {
        let got: u64 = self.get::<U64>("eth_chainId", json!([])).await?.to();
        if got == CHAIN_ID {
            return Ok(());
        }
        Err(NodeError::WrongChain { endpoint: self.endpoint().to_string(), got, expected: CHAIN_ID })
    }

    /// The newest block.
    ///
    /// # Errors
    /// [`NodeError`], also when the node answers null.
    pub async fn latest_block(&self) -> Result<Block, NodeError> {
        const METHOD: &str = "eth_getBlockByNumber";
        let header: Option<Header> = self.get(METHOD, json!(["latest", false])).await?;
        header
            .ok_or_else(|| NodeError::Malformed { method: METHOD, why: "null for the newest block".into() })?
            .block(METHOD)
    }

    /// The block at a height of the node's present chain, if it has one there.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn block_at(&self, number: u64) -> Result<Option<Block>, NodeError> {
        const METHOD: &str = "eth_getBlockByNumber";
        let header: Option<Header> = self.get(METHOD, json!([hex(number), false])).await?;
        header.map(|header| header.block(METHOD)).transpose()
    }

    /// The blocks of several heights of the node's present chain, in one message; the first that is missing ends the list.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn blocks_at(&self, numbers: impl IntoIterator<Item = u64>) -> Result<Vec<Block>, NodeError> {
        const METHOD: &str = "eth_getBlockByNumber";
        let request = |number| Request { method: METHOD, params: json!([hex(number), false]) };
        let requests: Vec<Request> = numbers.into_iter().map(request).collect();
        let mut blocks = Vec::with_capacity(requests.len());
        for raw in self.batch(&requests).await? {
            match parse::<Option<Header>>(METHOD, &raw?)? {
                Some(header) => blocks.push(header.block(METHOD)?),
                None => break,
            }
        }
        Ok(blocks)
    }

    /// The logs of one block by hash, and on demand the fee history up to it, in one message.
    ///
    /// Some nodes answer a hash that they do not know with no logs at all; so the block's transaction count is asked for
    /// along with them, which is null then.
    ///
    /// # Errors
    /// [`NodeError::UnknownBlock`] when the node does not have the block.
    pub async fn block_logs(&self, block: &Block, filter: &LogFilter, fees: bool) -> Result<BlockLogs, NodeError> {
        let mut all = self.blocks_logs(std::slice::from_ref(block), filter, fees).await?;
        all.pop().ok_or(NodeError::UnknownBlock { hash: block.hash })
    }

    /// As [`Node::block_logs`] for several blocks at once; the fee history is that of the last one.
    ///
    /// # Errors
    /// As [`Node::block_logs`].
    pub async fn blocks_logs(
        &self,
        blocks: &[Block],
        filter: &LogFilter,
        fees: bool,
    ) -> Result<Vec<BlockLogs>, NodeError> {
        const LOGS: &str = "eth_getLogs";
        const COUNT: &str = "eth_getBlockTransactionCountByHash";
        let mut requests = Vec::with_capacity(blocks.len() * 2 + 1);
        for block in blocks {
            requests.push(Request { method: LOGS, params: filter.at(block.hash) });
            requests.push(Request { method: COUNT, params: json!([block.hash]) });
        }
        let newest = blocks.last().filter(|_| fees);
        requests.extend(
            newest.map(|block| crate::fees::request(block.number)).map(|(method, params)| Request { method, params }),
        );
        let mut answers = self.batch(&requests).await?.into_iter();
        let mut all = Vec::with_capacity(blocks.len());
        for block in blocks {
            let (Some(logs), Some(count)) = (answers.next(), answers.next()) else {
                return Err(NodeError::Malformed { method: LOGS, why: "too few answers".into() });
            };
            if parse::<Option<U64>>(COUNT, &count?)?.is_none() {
                return Err(NodeError::UnknownBlock { hash: block.hash });
            }
            let logs = place_logs(LOGS, parse::<Vec<RpcLog>>(LOGS, &logs?)?)?;
            if logs.iter().any(|log| log.block_hash != block.hash) {
                return Err(NodeError::Malformed { method: LOGS, why: "logs of another block".into() });
            }
            all.push(BlockLogs { logs, fees: None });
        }
        if let (Some(last), Some(Ok(raw))) = (all.last_mut(), answers.next()) {
            last.fees = parse(crate::fees::METHOD, &raw).ok();
        }
        Ok(all)
    }

    /// The logs of a range of blocks of the node's present chain, both ends included.
    ///
    /// # Errors
    /// [`NodeError`]; a node that limits results says so with [`NodeError::may_be_a_limit`].
    pub async fn logs_between(
        &self,
        from_block: u64,
        to_block: u64,
        filter: &LogFilter,
    ) -> Result<Vec<PlacedLog>, NodeError> {
        const METHOD: &str = "eth_getLogs";
        place_logs(METHOD, self.get(METHOD, filter.between(from_block, to_block)).await?)
    }

    /// Fee history up to a block.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn fee_history(&self, block_number: u64) -> Result<FeeHistory, NodeError> {
        let (method, params) = crate::fees::request(block_number);
        self.get(method, params).await
    }

    /// An account's ether in wei, at a block.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn native_balance(&self, block_hash: B256, account: Address) -> Result<U256, NodeError> {
        self.get("eth_getBalance", json!([account, at(block_hash)])).await
    }

    /// An account's code at a block; empty for an account without code.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn code(&self, block_hash: B256, account: Address) -> Result<Bytes, NodeError> {
        self.get("eth_getCode", json!([account, at(block_hash)])).await
    }

    /// Subscribes to new heads, where the transport can.
    pub(crate) async fn subscribe_heads(&self) -> Result<RawSubscription, NodeError> {
        self.inner.connection.subscribe_heads().await
    }

    async fn get<T: DeserializeOwned>(&self, method: &'static str, params: Value) -> Result<T, NodeError> {
        let request = Request { method, params };
        self.patiently(|| async {
            let raw = self.inner.connection.request(&request).await?;
            parse(method, &raw)
        })
        .await
    }

    async fn batch(&self, requests: &[Request]) -> Result<Vec<Result<Box<RawValue>, NodeError>>, NodeError> {
        self.patiently(|| self.inner.connection.batch(requests)).await
    }

    /// Makes a request again after a short pause while its failure is of the passing kind.
    async fn patiently<T, F>(&self, mut request: impl FnMut() -> F) -> Result<T, NodeError>
    where
        F: Future<Output = Result<T, NodeError>>,
    {
        let mut pause = Duration::from_millis(100);
        for _ in 1..self.inner.config.attempts.max(1) {
            match request().await {
                Err(error) if error.is_transient() => tracing::debug!(%error, "asking the node again"),
                result => return result,
            }
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(3);
        }
        request().await
    }
}

/// A block by hash, as EIP-1898 writes it.
fn at(block_hash: B256) -> Value {
    json!({ "blockHash": block_hash })
}

fn parse<T: DeserializeOwned>(method: &'static str, raw: &RawValue) -> Result<T, NodeError> {
    serde_json::from_str(raw.get()).map_err(|error| NodeError::Malformed { method, why: error.to_string() })
}

/// Whether a head notice could be read, and what it says.
pub(crate) fn head_of(notice: &RawValue) -> Result<Block, NodeError> {
    const METHOD: &str = "eth_subscribe";
    parse::<Header>(METHOD, notice)?.block(METHOD)
}
