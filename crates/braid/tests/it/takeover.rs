//! A service that publishes the market is killed: another one takes over, and a service without a node goes on with it.

use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use braid_devnet::{Devnet, Options, accounts, tokens};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::service::{KEY, Service};

/// How long a service quotes on its last market, less what a slow machine may need for one answer.
const QUOTES_ON: Duration = Duration::from_secs(25);

/// How long a service may take to verify what a quote needs, or to read all pools, on a machine under full load.
const PATIENCE: Duration = Duration::from_secs(120);

/// A `redis-server`, or the server that `BRAID_TEST_REDIS_SERVER` names, on a socket of its own.
struct Redis {
    process: Child,
    dir: TempDir,
}

impl Redis {
    fn start() -> Self {
        Self::start_in(tempfile::tempdir().unwrap())
    }

    fn start_in(dir: TempDir) -> Self {
        let socket = dir.path().join("redis.sock");
        let program = std::env::var_os("BRAID_TEST_REDIS_SERVER").unwrap_or_else(|| "redis-server".into());
        let process = Command::new(&program)
            .args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"])
            .arg(&socket)
            .stdout(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{program:?} is needed (Debian: apt-get install redis-server): {error}"));
        while UnixStream::connect(&socket).is_err() {
            std::thread::yield_now();
        }
        Self { process, dir }
    }

    fn url(&self) -> String {
        Self::url_in(&self.dir)
    }

    fn url_in(dir: &TempDir) -> String {
        format!("redis+unix://{}", dir.path().join("redis.sock").display())
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The status and the body of a quote.
async fn quote(service: &Service) -> (u16, Value) {
    let usdc = tokens::by_symbol("USDC");
    let body = json!({
        "inputs": [{"chain_id": 1, "address": usdc.address, "amount": usdc.units(5_000).to_string()}],
        "outputs": [{"chain_id": 1, "address": tokens::by_symbol("WETH").address, "ratio_bps": 10000}],
        "taker": accounts::TAKER,
    });
    let call = reqwest::Client::new().post(format!("{}/v1/quote", service.base)).header("x-api-key", KEY);
    let response = call.json(&body).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

fn block_of(quote: &Value) -> u64 {
    quote["data"]["block"]["number"].as_u64().unwrap_or_default()
}

/// Returns whether a quote goes without a token or a pool that its service could not verify in the time of one quote,
/// as happens on a busy machine.
fn is_cautious(quote: &Value) -> bool {
    let mut warnings = quote["data"]["warnings"].as_array().unwrap().iter();
    warnings.any(|warning| warning["code"] == "TOKEN_UNCHECKED")
        || quote["data"]["certificate"]["excluded"]["quarantined"] != 0
}

/// The quote of a service once it quotes on a block, with everything that the quote needs verified.
async fn quote_at(service: &Service, number: u64) -> Value {
    let begun = Instant::now();
    loop {
        let (status, quote) = quote(service).await;
        if status == 200 && block_of(&quote) >= number {
            assert_eq!(block_of(&quote), number);
            if !is_cautious(&quote) {
                return quote["data"].clone();
            }
        }
        assert!(begun.elapsed() < PATIENCE, "{status} after {PATIENCE:?}: {quote:#}");
    }
}

/// Waits until all services have as many pools: a pool that could not be read on a busy machine is read again later.
async fn same_pools(services: &[&Service]) {
    let begun = Instant::now();
    loop {
        let mut counts = Vec::new();
        for service in services {
            let ready: Value = service.get("/ready").send().await.unwrap().json().await.unwrap();
            counts.push(ready["pools"].as_u64().unwrap());
        }
        if counts.iter().all(|count| *count > 0 && *count == counts[0]) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{counts:?} pools after {PATIENCE:?}");
    }
}

/// Mines a block, on which all services must quote the same. Returns its number.
async fn next_block(chain: &Devnet, services: &[&Service]) -> u64 {
    chain.mine(1).await.unwrap();
    let number = chain.rpc().block_number().await.unwrap();
    let block: Value = chain.rpc().call("eth_getBlockByNumber", json!([format!("{number:#x}"), false])).await.unwrap();
    let mut first = None;
    for service in services {
        let quote = quote_at(service, number).await;
        assert_eq!(quote["block"]["hash"], block["hash"]);
        let told = ["estimated_outputs", "path"].map(|part| quote[part].clone());
        let why = format!("{}: {:#}, {:#}", service.base, quote["certificate"], quote["costs"]);
        assert_eq!(*first.get_or_insert_with(|| told.clone()), told, "{why}");
    }
    number
}

#[tokio::test(flavor = "multi_thread")]
async fn a_publisher_that_is_killed_is_replaced_and_quotes_go_on() {
    let (chain, redis) = (Devnet::start(Options::default()).await.unwrap(), Redis::start());
    let (url, shared) = (chain.http_url(), redis.url());
    let dirs: [TempDir; 3] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    let node = ["--rpc-url", &url, "--redis", &shared];
    let mut first = Service::start_with(&node, dirs[0].path()).await;
    let follower = Service::start_with(&["--follow", "--redis", &shared], dirs[1].path()).await;
    let second = Service::start_with(&node, dirs[2].path()).await;
    same_pools(&[&first, &second, &follower]).await;
    for _ in 0..2 {
        next_block(&chain, &[&first, &second, &follower]).await;
    }

    // SIGKILL. Blocks come while nobody publishes.
    first.process.kill().unwrap();
    let killed = Instant::now();
    chain.mine(3).await.unwrap();
    let newest = chain.rpc().block_number().await.unwrap();
    loop {
        let (status, quote) = quote(&follower).await;
        assert!(status == 200 || killed.elapsed() > QUOTES_ON, "{status} after {:?}: {quote:#}", killed.elapsed());
        if block_of(&quote) == newest {
            break;
        }
    }
    for _ in 0..2 {
        next_block(&chain, &[&second, &follower]).await;
    }
}

/// With `--redis`, no service started while the server was down.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_starts_without_its_redis_server_and_uses_it_once_it_answers() {
    let chain = Devnet::start(Options::default()).await.unwrap();
    let [data, dir] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    let source = ["--rpc-url", &chain.http_url(), "--redis", &Redis::url_in(&dir)];
    let service = Service::start_with(&source, data.path()).await;
    let ready = async || service.get("/ready").send().await.unwrap().json::<Value>().await.unwrap();
    let before = ready().await;
    assert_eq!((&before["status"], &before["checks"]["replicas"]), (&json!("degraded"), &json!("failing")));
    let _redis = Redis::start_in(dir);
    let begun = Instant::now();
    while ready().await["checks"]["replicas"] != "ok" {
        assert!(begun.elapsed() < PATIENCE, "it is not used after {PATIENCE:?}");
    }
}

/// `braid swap --send` sent the approval to the chain, and then refused the swap.
#[tokio::test(flavor = "multi_thread")]
async fn a_swap_by_a_service_that_cannot_simulate_sends_no_approval() {
    let (chain, redis) = (Devnet::start(Options::default()).await.unwrap(), Redis::start());
    let (url, shared) = (chain.http_url(), redis.url());
    let dirs: [TempDir; 2] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    let publisher = Service::start_with(&["--rpc-url", &url, "--redis", &shared], dirs[0].path()).await;
    let follower = Service::start_with(&["--follow", "--redis", &shared], dirs[1].path()).await;
    same_pools(&[&publisher, &follower]).await;
    let before = next_block(&chain, &[&publisher, &follower]).await;
    let mut command = Command::new(env!("CARGO_BIN_EXE_braid"));
    command.args(["swap", "5000", "USDC", "WETH", "--rpc-url", &url, "--api", &follower.base, "--send"]).env_clear();
    command.env("BRAID_PRIVATE_KEY", accounts::TAKER_KEY.to_string()).env("BRAID_API_KEY", KEY);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{told}");
    assert!(told.contains("cannot be simulated") && told.trim_end().ends_with("or leave out --api"), "{told}");
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("approval     the proxy may take 5000 USDC"), "{shown}");
    assert_eq!(chain.rpc().block_number().await.unwrap(), before, "nothing was sent");
}
