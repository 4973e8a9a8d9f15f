//! One node of several: its connection, its health, and what it supports.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use alloy::primitives::U64;
use braid_primitives::CHAIN_ID;
use parking_lot::{Mutex, MutexGuard};
use serde_json::json;
use tokio::time::{Instant, timeout};

use super::{
    client::{Connection, Request},
    health::{Class, Health, NodeFault},
    wire::parse,
};
use crate::NodeError;

/// Time for the answer to the shortest question, by which a node that fails at something is told from one that is gone.
const SOON: Duration = Duration::from_secs(3);

/// Whether a node applies code overrides in calls.
#[derive(Clone, Copy, Debug)]
pub(super) enum Overrides {
    /// It was not asked, or did not answer.
    Unknown,
    /// Its answer showed it.
    Known(bool),
    /// It failed at them, and at nothing else: it is asked again after this time.
    NotUntil(Instant),
}

/// Time after which a node is asked again for a method that it refused: its plan, or a proxy before it, may change.
const REFUSED_AGAIN: Duration = Duration::from_secs(3_600);

/// A method that a node may refuse, and when it last did.
#[derive(Debug, Default)]
pub(super) struct Refused(Mutex<Option<Instant>>);

impl Refused {
    /// Returns whether the method is not asked for now.
    pub(super) fn is_recent(&self) -> bool {
        self.0.lock().is_some_and(|at| at.elapsed() < REFUSED_AGAIN)
    }

    /// Notes an error that says that the node does not have the method; returns whether it is the first one.
    pub(super) fn note(&self, error: &NodeError) -> bool {
        let is_refusal = error.is_missing_method() || matches!(error, NodeError::Http { .. });
        let is_lasting = is_refusal && !error.is_transient();
        is_lasting && self.0.lock().replace(Instant::now()).is_none()
    }
}

/// One node.
pub(super) struct Member {
    pub(super) connection: Connection,
    /// Host and port, with a number if several nodes share them; safe to show.
    pub(super) name: String,
    health: Mutex<Health>,
    /// Whether the node at the address reported our chain. A lost connection may lead to another node.
    proven: AtomicBool,
    /// Number of checks of its chain that are under way.
    checks: AtomicUsize,
    /// Whether it applies code overrides in calls.
    overrides_code: Mutex<Overrides>,
    /// Whether the lens makes many calls there; unknown until it was asked.
    pub(super) packs: OnceLock<bool>,
    /// Whether overridden code reads a contract's own storage there; unknown until some words were compared.
    pub(super) reads_words: OnceLock<bool>,
    /// Whether it makes access lists; unknown until it refused to.
    pub(super) lists_access: OnceLock<bool>,
    /// Whether it refuses to count a block's transactions.
    pub(super) counts: Refused,
    /// Whether it refuses to give the fee history.
    pub(super) fees: Refused,
}

impl Member {
    pub(super) fn new(connection: Connection, name: String) -> Self {
        Self {
            connection,
            name,
            health: Mutex::default(),
            proven: AtomicBool::new(false),
            checks: AtomicUsize::new(0),
            overrides_code: Mutex::new(Overrides::Unknown),
            packs: OnceLock::new(),
            reads_words: OnceLock::new(),
            lists_access: OnceLock::new(),
            counts: Refused::default(),
            fees: Refused::default(),
        }
    }

    pub(super) fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock()
    }

    /// Returns the worst fault of the node.
    pub(super) fn fault(&self) -> Option<NodeFault> {
        self.health().fault()
    }

    /// Returns whether the node applies code overrides in calls; `None` if it has to be asked.
    pub(super) fn overrides(&self) -> Option<bool> {
        match *self.overrides_code.lock() {
            Overrides::Unknown => None,
            Overrides::Known(known) => Some(known),
            Overrides::NotUntil(until) => (Instant::now() < until).then_some(false),
        }
    }

    pub(super) fn set_overrides(&self, found: Overrides) {
        *self.overrides_code.lock() = found;
    }

    /// Changes the node's health, and logs faults that come or go.
    pub(super) fn update(&self, change: impl FnOnce(&mut Health)) {
        let before = self.fault();
        change(&mut self.health());
        let now = self.fault();
        match (before, &now) {
            (Some(_), None) => tracing::info!(node = self.name, "the node is healthy again"),
            (before, Some(fault)) if before.as_ref().map(NodeFault::name) != Some(fault.name()) => {
                tracing::warn!(node = self.name, fault = fault.name(), why = %fault, "node unhealthy");
            }
            _ => {}
        }
    }

    /// Makes one request and reads its result.
    pub(super) async fn get<T: serde::de::DeserializeOwned>(&self, request: &Request) -> Result<T, NodeError> {
        parse(request.method, &self.connection.request(request).await?)
    }

    /// Returns whether the node answers the shortest question soon.
    pub(super) async fn answers(&self) -> bool {
        let height = Request { method: "eth_blockNumber", params: json!([]) };
        timeout(SOON, self.get::<U64>(&height)).await.is_ok_and(|height| height.is_ok())
    }

    /// Checks once per connection that the node serves our chain.
    pub(super) async fn prove(&self) -> Result<(), NodeError> {
        if self.is_proven() {
            return Ok(());
        }
        let got: u64 = self.get::<U64>(&Request { method: "eth_chainId", params: json!([]) }).await?.to();
        if got != CHAIN_ID {
            let endpoint = self.connection.endpoint().to_string();
            return Err(NodeError::WrongChain { endpoint, got, expected: CHAIN_ID });
        }
        self.health().wrong_chain = None;
        self.set_proven(true);
        Ok(())
    }

    /// Checks again that the node serves our chain.
    pub(super) async fn check_chain(&self) -> Result<(), NodeError> {
        self.checks.fetch_add(1, Ordering::AcqRel);
        self.set_proven(false);
        let result = self.answer(Class::Quick, std::future::ready(Ok(()))).await;
        self.checks.fetch_sub(1, Ordering::AcqRel);
        result
    }

    /// Returns whether its chain is being checked: it is asked after the others meanwhile.
    pub(super) fn is_being_checked(&self) -> bool {
        self.checks.load(Ordering::Acquire) > 0
    }

    fn is_proven(&self) -> bool {
        self.proven.load(Ordering::Acquire)
    }

    pub(super) fn set_proven(&self, proven: bool) {
        self.proven.store(proven, Ordering::Release);
    }

    /// Checks the chain if necessary, works on a question, and notes the outcome in the node's health.
    pub(super) async fn answer<T>(
        &self,
        class: Class,
        work: impl Future<Output = Result<T, NodeError>>,
    ) -> Result<T, NodeError> {
        let asked_at = Instant::now();
        let result = async {
            self.prove().await?;
            work.await
        }
        .await;
        let calls = self.connection.take_outcomes();
        match &result {
            Err(error) if !is_answer(error) => {
                if matches!(error, NodeError::Unreachable { .. } | NodeError::Timeout { .. }) {
                    self.set_proven(false);
                }
                self.update(|health| {
                    health.called(calls, Instant::now());
                    health.failed(error, Instant::now());
                });
            }
            _ => self.update(|health| {
                health.called(calls, Instant::now());
                health.answered(class, asked_at.elapsed());
            }),
        }
        result
    }
}

/// Returns whether an error to a call is an answer rather than a failure of the node: the EVM ended the call, or it is
/// larger than the node allows.
pub(super) fn is_answer(error: &NodeError) -> bool {
    let is_limit = matches!(error, NodeError::Rpc { method: "eth_call", .. }) && error.speaks_of_size();
    error.is_ended_by_evm() || is_limit
}
