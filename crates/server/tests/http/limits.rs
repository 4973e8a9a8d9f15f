//! Calls per minute, by the service's own clock.

use braid_server::{Config, LimitsConfig};

use crate::support::{Service, problem, request};

#[tokio::test]
async fn a_call_too_many_is_told_when_to_come_back() {
    let limits = LimitsConfig { keyed_per_min: 3, ..LimitsConfig::default() };
    let service = Service::with(Config { limits, ..Config::default() }).await;
    for left in [2, 1, 0] {
        let response = service.post("/v1/quote", &request()).send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["ratelimit"], format!("\"keyed\";r={left};t=60"));
        assert_eq!(response.headers()["ratelimit-policy"], "\"keyed\";q=3;w=60");
    }
    service.clock.advance_ms(20_000);
    let response = service.post("/v1/quote", &request()).send().await.unwrap();
    assert_eq!(response.headers()["retry-after"], "40");
    assert_eq!(response.headers()["ratelimit"], "\"keyed\";r=0;t=40");
    let (status, body) = problem(response).await;
    assert_eq!((status, body["code"].as_str(), body["retryable"].as_bool()), (429, Some("RATE_LIMITED"), Some(true)));

    service.clock.advance_ms(40_000);
    assert_eq!(service.post("/v1/quote", &request()).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn refused_requests_carry_the_headers_too() {
    let service = Service::start().await;
    let response = service.raw("/v1/quote", "{").send().await.unwrap();
    assert_eq!(response.status(), 400);
    assert!(response.headers().contains_key("ratelimit"));
    assert!(response.headers().contains_key("ratelimit-policy"));
}

#[tokio::test]
async fn health_is_never_limited() {
    let limits = LimitsConfig { reads_per_min: 1, ..LimitsConfig::default() };
    let service = Service::with(Config { limits, ..Config::default() }).await;
    for _ in 0..5 {
        assert_eq!(service.get("/ready").send().await.unwrap().status(), 200);
    }
}
