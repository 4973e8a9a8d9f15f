//! Tests of keys: missing, wrong, and created and revoked while the service runs.

use braid_server::Config;
use braid_store::{KeyStore, KeyTerms};
use reqwest::StatusCode;
use serde_json::json;

use crate::support::{Service, problem, request};

#[tokio::test]
async fn quotes_and_builds_need_a_valid_key() {
    let service = Service::start().await;
    for path in ["/v1/quote", "/v1/build"] {
        for (key, code) in
            [(None, "API_KEY_MISSING"), (Some("wrong"), "API_KEY_INVALID"), (Some(""), "API_KEY_INVALID")]
        {
            let call = service.client.post(format!("{}{path}", service.base)).body("{}");
            let call = call.header("content-type", "application/json");
            let call = key.into_iter().fold(call, |call, key| call.header("x-api-key", key));
            let (status, body) = problem(call.send().await.unwrap()).await;
            assert_eq!((status, body["code"].as_str()), (401, Some(code)), "{path} {key:?}");
        }
    }
}

#[tokio::test]
async fn health_and_readiness_ignore_keys() {
    let service = Service::start().await;
    for path in ["/health", "/ready"] {
        let call = service.client.get(format!("{}{path}", service.base)).header("x-api-key", "wrong");
        assert_eq!(call.send().await.unwrap().status(), StatusCode::OK);
    }
}

#[tokio::test]
async fn a_key_lives_and_dies_without_a_restart() {
    let service = Service::start().await;
    // In another store, as `braid keys` does in its own process.
    let cli = KeyStore::open(service.data_dir()).unwrap();
    let (key, record) = cli.create("bot", KeyTerms::default(), 1).unwrap();
    let status = async || {
        let call = service.client.post(format!("{}/v1/quote", service.base)).body(request().to_string());
        let call = call.header("content-type", "application/json").header("x-api-key", key.reveal());
        call.send().await.unwrap().status()
    };
    assert_eq!(status().await, StatusCode::OK);
    cli.revoke(&record.id.0, 2).unwrap();
    assert_eq!(status().await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn anonymous_callers_may_quote_where_that_is_on_and_never_build() {
    let service = Service::with(Config { anonymous_quotes: true, ..Config::default() }).await;
    let call = |path: &str, body: String| {
        let call = service.client.post(format!("{}{path}", service.base)).body(body);
        call.header("content-type", "application/json").send()
    };
    let quoted = call("/v1/quote", request().to_string()).await.unwrap();
    assert_eq!(quoted.status(), StatusCode::OK);
    assert_eq!(quoted.headers()["ratelimit-policy"], "\"anonymous-quotes\";q=10;w=60");
    let quote: serde_json::Value = quoted.json().await.unwrap();
    let body = json!({"quote_id": quote["data"]["quote_id"]}).to_string();
    let (status, body) = problem(call("/v1/build", body).await.unwrap()).await;
    assert_eq!((status, body["code"].as_str()), (401, Some("API_KEY_MISSING")));
}

#[tokio::test]
async fn a_wrong_key_is_refused_even_where_anonymous_quotes_are_on() {
    let service = Service::with(Config { anonymous_quotes: true, ..Config::default() }).await;
    let call = service.client.post(format!("{}/v1/quote", service.base)).body(request().to_string());
    let call = call.header("content-type", "application/json").header("x-api-key", "wrong");
    assert_eq!(call.send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_key_has_limits_and_an_end_of_its_own() {
    let service = Service::start().await;
    let cli = KeyStore::open(service.data_dir()).unwrap();
    let terms = KeyTerms { per_min: Some(3), burst: Some(2), expires_at_s: Some(crate::support::NOW_MS / 1_000 + 100) };
    let (key, record) = cli.create("bot", terms, 1).unwrap();
    let call = async |key: &str| {
        let call = service.client.post(format!("{}/v1/quote", service.base)).body(request().to_string());
        call.header("content-type", "application/json").header("x-api-key", key).send().await.unwrap()
    };
    let first = call(key.reveal()).await;
    assert_eq!(first.headers()["ratelimit-policy"], "\"keyed\";q=3;w=60, \"burst\";q=2;w=1");
    assert_eq!(call(key.reveal()).await.status(), StatusCode::OK);
    let refused = call(key.reveal()).await;
    assert_eq!(
        (refused.status(), &refused.headers()["retry-after"]),
        (StatusCode::TOO_MANY_REQUESTS, &"1".parse().unwrap())
    );

    // For the limits, a new secret is the same key.
    let (rotated, _) = cli.rotate(&record.id.0, 0, 2).unwrap();
    service.clock.advance_ms(1_000);
    assert_eq!(call(key.reveal()).await.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(call(rotated.reveal()).await.headers()["ratelimit"], "\"keyed\";r=0;t=59, \"burst\";r=1;t=1");

    service.clock.advance_ms(99_000);
    assert_eq!(call(rotated.reveal()).await.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_key_may_come_as_a_bearer() {
    let service = Service::start().await;
    let status = async |headers: &[(&str, &str)]| {
        let call = service.client.post(format!("{}/v1/quote", service.base)).body(request().to_string());
        let call = call.header("content-type", "application/json");
        let call = headers.iter().fold(call, |call, (name, value)| call.header(*name, *value));
        call.send().await.unwrap().status().as_u16()
    };
    for good in ["Bearer test-key", "bearer test-key", "BEARER  test-key "] {
        assert_eq!(status(&[("authorization", good)]).await, 200, "{good:?}");
    }
    // Another scheme is not meant for the service: the caller has no key, rather than a wrong one.
    for bad in ["Bearer wrong", "Bearer", "Bearertest-key", "Basic dGVzdC1rZXk=", ""] {
        assert_eq!(status(&[("authorization", bad)]).await, 401, "{bad:?}");
    }
    assert_eq!(status(&[("authorization", "Basic abc"), ("x-api-key", "test-key")]).await, 200);
    assert_eq!(status(&[("authorization", "Bearer test-key"), ("x-api-key", "wrong")]).await, 401);
}
