//! Tests of what all answers have in common, and of what the service reports about itself.

use std::sync::Arc;
use std::time::Duration;

use braid_ethereum::{Phase, SyncStatus};
use braid_server::{Config, MarketAges};
use serde_json::Value;

use crate::support::{NOW_MS, Service, market, problem, request, swap};

fn aged(ages: MarketAges) -> Config {
    Config { ages, ..Config::default() }
}

#[tokio::test]
async fn unknown_paths_and_methods_are_problems_too() {
    let service = Service::start().await;
    let (status, body) = problem(service.get("/nope").send().await.unwrap()).await;
    assert_eq!((status, body["code"].as_str()), (404, Some("NOT_FOUND")));
    assert_eq!(body["instance"], "/nope");

    let response = service.get("/v1/quote").send().await.unwrap();
    assert_eq!(response.headers()["allow"], "POST");
    let (status, body) = problem(response).await;
    assert_eq!((status, body["code"].as_str()), (405, Some("METHOD_NOT_ALLOWED")));
}

#[tokio::test]
async fn a_sane_request_id_is_kept_and_a_strange_one_replaced() {
    let service = Service::start().await;
    let id = async |asked: &str| {
        let response = service.get("/health").header("x-request-id", asked).send().await.unwrap();
        response.headers()["x-request-id"].to_str().unwrap().to_owned()
    };
    assert_eq!(id("order-17").await, "order-17");
    let made = id("no spaces please").await;
    assert_eq!(uuid::Uuid::parse_str(&made).unwrap().get_version_num(), 7);
}

#[tokio::test]
async fn health_lives_from_the_start_and_readiness_waits_for_the_market() {
    let dir = Arc::new(tempfile::tempdir().unwrap());
    let service = Service::without_market(Config::default(), dir, NOW_MS).await;
    let json = async |path: &str| {
        let response = service.get(path).send().await.unwrap();
        (response.status().as_u16(), response.json::<Value>().await.unwrap())
    };
    let (status, health) = json("/health").await;
    assert_eq!((status, health["status"].as_str()), (200, Some("ok")));
    let (status, ready) = json("/ready").await;
    assert_eq!((status, ready["status"].as_str()), (503, Some("syncing")));
    assert!(ready["block"].is_null());
    let (status, body) = service.refused_quote(&request()).await;
    assert_eq!((status, body["code"].as_str(), body["retryable"].as_bool()), (503, Some("NOT_READY"), Some(true)));

    service.publish(market(1_000));
    let (status, ready) = json("/ready").await;
    assert_eq!((status, ready["status"].as_str()), (200, Some("ready")));
    assert_eq!((ready["block"]["number"].as_u64(), ready["pools"].as_u64()), (Some(20_000_000), Some(7)));
    assert!(ready["block"]["age_ms"].is_u64());
    for check in ["market", "gas", "simulator", "store"] {
        assert!(ready["checks"][check].is_string(), "{check}");
    }
    service.clock.advance_ms(5_000);
    assert_eq!(json("/health").await.1["uptime_s"], 5);
}

#[tokio::test]
async fn a_market_that_is_too_old_is_not_quoted_on() {
    let config = aged(MarketAges { stale_after: Duration::ZERO, ..MarketAges::default() });
    let service = Service::with(config).await;
    let (status, body) = service.refused_quote(&request()).await;
    assert_eq!((status, body["code"].as_str()), (503, Some("MARKET_STALE")));
    let response = service.get("/ready").send().await.unwrap();
    assert_eq!(response.status(), 503);
    assert_eq!(response.json::<Value>().await.unwrap()["status"], "stale");
}

/// Returns the answer of `/ready`: status code, status, and the checks of the market and the store.
async fn readiness(service: &Service) -> (u16, String, String, String) {
    let response = service.get("/ready").send().await.unwrap();
    let status = response.status().as_u16();
    assert_eq!(response.headers().contains_key("retry-after"), status == 503);
    let body: Value = response.json().await.unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (status, text(&body["status"]), text(&body["checks"]["market"]), text(&body["checks"]["store"]))
}

