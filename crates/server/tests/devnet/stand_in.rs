//! A stand-in for a node: passes everything on to the real one, later, and counts what it was asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

/// The stand-in; answers for as long as the test's runtime runs.
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
    /// Whether calls that lend code are refused.
    lends: bool,
}

impl StandIn {
    /// Stands before a node, which lends code or not.
    pub async fn before(upstream: String, lends: bool) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let [latency_ms, messages, calls, codes] = [const { AtomicU64::new(0) }; 4];
        let client = reqwest::Client::new();
        let inner = Arc::new(Inner { upstream, client, latency_ms, messages, calls, codes, lends });
        let routes = Router::new().fallback(pass_on).with_state(Arc::clone(&inner));
        tokio::spawn(axum::serve(listener, routes).into_future());
        Self { url, inner }
    }

    /// From now on answers come so much later.
    pub fn set_latency(&self, latency: Duration) {
        self.inner.latency_ms.store(u64::try_from(latency.as_millis()).unwrap(), Ordering::Relaxed);
    }

    /// Messages, calls in them, and calls for code among those.
    pub fn asked(&self) -> [u64; 3] {
        [&self.inner.messages, &self.inner.calls, &self.inner.codes].map(|count| count.load(Ordering::Relaxed))
    }

    /// What an action asked: as [`StandIn::asked`].
    pub async fn asked_by<T>(&self, action: impl Future<Output = T>) -> (T, [u64; 3]) {
        let before = self.asked();
        let done = action.await;
        let after = self.asked();
        (done, [0, 1, 2].map(|kind: usize| after[kind] - before[kind]))
    }
}

async fn pass_on(State(node): State<Arc<Inner>>, body: Bytes) -> Response {
    let asked: Value = serde_json::from_slice(&body).unwrap();
    let calls = asked.as_array().cloned().unwrap_or_else(|| vec![asked]);
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
    let call = node.client.post(&node.upstream).header("content-type", "application/json").body(body);
    let Ok(answer) = call.send().await else { return StatusCode::BAD_GATEWAY.into_response() };
    let Ok(bytes) = answer.bytes().await else { return StatusCode::BAD_GATEWAY.into_response() };
    ([(header::CONTENT_TYPE, "application/json")], bytes).into_response()
}
