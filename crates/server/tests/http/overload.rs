//! Tests of more work than the service accepts: it is refused at once, and accepted work is completed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::response::IntoResponse as _;
use braid_ethereum::Node;
use braid_server::Config;
use serde_json::{Value, json};

use crate::support::{DAI, LONELY, Service, data, market_with_island, problem, request, swap};

#[tokio::test]
async fn what_comes_beyond_the_limit_is_turned_away_at_once_and_the_rest_is_answered() {
    let service = Service::with(Config { solve_threads: 1, solve_queue: 1, ..Config::default() }).await;
    let id = service.quote(&request()).await["quote_id"].clone();
    let busy = service.occupies_a_thread().await;
    let accepted: Vec<_> = (0..2).map(|_| tokio::spawn(service.post("/v1/quote", &request()).send())).collect();
    while service.app.work.waiting() < 2 {
        tokio::task::yield_now().await;
    }

    // The thread is still occupied: all of these are answered without waiting for it.
    for _ in 0..40 {
        let response = service.post("/v1/quote", &request()).send().await.unwrap();
        assert_eq!(response.headers()["retry-after"], "1");
        let (status, body) = problem(response).await;
        assert_eq!((status, body["code"].as_str(), body["retryable"].as_bool()), (503, Some("OVERLOADED"), Some(true)));
    }
    // An invalid request gets its error, and requests without a solve continue.
    assert_eq!(service.refused_quote(&json!({})).await.0, 422);
    service.build(&json!({"quote_id": id})).await;
    assert_eq!(service.get("/ready").send().await.unwrap().status(), 200);
    assert!(accepted.iter().all(|call| !call.is_finished()));

    busy.ends().await;
    for call in accepted {
        data(call.await.unwrap().unwrap()).await;
    }
    service.quote(&request()).await;
    let text = service.get("/metrics").send().await.unwrap().text().await.unwrap();
    assert!(text.lines().any(|line| line == "braid_work_turned_away_total 40"), "{text}");
}

/// Starts a node that answers only its chain id, 1. Returns it with the number of other messages.
async fn silent_node() -> (Node, Arc<AtomicUsize>) {
    let messages = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&messages);
    let answer = async move |body: String| {
        let asked: Value = serde_json::from_str(&body).unwrap();
        if asked["method"] != "eth_chainId" {
            counted.fetch_add(1, Ordering::Relaxed);
            std::future::pending::<()>().await;
        }
        json!({"jsonrpc": "2.0", "id": asked["id"], "result": "0x1"}).to_string().into_response()
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(axum::serve(listener, Router::new().fallback(answer)).into_future());
    (Node::connect(&url).await.unwrap(), messages)
}

#[tokio::test]
async fn what_is_turned_away_or_has_no_route_does_not_wait_for_the_node() {
    let (node, messages) = silent_node().await;
    let config =
        Config { solve_threads: 1, solve_queue: 0, account_timeout: Duration::from_secs(3_600), ..Config::default() };
    let service = Service::over(node, config).await;
    service.publish(market_with_island());
    // A request that waits for the node occupies no thread: a request without a route is answered meanwhile.
    let answered_late = tokio::spawn(service.post("/v1/quote", &request()).send());
    while messages.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    let (status, body) = service.refused_quote(&swap(&LONELY.to_string(), "1000000", &DAI.to_string())).await;
    assert_eq!((status, body["code"].as_str()), (422, Some("NO_ROUTE_FOUND")), "{body}");

    let busy = service.occupies_a_thread().await;
    let waiting = tokio::spawn(service.post("/v1/quote", &request()).send());
    while service.app.work.waiting() == 0 {
        tokio::task::yield_now().await;
    }
    for _ in 0..40 {
        let (status, _) = service.refused_quote(&request()).await;
        assert_eq!(status, 503);
    }
    assert!(!answered_late.is_finished() && !waiting.is_finished());
    busy.ends().await;
}
