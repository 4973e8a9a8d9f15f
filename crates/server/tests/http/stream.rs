//! Services without a node, which take the market from a real `redis-server` where another one publishes it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_audit::{Audit, AuditConfig, Difference, Probe};
use braid_ethereum::{FeeData, Head, Phase, SyncStatus};
use braid_market::{Market, Tokens};
use braid_primitives::{Address, B256, Block, Token, TokenId, U256, WETH};
use braid_protocols::{Pool, PoolState, Product, uniswap_v2};
use braid_server::Config;
use braid_server::stream::{Pace, publish};
use braid_simulation::source::{Reading, Wanted};
use braid_simulation::{Bounds, Simulator, SourceError, StateSource, WorkPool};
use braid_store::replicas::stream::{Appended, Findings, Lease, MarketStream, StreamEntry, StreamState};
use prometheus_client::metrics::gauge::Gauge;
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use crate::network::{Network, network};
use crate::replicas::Redis;
use crate::support::{DAI, Following, NOW_MS, Service, USDC, market, request, swap};

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(600);

const PACE: Pace = Pace { every: Duration::from_millis(20), lease: Duration::from_secs(2) };

/// A service with a node, as the stream knows it.
struct Leader {
    heads: watch::Sender<Option<Arc<Head>>>,
    status: watch::Sender<SyncStatus>,
    audit: Arc<Audit>,
    publishes: Gauge,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

/// A node that never gives state.
struct Mute;

impl StateSource for Mute {
    fn read<'a>(&'a self, _: &'a Block, _: &'a Wanted) -> Reading<'a> {
        Box::pin(std::future::ready(Err(SourceError("not given".into()))))
    }
}

impl Leader {
    async fn start(url: &str) -> Self {
        let service = service().await;
        Self::with(url, Arc::clone(&service.app.audit))
    }

    /// One that checks pools and tokens, with a node that gives it nothing to check.
    fn that_checks(url: &str) -> Self {
        let work = WorkPool::new(1, Bounds { jobs: 1, wait: Duration::ZERO });
        let simulator = Simulator::new(Some(Arc::new(Mute)), Arc::new(work));
        Self::with(url, Arc::new(Audit::new(Arc::new(simulator), AuditConfig::default())))
    }

    fn with(url: &str, audit: Arc<Audit>) -> Self {
        let following = SyncStatus { phase: Phase::Following, ..SyncStatus::default() };
        let (heads, status) = (watch::Sender::default(), watch::Sender::new(following));
        let (stop, stopped) = oneshot::channel::<()>();
        let stream = MarketStream::open(url).unwrap();
        let stopped = async move { drop(stopped.await) };
        let (checks, publishes) = (Arc::clone(&audit), Gauge::default());
        let publishing =
            publish(stream, heads.subscribe(), status.subscribe(), checks, PACE, publishes.clone(), stopped);
        Self { heads, status, audit, publishes, stop: Some(stop), task: tokio::spawn(publishing) }
    }

    fn has(&self, market: &Arc<Market>) {
        let fees = FeeData { next_base_fee_per_gas_wei: 0, priority_fee_per_gas_wei: [1, 2, 3, 4] };
        let fees = fees.after(market.block());
        self.heads.send_replace(Some(Arc::new(Head { market: Arc::clone(market), fees, received_at: Instant::now() })));
    }

    /// Ends without a word, as a process that is killed.
    fn dies(self) {
        self.task.abort();
    }

    async fn stops(mut self) {
        drop(self.stop.take());
        self.task.await.unwrap();
    }
}

async fn service() -> Service {
    Service::without_market(Config::default(), Arc::new(tempfile::tempdir().unwrap()), NOW_MS).await
}

/// The market of the next block: one pool changed, and at every third block there is one more, with a token of its own.
fn next(before: &Market) -> Arc<Market> {
    let last = *before.block();
    let number = last.number + 1;
    let block = Block {
        number,
        hash: B256::from(U256::from(number)),
        parent_hash: last.hash,
        timestamp: last.timestamp + 12,
        ..last
    };
    let mut pool = before.pools()[0].as_ref().clone();
    let PoolState::UniswapV2(state) = &mut pool.state else { panic!("a V2 pool is first") };
    state.reserve0 += 1_000_000;
    let mut changed = vec![pool];
    let mut tokens = Tokens::clone(before.tokens());
    if number.is_multiple_of(3) {
        let address = Address::from_word(B256::from(U256::from(number) << 8));
        let coin = tokens.insert(Token { address, symbol: "NEW".into(), name: String::new(), decimals: 18 });
        let state = uniswap_v2::State { reserve0: 1_000_000, reserve1: 1_000_000, fee_bps: 30 };
        changed.push(Pool {
            key: address.into(),
            product: Product::UniswapV2,
            coins: [TokenId(1), coin].into_iter().collect(),
            state: PoolState::UniswapV2(state),
        });
    }
    Arc::new(before.next(block, Arc::new(tokens), changed).unwrap())
}

