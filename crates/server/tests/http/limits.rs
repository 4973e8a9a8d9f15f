//! Tests of calls per minute, by the service's own clock.

use braid_server::{Config, LimitsConfig};

use crate::support::{NOW_MS, Service, problem, request};

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

#[tokio::test]
async fn paths_and_methods_that_do_not_exist_count_as_reads() {
    let limits = LimitsConfig { reads_per_min: 4, ..LimitsConfig::default() };
    let service = Service::with(Config { limits, ..Config::default() }).await;
    let status =
        async |path: &str| service.client.get(format!("{}{path}", service.base)).send().await.unwrap().status();
    let mut seen = Vec::new();
    for path in ["/nope", "/v1/quote", "/v1/chains", &format!("/{}", "x".repeat(10_000)), "/nope", "/v1/chains"] {
        seen.push(status(path).await.as_u16());
    }
    assert_eq!(seen, [404, 405, 200, 404, 429, 429]);
    // Requests about the service itself are not counted.
    assert_eq!(status("/openapi.json").await, 200);
}

#[tokio::test]
async fn a_clock_that_is_set_moves_no_limit() {
    let limits = LimitsConfig { keyed_per_min: 2, ..LimitsConfig::default() };
    let service = Service::with(Config { limits, ..Config::default() }).await;
    let status = async || service.post("/v1/build", &serde_json::json!({})).send().await.unwrap().status().as_u16();
    assert_eq!([status().await, status().await, status().await], [422, 422, 429]);
    // A clock that is set an hour forward restores nothing. After it is set an hour back, the limit lasts no longer
    // than its minute.
    service.clock.set_ms(NOW_MS + 3_600_000);
    assert_eq!(status().await, 429);
    service.clock.set_ms(NOW_MS - 3_600_000);
    assert_eq!(status().await, 429);
    service.clock.advance_ms(60_000);
    assert_eq!([status().await, status().await, status().await], [422, 422, 429]);
}

#[tokio::test]
async fn callers_behind_a_trusted_proxy_have_a_limit_each() {
    let limits = LimitsConfig { reads_per_min: 1, ..LimitsConfig::default() };
    let trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    let behind = Service::with(Config { limits, trusted_proxies, ..Config::default() }).await;
    let open = Service::with(Config { limits, ..Config::default() }).await;
    let status = async |service: &Service, header: &str, value: &str| {
        let call = service.client.get(format!("{}/v1/chains", service.base)).header(header, value);
        call.send().await.unwrap().status().as_u16()
    };
    for (header, value, expected) in [
        ("x-forwarded-for", "203.0.113.1", 200),
        ("x-forwarded-for", "203.0.113.1", 429),
        ("x-forwarded-for", "203.0.113.2", 200),
        // Entries that the caller invents are to the left of the one that the proxy adds.
        ("x-forwarded-for", "203.0.113.99, 203.0.113.2", 429),
        ("forwarded", "for=203.0.113.2", 429),
        ("forwarded", "for=\"[2001:db8::1]:80\";proto=https", 200),
        ("x-forwarded-for", "2001:db8::ffff:0:0:1", 429),
    ] {
        assert_eq!(status(&behind, header, value).await, expected, "{header}: {value}");
    }
    assert_eq!(status(&open, "x-forwarded-for", "203.0.113.1").await, 200);
    assert_eq!(status(&open, "x-forwarded-for", "203.0.113.2").await, 429);
}