fn phase(phase: Phase) -> SyncStatus {
    SyncStatus { phase, ..SyncStatus::default() }
}

fn says(status: u16, verdict: &str, market: &str, store: &str) -> (u16, String, String, String) {
    (status, verdict.into(), market.into(), store.into())
}

#[tokio::test]
async fn a_lost_node_degrades_the_service_then_makes_it_stale_and_its_return_mends_it() {
    let patient = Service::start().await;
    assert_eq!(readiness(&patient).await, says(200, "ready", "ok", "ok"));
    patient.status(phase(Phase::Disconnected));
    assert_eq!(readiness(&patient).await, says(200, "degraded", "aging", "ok"));
    patient.quote(&request()).await;
    patient.status(phase(Phase::Following));
    assert_eq!(readiness(&patient).await, says(200, "ready", "ok", "ok"));

    let config = aged(MarketAges { stale_without_node_after: Duration::ZERO, ..MarketAges::default() });
    let strict = Service::with(config).await;
    assert_eq!(readiness(&strict).await, says(200, "ready", "ok", "ok"));
    strict.status(phase(Phase::Disconnected));
    assert_eq!(readiness(&strict).await, says(503, "stale", "stale", "ok"));
    let (status, body) = strict.refused_quote(&request()).await;
    assert_eq!((status, body["code"].as_str(), body["retryable"].as_bool()), (503, Some("MARKET_STALE"), Some(true)));
    strict.status(phase(Phase::Following));
    assert_eq!(readiness(&strict).await, says(200, "ready", "ok", "ok"));
    strict.quote(&request()).await;
}

#[tokio::test]
async fn a_chain_that_stands_still_and_a_disk_that_refuses_degrade_the_service() {
    let config = aged(MarketAges { degraded_after: Duration::ZERO, ..MarketAges::default() });
    let old = Service::with(config).await;
    assert_eq!(readiness(&old).await, says(200, "degraded", "aging", "ok"));
    old.quote(&request()).await;

    let service = Service::start().await;
    service.status(SyncStatus { store_failing: true, ..phase(Phase::Following) });
    assert_eq!(readiness(&service).await, says(200, "degraded", "ok", "failing"));
    service.status(phase(Phase::Following));
    assert_eq!(readiness(&service).await, says(200, "ready", "ok", "ok"));
}

#[tokio::test]
async fn browsers_may_call_and_read_what_they_need() {
    let service = Service::start().await;
    let preflight = service
        .client
        .request(reqwest::Method::OPTIONS, format!("{}/v1/quote", service.base))
        .header("origin", "https://wallet.example")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "content-type,x-api-key")
        .send()
        .await
        .unwrap();
    assert_eq!(preflight.status(), 200);
    assert_eq!(preflight.headers()["access-control-allow-origin"], "*");
    assert!(preflight.headers()["access-control-allow-headers"].to_str().unwrap().contains("x-api-key"));

    let refused =
        service.post("/v1/quote", &Value::Null).header("origin", "https://wallet.example").send().await.unwrap();
    assert_eq!(refused.headers()["access-control-allow-origin"], "*");
    assert!(refused.headers()["access-control-expose-headers"].to_str().unwrap().contains("ratelimit"));
}

#[tokio::test]
async fn only_listed_origins_may_call_where_origins_are_listed() {
    let config = Config { cors_origins: vec!["https://a.example".into()], ..Config::default() };
    let service = Service::with(config).await;
    let allowed = async |origin: &str| {
        let response = service.get("/health").header("origin", origin).send().await.unwrap();
        response.headers().contains_key("access-control-allow-origin")
    };
    assert!(allowed("https://a.example").await);
    assert!(!allowed("https://b.example").await);
}

#[tokio::test]
async fn a_star_among_the_origins_lets_any_origin_call() {
    let service = Service::with(Config { cors_origins: vec!["*".into()], ..Config::default() }).await;
    let response = service.get("/health").header("origin", "https://c.example").send().await.unwrap();
    assert_eq!(response.headers()["access-control-allow-origin"], "*");
}