fn chain(blocks: usize) -> Vec<Arc<Market>> {
    let mut markets = vec![Arc::new(market(1_000))];
    for at in 0..blocks {
        markets.push(next(&markets[at]));
    }
    markets
}

impl Following {
    /// Waits for the market of a block, which must be this one: content, and order of pools and tokens.
    async fn reaches(&mut self, market: &Market) {
        let number = market.block().number;
        let reached = self.heads.wait_for(|head| head.as_ref().is_some_and(|head| head.block().number == number));
        let head = tokio::time::timeout(PATIENCE, reached).await.expect("the block comes").unwrap();
        let head = head.clone().unwrap();
        assert_eq!(head.market.digest().unwrap(), market.digest().unwrap());
        assert_eq!(head.market.order_digest(), market.order_digest());
        assert_eq!(head.fees.priority_fee_per_gas_wei, [1, 2, 3, 4]);
    }

    async fn is(&mut self, phase: Phase, word: &str) {
        let says = |status: &SyncStatus| {
            let error = status.last_error.as_deref();
            status.phase == phase
                && if word.is_empty() { error.is_none() } else { error.is_some_and(|error| error.contains(word)) }
        };
        let reached = tokio::time::timeout(PATIENCE, self.status.wait_for(says)).await;
        assert!(reached.is_ok(), "never {phase:?} {word}");
    }
}

/// The quote of a service once it quotes on a block, without what differs from quote to quote.
async fn quote_at(service: &Service, number: u64, body: &Value) -> Value {
    let is_there = async {
        while service.feed.latest().is_none_or(|published| published.head.block().number != number) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, is_there).await.expect("the service quotes on the block");
    let mut quote = service.quote(body).await;
    quote["quote_id"].take();
    // a nonce is given once
    quote["permit2"]["eip712"]["message"]["nonce"].take();
    quote["permit2"]["hash"].take();
    // how fast the disk takes a quote depends on what else runs
    if let Some(warnings) = quote["warnings"].as_array_mut() {
        warnings.retain(|warning| warning["code"] != "QUOTE_NOT_ON_DISK");
    }
    quote
}

/// The numbers of the blocks in the stream, in its order.
async fn published(url: &str) -> Vec<u64> {
    let mut stream = MarketStream::open(url).unwrap();
    let (mut last, mut numbers) = ("0-0".to_owned(), Vec::new());
    loop {
        let read = stream.read(&last).await.unwrap();
        let Some(newest) = read.entries.last() else { return numbers };
        last.clone_from(&newest.id);
        for StreamEntry { from, entry, .. } in read.entries {
            // one without an entry is a market whole: of it the snapshot tells
            let number = if from.is_empty() { 0 } else { number_of(&entry) };
            numbers.push(number);
        }
    }
}

