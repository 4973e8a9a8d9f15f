//! Connects to one node, or to several that are asked as if they were one, and puts questions to them.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use futures::future::join_all;
use serde::de::DeserializeOwned;
use serde_json::{Value, value::RawValue};

use super::{
    blooms::Blooms,
    client::{Request, Traffic},
    config::NodeConfig,
    endpoint::Endpoint,
    fleet::{Fleet, Member},
    gate,
    health::Class,
    pace::Urgency,
    wire::LogFilter,
};
use crate::NodeError;

/// One node, or several that are asked as if they were one. Cheap to clone; clones share the connections.
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
    /// What logs were last asked for, for comparing nodes.
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
        let node = Self { inner: Arc::new(inner), urgency: Urgency::default() };
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

    /// The same nodes, over the same connections, for requests that are more or less urgent.
    #[must_use]
    pub fn at_urgency(&self, urgency: Urgency) -> Self {
        Self { inner: Arc::clone(&self.inner), urgency }
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
    pub(super) fn mistrust(&self) {
        self.inner.mistrusted.fetch_add(1, Ordering::AcqRel);
    }

    /// How often a node was found to have left out logs: what was applied of its answers may be wrong.
    pub(crate) fn mistrusted(&self) -> u64 {
        self.inner.mistrusted.load(Ordering::Acquire)
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, method: &'static str, params: Value) -> Result<T, NodeError> {
        let request = &Request { method, params };
        self.ask(Class::Quick, |member| member.get(request)).await
    }

    pub(super) async fn batch(&self, requests: &[Request]) -> Result<Vec<Result<Box<RawValue>, NodeError>>, NodeError> {
        self.ask(Class::Quick, |member| member.connection.batch(requests)).await
    }

    /// Puts a question to the nodes; see [`Fleet`].
    pub(super) async fn ask<'a, T, F>(&'a self, class: Class, work: impl Fn(&'a Member) -> F) -> Result<T, NodeError>
    where
        F: Future<Output = Result<T, NodeError>>,
    {
        self.ask_lender(class, false, work).await
    }

    /// As [`Node::ask`]; with `lens` nodes that lend code are asked before others.
    pub(super) async fn ask_lender<'a, T, F>(
        &'a self,
        class: Class,
        lens: bool,
        work: impl Fn(&'a Member) -> F,
    ) -> Result<T, NodeError>
    where
        F: Future<Output = Result<T, NodeError>>,
    {
        gate::at(self.urgency, self.inner.fleet.ask(class, lens, work)).await
    }
}

/// A lock whose holder cannot leave anything half-written.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