#[tokio::test]
async fn a_client_that_accepts_no_coding_is_answered_without_one() {
    let service = Service::start().await;
    for accepts in ["identity;q=0", "*;q=0", "br;q=1, identity;q=0"] {
        let response = service.post("/v1/quote", &request()).header("accept-encoding", accepts).send().await.unwrap();
        assert_eq!(response.status(), 200, "{accepts}");
        assert!(!response.headers().contains_key("content-encoding"));
        assert!(response.json::<Value>().await.unwrap()["data"]["quote_id"].is_string());
    }
    let gzip = service.post("/v1/quote", &request()).header("accept-encoding", "identity;q=0, gzip");
    assert_eq!(gzip.send().await.unwrap().headers()["content-encoding"], "gzip");
}

#[tokio::test]
async fn answers_are_nobodys_to_keep() {
    let service = Service::start().await;
    let id = service.quote(&request()).await["quote_id"].as_str().unwrap().to_owned();
    let build = serde_json::json!({"quote_id": id});
    for call in [
        service.post("/v1/quote", &request()),
        service.get(&format!("/v1/quote/{id}")),
        service.post("/v1/build", &build),
        service.get("/v1/network"),
        service.get("/nope"),
    ] {
        assert_eq!(call.send().await.unwrap().headers()["cache-control"], "no-store");
    }
}

#[tokio::test]
async fn a_path_that_is_no_text_is_a_problem_too() {
    let service = Service::start().await;
    let (status, body) = problem(service.get("/v1/quote/%ff").send().await.unwrap()).await;
    assert_eq!((status, body["code"].as_str()), (404, Some("QUOTE_NOT_FOUND")));
    let long = format!("/{}", "x".repeat(20_000));
    let (status, body) = problem(service.get(&long).send().await.unwrap()).await;
    assert_eq!(status, 404);
    assert!(body["instance"].as_str().unwrap().len() < 200);
}

#[tokio::test]
async fn long_answers_are_compressed_for_those_who_ask() {
    let service = Service::start().await;
    for coding in ["gzip", "zstd"] {
        let response = service.post("/v1/quote", &request()).header("accept-encoding", coding).send().await.unwrap();
        assert_eq!(response.headers()["content-encoding"], coding);
        assert!(response.bytes().await.unwrap().len() < 3_000);
    }
    let plain = service.post("/v1/quote", &request()).send().await.unwrap();
    assert!(!plain.headers().contains_key("content-encoding"));
}

#[tokio::test]
async fn a_stopped_service_finishes_what_it_has_begun() {
    let service = Service::start().await;
    let asked = tokio::spawn(service.post("/v1/quote", &swap(&crate::support::USDC.to_string(), "5", "0x12")).send());
    let answered = asked.await.unwrap().unwrap();
    assert_eq!(answered.status(), 422);
    let base = service.base.clone();
    let client = service.client.clone();
    service.stop().await;
    assert!(client.get(format!("{base}/health")).send().await.is_err());
}

