//! A connection to one node: sends requests and batches with a deadline, in sizes and at a rate that the node accepts,
//! and connects again after a failure.

use std::time::Duration;

use alloy::{
    pubsub::RawSubscription,
    rpc::{
        client::{ClientBuilder, RpcClient},
        json_rpc::{ErrorPayload, RpcError},
    },
    transports::{TransportError, TransportErrorKind, ipc::IpcConnect, ws::WsConnect},
};
use futures::{StreamExt, TryStreamExt, future::BoxFuture, stream};
use parking_lot::Mutex;
use serde_json::{Value, value::RawValue};
use tokio::{
    sync::Mutex as AsyncMutex,
    time::{Instant, timeout},
};

use super::{
    endpoint::{Address, Endpoint},
    gate::{Gate, Permits},
    http::Http,
    limits::Limits,
};
use crate::NodeError;

/// One JSON-RPC request.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) method: &'static str,
    pub(super) params: Value,
}

/// Bytes of a request without its parameters.
const FRAME_BYTES: usize = 80;

impl Request {
    /// Returns about how many bytes it takes in a message.
    fn bytes(&self) -> usize {
        self.params.to_string().len() + FRAME_BYTES
    }
}

/// Messages, calls and bytes sent to a node and received.
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

/// The answers to several requests, each with its own result.
type Answers = Result<Vec<Result<Box<RawValue>, NodeError>>, NodeError>;

/// Messages under way at once for one batch that the node accepts only in pieces.
const PIECES_AT_ONCE: usize = 4;

pub(super) struct Connection {
    endpoint: Endpoint,
    timeout: Duration,
    pub(super) gate: Gate,
    pub(super) limits: Mutex<Limits>,
    traffic: Mutex<Traffic>,
    /// The live client, with a number that grows with every new connection.
    live: AsyncMutex<(u64, Option<RpcClient>)>,
}

impl std::iter::Sum for Traffic {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            messages: sum.messages + one.messages,
            calls: sum.calls + one.calls,
            bytes_sent: sum.bytes_sent + one.bytes_sent,
            bytes_received: sum.bytes_received + one.bytes_received,
        })
    }
}

impl Connection {
    pub(super) fn new(endpoint: Endpoint, timeout: Duration, concurrency: usize) -> Self {
        let gate = Gate::new(concurrency, endpoint.host());
        let live = AsyncMutex::new((0, None));
        Self { endpoint, timeout, gate, limits: Mutex::default(), traffic: Mutex::default(), live }
    }

    pub(super) const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(super) fn traffic(&self) -> Traffic {
        *self.traffic.lock()
    }

    /// Makes one request and returns the raw result.
    #[tracing::instrument(target = "trace", name = "node call", skip_all, fields(otel.kind = "client", method = request.method, node = self.endpoint.host()))]
    pub(super) async fn request(&self, request: &Request) -> Result<Box<RawValue>, NodeError> {
        let _permit = self.enter(request.method, 1).await?;
        let (number, client) = self.client().await?;
        let bytes = self.count_sent(std::slice::from_ref(request));
        let sent_at = Instant::now();
        let call = client.request::<_, Box<RawValue>>(request.method, &request.params);
        let result = match timeout(self.timeout, call).await {
            Ok(result) => result.map_err(|error| self.translate(request.method, error, sent_at)),
            Err(_) => Err(self.timed_out(request.method)),
        };
        self.note(number, bytes, 1, sent_at, result.as_ref().err()).await;
        result.inspect(|raw| self.count_received(raw))
    }

    /// Makes several requests, in as few messages as the transport and the node allow.
    pub(super) async fn batch(&self, requests: &[Request]) -> Answers {
        let pieces: Vec<_> = self.cut(requests).into_iter().map(|piece| self.send(piece)).collect();
        let answers: Vec<_> = stream::iter(pieces).buffered(PIECES_AT_ONCE).try_collect().await?;
        Ok(answers.into_iter().flatten().collect())
    }

