//! Several services that share a real `redis-server`, or the server that `BRAID_TEST_REDIS_SERVER` names.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_primitives::{Address, U256};
use braid_server::{Config, LimitsConfig};
use braid_store::{KeyStore, KeyTerms, Replicas, SharedKeys};
use futures::StreamExt as _;
use serde_json::{Value, json};

use crate::killed::{Served, start_with};
use crate::network::{Network, network};
use crate::support::{KEY, NOW_MS, Service, data, market, problem, request};

/// How long a test waits for an answer before it gives up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// A server on a socket of its own, with nothing on disk.
pub(crate) struct Redis {
    process: Child,
    pub(crate) dir: tempfile::TempDir,
}

impl Redis {
    pub(crate) fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { process: Self::run(dir.path()), dir }
    }

    fn run(dir: &Path) -> Child {
        let socket = dir.join("redis.sock");
        let _ = std::fs::remove_file(&socket);
        let program = std::env::var_os("BRAID_TEST_REDIS_SERVER").unwrap_or_else(|| "redis-server".into());
        let mut process = Command::new(&program)
            .args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"])
            .arg(&socket)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{program:?} is needed (Debian: apt-get install redis-server): {error}"));
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let ready = lines.by_ref().any(|line| line.unwrap().to_lowercase().contains("ready to accept connections"));
        assert!(ready, "{program:?} ended");
        std::thread::spawn(move || lines.for_each(drop));
        process
    }

    pub(crate) fn url(&self) -> String {
        format!("redis+unix://{}", self.dir.path().join("redis.sock").display())
    }

    /// Waits for answers, however slow the machine is.
    pub(crate) async fn connect(&self) -> Replicas {
        Replicas::connect_with(&self.url(), PATIENCE).await.unwrap()
    }

    /// How many commands it was given that write or read what services share.
    fn asked(&self) -> usize {
        let told = self.command(&["info", "commandstats"]);
        let calls = |line: &str| line.split_once("calls=")?.1.split(',').next()?.parse::<usize>().ok();
        let own = |line: &&str| {
            ["info", "client", "hello", "ping"].iter().all(|name| !line.starts_with(&format!("cmdstat_{name}")))
        };
        told.lines().filter(own).filter_map(calls).sum()
    }

    /// Kills it, with all that it held.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    pub(crate) fn restart(&mut self) {
        self.process = Self::run(self.dir.path());
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.process.id().to_string()]).status().unwrap();
        assert!(status.success());
    }
}

