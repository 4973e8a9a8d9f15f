//! A client for one node, or for several as one: the few methods that Braid needs, each with a deadline and a clear error.

mod client;
mod endpoint;
mod fleet;
mod health;
mod http;
mod logs;
pub(crate) mod multicall;
mod read;
mod report;
mod state;
mod watch;
mod wire;

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use braid_primitives::{Address, B256, Block, Bytes, U256};
use futures::future::join_all;
use serde::de::DeserializeOwned;
use serde_json::{Value, json, value::RawValue};

pub use client::Traffic;
pub use endpoint::Endpoint;
pub use health::NodeFault;
pub use logs::BlockLogs;
pub use multicall::MULTICALL3;
pub use report::NodeReport;
pub use state::AccountState;
pub use wire::{FeeHistory, LogFilter, PlacedLog};

use client::Request;
use fleet::{Fleet, Member};
use health::Class;
pub(crate) use watch::HeadStream;
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
    /// When a second node is asked because the first is slow: no sooner than the first of these, and after the second while
    /// the node's usual speed is not known.
    pub hedge: (Duration, Duration),
    /// How often several nodes are compared with each other.
    pub check_every: Duration,
    /// How many blocks a node may be behind the others before it is asked last.
    pub lag_blocks: u64,
}

impl Default for NodeConfig {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(15),
            concurrency: 8,
            attempts: 3,
            hedge: (Duration::from_millis(50), Duration::from_secs(2)),
            check_every: Duration::from_secs(6),
            lag_blocks: 3,
        }
    }
}

/// One node, or several that are asked as if they were one. Cheap to clone; clones share the connections.
#[derive(Clone)]
pub struct Node {
    inner: Arc<Inner>,
}

struct Inner {
    fleet: Fleet,
    config: NodeConfig,
    /// See [`Node::remember`].
    headers: Mutex<logs::Blooms>,
    /// What logs were last asked for, for comparing nodes.
    filter: Mutex<Option<LogFilter>>,
    /// See [`Node::mistrusted`].
    mistrusted: AtomicU64,
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
        Self::connect_all(&[url], config).await
    }

    /// Connects to several nodes that are asked as if they were one: the best first, others when it fails, lags, disagrees
    /// with the rest, or is slow for once. Those that are better named first are asked first among equals.
    ///
    /// One that serves chain 1 is enough; the others are named in the log and tried again. Must be called within a tokio
    /// runtime.
    ///
    /// # Errors
    /// [`NodeError::BadUrl`] of any of them; otherwise the first one's failure, when none of them is of use.
    pub async fn connect_all<S: AsRef<str>>(urls: &[S], config: NodeConfig) -> Result<Self, NodeError> {
        let endpoints = urls.iter().map(|url| Endpoint::parse(url.as_ref())).collect::<Result<Vec<_>, _>>()?;
        if endpoints.is_empty() {
            return Err(NodeError::BadUrl { shown: "nothing".into(), why: "no node is named".into() });
        }
        let inner = Inner {
            fleet: Fleet::new(endpoints, &config),
            config,
            headers: Mutex::default(),
            filter: Mutex::default(),
            mistrusted: AtomicU64::new(0),
        };
        let node = Self { inner: Arc::new(inner) };
        node.check_chain().await?;
        node.watch();
        Ok(node)
    }

    /// The address of the node that is asked first, safe to show.
    pub fn endpoint(&self) -> &Endpoint {
        let members = &self.inner.fleet.members;
        self.inner
            .fleet
            .leader()
            .map_or_else(|| members[0].connection.endpoint(), |member| member.connection.endpoint())
    }

    /// What went over the wires so far.
    pub fn traffic(&self) -> Traffic {
        let all = self.inner.fleet.members.iter().map(|member| member.connection.traffic());
        all.fold(Traffic::default(), |sum, one| Traffic {
            messages: sum.messages + one.messages,
            calls: sum.calls + one.calls,
            bytes_sent: sum.bytes_sent + one.bytes_sent,
            bytes_received: sum.bytes_received + one.bytes_received,
        })
    }

    /// Checks that a node still serves chain 1: each is asked, one is enough.
    ///
    /// # Errors
    /// The first one's [`NodeError::WrongChain`], or that it did not answer.
    pub async fn check_chain(&self) -> Result<(), NodeError> {
        let mut first = None;
        for result in join_all(self.inner.fleet.members.iter().map(Member::check_chain)).await {
            match result {
                Ok(()) => return Ok(()),
                Err(error) => first = first.or(Some(error)),
            }
        }
        first.map_or(Ok(()), Err)
    }

    /// From here on what was read earlier counts as doubtful.
    fn mistrust(&self) {
        self.inner.mistrusted.fetch_add(1, Ordering::AcqRel);
    }

    /// How often a node was found to have left out logs: what was applied of its answers may be wrong.
    pub(crate) fn mistrusted(&self) -> u64 {
        self.inner.mistrusted.load(Ordering::Acquire)
    }

    /// The newest block.
    ///
    /// # Errors
    /// [`NodeError`], also when the node answers null.
    pub async fn latest_block(&self) -> Result<Block, NodeError> {
        const METHOD: &str = "eth_getBlockByNumber";
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
        const METHOD: &str = "eth_getBlockByNumber";
        let header: Option<Header> = self.get(METHOD, json!([hex(number), false])).await?;
        header.map(|header| self.remember(METHOD, header)).transpose()
    }

    /// The blocks of several heights of the node's present chain, in one message; the first that is missing ends the list.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn blocks_at(&self, numbers: impl IntoIterator<Item = u64>) -> Result<Vec<Block>, NodeError> {
        const METHOD: &str = "eth_getBlockByNumber";
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
        let request = &Request { method: METHOD, params: filter.between(from_block, to_block) };
        self.ask(Class::Heavy, |member| async move { place_logs(METHOD, member.get(request).await?) }).await
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

    async fn get<T: DeserializeOwned>(&self, method: &'static str, params: Value) -> Result<T, NodeError> {
        let request = &Request { method, params };
        self.ask(Class::Quick, |member| member.get(request)).await
    }

    async fn batch(&self, requests: &[Request]) -> Result<Vec<Result<Box<RawValue>, NodeError>>, NodeError> {
        self.ask(Class::Quick, |member| member.connection.batch(requests)).await
    }

    /// Puts a question to the nodes; see [`Fleet`].
    async fn ask<'a, T, F>(&'a self, class: Class, work: impl Fn(&'a Member) -> F) -> Result<T, NodeError>
    where
        F: Future<Output = Result<T, NodeError>>,
    {
        self.inner.fleet.ask(class, false, work).await
    }
}

/// A lock whose holder cannot leave anything half-written.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A block by hash, as EIP-1898 writes it.
fn at(block_hash: B256) -> Value {
    json!({ "blockHash": block_hash })
}

fn parse<T: DeserializeOwned>(method: &'static str, raw: &RawValue) -> Result<T, NodeError> {
    serde_json::from_str(raw.get()).map_err(|error| NodeError::Malformed { method, why: error.to_string() })
}