    /// Cuts requests into pieces that fit into a message.
    fn cut<'a>(&self, requests: &'a [Request]) -> Vec<&'a [Request]> {
        let (limits, mut rest, mut pieces) = (self.limits.lock(), requests, Vec::new());
        let most = self.gate.most_calls();
        while !rest.is_empty() {
            let (piece, others) = rest.split_at(limits.fitting(rest.iter().map(Request::bytes)).min(most));
            pieces.push(piece);
            rest = others;
        }
        pieces
    }

    /// Sends requests in one message, or in smaller ones if the node refuses that.
    fn send<'a>(&'a self, requests: &'a [Request]) -> BoxFuture<'a, Answers> {
        Box::pin(async move {
            if let [alone] = requests {
                return match self.request(alone).await {
                    Err(error) if !matches!(error, NodeError::Rpc { .. }) => Err(error),
                    result => Ok(vec![result]),
                };
            }
            match self.send_together(requests).await {
                Err(error) if self.is_too_much(requests, &error).await => {
                    let mut answers = Vec::with_capacity(requests.len());
                    for piece in self.cut(requests) {
                        answers.extend(self.send(piece).await?);
                    }
                    Ok(answers)
                }
                result => result,
            }
        })
    }

    /// Returns whether several requests were refused because they were sent together: if so, one of them succeeds
    /// alone. The limit is remembered.
    async fn is_too_much(&self, requests: &[Request], error: &NodeError) -> bool {
        if error.is_too_large() {
            return true;
        }
        let suspected = self.limits.lock().suspects_batch(error);
        let Some(first) = requests.first().filter(|_| suspected) else { return false };
        match self.request(first).await {
            Ok(_) => {}
            // An answer to the request, not the same refusal again.
            Err(alone @ NodeError::Rpc { .. }) if !alone.is_rate_limit() && alone.message() != error.message() => {}
            Err(_) => return false,
        }
        self.limits.lock().batch_refused(&self.endpoint.host(), requests.len(), error);
        true
    }

    #[tracing::instrument(target = "trace", name = "node batch", skip_all, fields(otel.kind = "client", calls = requests.len(), node = self.endpoint.host()))]
    async fn send_together(&self, requests: &[Request]) -> Answers {
        let Some(first) = requests.first() else { return Ok(Vec::new()) };
        let _permit = self.enter(first.method, requests.len()).await?;
        let (number, client) = self.client().await?;
        let sent_at = Instant::now();
        let mut batch = client.new_batch();
        let mut waiters = Vec::with_capacity(requests.len());
        for request in requests {
            let waiter = batch.add_call::<_, Box<RawValue>>(request.method, &request.params);
            waiters.push(waiter.map_err(|error| self.translate(request.method, error, sent_at))?);
        }
        let bytes = self.count_sent(requests);
        let sent = match timeout(self.timeout, batch.send()).await {
            Ok(sent) => sent.map_err(|error| self.translate(first.method, error, sent_at)),
            Err(_) => Err(self.timed_out(first.method)),
        };
        self.note(number, bytes, requests.len(), sent_at, sent.as_ref().err()).await;
        sent?;
        let mut results = Vec::with_capacity(requests.len());
        for (waiter, request) in waiters.into_iter().zip(requests) {
            let result = waiter.await.map_err(|error| self.translate(request.method, error, sent_at));
            results.push(result.inspect(|raw| self.count_received(raw)));
        }
        self.limits.lock().batch_answered(requests.len());
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
            Ok(result) => result.map_err(|error| self.convert(METHOD, error)),
            Err(_) => Err(self.timed_out(METHOD)),
        };
        self.forget_if_lost(number, result.as_ref().err()).await;
        result
    }

    async fn enter(&self, method: &'static str, calls: usize) -> Result<Permits<'_>, NodeError> {
        self.gate.enter(calls, self.timeout).await.ok_or_else(|| self.refused(method, 429))
    }

    /// Learns from the outcome of a message.
    async fn note(&self, number: u64, bytes: usize, calls: usize, sent_at: Instant, error: Option<&NodeError>) {
        match error {
            None | Some(NodeError::Rpc { .. }) => {
                self.gate.took(sent_at.elapsed());
                self.gate.answered(calls);
            }
            Some(error) if error.is_too_large() => self.limits.lock().body_refused(&self.endpoint.host(), bytes),
            Some(_) => {}
        }
        self.forget_if_lost(number, error).await;
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
                // One attempt: the follower decides when the next one is due.
                let ws = WsConnect::new(url.as_str()).with_max_retries(1).with_retry_interval(Duration::ZERO);
                ClientBuilder::default().ws(ws).await
            }
            Address::Ipc(path) => ClientBuilder::default().ipc(IpcConnect::new(path.clone())).await,
        }
    }

    /// Drops a broken connection, so that the next request opens a new one.
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

    /// Counts requests, and returns about how many bytes they are.
    fn count_sent(&self, requests: &[Request]) -> usize {
        let bytes: usize = requests.iter().map(Request::bytes).sum();
        let mut traffic = self.traffic.lock();
        traffic.messages += 1;
        traffic.calls += requests.len() as u64;
        traffic.bytes_sent += (bytes - FRAME_BYTES * requests.len()) as u64;
        bytes
    }

    fn count_received(&self, raw: &RawValue) {
        self.traffic.lock().bytes_received += raw.get().len() as u64;
    }

    fn timed_out(&self, method: &'static str) -> NodeError {
        let timeout_ms = u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX);
        NodeError::Timeout { endpoint: self.endpoint.to_string(), method, timeout_ms }
    }

    fn unreachable(&self, error: &TransportError) -> NodeError {
        NodeError::Unreachable { endpoint: self.endpoint.to_string(), why: self.endpoint.scrub(&root_cause(error)) }
    }

    /// Converts a transport's error. A rate limit slows down what is sent next.
    fn translate(&self, method: &'static str, error: TransportError, sent_at: Instant) -> NodeError {
        let retry_after = match &error {
            RpcError::Transport(kind) => kind.retry_after(),
            _ => None,
        };
        let error = self.convert(method, error);
        if error.is_rate_limit() {
            self.gate.refused(sent_at, retry_after);
        }
        error
    }

    fn convert(&self, method: &'static str, error: TransportError) -> NodeError {
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

/// Returns the innermost reason of an error; the outer ones repeat the URL.
fn root_cause(error: &TransportError) -> String {
    let RpcError::Transport(kind) = error else { return error.to_string() };
    let mut cause: &dyn std::error::Error = kind;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
