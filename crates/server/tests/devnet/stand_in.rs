//! A substitute for a node: it passes everything on to the real node with a delay, and counts what it receives.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// The substitute. It answers for as long as the test's runtime runs.
#[derive(Clone)]
pub struct StandIn {
    pub url: String,
    inner: Arc<Inner>,
}

struct Inner {
    upstream: String,
    client: reqwest::Client,
    latency_ms: AtomicU64,
    messages: AtomicU64,
    calls: AtomicU64,
    codes: AtomicU64,
    /// Whether calls with state overrides are accepted.
    lends: bool,
    lists: AtomicU8,
}

/// Which access lists the node returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// Those of the chain's own node: for calls on a block's state.
    Plain,
    /// Also for calls with state overrides, as most nodes do.
    Lending,
    /// None: the node does not have the method.
    No,
}

impl StandIn {
    /// Starts before a node, with or without state overrides.
    pub async fn before(upstream: String, lends: bool) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let [latency_ms, messages, calls, codes] = [const { AtomicU64::new(0) }; 4];
        let client = reqwest::Client::new();
        let inner =
            Arc::new(Inner { upstream, client, latency_ms, messages, calls, codes, lends, lists: AtomicU8::default() });
        let routes = Router::new().fallback(pass_on).with_state(Arc::clone(&inner));
        tokio::spawn(axum::serve(listener, routes).into_future());
        Self { url, inner }
    }

    /// Sets which access lists are returned from now on.
    pub fn set_lists(&self, lists: Lists) {
        self.inner.lists.store(lists as u8, Ordering::Relaxed);
    }

    /// Sets the delay of answers from now on.
    pub fn set_latency(&self, latency: Duration) {
        self.inner.latency_ms.store(u64::try_from(latency.as_millis()).unwrap(), Ordering::Relaxed);
    }

    /// Returns the number of messages, of calls in them, and of calls for code among those.
    pub fn asked(&self) -> [u64; 3] {
        [&self.inner.messages, &self.inner.calls, &self.inner.codes].map(|count| count.load(Ordering::Relaxed))
    }

    /// Returns what an action requested, as [`StandIn::asked`] does.
    pub async fn asked_by<T>(&self, action: impl Future<Output = T>) -> (T, [u64; 3]) {
        let before = self.asked();
        let done = action.await;
        let after = self.asked();
        (done, [0, 1, 2].map(|kind: usize| after[kind] - before[kind]))
    }
}

const LIST: &str = "eth_createAccessList";

/// Converts a request for the access list of a call with state overrides into a trace, because the chain's node returns
/// access lists only for a block's own state.
fn as_trace(call: &mut Value) {
    let lent = call["params"].as_array_mut().unwrap().remove(2);
    call["method"] = json!("debug_traceCall");
    call["params"].as_array_mut().unwrap().push(json!({"tracer": "prestateTracer", "stateOverrides": lent}));
}

/// Converts the result of a trace into an access list.
fn as_list(answer: &mut Value) {
    let Some(seen) = answer["result"].as_object() else { return };
    let item = |(address, account): (&String, &Value)| {
        let slots: Vec<&String> = account["storage"].as_object().into_iter().flat_map(|words| words.keys()).collect();
        json!({"address": address, "storageKeys": slots})
    };
    answer["result"] = json!({"accessList": seen.iter().map(item).collect::<Vec<_>>(), "gasUsed": "0x0"});
}

async fn pass_on(State(node): State<Arc<Inner>>, body: Bytes) -> Response {
    let mut asked: Value = serde_json::from_slice(&body).unwrap();
    let calls = asked.as_array().cloned().unwrap_or_else(|| vec![asked.clone()]);
    node.messages.fetch_add(1, Ordering::Relaxed);
    node.calls.fetch_add(calls.len() as u64, Ordering::Relaxed);
    let codes = calls.iter().filter(|call| call["method"] == "eth_getCode").count();
    node.codes.fetch_add(codes as u64, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_millis(node.latency_ms.load(Ordering::Relaxed))).await;
    let lent = |call: &&Value| call["params"].as_array().is_some_and(|params| params.len() > 2);
    if let Some(call) = calls.iter().filter(|call| call["method"] == "eth_call").find(lent).filter(|_| !node.lends) {
        let error = serde_json::json!({"code": -32602, "message": "too many arguments, want at most 2"});
        return axum::Json(serde_json::json!({"jsonrpc": "2.0", "id": call["id"], "error": error})).into_response();
    }
    let lists = node.lists.load(Ordering::Relaxed);
    let is_list = calls[0]["method"] == LIST;
    let mut body = body.to_vec();
    if is_list && lists == Lists::No as u8 {
        let error =
            json!({"code": -32601, "message": "the method eth_createAccessList does not exist/is not available"});
        let refuse = |call: &Value| json!({"jsonrpc": "2.0", "id": call["id"], "error": error});
        let answers = calls.iter().map(refuse).collect::<Vec<_>>();
        return axum::Json(if asked.is_array() { json!(answers) } else { answers[0].clone() }).into_response();
    }
    let traces = is_list && lists == Lists::Lending as u8;
    if traces {
        match asked.as_array_mut() {
            Some(calls) => calls.iter_mut().for_each(as_trace),
            None => as_trace(&mut asked),
        }
        body = serde_json::to_vec(&asked).unwrap();
    }
    let call = node.client.post(&node.upstream).header("content-type", "application/json").body(body);
    let Ok(answer) = call.send().await else { return StatusCode::BAD_GATEWAY.into_response() };
    let Ok(mut bytes) = answer.bytes().await else { return StatusCode::BAD_GATEWAY.into_response() };
    if traces {
        let mut told: Value = serde_json::from_slice(&bytes).unwrap();
        match told.as_array_mut() {
            Some(answers) => answers.iter_mut().for_each(as_list),
            None => as_list(&mut told),
        }
        bytes = serde_json::to_vec(&told).unwrap().into();
    }
    ([(header::CONTENT_TYPE, "application/json")], bytes).into_response()
}
