//! More work than the service accepts: told at once, while what was accepted is done.

use std::sync::{Arc, mpsc};

use braid_server::Config;
use serde_json::json;
use tokio::sync::oneshot;

use crate::support::{Service, data, problem, request};

#[tokio::test]
async fn what_comes_beyond_the_limit_is_turned_away_at_once_and_the_rest_is_answered() {
    let service = Service::with(Config { solve_threads: 1, solve_queue: 1, ..Config::default() }).await;
    let id = service.quote(&request()).await["quote_id"].clone();
    // a solve that takes as long as the test wants it to
    let (go, gate) = mpsc::channel::<()>();
    let (started, has_started) = oneshot::channel();
    let work = Arc::clone(&service.app.work);
    let slow = tokio::spawn(async move {
        let job = move || {
            let _ = started.send(());
            let _ = gate.recv();
        };
        work.run(job).await
    });
    has_started.await.unwrap();
    let accepted: Vec<_> = (0..2).map(|_| tokio::spawn(service.post("/v1/quote", &request()).send())).collect();
    while service.app.work.waiting() < 2 {
        tokio::task::yield_now().await;
    }

    // the thread is still held: every one of these is answered without having waited for it
    for _ in 0..40 {
        let response = service.post("/v1/quote", &request()).send().await.unwrap();
        assert_eq!(response.headers()["retry-after"], "1");
        let (status, body) = problem(response).await;
        assert_eq!((status, body["code"].as_str(), body["retryable"].as_bool()), (503, Some("OVERLOADED"), Some(true)));
    }
    // a request that is wrong is told so, and what needs no solve goes on
    assert_eq!(service.refused_quote(&json!({})).await.0, 422);
    service.build(&json!({"quote_id": id})).await;
    assert_eq!(service.get("/ready").send().await.unwrap().status(), 200);
    assert!(accepted.iter().all(|call| !call.is_finished()));

    drop(go);
    slow.await.unwrap().unwrap();
    for call in accepted {
        data(call.await.unwrap().unwrap()).await;
    }
    service.quote(&request()).await;
    let text = service.get("/metrics").send().await.unwrap().text().await.unwrap();
    assert!(text.lines().any(|line| line == "braid_work_turned_away_total 40"), "{text}");
}