#[tokio::test]
async fn requests_are_counted_by_route_status_and_problem() {
    let service = Service::start().await;
    service.quote(&request()).await;
    service.refused_quote(&Value::Null).await;
    service.get("/made/up/by/a/client").send().await.unwrap();
    let text = service.get("/metrics").send().await.unwrap().text().await.unwrap();
    for line in [
        "braid_http_request_seconds_count{route=\"/v1/quote\",status=\"200\"} 1",
        "braid_http_request_seconds_count{route=\"/v1/quote\",status=\"422\"} 1",
        "braid_http_request_seconds_count{route=\"other\",status=\"404\"} 1",
        "braid_http_problems_total{route=\"/v1/quote\",code=\"VALIDATION_FAILED\"} 1",
        "braid_http_problems_total{route=\"other\",code=\"NOT_FOUND\"} 1",
        "braid_solve_seconds_count 1",
        "braid_certificate_gap_bps_count 1",
        "braid_quoting 1",
        "braid_market_block 20000000",
        "braid_market_pools 7",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}

/// Asks again as another taker, who gets an own quote of the same route, and again on the next market.
#[tokio::test]
async fn the_same_sale_is_solved_once_on_a_market() {
    let service = Service::start().await;
    let other = request_of("0x00000000000000000000000000000000000000b0");
    let reused = async || {
        let text = service.get("/metrics").send().await.unwrap().text().await.unwrap();
        let count = text.lines().find_map(|line| line.strip_prefix("braid_reused_solutions_total "));
        count.unwrap().parse::<u32>().unwrap()
    };
    let first = service.quote(&request()).await;
    assert_eq!(reused().await, 0);
    let second = service.quote(&other).await;
    assert_eq!(reused().await, 1);
    assert_ne!(first["quote_id"], second["quote_id"]);
    for same in ["path", "estimated_outputs", "certificate"] {
        assert_eq!(first[same], second[same], "{same}");
    }
    service.publish(market(1_001));
    service.quote(&other).await;
    assert_eq!(reused().await, 1, "another market");
    let mut fewer = request();
    fewer["max_steps"] = 1.into();
    service.quote(&fewer).await;
    assert_eq!(reused().await, 1, "another request");
}

/// Returns the usual request of another taker.
fn request_of(taker: &str) -> Value {
    let mut body = request();
    body["taker"] = taker.into();
    body
}

#[tokio::test]
async fn the_explorer_is_served_under_a_strict_policy() {
    let service = Service::start().await;
    let get = async |path: &str| service.client.get(format!("{}{path}", service.base)).send().await.unwrap();
    for (path, kind) in [
        ("/", "text/html; charset=utf-8"),
        ("/explorer/app.js", "text/javascript; charset=utf-8"),
        ("/explorer/app.css", "text/css; charset=utf-8"),
        ("/explorer/icon.svg", "image/svg+xml"),
    ] {
        let answer = get(path).await;
        assert_eq!(
            (answer.status().as_u16(), answer.headers()["content-type"].to_str().unwrap()),
            (200, kind),
            "{path}"
        );
        let policy = answer.headers()["content-security-policy"].to_str().unwrap();
        for part in ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{path}: {policy}");
        assert_eq!(answer.headers()["x-content-type-options"], "nosniff");
        assert!(answer.headers().contains_key("etag"));
    }
    let page = get("/").await.text().await.unwrap();
    assert!(!page.contains("<script>") && !page.contains("style=") && !page.contains("http"), "{page}");
    assert_eq!(problem(get("/explorer/other.js").await).await.0, 404);
}

#[test]
fn the_built_page_holds_what_its_entry_names() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../explorer/dist");
    let page = std::fs::read_to_string(folder.join("index.html")).unwrap();
    let named = page.split('"').filter_map(|part| part.strip_prefix("/explorer/"));
    let named: Vec<&str> = named.collect();
    assert_eq!(named, ["icon.svg", "app.js", "app.css"]);
    let mut found: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    found.sort();
    assert_eq!(found, ["app.css", "app.js", "icon.svg", "index.html"], "the service serves these alone");
}

#[tokio::test]
async fn a_service_that_is_told_to_stop_says_so_first_and_answers_meanwhile() {
    let config = Config { stop_delay: Duration::from_secs(3_600), ..Config::default() };
    let service = Service::with(config).await;
    let (client, base) = (service.client.clone(), service.base.clone());
    let quote = service.post("/v1/quote", &request());
    let watching = tokio::spawn(async move {
        loop {
            let ready = client.get(format!("{base}/ready")).send().await.unwrap();
            if ready.status() == 503 {
                let body: Value = ready.json().await.unwrap();
                return (body["status"].clone(), quote.send().await.unwrap().status());
            }
        }
    });
    let (status, quoted) = tokio::select! {
        answers = watching => answers.unwrap(),
        _ = service.stop() => panic!("it stopped before its time"),
    };
    assert_eq!((status, quoted.as_u16()), (Value::from("stopping"), 200));
}
