//! Tests of the self-audit on a real chain: correct models, a pool that gives wrong answers, a token that begins to
//! charge a fee, and both after they are repaired.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, unreachable_pub)]

mod layer;
mod named;

use std::sync::Arc;
use std::time::Duration;

use braid_audit::{Probe, Verdict};
use braid_devnet::{Devnet, Options, accounts, tokens};
use braid_ethereum::{Follower, FollowerConfig, FollowerHandle, Node};
use braid_primitives::{Address, Bytes, NATIVE_ETHER, PoolKey, U256, WETH};
use braid_server::{App, Config, MarketFeed, Parts, SystemClock, router};
use braid_store::{KeyStore, QuoteStore};
use serde_json::{Value, json};

use layer::{BALANCE_OF, GET_RESERVES, Layer, TRANSFER, TRANSFER_FROM};

const KEY: &str = "test-key";

/// How long a test waits for something before it gives up.
const PATIENCE: Duration = Duration::from_secs(600);

/// A chain with a service, whose audit takes a turn only when the test requests it.
struct World {
    chain: Devnet,
    follower: FollowerHandle,
    feed: Arc<MarketFeed>,
    app: App,
    base: String,
    client: reqwest::Client,
    dir: tempfile::TempDir,
}

impl World {
    async fn start() -> Self {
        Self::on(Devnet::start(Options::default()).await.unwrap(), FollowerConfig::default()).await
    }

    async fn on(chain: Devnet, config: FollowerConfig) -> Self {
        let node = Node::connect(&chain.http_url()).await.unwrap();
        let follower = Follower::spawn(node.clone(), config);
        let feed = Arc::new(MarketFeed::new(follower.status.clone()));
        let dir = tempfile::tempdir().unwrap();
        let app = App::new(Parts {
            config: Config::default(),
            clock: Arc::new(SystemClock),
            feed: feed.clone(),
            node: Some(node),
            keys: KeyStore::open(dir.path()).unwrap().with_fixed("test", KEY),
            quotes: QuoteStore::open(dir.path()).unwrap(),
            replicas: None,
        });
        app.audit.quarantine.keep_in(dir.path());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(axum::serve(listener, router(&app)).into_future());
        let mut world = Self { chain, follower, feed, app, base, client: reqwest::Client::new(), dir };
        world.follow().await;
        world
    }

    /// Publishes the market of the chain's newest block to the service.
    async fn follow(&mut self) {
        let newest = self.chain.rpc().block_number().await.unwrap();
        loop {
            let head = self.follower.heads.borrow_and_update().clone();
            if let Some(head) = head.filter(|head| head.block().number >= newest) {
                self.feed.publish(head);
                return;
            }
            self.follower.heads.changed().await.unwrap();
        }
    }

    async fn next_block(&mut self) {
        self.chain.mine(1).await.unwrap();
        self.follow().await;
    }

    async fn quote(&self, from: Address, amount: U256, to: Address) -> (u16, Value) {
        self.quote_over(Value::Null, from, amount, to).await
    }

