//! Connects to one node, or to several that are asked as if they were one.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::{StreamExt, stream::FuturesUnordered};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::{
    blooms::Blooms,
    client::{Request, Traffic},
    config::NodeConfig,
    endpoint::Endpoint,
    fleet::Fleet,
    gate,
    health::Class,
    member::Member,
    pace::Urgency,
    wire::LogFilter,
};
use crate::NodeError;

/// Longest time for which the checks of the other nodes are waited for once one node has answered.
const GRACE: Duration = Duration::from_millis(500);

/// One node, or several that are asked as if they were one. Clones share the connections.
#[derive(Clone)]
pub struct Node {
    pub(super) inner: Arc<Inner>,
    pub(super) urgency: Urgency,
}

pub(super) struct Inner {
    pub(super) fleet: Fleet,
    pub(super) config: NodeConfig,
    /// See [`Node::remember`].
    pub(super) headers: Mutex<Blooms>,
    /// First filter of logs that was asked for, used to compare nodes.
    pub(super) filter: Mutex<Option<LogFilter>>,
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

    /// Connects as [`Node::connect`] does, with other settings.
    ///
    /// # Errors
    /// As [`Node::connect`].
    pub async fn connect_with(url: &str, config: NodeConfig) -> Result<Self, NodeError> {
        Self::connect_all(&[url], config).await
    }

    /// Connects to several nodes that are asked as if they were one: the best first, others when it fails, lags,
    /// disagrees with the rest, or is slow. Among equals their order decides.
    ///
    /// The first that serves chain 1 is enough. The others join when they answer; those that fail are logged and tried
    /// again. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`NodeError::BadUrl`] of any of them; otherwise the first one's failure if all fail.
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
        let node = Self { inner: Arc::new(inner), urgency: Urgency::default() };
        node.check_chain().await?;
        node.watch();
        Ok(node)
    }

    /// Returns the address of the node that is asked first, safe to show.
    pub fn endpoint(&self) -> &Endpoint {
        let fleet = &self.inner.fleet;
        fleet.leader().unwrap_or(&fleet.members[0]).connection.endpoint()
    }

    /// Returns the same nodes, over the same connections, for requests of another urgency.
    #[must_use]
    pub fn at_urgency(&self, urgency: Urgency) -> Self {
        Self { inner: Arc::clone(&self.inner), urgency }
    }

    /// Returns the traffic of all nodes so far.
    pub fn traffic(&self) -> Traffic {
        self.inner.fleet.members.iter().map(|member| member.connection.traffic()).sum()
    }

    /// Checks that a node still serves chain 1: each is asked, one is enough. Checks that take longer continue in the
    /// background; until they are done, these nodes are asked last.
    ///
    /// # Errors
    /// The first one's [`NodeError`].
    pub async fn check_chain(&self) -> Result<(), NodeError> {
        let members = &self.inner.fleet.members;
        let mut checks: FuturesUnordered<_> = (0..members.len()).map(|index| self.check_in_background(index)).collect();
        let mut results = vec![None; members.len()];
        let mut until: Option<Instant> = None;
        loop {
            let next = match until {
                None => checks.next().await,
                Some(until) => timeout_at(until, checks.next()).await.unwrap_or(None),
            };
            let Some((index, result)) = next else { break };
            if result.is_ok() {
                until = until.or_else(|| Some(Instant::now() + GRACE));
            }
            if let Some(place) = results.get_mut(index) {
                *place = Some(result);
            }
        }
        let mut results = results.into_iter().flatten();
        let first = results.next().unwrap_or(Ok(()));
        if first.is_ok() || results.any(|result| result.is_ok()) { Ok(()) } else { first }
    }

    /// Checks a node's chain in a task.
    async fn check_in_background(&self, index: usize) -> (usize, Result<(), NodeError>) {
        let inner = Arc::clone(&self.inner);
        let check = async move {
            match inner.fleet.members.get(index) {
                Some(member) => member.check_chain().await,
                None => Ok(()),
            }
        };
        let ended = |_| Err(NodeError::Unsupported { what: "a check whose task has ended" });
        (index, tokio::spawn(check).await.unwrap_or_else(ended))
    }

    /// Notes that a node left out logs.
    pub(crate) fn mistrust(&self) {
        self.inner.mistrusted.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns how often a node was found to have left out logs: state updated from its logs may be wrong.
    pub(crate) fn mistrusted(&self) -> u64 {
        self.inner.mistrusted.load(Ordering::Acquire)
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, method: &'static str, params: Value) -> Result<T, NodeError> {
        let request = &Request { method, params };
        self.ask(Class::Quick, |member| member.get(request)).await
    }

    /// Asks the nodes a question; see [`Fleet`].
    pub(super) async fn ask<'a, T, F>(&'a self, class: Class, work: impl Fn(&'a Member) -> F) -> Result<T, NodeError>
    where
        F: Future<Output = Result<T, NodeError>>,
    {
        gate::at(self.urgency, self.inner.fleet.ask(class, work)).await
    }
}