impl Redis {
    /// What a command answers.
    pub(crate) fn command(&self, words: &[&str]) -> String {
        let socket = self.dir.path().join("redis.sock");
        let output = Command::new("redis-cli").arg("-s").arg(socket).args(words).output().unwrap();
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Two services with disks of their own.
async fn two(redis: &Redis, config: &Config) -> [Service; 2] {
    let mut services = Vec::new();
    for _ in 0..2 {
        let dir = Arc::new(tempfile::tempdir().unwrap());
        let service = Service::sharing(config.clone(), dir, NOW_MS, Some(redis.connect().await)).await;
        service.publish(market(1_000));
        services.push(service);
    }
    services.try_into().ok().unwrap()
}

/// Settings under which a test may ask until something changes.
fn without_limit() -> Config {
    let limits = LimitsConfig { keyed_per_min: u32::MAX, ..LimitsConfig::default() };
    Config { limits, ..Config::default() }
}

fn warned(quote: &Value) -> bool {
    quote["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == "QUOTE_NOT_SHARED")
}

/// The status of a build of a quote.
async fn build(service: &Service, quote: &Value) -> u16 {
    let body = json!({"quote_id": quote["quote_id"]});
    service.post("/v1/build", &body).send().await.unwrap().status().as_u16()
}

async fn check_of_replicas(service: &Service) -> Value {
    service.get("/ready").send().await.unwrap().json::<Value>().await.unwrap()["checks"]["replicas"].clone()
}

#[tokio::test]
async fn a_quote_of_one_service_is_built_and_shown_by_the_other_the_instant_it_is_out() {
    let redis = Redis::start();
    let [one, other] = two(&redis, &Config::default()).await;
    let quote = one.quote(&request()).await;
    assert!(!warned(&quote));
    let built = other.build(&json!({"quote_id": quote["quote_id"]})).await;
    let again = one.build(&json!({"quote_id": quote["quote_id"]})).await;
    assert_eq!(built["transaction"], again["transaction"]);
    let path = format!("/v1/quote/{}", quote["quote_id"].as_str().unwrap());
    assert_eq!(data(other.get(&path).send().await.unwrap()).await, quote, "word for word");
    other.clock.advance_ms(10 * 60_000);
    assert_eq!(build(&other, &quote).await, 410, "it expires everywhere");
    // one that is killed takes nothing with it
    let quote = one.quote(&request()).await;
    drop(one);
    other.clock.set_ms(NOW_MS);
    assert_eq!(build(&other, &quote).await, 200);
    assert_eq!(check_of_replicas(&other).await, "ok");
}

/// It was answered with 500, and the server was not asked.
#[tokio::test]
async fn a_quote_that_is_damaged_on_the_services_disk_is_taken_from_the_server() {
    let redis = Redis::start();
    let [one, _] = two(&redis, &Config::default()).await;
    let quote = one.quote(&request()).await;
    // from here on the quote is in no cache
    let one = Service::sharing(Config::default(), one.stop().await, NOW_MS, Some(redis.connect().await)).await;
    one.publish(market(1_000));
    for file in std::fs::read_dir(one.data_dir().join("quotes")).unwrap().map(|entry| entry.unwrap().path()) {
        let file = std::fs::File::options().write(true).open(file).unwrap();
        file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    }
    assert_eq!(build(&one, &quote).await, 200);
    redis.command(&["flushall"]);
    assert_eq!(build(&one, &quote).await, 404, "nobody has it");
}

#[tokio::test]
async fn calls_are_counted_over_all_services() {
    let redis = Redis::start();
    let limits = LimitsConfig { keyed_per_min: 5, ..LimitsConfig::default() };
    let [one, other] = two(&redis, &Config { limits, ..Config::default() }).await;
    let mut left = Vec::new();
    for service in [&one, &other, &one, &other, &one] {
        let response = service.get("/v1/chains").send().await.unwrap();
        assert_eq!(response.status(), 200);
        left.push(response.headers()["ratelimit"].to_str().unwrap().split(';').nth(1).unwrap().to_owned());
    }
    assert_eq!(left, ["r=4", "r=3", "r=2", "r=1", "r=0"]);
    for service in [&one, &other] {
        let refused = service.get("/v1/chains").send().await.unwrap();
        assert_eq!(refused.status(), 429);
        let after: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=60).contains(&after), "{after}");
    }
    // a call that the others' calls leave no room for is not counted here either
    for _ in 0..10 {
        assert_eq!(one.get("/v1/chains").send().await.unwrap().status(), 429);
    }
    redis.command(&["flushall"]);
    for _ in 0..2 {
        assert_eq!(one.get("/v1/chains").send().await.unwrap().status(), 200);
    }
    // a key's calls are its own
    assert_eq!(one.client.get(format!("{}/v1/chains", one.base)).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn without_the_server_each_service_goes_on_alone_and_says_so() {
    let mut redis = Redis::start();
    let [one, other] = two(&redis, &without_limit()).await;
    let before = one.quote(&request()).await;
    redis.kill();
    let alone = one.quote(&request()).await;
    assert!(warned(&alone));
    assert_eq!(build(&one, &alone).await, 200);
    let body = json!({"quote_id": alone["quote_id"]});
    let unknown = other.post("/v1/build", &body).send().await.unwrap();
    assert_eq!(unknown.headers()["retry-after"], "1");
    let (status, answer) = problem(unknown).await;
    let told = (status, answer["code"].as_str(), answer["retryable"].as_bool());
    assert_eq!(told, (503, Some("NOT_READY"), Some(true)), "the server may have it: {answer:#}");
    let path = format!("/v1/quote/{}", alone["quote_id"].as_str().unwrap());
    assert_eq!(other.get(&path).send().await.unwrap().status(), 503);
    assert_eq!(build(&one, &before).await, 200, "its own disk has it");
    assert_eq!(check_of_replicas(&one).await, "failing");

    // it comes back with nothing in its memory
    redis.restart();
    let shared = loop {
        let quote = one.quote(&request()).await;
        if !warned(&quote) {
            break quote;
        }
    };
    while build(&other, &shared).await == 503 {}
    assert_eq!(build(&other, &shared).await, 200);
    assert_eq!(build(&other, &alone).await, 404, "nobody gave it to the server");
    assert_eq!(build(&one, &before).await, 200);
    assert_eq!([check_of_replicas(&one).await, check_of_replicas(&other).await], ["ok", "ok"]);
}

#[tokio::test]
async fn a_server_that_hangs_is_waited_for_once_a_second_and_no_longer() {
    let redis = Redis::start();
    let hasty = Replicas::connect(&redis.url()).await.unwrap();
    let one = Service::sharing(without_limit(), Arc::new(tempfile::tempdir().unwrap()), NOW_MS, Some(hasty)).await;
    one.publish(market(1_000));
    let at_first = redis.asked();
    one.quote(&request()).await;
    let before = redis.asked();
    let of_one_quote = before - at_first;
    redis.signal("-STOP");
    let begun = Instant::now();
    for _ in 0..60 {
        assert!(warned(&one.quote(&request()).await));
    }
    let seconds = usize::try_from(begun.elapsed().as_secs()).unwrap();
    redis.signal("-CONT");
    while warned(&one.quote(&request()).await) {}
    // What it was asked while it hung it does now. Were every quote to wait for it, each would ask, and take a tenth of
    // a second.
    let asked = redis.asked() - before;
    assert!(asked <= (seconds + 3) * of_one_quote, "{asked} questions in {seconds} s, {of_one_quote} of one quote");
}

#[tokio::test]
async fn a_slow_server_is_waited_for_within_a_bound_and_quotes_stay_shared_within_it() {
    let redis = Redis::start();
    let (url, set) = network(redis.dir.path().join("redis.sock")).await;
    let [patient, hasty] =
        [Replicas::connect_with(&url, PATIENCE).await, Replicas::connect(&url).await].map(Result::unwrap);
    let [one, other] = [patient, hasty].map(|replicas| {
        let dir = Arc::new(tempfile::tempdir().unwrap());
        async { Service::sharing(without_limit(), dir, NOW_MS, Some(replicas)).await }
    });
    let (one, other) = futures::join!(one, other);
    one.publish(market(1_000));
    other.publish(market(1_000));
    set.send_replace(Network::Slow(Duration::from_millis(300)));
    let late = one.quote(&request()).await;
    assert!(!warned(&late), "it was waited for");
    let alone = other.quote(&request()).await;
    assert!(warned(&alone), "300 ms is more than a quote waits for");
    assert_eq!(check_of_replicas(&other).await, "failing");
    assert_eq!(build(&other, &alone).await, 200);

    // Answers that came too late are not taken for those of later questions.
    set.send_replace(Network::Open);
    let shared = loop {
        let quote = other.quote(&request()).await;
        if !warned(&quote) {
            break quote;
        }
    };
    assert_eq!(build(&one, &shared).await, 200);
    assert_eq!(build(&other, &late).await, 200);
    assert_eq!(check_of_replicas(&other).await, "ok");
}

/// With answers of 0.1 to 5 s, `/ready` said `ok` each second, when the shared keys were read, and `failing` between.
#[tokio::test]
async fn a_server_that_is_too_slow_for_requests_is_failing_though_others_wait_longer() {
    let redis = Redis::start();
    let (url, set) = network(redis.dir.path().join("redis.sock")).await;
    let replicas = Replicas::connect(&url).await.unwrap();
    let (keys, dir) = (SharedKeys::of(replicas.clone()), tempfile::tempdir().unwrap());
    set.send_replace(Network::Slow(Duration::from_millis(300)));
    for nonce in 0..2 {
        assert_eq!(replicas.claim_nonce(Address::ZERO, U256::from(nonce), 60).await, None);
        while !keys.refresh(dir.path()).await.unwrap() {}
        assert!(!replicas.is_healthy(), "the keys came, too late for a request");
    }
    set.send_replace(Network::Open);
    while !replicas.is_healthy() {
        keys.refresh(dir.path()).await.unwrap();
    }
}

#[tokio::test]
async fn a_full_server_refuses_and_the_service_says_so() {
    let redis = Redis::start();
    let [one, _] = two(&redis, &without_limit()).await;
    let set = |value: &str| redis.command(&["config", "set", "maxmemory", value]);
    set("1");
    assert!(warned(&one.quote(&request()).await));
    set("0");
    while warned(&one.quote(&request()).await) {}
}

#[tokio::test]
async fn keys_are_shared_and_outlive_the_server() {
    let mut redis = Redis::start();
    let shared = SharedKeys::of(redis.connect().await);
    let [one, other, scratch] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    let make = |name: &'static str| move |keys: &KeyStore| keys.create(name, KeyTerms::default(), 1);
    // what a service had before is taken over
    let (old, _) = KeyStore::open(one.path()).unwrap().create("old", KeyTerms::default(), 1).unwrap();
    assert!(shared.refresh(one.path()).await.unwrap());
    let (new, _) = shared.change(scratch.path(), make("new")).await.unwrap().unwrap();
    let opens =
        |dir: &tempfile::TempDir, key: &str| KeyStore::open(dir.path()).unwrap().check(key, 2).unwrap().is_some();
    for dir in [&one, &other] {
        assert!(shared.refresh(dir.path()).await.unwrap());
        assert!(opens(dir, old.reveal()) && opens(dir, new.reveal()));
    }
    // two that change at once lose nothing
    let scratches: [_; 8] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    let changes = scratches.iter().map(|scratch| shared.change(scratch.path(), make("one of eight")));
    for change in futures::future::join_all(changes).await {
        change.unwrap().unwrap();
    }
    let all = shared.change(scratch.path(), |keys: &KeyStore| keys.list()).await.unwrap().unwrap();
    assert_eq!(all.len(), 10);

    redis.kill();
    assert!(!shared.refresh(one.path()).await.unwrap());
    assert!(opens(&one, new.reveal()), "the copy stays");
    redis.restart();
    while !shared.refresh(other.path()).await.unwrap() {}
    assert!(shared.refresh(one.path()).await.unwrap());
    assert!(opens(&one, old.reveal()), "a copy brings back what the server lost");
}

/// While the disk hung, or another process changed the keys, the refresh of their copy kept a thread of the service waiting.
#[tokio::test]
async fn a_copy_of_the_keys_that_cannot_be_read_yet_blocks_no_thread_of_the_service() {
    let redis = Redis::start();
    let (shared, dir) = (SharedKeys::of(redis.connect().await), tempfile::tempdir().unwrap());
    // reads of a pipe wait until it is opened for writing, which fails while nobody reads
    let pipe = dir.path().join("keys.json");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (opened, is_opened) = std::sync::mpsc::channel();
    let open = async {
        while tokio::net::unix::pipe::OpenOptions::new().open_sender(&pipe).is_err() {
            tokio::task::yield_now().await;
        }
        opened.send(()).unwrap();
        std::future::pending::<()>().await
    };
    let late = pipe.clone();
    let watchdog = std::thread::spawn(move || {
        let in_time = is_opened.recv_timeout(PATIENCE / 10).is_ok();
        in_time || std::fs::File::options().write(true).open(late).is_err()
    });
    let refreshed = tokio::select! {
        refreshed = shared.refresh(dir.path()) => refreshed,
        () = open => unreachable!(),
    };
    assert!(refreshed.unwrap() && watchdog.join().unwrap());
}

/// A service that was away while a key was revoked comes back first after the server lost its memory.
#[tokio::test]
async fn a_key_that_was_revoked_stays_so_whoever_tells_the_server_first() {
    let mut redis = Redis::start();
    let shared = SharedKeys::of(redis.connect().await);
    let [one, away, scratch] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    let make = |keys: &KeyStore| keys.create("desk", KeyTerms::default(), 1);
    let (key, record) = shared.change(scratch.path(), make).await.unwrap().unwrap();
    let (rotated, other) = shared.change(scratch.path(), make).await.unwrap().unwrap();
    for dir in [&one, &away] {
        assert!(shared.refresh(dir.path()).await.unwrap());
    }
    shared.change(scratch.path(), |keys: &KeyStore| keys.revoke(&record.id.0, 2)).await.unwrap().unwrap();
    let (newer, _) =
        shared.change(scratch.path(), |keys: &KeyStore| keys.rotate(&other.id.0, 0, 2)).await.unwrap().unwrap();
    assert!(shared.refresh(one.path()).await.unwrap());
    redis.kill();
    redis.restart();
    for dir in [&away, &one, &away] {
        while !shared.refresh(dir.path()).await.unwrap() {}
    }
    for dir in [&one, &away] {
        let opens = |key: &str| KeyStore::open(dir.path()).unwrap().check(key, 3).unwrap().is_some();
        assert_eq!([key.reveal(), rotated.reveal(), newer.reveal()].map(opens), [false, false, true]);
    }
}

#[tokio::test]
async fn a_nonce_is_given_by_one_service_alone() {
    let redis = Redis::start();
    let [one, other] = [redis.connect().await, redis.connect().await];
    let owner = Address::repeat_byte(7);
    assert_eq!(one.claim_nonce(owner, U256::from(5), 60).await, Some(true));
    assert_eq!(other.claim_nonce(owner, U256::from(5), 60).await, Some(false));
    assert_eq!(other.claim_nonce(owner, U256::from(6), 60).await, Some(true));
    assert_eq!(other.claim_nonce(Address::repeat_byte(8), U256::from(5), 60).await, Some(true));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_without_its_password() {
    let url = "redis://:secret@127.0.0.1:1/";
    let error = Replicas::connect(url).await.unwrap_err().to_string();
    assert!(error.contains("cannot be used") && !error.contains("secret"), "{error}");
    assert!(error.contains("Connection refused"), "{error}");
    assert!(Replicas::connect("http://localhost").await.is_err());
    // one that hangs up in the middle of TLS
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("rediss://:secret@{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || listener.incoming().for_each(drop));
    let error = Replicas::connect(&url).await.unwrap_err().to_string();
    assert!(error.contains("cannot be used") && !error.contains("secret"), "{error}");
    let _ = KEY;
}

/// Debian's nginx before services, as `packaging/nginx.conf` sets it. A connection that dies is no answer: the other service
/// is asked, since a quote may be asked for again.
struct Balancer {
    process: Child,
    base: String,
    dir: tempfile::TempDir,
}

impl Balancer {
    async fn before(services: &[Served]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        // a port that was free a moment ago
        let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let server = |served: &Served| format!("server {};", served.base.strip_prefix("http://").unwrap());
        let servers: String = services.iter().map(server).collect();
        let packaged = include_str!("../../../../packaging/nginx.conf").lines();
        let packaged: Vec<&str> = packaged.filter(|line| !line.ends_with(":8080;")).collect();
        let packaged = packaged.join("\n").replace("upstream braid {", &format!("upstream braid {{ {servers}"));
        let packaged = packaged.replace("listen 80;", &format!("listen {address};"));
        let path = dir.path().display();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {path}/{name};"))
            .concat();
        let config =
            format!("daemon off; pid {path}/pid; events {{}} http {{ access_log off; {temporary} {packaged} }}");
        std::fs::write(dir.path().join("nginx.conf"), config).unwrap();
        // where Debian puts it, which is not on everybody's path
        let binary = if Path::new("/usr/sbin/nginx").exists() { "/usr/sbin/nginx" } else { "nginx" };
        let process = Command::new(binary)
            .arg("-e")
            .arg(dir.path().join("error.log"))
            .arg("-c")
            .arg(dir.path().join("nginx.conf"))
            .spawn()
            .expect("nginx is needed (Debian: apt-get install nginx-light)");
        while tokio::net::TcpStream::connect(address).await.is_err() {}
        Self { process, base: format!("http://{address}"), dir }
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        let pid = std::fs::read_to_string(self.dir.path().join("pid")).unwrap_or_default();
        let _ = Command::new("kill").arg(pid.trim()).status();
        let _ = self.process.wait();
    }
}

/// The configuration replaced it, so that a caller did not find its own id in answers and logs.
#[tokio::test(flavor = "multi_thread")]
async fn the_packaged_load_balancer_passes_a_callers_request_id_on() {
    let dir = tempfile::tempdir().unwrap();
    let services = [start_with(dir.path(), None).await];
    let balancer = Balancer::before(&services).await;
    let call = reqwest::Client::new().get(format!("{}/health", balancer.base)).header("x-request-id", "of-the-caller");
    assert_eq!(call.send().await.unwrap().headers()["x-request-id"], "of-the-caller");
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_a_load_balancer_a_service_that_is_killed_loses_no_call_and_no_quote() {
    let redis = Redis::start();
    let dirs: [_; 2] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    let mut services = Vec::new();
    for dir in &dirs {
        services.push(start_with(dir.path(), Some(redis.url())).await);
    }
    let balancer = Balancer::before(&services).await;
    let client = reqwest::Client::new();
    let post = |path: &'static str, body: Value| {
        let call = client.post(format!("{}{path}", balancer.base)).header("x-api-key", KEY).json(&body);
        async move { data(call.send().await.unwrap()).await }
    };
    let asking = futures::stream::iter(0..400).map(|n| {
        let quote = post("/v1/quote", request());
        async move { (n, quote.await) }
    });
    let mut asking = asking.buffer_unordered(8);
    let mut quotes = Vec::new();
    while let Some((_, quote)) = asking.next().await {
        assert!(!warned(&quote), "{quote:#}");
        quotes.push(quote["quote_id"].clone());
        if quotes.len() == 100 {
            // SIGKILL, in the middle of other answers
            services[0].process.start_kill().unwrap();
        }
    }
    drop(asking);
    for id in &quotes {
        assert_eq!(post("/v1/build", json!({"quote_id": id})).await["quote_id"], *id);
    }
    assert_eq!(quotes.len(), 400);
}
