//! What a simulation adds to a quote once the block's state is warm, over HTTP on a local chain.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, missing_docs)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_devnet::{Devnet, Options, accounts};
use braid_ethereum::{Follower, FollowerConfig, Node};
use braid_server::{App, Config, LimitsConfig, MarketFeed, Parts, SystemClock, router};
use braid_store::{KeyStore, QuoteStore};
use serde_json::{Value, json};

const ROUNDS: usize = 300;

#[tokio::main]
async fn main() {
    // cargo test runs benches too: once is enough there
    let rounds = if std::env::args().any(|arg| arg == "--bench") { ROUNDS } else { 1 };
    let chain = Devnet::start(Options::default()).await.unwrap();
    let node = Node::connect(&chain.http_url()).await.unwrap();
    // a connection of its own, so that the service's calls can be counted
    let followed = Node::connect(&chain.http_url()).await.unwrap();
    let mut follower = Follower::spawn(followed, FollowerConfig::default());
    let feed = Arc::new(MarketFeed::new(follower.status.clone()));
    let newest = chain.rpc().block_number().await.unwrap();
    loop {
        let head = follower.heads.borrow_and_update().clone();
        if let Some(head) = head.filter(|head| head.block().number >= newest) {
            feed.publish(head);
            break;
        }
        follower.heads.changed().await.unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    let limits = LimitsConfig { keyed_per_min: u32::MAX, ..LimitsConfig::default() };
    let app = App::new(Parts {
        config: Config { limits, ..Config::default() },
        clock: Arc::new(SystemClock),
        feed,
        node: Some(node.clone()),
        keys: KeyStore::open(dir.path()).unwrap().with_fixed("bench", "bench"),
        quotes: QuoteStore::open(dir.path()).unwrap(),
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/quote", listener.local_addr().unwrap());
    tokio::spawn(axum::serve(listener, router(&app)).into_future());

    let client = reqwest::Client::new();
    let mut body = json!({
        "inputs": [{"chain_id": 1, "address": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "amount": "5000000000"}],
        "outputs": [{"chain_id": 1, "address": "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2", "ratio_bps": 10000}],
        "taker": accounts::OTHER,
        "check_allowances": false,
        "include_permit2": false,
    });
    println!("| quote | p50 ms | p99 ms | node calls |\n| --- | --- | --- | --- |");
    for simulate in [false, true] {
        body["simulate"] = simulate.into();
        let warm: Value = ask(&client, &url, &body).await.1;
        let status = &warm["data"]["simulation"]["status"];
        assert!(!simulate || status == "success", "{warm:#}");
        let before = node.traffic();
        let mut took = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            took.push(ask(&client, &url, &body).await.0);
        }
        took.sort_unstable();
        let ms = |part: usize| took[(took.len() - 1) * part / 100].as_secs_f64() * 1e3;
        let calls = node.traffic().calls - before.calls;
        println!("| simulate: {simulate} | {:.2} | {:.2} | {calls} |", ms(50), ms(99));
    }
}

async fn ask(client: &reqwest::Client, url: &str, body: &Value) -> (Duration, Value) {
    let started = Instant::now();
    let answer = client.post(url).header("x-api-key", "bench").json(body).send().await.unwrap().json().await.unwrap();
    (started.elapsed(), answer)
}
