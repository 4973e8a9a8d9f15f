//! A connection to one node: sends requests and batches with a deadline, in sizes and at a rate that the node accepts,
//! and connects again after a failure.

use std::time::Duration;

use alloy::{
    pubsub::RawSubscription,
    rpc::{
        client::{ClientBuilder, RpcClient},
        json_rpc::{ErrorPayload, RpcError},
    },
    transports::{
        TransportError, TransportErrorKind,
        ipc::IpcConnect,
        ws::{WebSocketConfig, WsConnect},
    },
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
    health::CallOutcomes,
    http::{Http, MAX_ANSWER_BYTES},
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
    outcomes: Mutex<CallOutcomes>,
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
        let (limits, traffic, outcomes) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self { endpoint, timeout, gate, limits, traffic, outcomes, live }
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
        self.note_calls(std::iter::once((request, &result)));
        result.inspect(|raw| self.count_received(raw))
    }

    /// Makes several requests, in as few messages as the transport and the node allow.
    pub(super) async fn batch(&self, requests: &[Request]) -> Answers {
        let pieces: Vec<_> = self.cut(requests).into_iter().map(|piece| self.send(piece)).collect();
        // A size that is being found may be refused: once is enough.
        let is_found = self.limits.lock().is_batch_found();
        let at_once = if is_found { PIECES_AT_ONCE } else { 1 };
        let answers: Vec<_> = stream::iter(pieces).buffered(at_once).try_collect().await?;
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
                    // The refusal of one method says nothing of the others.
                    Err(error) if !matches!(error, NodeError::Rpc { .. }) && !error.is_refusal_of(alone.method) => {
                        Err(error)
                    }
                    result => {
                        if result.is_ok() {
                            self.limits.lock().single_answered();
                        }
                        Ok(vec![result])
                    }
                };
            }
            // Limits that were learnt meanwhile apply here too.
            if self.cut(requests).len() > 1 {
                return self.send_pieces(requests).await;
            }
            let mut error = match self.send_together(requests).await {
                Err(error) => error,
                answered => return answered,
            };
            if !self.is_too_much(requests, &error).await {
                return Err(error);
            }
            // A node that failed for a moment answers now. Malformed answers were suspected only after several.
            let is_told = error.speaks_of_size() || matches!(error, NodeError::Malformed { .. });
            if !is_told && !self.limits.lock().requests.is_limited() {
                error = match self.send_together(requests).await {
                    Err(error) => error,
                    answered => return answered,
                };
                if !error.is_too_large() && !self.limits.lock().suspects_batch(&error) {
                    return Err(error);
                }
            }
            if !error.is_too_large() {
                self.limits.lock().batch_refused(&self.endpoint.host(), requests.len(), &error);
            }
            self.send_pieces(requests).await
        })
    }

    /// Sends requests in messages of the size that the node accepts, one after another.
    async fn send_pieces(&self, requests: &[Request]) -> Answers {
        let mut answers = Vec::with_capacity(requests.len());
        for piece in self.cut(requests) {
            answers.extend(self.send(piece).await?);
        }
        Ok(answers)
    }

    /// Returns whether several requests were refused because they were sent together: if so, one of them succeeds
    /// alone.
    async fn is_too_much(&self, requests: &[Request], error: &NodeError) -> bool {
        if error.is_too_large() {
            return true;
        }
        let suspected = self.limits.lock().suspects_batch(error);
        let Some(first) = requests.first().filter(|_| suspected) else { return false };
        match self.request(first).await {
            Ok(_) => true,
            // An answer to the request, not the same refusal again.
            Err(alone @ NodeError::Rpc { .. }) => !alone.is_rate_limit() && alone.message() != error.message(),
            Err(_) => false,
        }
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
        let mut results = Vec::with_capacity(requests.len());
        if sent.is_ok() {
            for (waiter, request) in waiters.into_iter().zip(requests) {
                let result = waiter.await.map_err(|error| self.translate(request.method, error, sent_at));
                results.push(result.inspect(|raw| self.count_received(raw)));
            }
        }
        self.note(number, bytes, answered(&results), sent_at, sent.as_ref().err()).await;
        if let Err(error) = sent {
            self.note_calls(std::iter::once((first, &Err(error.clone()))));
            return Err(error);
        }
        self.note_calls(requests.iter().zip(&results));
        self.limits.lock().batch_answered(requests.len());
        Ok(results)
    }

    /// Subscribes to new heads; only over ws and ipc. Returns the connection's number too.
    pub(super) async fn subscribe_heads(&self) -> Result<(u64, RawSubscription), NodeError> {
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
        result.map(|subscription| (number, subscription))
    }

    /// Ends a subscription at the node, unless its connection has ended and every subscription with it.
    pub(super) async fn unsubscribe(&self, number: u64, subscription: &RawSubscription) {
        let live = self.live.lock().await;
        let client = live.1.as_ref().filter(|_| live.0 == number);
        if let Some(frontend) = client.and_then(|client| client.inner().pubsub_frontend()) {
            // Fails only if the connection has just ended.
            let _ = frontend.unsubscribe(*subscription.local_id());
        }
    }

    async fn enter(&self, method: &'static str, calls: usize) -> Result<Permits<'_>, NodeError> {
        self.gate.enter(calls, self.timeout).await.ok_or_else(|| self.refused(method, 429))
    }

    /// Learns from the outcome of a message, of which `calls` requests were answered unless there is an error.
    async fn note(&self, number: u64, bytes: usize, calls: usize, sent_at: Instant, error: Option<&NodeError>) {
        match error {
            // A refusal because of the rate is no answer, whether HTTP tells it or JSON-RPC.
            Some(error) if error.is_rate_limit() => {}
            None | Some(NodeError::Rpc { .. }) => {
                self.gate.took(sent_at.elapsed());
                if calls > 0 {
                    self.gate.answered(calls);
                }
            }
            Some(error) if error.is_too_large() => self.limits.lock().body_refused(&self.endpoint.host(), bytes),
            Some(_) => {}
        }
        self.forget_if_lost(number, error).await;
    }

    /// Counts a message with contract calls as answered or failed, by most of them.
    fn note_calls<'a>(&self, all: impl Iterator<Item = (&'a Request, &'a Result<Box<RawValue>, NodeError>)>) {
        let mut message = CallOutcomes::default();
        for (_, result) in all.filter(|(request, _)| request.method == "eth_call") {
            match result {
                Ok(_) => message.answered += 1,
                Err(error) if error.is_ended_by_evm() || error.speaks_of_size() => message.answered += 1,
                Err(error) if error.is_failed_call() => {
                    message.failed += 1;
                    message.error = Some(error.to_string());
                }
                Err(_) => {}
            }
        }
        let mut outcomes = self.outcomes.lock();
        if message.failed > message.answered {
            outcomes.failed += 1;
            outcomes.error = message.error;
        } else if message.answered > 0 {
            outcomes.answered += 1;
        }
    }

    /// Returns what became of messages with contract calls since this was last asked for.
    pub(super) fn take_outcomes(&self) -> CallOutcomes {
        std::mem::take(&mut *self.outcomes.lock())
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
                // Some nodes send an answer in one frame, whose limit is smaller by default.
                let most = Some(MAX_ANSWER_BYTES);
                let config = WebSocketConfig::default().max_message_size(most).max_frame_size(most);
                // One attempt: the follower decides when the next one is due.
                let ws = WsConnect::new(url.as_str()).with_config(config).with_max_retries(1);
                let ws = ws.with_retry_interval(Duration::ZERO);
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

/// Returns how many requests of a message were answered; those that were refused because of the rate were not.
fn answered<T>(results: &[Result<T, NodeError>]) -> usize {
    results.iter().filter(|result| !result.as_ref().is_err_and(NodeError::is_rate_limit)).count()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A rate limit told as a JSON-RPC error counted as an answer, so that each of them lowered the rate.
    #[tokio::test]
    async fn a_rate_limit_is_no_answer_and_lowers_the_rate_once_whoever_tells_it() {
        let endpoint = || Endpoint::parse("http://a.example").unwrap();
        let told = "daily request count exceeded, request rate limited";
        let by_json = NodeError::Rpc { method: "eth_blockNumber", code: -32_005, message: told.into() };
        let by_http = NodeError::Http { endpoint: "http://a.example".into(), method: "eth_blockNumber", status: 429 };
        assert_eq!(answered(&[Ok(1), Err(by_json.clone()), Ok(2), Err(by_http.clone())]), 2);
        for limited in [by_json, by_http] {
            let connection = Connection::new(endpoint(), Duration::from_secs(1), 8);
            connection.gate.answered(100);
            let mut rates = Vec::new();
            for _ in 0..5 {
                let sent_at = Instant::now() + Duration::from_millis(1);
                connection.gate.refused(sent_at, None);
                connection.note(0, 0, 1, sent_at, Some(&limited)).await;
                rates.push(connection.gate.rate().unwrap());
            }
            assert_eq!(rates, [rates[0]; 5], "{limited}");
        }
    }
}