fn number_of(entry: &[u8]) -> u64 {
    let form = braid_market::file::Form { magic: b"BRAIDBLK", version: 1 };
    let entry: Value = braid_market::file::unpack(&form, entry).unwrap();
    entry["delta"]["block"]["number"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn services_without_a_node_quote_the_market_that_another_publishes() {
    let redis = Redis::start();
    let markets = chain(7);
    let leader = Leader::start(&redis.url()).await;
    let [one, other, own] = [service().await, service().await, service().await];
    let mut first = one.follow(&redis.url());
    first.is(Phase::Connecting, "no service with a node publishes").await;
    for market in &markets[..5] {
        leader.has(market);
        first.reaches(market).await;
    }
    // one that joins later has the same
    let mut second = other.follow(&redis.url());
    second.reaches(&markets[4]).await;
    for market in &markets[5..] {
        leader.has(market);
        first.reaches(market).await;
        second.reaches(market).await;
    }
    let number = markets[7].block().number;
    own.publish(Market::clone(&markets[7]));
    for body in [request(), swap(&DAI.to_string(), "5000000000000000000000", &WETH.to_string())] {
        let quote = quote_at(&one, number, &body).await;
        assert_eq!(quote, quote_at(&other, number, &body).await, "two of them");
        let mut there = quote_at(&own, number, &body).await;
        // its fees are those of the tests' support
        there["costs"] = quote["costs"].clone();
        assert_eq!(quote["estimated_outputs"], there["estimated_outputs"]);
        assert_eq!(quote["path"], there["path"]);
    }
    let mut simulated = request();
    simulated["simulate"] = true.into();
    let quote = one.quote(&simulated).await;
    assert_eq!(quote["simulation"]["status"], "unavailable", "{quote:#}");
    let ready: Value = one.get("/ready").send().await.unwrap().json().await.unwrap();
    assert_eq!((&ready["status"], &ready["checks"]["simulator"]), (&json!("ready"), &json!("unavailable")));
    leader.stops().await;
    first.is(Phase::Disconnected, "no service with a node publishes").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_publishers_audit_found_holds_for_all() {
    let redis = Redis::start();
    let market = Arc::new(market(1_000));
    let leader = Leader::start(&redis.url()).await;
    leader.has(&market);
    let one = service().await;
    let mut following = one.follow(&redis.url());
    following.reaches(&market).await;
    let used = |quote: &Value| quote["path"].to_string().contains(&Address::with_last_byte(1).to_checksum(None));
    assert!(used(&quote_at(&one, 20_000_000, &request()).await));
    let probe = Probe { pool: Address::with_last_byte(1).into(), coin_in: 0, coin_out: 1, amount_in: U256::from(5) };
    leader.audit.quarantine.hold(probe, &Difference { why: "it pays 2, the model says 3".into(), token: None }, 7);
    // no block comes, and still it is told
    while one.app.audit.quarantine.records().is_empty() {
        following.heads.changed().await.unwrap();
    }
    assert!(!used(&quote_at(&one, 20_000_000, &request()).await));
    let ready: Value = one.get("/ready").send().await.unwrap().json().await.unwrap();
    assert_eq!(ready["quarantine"][0]["why"], "it pays 2, the model says 3");
    leader.audit.quarantine.release(probe.pool);
    while !one.app.audit.quarantine.records().is_empty() {
        following.heads.changed().await.unwrap();
    }
    assert!(used(&quote_at(&one, 20_000_000, &request()).await));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_the_publisher_did_not_check_is_not_quoted() {
    let redis = Redis::start();
    let mut stream = MarketStream::open(&redis.url()).unwrap();
    let (run, lease) = ("1".repeat(32), Duration::from_secs(60));
    assert_eq!(stream.hold(&run, lease).await.unwrap(), Lease::Unwanted, "nobody reads");
    stream.read("0-0").await.unwrap();
    let Lease::Ours { token, .. } = stream.hold(&run, lease).await.unwrap() else { panic!("nobody else is here") };
    let findings = Findings { verifies: true, sound: BTreeSet::from([USDC]), ..Findings::default() };
    let told = StreamState::new(Arc::new(market(1_000)), [1, 2, 3, 4], Arc::new(findings), Duration::ZERO).unwrap();
    let place = "1".repeat(32) + ":1";
    let snapshot = told.to_snapshot(place.clone()).unwrap();
    stream.append(&token, "", (&place, 20_000_000), &[], &snapshot).await.unwrap();
    let one = service().await;
    one.follow(&redis.url()).reaches(&told.market).await;
    quote_at(&one, 20_000_000, &request()).await;
    let body = swap(&DAI.to_string(), "5000000000000000000", &WETH.to_string());
    let (status, problem) = one.refused_quote(&body).await;
    assert_eq!((status, &problem["errors"][0]["code"]), (422, &json!("TOKEN_UNSUPPORTED")), "{problem:#}");
    assert!(problem.to_string().contains("has not checked it yet"), "{problem:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_service_takes_over_without_a_wrong_or_a_missing_block() {
    let redis = Redis::start();
    let markets = chain(12);
    // the other one learnt the pools in another order
    let others: Vec<Arc<Market>> = markets.iter().map(|market| Arc::new(market.canonical())).collect();
    let [one, other] = [Leader::start(&redis.url()).await, Leader::start(&redis.url()).await];
    let reader = service().await;
    let mut following = reader.follow(&redis.url());
    one.has(&markets[0]);
    following.reaches(&markets[0]).await;
    for (market, others) in markets.iter().zip(&others).take(6) {
        one.has(market);
        other.has(others);
        following.reaches(market).await;
    }
    assert_eq!([one.publishes.get(), other.publishes.get()], [1, 0]);
    one.dies();
    for market in &others[6..9] {
        other.has(market);
        following.reaches(market).await;
    }
    // its node fails: a third takes over, whose markets are those of the first
    let third = Leader::start(&redis.url()).await;
    third.has(&markets[8]);
    other.status.send_modify(|status| status.phase = Phase::Disconnected);
    for market in &markets[9..] {
        third.has(market);
        following.reaches(market).await;
    }
    let first = markets[0].block().number;
    let expected: Vec<u64> = (0..13).map(|at| if [0, 6, 9].contains(&at) { 0 } else { first + at }).collect();
    assert_eq!(published(&redis.url()).await, expected, "each block once, and whole where a service begins");
    assert_eq!(third.publishes.get(), 1);
    drop((other, third));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_takes_over_keeps_out_what_the_one_before_kept_out() {
    let redis = Redis::start();
    let markets = chain(4);
    let [one, other] = [Leader::that_checks(&redis.url()), Leader::that_checks(&redis.url())];
    let reader = service().await;
    let mut following = reader.follow(&redis.url());
    let probe = |number: u8| Probe {
        pool: Address::with_last_byte(number).into(),
        coin_in: 0,
        coin_out: 1,
        amount_in: U256::from(5),
    };
    let difference = Difference { why: "it pays 2, the model says 3".into(), token: None };
    // one pool before the market is published whole, another later on
    one.audit.quarantine.hold(probe(1), &difference, 7);
    one.has(&markets[0]);
    following.reaches(&markets[0]).await;
    one.has(&markets[1]);
    one.audit.quarantine.hold(probe(2), &difference, 7);
    following.reaches(&markets[1]).await;
    let kept_out = || reader.app.audit.quarantine.records().len();
    while kept_out() < 2 {
        following.heads.changed().await.unwrap();
    }
    one.dies();
    other.has(&markets[1]);
    other.has(&markets[2]);
    following.reaches(&markets[2]).await;
    assert_eq!((kept_out(), other.audit.quarantine.records().len()), (2, 2));
    // its own check lifts one
    other.audit.quarantine.release(probe(1).pool);
    other.has(&markets[3]);
    following.reaches(&markets[3]).await;
    while kept_out() > 1 {
        following.heads.changed().await.unwrap();
    }
    assert_eq!(other.audit.quarantine.records().len(), 1, "what it lifted does not come back");
}

#[tokio::test]
async fn whoever_lost_the_lease_appends_nothing() {
    let redis = Redis::start();
    let mut streams = [MarketStream::open(&redis.url()).unwrap(), MarketStream::open(&redis.url()).unwrap()];
    let [slow, quick] = &mut streams;
    let runs = ["a".repeat(32), "b".repeat(32)];
    let lease = Duration::from_secs(60);
    quick.read("0-0").await.unwrap();
    let Lease::Ours { token, head, .. } = slow.hold(&runs[0], lease).await.unwrap() else { panic!("it is free") };
    assert!(head.is_none());
    assert_eq!(quick.hold(&runs[1], lease).await.unwrap(), Lease::Others);
    let (first, second) = (format!("{}:1", runs[0]), format!("{}:2", runs[0]));
    assert_eq!(slow.append(&token, "", (&first, 7), b"", b"all").await.unwrap(), Appended::Done);
    assert_eq!(slow.append(&token, "elsewhere", (&second, 8), b"x", b"").await.unwrap(), Appended::Parted);
    // it ends
    redis.command(&["del", "braid:{market:1:v1}:lease"]);
    let Lease::Ours { token: newer, .. } = quick.hold(&runs[1], lease).await.unwrap() else { panic!("it is free") };
    assert!(token.starts_with("1 ") && newer.starts_with("2 "), "{token}, {newer}: how often it was taken");
    // what the first one sends late
    assert_eq!(slow.append(&token, &first, (&second, 8), b"x", b"").await.unwrap(), Appended::Lost);
    assert!(!slow.save_snapshot(&token, b"old").await.unwrap());
    slow.release(&token).await.unwrap();
    assert_eq!(slow.hold(&runs[0], lease).await.unwrap(), Lease::Others, "nor can it give away what is another's");
    // of a block that is out there is no second market, nor of one before it
    let place = format!("{}:1", runs[1]);
    for number in [6, 7] {
        assert_eq!(quick.append(&newer, "", (&place, number), b"", b"mine").await.unwrap(), Appended::Behind);
    }
    assert_eq!(quick.append(&newer, "", (&place, 8), b"", b"mine").await.unwrap(), Appended::Done);
    assert_eq!(quick.snapshot().await.unwrap(), b"mine");
    assert_eq!(quick.read("0-0").await.unwrap().entries.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_damaged_or_missing_is_refused_and_taken_anew() {
    let redis = Redis::start();
    let markets = chain(8);
    let leader = Leader::start(&redis.url()).await;
    let one = service().await;
    let mut following = one.follow(&redis.url());
    for market in &markets[..3] {
        leader.has(market);
        following.reaches(market).await;
    }
    // an entry that is none, behind the last
    let place = redis.command(&["hget", "braid:{market:1:v1}:head", "place"]);
    let id =
        redis.command(&["xadd", "braid:{market:1:v1}:blocks", "*", "from", &place, "place", "x", "entry", "nonsense"]);
    redis.command(&["hset", "braid:{market:1:v1}:head", "place", "x", "id", &id]);
    following.is(Phase::Disconnected, "is refused").await;
    leader.has(&markets[3]);
    following.reaches(&markets[3]).await;
    // a snapshot with another byte
    redis.command(&["setrange", "braid:{market:1:v1}:snapshot", "100", "garbled"]);
    let other = service().await;
    let mut late = other.follow(&redis.url());
    late.is(Phase::Connecting, "is refused").await;
    late.reaches(&markets[3]).await;
    // an entry that went missing between the snapshot and the newest
    for market in &markets[4..6] {
        leader.has(market);
        following.reaches(market).await;
    }
    let entries = MarketStream::open(&redis.url()).unwrap().read("0-0").await.unwrap().entries;
    redis.command(&["xdel", "braid:{market:1:v1}:blocks", &entries[entries.len() - 2].id]);
    let third = service().await;
    let mut late = third.follow(&redis.url());
    late.is(Phase::Connecting, "are missing").await;
    late.reaches(&markets[5]).await;
    // something that is no stream at all
    redis.command(&["del", "braid:{market:1:v1}:blocks"]);
    redis.command(&["set", "braid:{market:1:v1}:blocks", "text"]);
    following.is(Phase::Disconnected, "the Redis server fails").await;
    redis.command(&["del", "braid:{market:1:v1}:blocks"]);
    leader.has(&markets[6]);
    following.reaches(&markets[6]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_loses_its_memory_hangs_or_is_full_is_told_everything_again() {
    let mut redis = Redis::start();
    let markets = chain(8);
    let leader = Leader::start(&redis.url()).await;
    let one = service().await;
    let mut following = one.follow(&redis.url());
    leader.has(&markets[0]);
    following.reaches(&markets[0]).await;
    redis.kill();
    following.is(Phase::Disconnected, "the Redis server fails").await;
    leader.has(&markets[1]);
    redis.restart();
    following.reaches(&markets[1]).await;
    following.is(Phase::Following, "").await;

    redis.signal("-STOP");
    following.is(Phase::Disconnected, "does not answer in time").await;
    leader.has(&markets[2]);
    leader.has(&markets[3]);
    redis.signal("-CONT");
    following.reaches(&markets[3]).await;

    // full: what is there is not the newest any more, and is not taken for it
    redis.command(&["config", "set", "maxmemory", "1"]);
    leader.has(&markets[4]);
    following.is(Phase::Disconnected, "no service with a node publishes").await;
    redis.command(&["config", "set", "maxmemory", "0"]);
    following.reaches(&markets[4]).await;
    following.is(Phase::Following, "").await;
}

/// A leader, and a follower that reads its market over a network that the test slows down or cuts.
struct Remote {
    leader: Leader,
    following: Following,
    network: watch::Sender<Network>,
    /// Keeps the follower's service running.
    _service: Service,
}

impl Remote {
    /// Starts both. The follower has reached the first market.
    async fn start(redis: &Redis, first: &Arc<Market>) -> Self {
        let leader = Leader::start(&redis.url()).await;
        leader.has(first);
        let (url, network) = network(redis.dir.path().join("redis.sock")).await;
        let service = service().await;
        let mut following = service.follow(&url);
        following.reaches(first).await;
        Self { leader, following, network, _service: service }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_way_that_is_cut_is_noticed_and_another_taken() {
    let redis = Redis::start();
    let markets = chain(3);
    let mut remote = Remote::start(&redis, &markets[0]).await;
    remote.network.send_replace(Network::Cut);
    remote.following.is(Phase::Disconnected, "does not answer in time").await;
    remote.leader.has(&markets[1]);
    remote.leader.has(&markets[2]);
    remote.network.send_replace(Network::Open);
    remote.following.reaches(&markets[2]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_server_delays_a_follower_and_no_block_is_missed() {
    let redis = Redis::start();
    let markets = chain(6);
    let mut remote = Remote::start(&redis, &markets[0]).await;
    // Less than the five seconds after which a follower considers the server failed.
    remote.network.send_replace(Network::Slow(Duration::from_millis(500)));
    for market in &markets[1..] {
        remote.leader.has(market);
        remote.following.reaches(market).await;
        assert_eq!(remote.following.status.borrow().phase, Phase::Following);
    }
}
