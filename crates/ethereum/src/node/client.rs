//! One connection to one node: requests and batches with a deadline, and a new connection when the old one is gone.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use alloy::{
    pubsub::RawSubscription,
    rpc::{
        client::{ClientBuilder, RpcClient},
        json_rpc::{ErrorPayload, RpcError},
    },
    transports::{TransportError, TransportErrorKind, ipc::IpcConnect, ws::WsConnect},
};
use serde_json::{Value, value::RawValue};
use tokio::{
    sync::{Mutex, Semaphore},
    time::timeout,
};

use super::{
    endpoint::{Address, Endpoint},
    http::Http,
};
use crate::NodeError;

/// One JSON-RPC request.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) method: &'static str,
    pub(super) params: Value,
}

/// How many requests, calls and bytes went to a node and came back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages sent: a batch over http counts once.
    pub messages: u64,
    /// JSON-RPC calls sent.
    pub calls: u64,
    /// Bytes of parameters sent.
    pub bytes_sent: u64,
    /// Bytes of results received.
    pub bytes_received: u64,
}

#[derive(Default)]
struct Counters {
    messages: AtomicU64,
    calls: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
}

pub(super) struct Connection {
    endpoint: Endpoint,
    timeout: Duration,
    permits: Semaphore,
    counters: Counters,
    /// The live client, with a number that grows with every new connection.
    live: Mutex<(u64, Option<RpcClient>)>,
}

impl Connection {
    pub(super) fn new(endpoint: Endpoint, timeout: Duration, concurrency: usize) -> Self {
        let permits = Semaphore::new(concurrency.max(1));
        Self { endpoint, timeout, permits, counters: Counters::default(), live: Mutex::new((0, None)) }
    }

    pub(super) const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(super) fn traffic(&self) -> Traffic {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let c = &self.counters;
        Traffic {
            messages: get(&c.messages),
            calls: get(&c.calls),
            bytes_sent: get(&c.sent),
            bytes_received: get(&c.received),
        }
    }

    /// Makes one request and gives the raw result.
    pub(super) async fn request(&self, request: &Request) -> Result<Box<RawValue>, NodeError> {
        let _permit = self.permits.acquire().await;
        let (number, client) = self.client().await?;
        self.count_sent(std::slice::from_ref(request));
        let call = client.request::<_, Box<RawValue>>(request.method, &request.params);
        let result = match timeout(self.timeout, call).await {
            Ok(result) => result.map_err(|error| self.translate(request.method, error)),
            Err(_) => Err(self.timed_out(request.method)),
        };
        self.forget_if_lost(number, result.as_ref().err()).await;
        result.inspect(|raw| self.count_received(raw))
    }

    /// Makes several requests in one message where the transport can; each has its own result.
    pub(super) async fn batch(&self, requests: &[Request]) -> Result<Vec<Result<Box<RawValue>, NodeError>>, NodeError> {
        let Some(first) = requests.first() else { return Ok(Vec::new()) };
        let _permit = self.permits.acquire().await;
        let (number, client) = self.client().await?;
        let mut batch = client.new_batch();
        let mut waiters = Vec::with_capacity(requests.len());
        for request in requests {
            let waiter = batch.add_call::<_, Box<RawValue>>(request.method, &request.params);
            waiters.push(waiter.map_err(|error| self.translate(request.method, error))?);
        }
        self.count_sent(requests);
        let sent = match timeout(self.timeout, batch.send()).await {
            Ok(sent) => sent.map_err(|error| self.translate(first.method, error)),
            Err(_) => Err(self.timed_out(first.method)),
        };
        self.forget_if_lost(number, sent.as_ref().err()).await;
        sent?;
        let mut results = Vec::with_capacity(requests.len());
        for (waiter, request) in waiters.into_iter().zip(requests) {
            let result = waiter.await.map_err(|error| self.translate(request.method, error));
            results.push(result.inspect(|raw| self.count_received(raw)));
        }
        Ok(results)
    }

    /// Subscribes to new heads; only over ws and ipc.
    pub(super) async fn subscribe_heads(&self) -> Result<RawSubscription, NodeError> {
        const METHOD: &str = "eth_subscribe";
        let (number, client) = self.client().await?;
        let subscribe = async {
            let mut call = client.request::<_, alloy::primitives::B256>(METHOD, ("newHeads",));
            call.set_is_subscription();
            let id = call.await?;
            let frontend = client.inner().pubsub_frontend().ok_or_else(TransportErrorKind::pubsub_unavailable)?;
            frontend.get_subscription(id).await
        };
        let result = match timeout(self.timeout, subscribe).await {
            Ok(result) => result.map_err(|error| self.translate(METHOD, error)),
            Err(_) => Err(self.timed_out(METHOD)),
        };
        self.forget_if_lost(number, result.as_ref().err()).await;
        result
    }

