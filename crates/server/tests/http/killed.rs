//! Tests a service that is killed repeatedly under load: every quote that was answered as safe can be built afterwards.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use braid_server::{Config, LimitsConfig};
use braid_store::Replicas;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::Notify;

use crate::replicas::PATIENCE;
use crate::support::{KEY, NOW_MS, Service, data, market, request};

/// The variable that makes the process serve, with the data directory.
const DIR: &str = "BRAID_TEST_DATA_DIR";

/// The variable with the Redis server that it shares with others, if any.
const REDIS: &str = "BRAID_TEST_REDIS";

/// How often a service is killed by default.
const KILLS: usize = 20;

/// The variable that sets another number.
const KILLS_ASKED: &str = "BRAID_TEST_KILLS";

const CLIENTS: usize = 8;

/// The maximum number of answers before a service is killed.
const ANSWERS: usize = 50;

/// The process that the next test kills. Run as a test, it does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn serves_where_it_is_told_to() {
    let Ok(dir) = std::env::var(DIR) else { return };
    let limits = LimitsConfig { keyed_per_min: u32::MAX, ..LimitsConfig::default() };
    let config = Config { limits, ..Config::default() };
    let replicas = match std::env::var(REDIS) {
        Ok(url) => Some(Replicas::connect_with(&url, PATIENCE).await.unwrap()),
        Err(_) => None,
    };
    let service = Service::sharing(config, Arc::new(PathBuf::from(dir)), NOW_MS, replicas).await;
    service.publish(market(1_000));
    println!("\nserving {}", service.base);
    std::future::pending::<()>().await;
}

/// A service in its own process.
pub(crate) struct Served {
    pub(crate) process: Child,
    pub(crate) base: String,
}

async fn start(dir: &Path) -> Served {
    start_with(dir, None).await
}

/// Starts a service, which may share a server with others.
pub(crate) async fn start_with(dir: &Path, redis: Option<String>) -> Served {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .envs(redis.map(|url| (REDIS, url)))
        .args(["--exact", "killed::serves_where_it_is_told_to", "--nocapture"])
        .env(DIR, dir)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    loop {
        let line = lines.next_line().await.unwrap().expect("the service ended");
        if let Some(base) = line.strip_prefix("serving ") {
            return Served { process, base: base.into() };
        }
    }
}

/// Requests quotes until the service is gone. Returns the quotes that were answered without a warning about the disk.
async fn quote_until_gone(
    client: reqwest::Client,
    base: String,
    count: Arc<AtomicUsize>,
    answers: usize,
    enough: Arc<Notify>,
) -> Vec<Value> {
    let mut safe = Vec::new();
    let call = || client.post(format!("{base}/v1/quote")).body(request().to_string());
    while let Ok(response) = call().header("content-type", "application/json").header("x-api-key", KEY).send().await {
        // A truncated answer counts as none.
        let Ok(body) = response.json::<Value>().await else { break };
        // Requests beyond what the machine takes at once are refused.
        let Some(warnings) = body["data"]["warnings"].as_array() else { continue };
        if warnings.iter().all(|warning| warning["code"] != "QUOTE_NOT_ON_DISK") {
            safe.push(body["data"]["quote_id"].clone());
        }
        if count.fetch_add(1, Ordering::Relaxed) + 1 >= answers {
            enough.notify_one();
        }
    }
    safe
}

async fn all_can_be_built(client: &reqwest::Client, base: &str, ids: &[Value]) {
    for id in ids {
        let call = client.post(format!("{base}/v1/build")).body(json!({"quote_id": id}).to_string());
        let call = call.header("content-type", "application/json").header("x-api-key", KEY);
        assert_eq!(data(call.send().await.unwrap()).await["quote_id"], *id);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kills_under_load_lose_no_quote_that_was_answered() {
    let dir = tempfile::tempdir().unwrap();
    let kills = std::env::var(KILLS_ASKED).map_or(KILLS, |text| text.parse().unwrap());
    let (mut answered, mut expected, mut before, mut all) = (0, 0, Vec::new(), Vec::new());
    let (mut dice, mut longest) = (StdRng::seed_from_u64(7), Duration::ZERO);
    for _ in 0..kills {
        let begun = Instant::now();
        let mut served = start(dir.path()).await;
        longest = longest.max(begun.elapsed());
        let client = reqwest::Client::new();
        all_can_be_built(&client, &served.base, &before).await;
        let (count, enough) = (Arc::<AtomicUsize>::default(), Arc::<Notify>::default());
        let answers = dice.random_range(1..=ANSWERS);
        expected += answers;
        let clients = (0..CLIENTS).map(|_| {
            let (count, enough) = (Arc::clone(&count), Arc::clone(&enough));
            tokio::spawn(quote_until_gone(client.clone(), served.base.clone(), count, answers, enough))
        });
        let clients: Vec<_> = clients.collect();
        enough.notified().await;
        // SIGKILL, in the middle of other answers.
        served.process.kill().await.unwrap();
        before.clear();
        for client in clients {
            before.extend(client.await.unwrap());
        }
        answered += count.load(Ordering::Relaxed);
        all.extend(before.iter().cloned());
    }
    let mut served = start(dir.path()).await;
    all_can_be_built(&reqwest::Client::new(), &served.base, &all).await;
    served.process.kill().await.unwrap();
    println!(
        "{answered} quotes answered, {} of them said to be safe, all of these built after {kills} kills; up again after {longest:?} at most",
        all.len()
    );
    assert!(answered >= expected && all.len() > kills, "{} of {answered}", all.len());
}
