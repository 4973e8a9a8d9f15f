//! What a simulation adds to a quote, over HTTP on a local chain: with the block's state known, with every quote in a
//! new block over a node that answers late, and when more is asked for than can be done.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, missing_docs)]

#[path = "../tests/devnet/stand_in.rs"]
#[allow(unreachable_pub, dead_code)]
mod stand_in;

use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_devnet::{Devnet, Options, accounts};
use braid_ethereum::{Follower, FollowerConfig, FollowerHandle, Node};
use braid_server::{App, Config, LimitsConfig, MarketFeed, Parts, SystemClock, router};
use braid_store::{KeyStore, QuoteStore};
use serde_json::{Value, json};

use stand_in::StandIn;

/// Clients that ask at once, in the row with too much to do.
const CLIENTS: usize = 24;

const ROUNDS: usize = 300;

#[tokio::main]
async fn main() {
    // cargo test runs benches too: once is enough there
    let rounds = if std::env::args().any(|arg| arg == "--bench") { ROUNDS } else { 1 };
    let chain = Devnet::start(Options::default()).await.unwrap();
    let stand_in = StandIn::before(chain.http_url(), true).await;
    let node = Node::connect(&stand_in.url).await.unwrap();
    // a connection of its own, so that the service's messages can be counted
    let followed = Node::connect(&chain.http_url()).await.unwrap();
    let mut follower = Follower::spawn(followed, FollowerConfig::default());
    let feed = Arc::new(MarketFeed::new(follower.status.clone()));
    follow(&chain, &mut follower, &feed).await;
    let dir = tempfile::tempdir().unwrap();
    let limits = LimitsConfig { keyed_per_min: u32::MAX, ..LimitsConfig::default() };
    let app = App::new(Parts {
        config: Config { limits, ..Config::default() },
        clock: Arc::new(SystemClock),
        feed: Arc::clone(&feed),
        node: Some(node),
        keys: KeyStore::open(dir.path()).unwrap().with_fixed("bench", "bench"),
        quotes: QuoteStore::open(dir.path()).unwrap(),
        replicas: None,
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/quote", listener.local_addr().unwrap());
    tokio::spawn(axum::serve(listener, router(&app)).into_future());

    let client = reqwest::Client::new();
    let mut body = json!({
        "inputs": [{"chain_id": 1, "address": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "amount": "5000000000"}],
        "outputs": [{"chain_id": 1, "address": "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2", "ratio_bps": 10000}],
        "taker": accounts::OTHER,
    });
    println!("| quotes | p50 ms | p99 ms | messages | simulated | refused |\n| --- | --- | --- | --- | --- | --- |");
    for (latency_ms, simulate, new_blocks) in
        [(0, false, false), (0, true, false), (0, true, true), (50, true, true), (100, false, true), (100, true, true)]
    {
        body["simulate"] = simulate.into();
        stand_in.set_latency(Duration::from_millis(latency_ms));
        // tokens are checked once
        while ask(&client, &url, &body).await.1["data"].is_null() {}
        let before = stand_in.asked()[0];
        let mut row = Row::default();
        for _ in 0..rounds {
            if new_blocks {
                chain.mine(1).await.unwrap();
                follow(&chain, &mut follower, &feed).await;
            }
            row.note(ask(&client, &url, &body).await);
        }
        let messages = stand_in.asked()[0] - before;
        let blocks = if new_blocks { "each in a new block" } else { "in one block" };
        row.print(&format!("node {latency_ms} ms away, simulate {simulate}, {blocks}"), messages);
    }
    stand_in.set_latency(Duration::ZERO);
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..CLIENTS {
        let (client, url, body) = (client.clone(), url.clone(), body.clone());
        asking.spawn(async move {
            let mut answers = Vec::new();
            for _ in 0..rounds {
                answers.push(ask(&client, &url, &body).await);
            }
            answers
        });
    }
    let mut row = Row::default();
    asking.join_all().await.into_iter().flatten().for_each(|answer| row.note(answer));
    row.print(&format!("{CLIENTS} clients at once, simulate true"), 0);
}

/// What came of some quotes.
#[derive(Default)]
struct Row {
    took: Vec<Duration>,
    simulated: usize,
    refused: usize,
}

impl Row {
    fn note(&mut self, (took, answer): (Duration, Value)) {
        if answer["data"].is_null() {
            self.refused += 1;
            return;
        }
        self.took.push(took);
        self.simulated += usize::from(answer["data"]["simulation"]["status"] == "success");
    }

    fn print(mut self, name: &str, messages: u64) {
        self.took.sort_unstable();
        let ms = |part: usize| {
            self.took.get((self.took.len().max(1) - 1) * part / 100).map_or(0.0, |took| took.as_secs_f64() * 1e3)
        };
        let (simulated, refused) = (self.simulated, self.refused);
        println!(
            "| {name} | {:.1} | {:.1} | {messages} | {simulated} of {} | {refused} |",
            ms(50),
            ms(99),
            self.took.len()
        );
    }
}

/// Puts the market of the chain's newest block in front of the service.
async fn follow(chain: &Devnet, follower: &mut FollowerHandle, feed: &MarketFeed) {
    let newest = chain.rpc().block_number().await.unwrap();
    loop {
        let head = follower.heads.borrow_and_update().clone();
        if let Some(head) = head.filter(|head| head.block().number >= newest) {
            feed.publish(head);
            return;
        }
        follower.heads.changed().await.unwrap();
    }
}

async fn ask(client: &reqwest::Client, url: &str, body: &Value) -> (Duration, Value) {
    let started = Instant::now();
    let answer = client.post(url).header("x-api-key", "bench").json(body).send().await.unwrap().json().await.unwrap();
    (started.elapsed(), answer)
}