    async fn quote_over(&self, protocols: Value, from: Address, amount: U256, to: Address) -> (u16, Value) {
        let body = json!({
            "include_protocols": protocols,
            "inputs": [{"chain_id": 1, "address": from, "amount": amount.to_string()}],
            "outputs": [{"chain_id": 1, "address": to, "ratio_bps": 10000}],
            "taker": accounts::TAKER,
        });
        let call = self.client.post(format!("{}/v1/quote", self.base)).json(&body).header("x-api-key", KEY);
        let response = call.send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    async fn get(&self, path: &str) -> String {
        self.client.get(format!("{}{path}", self.base)).send().await.unwrap().text().await.unwrap()
    }

    /// Lets the audit continue until this many pools are in quarantine.
    async fn audit_until(&mut self, held: usize) {
        for _ in 0..200 {
            if self.held().len() == held {
                return;
            }
            if self.turn().await.is_none() || held < self.held().len() {
                // A pool in quarantine is tried again in a later block.
                self.next_block().await;
            }
        }
        panic!("{} in quarantine, and never {held}", self.held().len());
    }

    /// Waits until the file of the quarantine holds these pools: it is written in the background.
    async fn keeps(&self, pools: &[Address]) {
        let kept = || braid_store::quarantine::load(self.dir.path()).unwrap();
        let written = async {
            while !kept().iter().map(|record| record.pool.contract).eq(pools.iter().copied()) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, written).await.expect("the file is written");
    }

    /// Lets the audit make one check.
    async fn turn(&self) -> Option<(Probe, Verdict)> {
        let published = self.feed.latest().unwrap();
        self.app.audit.turn(u32::MAX, &published.prepared, &published.doubtful, None).await
    }

    /// Lets the audit continue until it checks a pool, for at most this many turns.
    async fn turn_of(&self, pool: Address, turns: usize) -> Option<Verdict> {
        for _ in 0..turns {
            if let Some((probe, verdict)) = self.turn().await
                && probe.pool == pool.into()
            {
                return Some(verdict);
            }
        }
        None
    }

    fn held(&self) -> Vec<Address> {
        self.app.audit.quarantine.records().iter().map(|record| record.pool.contract).collect()
    }

    async fn code(&self, account: Address) -> Bytes {
        self.chain.rpc().get("eth_getCode", json!([account, "latest"])).await.unwrap()
    }

    /// Puts a layer over a contract, and returns its previous code.
    async fn put_over(&self, account: Address, layer: Layer) -> Bytes {
        let code = self.code(account).await;
        let beneath = account.create(7);
        self.chain.set_code(beneath, &code).await.unwrap();
        self.chain.set_code(account, &layer.code(beneath)).await.unwrap();
        code
    }
}

fn units(symbol: &str, whole: u64) -> U256 {
    U256::from(whole) * U256::from(10).pow(U256::from(tokens::by_symbol(symbol).decimals))
}

fn token(symbol: &str) -> Address {
    tokens::by_symbol(symbol).address
}

/// Returns two tokens between which a quote uses a third token, and that third token.
async fn a_way_through() -> [Address; 3] {
    let world = World::start().await;
    for from in tokens::TOKENS {
        let (status, quote) = world.quote(from.address, from.units(20), WETH).await;
        let way = tokens_of(&quote);
        let between = way.iter().find(|token| ![from.address, WETH].contains(token));
        if let Some(between) = between.filter(|_| status == 200 && from.address != WETH) {
            return [from.address, WETH, *between];
        }
    }
    panic!("every quote goes straight")
}

fn tokens_of(quote: &Value) -> Vec<Address> {
    let steps = quote["data"]["path"]["steps"].as_array().into_iter().flatten();
    let ends = steps.flat_map(|step| [&step["token_in"], &step["token_out"]]);
    ends.map(|token| token.as_str().unwrap().parse().unwrap()).collect()
}

fn pools_of(quote: &Value) -> Vec<PoolKey> {
    let steps = quote["data"]["path"]["steps"].as_array().unwrap();
    steps.iter().map(|step| step["pool"].as_str().unwrap().parse().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_models_say_of_every_pool_is_what_the_evm_pays() {
    let world = World::start().await;
    let pools = world.feed.latest().unwrap().head.market.pools().len();
    let (mut agreed, mut unknown) = (0, Vec::new());
    for _ in 1..pools {
        match world.turn().await.unwrap() {
            (_, Verdict::Agrees) => agreed += 1,
            (probe, Verdict::Unknown(why)) => unknown.push((probe, why)),
            (probe, Verdict::Differs(difference)) => panic!("{probe:?}: {difference:?}"),
        }
    }
    assert!(agreed * 10 > pools * 9, "{agreed} of {pools} could be checked; {unknown:?}");
    assert_eq!(world.app.audit.counts()[0], u64::try_from(agreed).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_that_pays_less_than_it_should_is_set_aside_until_it_pays_again() {
    let mut world = World::start().await;
    let sell = units("USDC", 40_000);
    // Constant-product pairs, whose output depends on the reserves that they report.
    let pairs = json!(["uniswap_v2"]);
    let (_, before) = world.quote_over(pairs.clone(), token("USDC"), sell, WETH).await;
    let liar = pools_of(&before)[0].contract;
    let lies = Layer { tells_less: vec![(GET_RESERVES, 0), (GET_RESERVES, 32)], ..Layer::default() };
    let honest = world.put_over(liar, lies).await;
    world.next_block().await;
    world.audit_until(1).await;
    assert_eq!(world.held(), [liar]);

    let (status, after) = world.quote(token("USDC"), sell, WETH).await;
    assert_eq!(status, 200, "{after:#}");
    assert!(!pools_of(&after).contains(&liar.into()), "it is not quoted");
    let (quote_id, path) = (before["data"]["quote_id"].clone(), "/v1/build");
    let call = world.client.post(format!("{}{path}", world.base)).header("x-api-key", KEY);
    let built = call.json(&json!({"quote_id": quote_id})).send().await.unwrap();
    assert_eq!(built.status(), 409, "nor built on an earlier quote");

    let ready: Value = serde_json::from_str(&world.get("/ready").await).unwrap();
    assert_eq!(ready["quarantined"], 1 + world.feed.status().excluded);
    assert_eq!(ready["quarantine"][0]["pool"], liar.to_checksum(None));
    assert!(ready["quarantine"][0]["why"].as_str().unwrap().contains("the model says"), "{ready:#}");
    assert!(ready["quarantine"][0]["token"].is_null());
    assert!(world.get("/metrics").await.contains("braid_quarantined_pools 1\n"));
    world.keeps(&[liar]).await;

    world.chain.set_code(liar, &honest).await.unwrap();
    world.next_block().await;
    world.audit_until(0).await;
    let (_, again) = world.quote_over(pairs, token("USDC"), sell, WETH).await;
    assert!(pools_of(&again).contains(&liar.into()));
    world.keeps(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_begins_to_tax_is_left_out_with_all_its_pools_and_a_word_to_the_user() {
    let mut world = World::start().await;
    let (link, sell) = (token("LINK"), units("LINK", 20));
    let (status, quote) = world.quote(link, sell, token("USDC")).await;
    assert_eq!(status, 200, "{quote:#}");
    let taxes = Layer { told_less: vec![(TRANSFER, 36), (TRANSFER_FROM, 68)], ..Layer::default() };
    let honest = world.put_over(link, taxes).await;
    world.next_block().await;
    world.audit_until(1).await;
    let record = world.app.audit.quarantine.records().remove(0);
    let fault = record.token.unwrap();
    assert_eq!((fault.token, fault.does.as_str()), (link, "takes 1.00% of a transfer"));

    for (from, to, field) in [(link, WETH, "/inputs/0/address"), (WETH, link, "/outputs/0/address")] {
        let (status, problem) = world.quote(from, sell, to).await;
        assert_eq!((status, problem["code"].as_str()), (422, Some("TOKEN_UNSUPPORTED")), "{problem:#}");
        assert_eq!(problem["errors"][0]["pointer"], field);
        let told = problem["errors"][0]["detail"].as_str().unwrap();
        assert!(told.contains("takes 1.00% of a transfer"), "{told}");
    }
    let market = Arc::clone(&world.feed.latest().unwrap().head.market);
    let pools = market.pools_of(market.tokens().id(link).unwrap()).len();
    let ready: Value = serde_json::from_str(&world.get("/ready").await).unwrap();
    assert!(pools > 1);
    assert_eq!(ready["quarantined"], pools + world.feed.status().excluded);
    assert_eq!(ready["quarantine"][0]["token_does"], "takes 1.00% of a transfer");

    world.chain.set_code(link, &honest).await.unwrap();
    world.next_block().await;
    world.audit_until(0).await;
    let (status, quote) = world.quote(link, sell, token("USDC")).await;
    assert_eq!(status, 200, "{quote:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_blocks_transfers_is_told_as_such() {
    let mut world = World::start().await;
    let link = token("LINK");
    world.quote(link, units("LINK", 20), token("USDC")).await;
    world.put_over(link, Layer { refuses: vec![TRANSFER, TRANSFER_FROM], ..Layer::default() }).await;
    world.next_block().await;
    world.audit_until(1).await;
    let fault = world.app.audit.quarantine.records().remove(0).token.unwrap();
    assert_eq!(fault.token, link);
    assert!(fault.does.starts_with("refuses to be transferred"), "{}", fault.does);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_rebases_is_told_by_what_its_shares_round_away() {
    let mut world = World::start().await;
    let link = token("LINK");
    world.quote(link, units("LINK", 20), token("USDC")).await;
    let rounds = Layer { told_a_unit_less: vec![(TRANSFER, 36), (TRANSFER_FROM, 68)], ..Layer::default() };
    let honest = world.put_over(link, rounds).await;
    world.next_block().await;
    world.audit_until(1).await;
    let fault = world.app.audit.quarantine.records().remove(0).token.unwrap();
    assert_eq!(fault.token, link);
    assert!(fault.does.starts_with("rebases"), "{}", fault.does);
    let (status, problem) = world.quote(link, units("LINK", 20), token("USDC")).await;
    assert_eq!((status, problem["code"].as_str()), (422, Some("TOKEN_UNSUPPORTED")), "{problem:#}");

    world.chain.set_code(link, &honest).await.unwrap();
    world.next_block().await;
    world.audit_until(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_token_of_the_chain_is_found_sound_those_with_most_pools_first() {
    let world = World::start().await;
    let market = Arc::clone(&world.feed.latest().unwrap().head.market);
    let mut last = usize::MAX;
    while let Some(token) = world.app.audit.turn_of_token(u32::MAX, &market).await {
        let pools = market.pools_of(token).len();
        assert!(pools <= last, "{pools} pools after {last}");
        last = pools;
    }
    assert_eq!(world.app.audit.quarantine.records(), []);
    for (id, token) in market.tokens().iter().filter(|(id, _)| !market.pools_of(*id).is_empty()) {
        let (address, why) = (token.address, world.app.audit.tokens.why(token.address));
        assert!(
            world.app.audit.tokens.is_sound(address),
            "{} of {} pools: {why}",
            token.symbol,
            market.pools_of(id).len()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_quote_of_a_token_that_taxes_transfers_is_refused() {
    let mut world = World::start().await;
    let link = token("LINK");
    let taxes = Layer { told_less: vec![(TRANSFER, 36), (TRANSFER_FROM, 68)], ..Layer::default() };
    let honest = world.put_over(link, taxes).await;
    world.next_block().await;
    for (from, to, field) in [(WETH, link, "/outputs/0/address"), (link, WETH, "/inputs/0/address")] {
        let (status, problem) = world.quote(from, units("LINK", 20), to).await;
        assert_eq!((status, problem["code"].as_str()), (422, Some("TOKEN_UNSUPPORTED")), "{problem:#}");
        assert_eq!(problem["errors"][0]["pointer"], field);
        let told = problem["errors"][0]["detail"].as_str().unwrap();
        assert!(told.contains("takes 1.00% of a transfer"), "{told}");
    }
    let ready: Value = serde_json::from_str(&world.get("/ready").await).unwrap();
    assert_eq!(ready["quarantine"][0]["token_does"], "takes 1.00% of a transfer");

    world.chain.set_code(link, &honest).await.unwrap();
    world.next_block().await;
    world.audit_until(0).await;
    let (status, quote) = world.quote(link, units("LINK", 20), WETH).await;
    assert_eq!(status, 200, "{quote:#}");
}

/// A path does not look at what arrives. A token that begins to tax after its check must not simulate as if it had paid
/// all.
#[tokio::test(flavor = "multi_thread")]
async fn a_simulation_of_a_path_tells_what_a_token_that_taxes_delivers() {
    let mut world = World::start().await;
    let post = async |world: &World, path: &str, body: &Value| {
        let call = world.client.post(format!("{}{path}", world.base)).json(body).header("x-api-key", KEY);
        let answer: Value = call.send().await.unwrap().json().await.unwrap();
        answer["data"].clone()
    };
    let mut quotes = Vec::new();
    for slippage_bps in [50, 200] {
        let body = json!({
            "inputs": [{"chain_id": 1, "address": NATIVE_ETHER, "amount": units("WETH", 1).to_string()}],
            "outputs": [{"chain_id": 1, "address": token("LINK"), "ratio_bps": 10000}],
            "taker": accounts::TAKER, "slippage_tolerance_bps": slippage_bps, "max_steps": 2,
            "include_protocols": ["uniswap_v3", "wrapped_ether"],
        });
        quotes.push(post(&world, "/v1/quote", &body).await);
    }
    world.put_over(token("LINK"), Layer { told_less: vec![(TRANSFER, 36)], ..Layer::default() }).await;
    world.next_block().await;
    for (quote, status) in quotes.iter().zip(["reverted", "success"]) {
        let built = post(&world, "/v1/build", &json!({"quote_id": quote["quote_id"], "simulate": true})).await;
        assert!(built["transaction"]["data"].as_str().unwrap().starts_with("0xec770d8a"), "a path: {built:#}");
        let seen = &built["simulation"];
        assert_eq!(seen["status"], status, "{seen:#}");
        let whole: U256 = quote["estimated_outputs"][0]["expected_amount"].as_str().unwrap().parse().unwrap();
        let arrives = whole * U256::from(99) / U256::from(100);
        assert_eq!(seen["outputs"][0]["amount"], arrives.to_string());
        let name = if status == "reverted" { json!("OutputBelowMinimum") } else { Value::Null };
        assert_eq!(seen["revert"]["name"], name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_quote_goes_around_a_token_that_taxes_transfers() {
    let [from, to, between] = a_way_through().await;
    let sell = tokens::TOKENS.iter().find(|token| token.address == from).unwrap().units(20);
    let mut world = World::start().await;
    let taxes = Layer { told_less: vec![(TRANSFER, 36), (TRANSFER_FROM, 68)], ..Layer::default() };
    world.put_over(between, taxes).await;
    world.next_block().await;
    let (status, quote) = world.quote(from, sell, to).await;
    assert_eq!(status, 200, "{quote:#}");
    assert!(!tokens_of(&quote).contains(&between), "{quote:#}");
    assert_eq!(world.app.audit.quarantine.fault_of(between).as_deref(), Some("takes 1.00% of a transfer"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_cannot_be_checked_is_left_out_with_a_word_to_the_user() {
    let [from, to, between] = a_way_through().await;
    let sell = tokens::TOKENS.iter().find(|token| token.address == from).unwrap().units(20);
    let mut world = World::start().await;
    let honest = world.put_over(between, Layer { refuses: vec![BALANCE_OF], ..Layer::default() }).await;
    world.next_block().await;
    let (status, quote) = world.quote(from, sell, to).await;
    assert_eq!(status, 200, "{quote:#}");
    assert!(!tokens_of(&quote).contains(&between), "{quote:#}");
    let warnings = quote["data"]["warnings"].as_array().unwrap();
    let warning = warnings.iter().find(|warning| warning["code"] == "TOKEN_UNCHECKED").unwrap();
    assert!(warning["message"].as_str().unwrap().contains(&between.to_checksum(None)), "{warning}");
    let (status, problem) = world.quote(to, units("WETH", 1), between).await;
    assert_eq!((status, problem["code"].as_str()), (422, Some("TOKEN_UNSUPPORTED")), "{problem:#}");
    assert!(world.held().is_empty(), "nothing is known against it");

    world.chain.set_code(between, &honest).await.unwrap();
    for _ in 0..4 {
        world.next_block().await;
    }
    let (status, quote) = world.quote(to, units("WETH", 1), between).await;
    assert_eq!(status, 200, "{quote:#}");
}

/// Triples the LINK balance of a constant-product pair and calls its `sync()`, so that LINK is cheap only there.
/// Returns the pair.
async fn an_outlier(world: &World) -> Address {
    let (_, quote) = world.quote_over(json!(["uniswap_v2"]), WETH, units("WETH", 1), token("LINK")).await;
    let pair = pools_of(&quote)[0].contract;
    let held = world.chain.balance_of(token("LINK"), pair).await.unwrap();
    world.chain.fund(token("LINK"), pair, held * U256::from(3)).await.unwrap();
    let sync = json!([{"from": accounts::TAKER, "to": pair, "data": "0xfff6cae9"}]);
    world.chain.rpc().call("eth_sendTransactionSync", sync).await.unwrap();
    pair
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_that_pays_more_than_others_is_asked_about_before_a_quote_uses_it() {
    let mut world = World::start().await;
    let pair = an_outlier(&world).await;
    world.next_block().await;
    let outliers = &world.feed.latest().unwrap().doubtful.outliers.clone();
    assert!(!outliers.is_empty());
    let before = world.app.audit.counts()[0];
    let (status, quote) = world.quote(WETH, units("WETH", 1), token("LINK")).await;
    assert_eq!(status, 200, "{quote:#}");
    assert!(pools_of(&quote).contains(&pair.into()), "what is true is used");
    let asked = world.app.audit.counts()[0] - before;
    assert!(asked > 0, "the EVM was asked");
    // The EVM must not be asked again while the pair does not change, for an amount that is not larger.
    let (_, again) = world.quote(WETH, units("WETH", 1), token("LINK")).await;
    assert_eq!(pools_of(&again), pools_of(&quote));
    assert_eq!(world.app.audit.counts()[0] - before, asked);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_pool_of_a_token_that_rebased_is_left_out_of_the_first_quote_and_named() {
    let mut world = World::start().await;
    let pair = an_outlier(&world).await;
    // The pair's balance shrinks without a log, and nobody calls `sync`.
    let held = world.chain.balance_of(token("LINK"), pair).await.unwrap();
    world.chain.fund(token("LINK"), pair, held / U256::from(2)).await.unwrap();
    world.next_block().await;
    let (status, quote) = world.quote(WETH, units("WETH", 1), token("LINK")).await;
    assert_eq!(status, 200, "{quote:#}");
    assert!(!pools_of(&quote).contains(&pair.into()), "what is not true is not");
    let record = world.app.audit.quarantine.records().remove(0);
    assert_eq!(record.pool, pair.into());
    assert!(record.why.contains("reverts"), "{}", record.why);
    assert!(quote["data"]["certificate"]["excluded"]["quarantined"].as_u64().unwrap() > 0);
    let protocols = json!(["uniswap_v2"]);
    world.app.audit.quarantine.release(pair.into());
    let (status, problem) = world.quote_over(protocols, WETH, units("WETH", 1), token("LINK")).await;
    assert_eq!((status, problem["code"].as_str()), (422, Some("NO_ROUTE_FOUND")), "{problem:#}");
    assert!(problem["detail"].as_str().unwrap().contains(&pair.to_checksum(None)), "{problem:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pools_that_pay_more_than_others_are_asked_about_ahead_of_all_others() {
    let mut world = World::start().await;
    let pair = an_outlier(&world).await;
    world.next_block().await;
    let outliers = world.feed.latest().unwrap().doubtful.outliers.len();
    let mut agreed = Vec::new();
    // Every third turn is for another pool.
    for _ in 0..=outliers * 3 / 2 {
        agreed
            .extend(world.turn().await.filter(|(_, verdict)| *verdict == Verdict::Agrees).map(|(probe, _)| probe.pool));
    }
    assert!(agreed.contains(&pair.into()), "{agreed:?}");
    let before = world.app.audit.counts();
    let (_, quote) = world.quote(WETH, units("WETH", 1) / U256::from(100), token("LINK")).await;
    assert!(pools_of(&quote).contains(&pair.into()));
    assert_eq!(world.app.audit.counts(), before, "what was asked about up to its fair price is not asked about again");
}
