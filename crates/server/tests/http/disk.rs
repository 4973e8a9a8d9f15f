//! Tests of the service on a disk that fails and recovers, and of the space that quotes take.

use std::path::Path;
use std::sync::Arc;

use braid_primitives::WETH;
use braid_server::Config;
use braid_store::QuoteRecord;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::mount::Mount;
use crate::support::{DAI, NOW_MS, Service, USDC, WBTC, market, problem, request, swap};

/// Returns the overall readiness and that of the disk.
async fn readiness(service: &Service) -> (String, String) {
    let ready: Value = service.get("/ready").send().await.unwrap().json().await.unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&ready["status"]), text(&ready["checks"]["store"]))
}

/// Returns whether an answer warns that its quote is only in memory.
fn warned(quote: &Value) -> bool {
    quote["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == "QUOTE_NOT_ON_DISK")
}

fn says(status: &str, store: &str) -> (String, String) {
    (status.into(), store.into())
}

#[tokio::test]
async fn a_full_disk_is_said_in_every_answer_and_heals_by_itself() {
    let Some(mount) = Mount::in_memory(512) else { return };
    let dir = Arc::new(tempfile::tempdir_in(mount.path()).unwrap());
    let service = Service::without_market(Config::default(), dir, NOW_MS).await;
    service.publish(market(1_000));
    assert_eq!(readiness(&service).await, says("ready", "ok"));
    mount.fill(0);
    let mut quotes = Vec::new();
    for _ in 0..5 {
        quotes.push(service.quote(&request()).await);
    }
    assert!(quotes.iter().all(warned));
    assert_eq!(readiness(&service).await, says("degraded", "failing"));
    for quote in &quotes {
        service.build(&json!({"quote_id": quote["quote_id"]})).await;
        let path = format!("/v1/quote/{}", quote["quote_id"].as_str().unwrap());
        let stored: Value = service.get(&path).send().await.unwrap().json().await.unwrap();
        assert_eq!(stored["data"], *quote, "word for word, the warning too");
    }
    let text = service.get("/metrics").send().await.unwrap().text().await.unwrap();
    assert!(text.lines().any(|line| line == "braid_quotes_waiting 5"), "{text}");

    mount.empty();
    service.app.stored.store.flush().unwrap();
    assert_eq!(readiness(&service).await, says("ready", "ok"));
    assert!(!warned(&service.quote(&request()).await));
    let dir = service.stop().await;
    let service = Service::without_market(Config::default(), dir, NOW_MS).await;
    service.publish(market(1_000));
    for quote in &quotes {
        service.build(&json!({"quote_id": quote["quote_id"]})).await;
    }
}

/// `/ready` was 200 while every quote was refused, so that a load balancer kept sending requests.
#[tokio::test]
async fn readiness_is_503_while_quotes_are_refused_because_none_can_be_kept() {
    let service = Service::start().await;
    let (store, dir) = (&service.app.stored.store, service.data_dir().join("quotes"));
    std::fs::remove_dir_all(&dir).unwrap();
    let waits = QuoteRecord { keep_until_ms: u64::MAX, body: vec![0; 64 << 20].into() };
    store.put(Uuid::now_v7(), waits).unwrap();
    store.flush().unwrap_err();
    assert_eq!(readiness(&service).await, says("degraded", "failing"));
    assert_eq!(service.get("/ready").send().await.unwrap().status(), 200, "no quote was refused yet");

    let (status, answer) = service.refused_quote(&request()).await;
    assert_eq!((status, answer["code"].as_str()), (503, Some("OVERLOADED")));
    assert_eq!(readiness(&service).await, says("degraded", "full"));
    assert_eq!(service.get("/ready").send().await.unwrap().status(), 503);

    std::fs::create_dir(&dir).unwrap();
    store.flush().unwrap();
    assert_eq!(readiness(&service).await, says("ready", "ok"));
    service.quote(&request()).await;
}

#[tokio::test]
async fn a_damaged_key_file_leaves_public_reads_alone_and_is_said() {
    let service = Service::start().await;
    let path = service.data_dir().join("keys.json");
    std::fs::write(&path, "{").unwrap();
    let with_key = async |call: reqwest::RequestBuilder| call.header("x-api-key", "of the file").send().await.unwrap();
    let prices = format!("/v1/prices?addresses={USDC}");
    for path in ["/v1/chains", "/v1/tokens", "/v1/protocols", &prices, "/v1/network", "/health"] {
        let call = service.client.get(format!("{}{path}", service.base));
        assert_eq!(with_key(call).await.status(), 200, "{path}");
    }
    let call = service.client.post(format!("{}/v1/quote", service.base)).body(request().to_string());
    let (status, body) = problem(with_key(call.header("content-type", "application/json")).await).await;
    assert_eq!((status, body["detail"].as_str()), (500, Some("the service's API keys cannot be read")));
    // A key that is given at the start is not in the file.
    service.quote(&request()).await;
    assert_eq!(readiness(&service).await, says("degraded", "keys"));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(readiness(&service).await, says("ready", "ok"));
}

#[tokio::test]
async fn a_stored_quote_takes_two_kilobytes_at_most() {
    let service = Service::start().await;
    let (usdc, dai, wbtc, weth) = (USDC.to_string(), DAI.to_string(), WBTC.to_string(), WETH.to_string());
    let mut sizes = Vec::new();
    for (from, amount, to) in [
        (&usdc, "1000000000", &weth),
        (&usdc, "900000000000", &wbtc),
        (&dai, "123456789012345678901234", &wbtc),
        (&weth, "77777777777777777777", &dai),
        (&wbtc, "12345678", &usdc),
    ] {
        for (explain, simulate) in [(false, false), (true, true)] {
            let mut body = swap(from, amount, to);
            body["explain"] = explain.into();
            body["simulate"] = simulate.into();
            let before = size(service.data_dir());
            let quote = service.quote(&body).await;
            service.app.stored.store.flush().unwrap();
            let steps = quote["path"]["steps"].as_array().unwrap().len();
            sizes.push((steps, quote.to_string().len(), size(service.data_dir()) - before));
        }
    }
    println!("steps, bytes of the answer, bytes on disk: {sizes:?}");
    assert!(sizes.iter().all(|(.., bytes)| (200..2_000).contains(bytes)), "{sizes:?}");
}

/// Returns the size of the files of quotes, in bytes.
fn size(dir: &Path) -> u64 {
    std::fs::read_dir(dir.join("quotes")).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}