    async fn client(&self) -> Result<(u64, RpcClient), NodeError> {
        let mut live = self.live.lock().await;
        if let (number, Some(client)) = &*live {
            return Ok((*number, client.clone()));
        }
        let client = match timeout(self.timeout, self.connect()).await {
            Ok(result) => result.map_err(|error| self.unreachable(&error))?,
            Err(_) => return Err(self.timed_out("connect")),
        };
        live.0 = live.0.wrapping_add(1);
        live.1 = Some(client.clone());
        Ok((live.0, client))
    }

    async fn connect(&self) -> Result<RpcClient, TransportError> {
        match self.endpoint.address() {
            Address::Http(url) => Ok(RpcClient::new(Http::new(url.clone()), false)),
            Address::Ws(url) => {
                // One attempt: who follows the chain decides when the next one is due.
                let ws = WsConnect::new(url.as_str()).with_max_retries(1).with_retry_interval(Duration::ZERO);
                ClientBuilder::default().ws(ws).await
            }
            Address::Ipc(path) => ClientBuilder::default().ipc(IpcConnect::new(path.clone())).await,
        }
    }

    /// Drops a connection that carries no more answers, so that the next request opens a new one.
    async fn forget_if_lost(&self, number: u64, error: Option<&NodeError>) {
        let lost = matches!(error, Some(NodeError::Unreachable { .. } | NodeError::Timeout { .. }));
        if !lost || !self.endpoint.can_subscribe() {
            return;
        }
        let mut live = self.live.lock().await;
        if live.0 == number {
            live.1 = None;
        }
    }

    fn count_sent(&self, requests: &[Request]) {
        let c = &self.counters;
        let bytes: usize = requests.iter().map(|r| r.params.to_string().len()).sum();
        c.messages.fetch_add(1, Ordering::Relaxed);
        c.calls.fetch_add(requests.len() as u64, Ordering::Relaxed);
        c.sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn count_received(&self, raw: &RawValue) {
        self.counters.received.fetch_add(raw.get().len() as u64, Ordering::Relaxed);
    }

    fn timed_out(&self, method: &'static str) -> NodeError {
        let timeout_ms = u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX);
        NodeError::Timeout { endpoint: self.endpoint.to_string(), method, timeout_ms }
    }

    fn unreachable(&self, error: &TransportError) -> NodeError {
        NodeError::Unreachable { endpoint: self.endpoint.to_string(), why: self.endpoint.scrub(&root_cause(error)) }
    }

    fn translate(&self, method: &'static str, error: TransportError) -> NodeError {
        let malformed = |why: &str| NodeError::Malformed { method, why: self.endpoint.scrub(why) };
        match &error {
            RpcError::ErrorResp(ErrorPayload { code, message, .. }) => {
                NodeError::Rpc { method, code: *code, message: self.endpoint.scrub(message) }
            }
            RpcError::NullResp => malformed("null"),
            RpcError::DeserError { err, .. } | RpcError::SerError(err) => malformed(&err.to_string()),
            RpcError::UnsupportedFeature(what) => malformed(what),
            RpcError::LocalUsageError(why) => malformed(&why.to_string()),
            RpcError::Transport(kind) => match kind {
                TransportErrorKind::HttpError(http) => self.refused(method, http.status),
                TransportErrorKind::HttpErrorWithRetryAfter { error, .. } => self.refused(method, error.status),
                TransportErrorKind::MissingBatchResponse(_) => malformed("no answer with the id of the request"),
                TransportErrorKind::Custom(why) if why.to_string().starts_with("the answer") => {
                    malformed(&why.to_string())
                }
                _ => self.unreachable(&error),
            },
        }
    }

    fn refused(&self, method: &'static str, status: u16) -> NodeError {
        NodeError::Http { endpoint: self.endpoint.to_string(), method, status }
    }
}

/// The innermost reason of an error: the outer ones repeat the URL.
fn root_cause(error: &TransportError) -> String {
    let RpcError::Transport(kind) = error else { return error.to_string() };
    let mut cause: &dyn std::error::Error = kind;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
