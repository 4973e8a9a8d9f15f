//! Tests of a service with a slow node, and of contracts that read storage without end.

use std::time::{Duration, Instant};

use braid_devnet::accounts;
use braid_primitives::{Address, Bytes};
use braid_server::{AuditConfig, Config};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::stand_in::Lists;
use crate::wallets::wrap_erc6492;
use crate::world::{KEY, OTHER_KEY, World, token, units};

/// Reads word after word until the gas is used up.
const READS_WITHOUT_END: &[u8] = &[0x5f, 0x5b, 0x80, 0x54, 0x50, 0x60, 0x01, 0x01, 0x60, 0x01, 0x56];

const LATE: Duration = Duration::from_millis(100);

fn simulated(from: &str, whole: u64, to: &str) -> Value {
    json!({
        "inputs": [{"chain_id": 1, "address": token(from), "amount": units(from, whole).to_string()}],
        "outputs": [{"chain_id": 1, "address": token(to), "ratio_bps": 10000}],
        "taker": accounts::TAKER, "simulate": true, "check_allowances": false, "include_permit2": false,
    })
}

/// Requests a quote whose simulation must succeed and agree. Returns what it asked of the node.
async fn agrees(world: &World, body: &Value) -> [u64; 3] {
    let ((status, answer), asked) = world.node.asked_by(world.post("/v1/quote", body)).await;
    let (quote, seen) = (&answer["data"], &answer["data"]["simulation"]);
    assert_eq!((status, seen["status"].as_str()), (200, Some("success")), "{answer:#}");
    assert_eq!(seen["outputs"][0]["amount"], quote["estimated_outputs"][0]["expected_amount"]);
    asked
}

#[tokio::test(flavor = "multi_thread")]
async fn a_simulation_takes_a_few_messages_the_first_time_and_two_at_every_later_block() {
    // The maximum number of messages for the very first simulation, and for the first one of each other pair.
    for (lends, lists, most) in
        [(true, Lists::Lending, [40, 24]), (true, Lists::No, [40, 40]), (false, Lists::Plain, [40, 40])]
    {
        // The number of messages matters here, not how long a busy machine takes.
        let long = Duration::from_secs(600);
        let audit = AuditConfig { first_wait: long, check_time: long, ..AuditConfig::default() };
        let config = Config { simulation_time: long, audit, ..Config::default() };
        let mut world = World::with(config, lends).await;
        world.node.set_lists(lists);
        world.node.set_latency(LATE);
        let swaps = [("USDC", 20_000, "WETH"), ("USDT", 5_000, "WBTC"), ("ETH", 3, "DAI"), ("DAI", 700, "USDC")];
        for (place, (from, whole, to)) in swaps.into_iter().enumerate() {
            let started = Instant::now();
            let asked = agrees(&world, &simulated(from, whole, to)).await;
            eprintln!("lends {lends}, {lists:?}: first {from} to {to}: {asked:?} in {:?}", started.elapsed());
            // Tokens are checked and simulations are made at the same time, each in several reads.
            assert!(asked[0] <= most[place.min(1)], "{lists:?}: {from} to {to}: {asked:?}");
        }
        for _ in 0..3 {
            world.next_block().await;
            for (from, whole, to) in swaps {
                let started = Instant::now();
                let asked = agrees(&world, &simulated(from, whole, to)).await;
                eprintln!("lends {lends}: then {from} to {to}: {asked:?} in {:?}", started.elapsed());
                let most = if lends { 2 } else { 4 };
                assert!(asked[0] <= most && asked[2] <= if lends { 0 } else { 4 }, "{from} to {to}: {asked:?}");
                assert!(!lends || asked[1] <= 4, "few calls, whatever the number of words: {asked:?}");
                assert_eq!(agrees(&world, &simulated(from, whole, to)).await, [0; 3], "the block's state is kept");
            }
        }
    }
}

/// Balances, allowances and used nonces are read once at each block, and at a new block before anybody asks.
#[tokio::test]
async fn a_caller_that_comes_back_at_every_block_waits_for_no_node() {
    let mut world = World::start().await;
    tokio::spawn(world.app.accounts.clone().read_ahead(world.follower.status.clone()));
    // With one thread, the task knows the newest block after this.
    tokio::task::yield_now().await;
    let quote = async |world: &World| {
        let (quote, [messages, ..]) =
            world.node.asked_by(world.quote(token("USDC"), units("USDC", 100), token("WETH"))).await;
        assert_eq!(quote["approvals"].as_array().map(Vec::len), Some(1), "{quote:#}");
        messages
    };
    assert!(quote(&world).await > 0);
    assert_eq!(quote(&world).await, 0, "the block's balances are known");
    for _ in 0..3 {
        let before = world.node.asked();
        world.next_block().await;
        let is_asked = async {
            while world.node.asked() == before {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), is_asked)
            .await
            .expect("the node is asked before anybody asks us");
        assert_eq!(quote(&world).await, 0, "they were read ahead");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quote_whose_simulation_takes_too_long_comes_without_it() {
    // Keeps the usual limit: a shorter one would also end the simulations that must succeed, on a busy machine.
    let mut world = World::start().await;
    agrees(&world, &simulated("USDC", 100, "WETH")).await;
    world.next_block().await;
    world.node.set_latency(Duration::from_secs(3_600));
    let (status, answer) = world.post("/v1/quote", &simulated("USDC", 100, "WETH")).await;
    assert_eq!((status, answer["data"]["simulation"]["status"].as_str()), (200, Some("unavailable")), "{answer:#}");
    let warnings = answer["data"]["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|warning| warning["code"] == "SIMULATION_UNAVAILABLE"), "{warnings:?}");
    let build = json!({"quote_id": answer["data"]["quote_id"], "simulate": true});
    assert_eq!(world.build(&build).await["simulation"]["status"], "unavailable");
    world.node.set_latency(Duration::ZERO);
    agrees(&world, &simulated("USDC", 100, "WETH")).await;
}

/// Both the token check and the simulation wait for a node that does not answer. When the route is given up because of
/// its tokens, the service must not wait for its simulation.
#[tokio::test(flavor = "multi_thread")]
async fn a_quote_whose_tokens_cannot_be_checked_does_not_wait_for_its_simulation() {
    let audit = AuditConfig { first_wait: Duration::from_millis(200), ..AuditConfig::default() };
    let hours = Duration::from_secs(7_200);
    let world =
        World::with(Config { simulation_time: hours, request_timeout: hours, audit, ..Config::default() }, true).await;
    world.node.set_latency(hours);
    let (status, answer) = world.post("/v1/quote", &simulated("USDC", 100, "WETH")).await;
    assert_eq!((status, answer["code"].as_str()), (422, Some("TOKEN_UNSUPPORTED")), "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn factories_that_read_without_end_take_little_and_hold_up_nobody() {
    // Longer than a simulation takes on a busy machine, and far less than eight factories could hold one up.
    let config = Config { simulation_time: Duration::from_secs(10), ..Config::default() };
    let mut world = World::with(config, true).await;
    let factory = Address::repeat_byte(0xfa);
    world.chain.set_code(factory, &Bytes::from_static(READS_WITHOUT_END)).await.unwrap();
    world.next_block().await;
    let (usdc, weth) = (token("USDC"), token("WETH"));
    let quote = world.quote_for(Address::repeat_byte(0x5a), usdc, units("USDC", 50), weth).await;
    agrees(&world, &simulated("USDC", 50, "WETH")).await;
    let body = json!({"quote_id": quote["quote_id"], "permit2_signature": wrap_erc6492(factory, &[], &[1; 65])});
    let ((status, answer), asked) = world.node.asked_by(world.post("/v1/build", &body)).await;
    assert_eq!((status, answer["code"].as_str()), (422, Some("PERMIT2_SIGNATURE_INVALID")), "{answer:#}");
    assert!(asked[0] <= 6, "{asked:?}");

    let mut attacks = JoinSet::new();
    for _ in 0..8 {
        let call = world.client.post(format!("{}/v1/build", world.base)).json(&body).header("x-api-key", KEY);
        attacks.spawn(async move {
            let response = call.send().await.unwrap();
            (response.status().as_u16(), response.json::<Value>().await.unwrap())
        });
    }
    let others = async {
        for _ in 0..4 {
            let (status, answer) = world.post_as(OTHER_KEY, "/v1/quote", &simulated("USDC", 50, "WETH")).await;
            assert_eq!((status, answer["data"]["simulation"]["status"].as_str()), (200, Some("success")), "{answer:#}");
        }
    };
    let ((attacks, ()), asked) = world.node.asked_by(async { tokio::join!(attacks.join_all(), others) }).await;
    assert!(asked[0] <= 8 * 6, "{asked:?}");
    for (status, answer) in attacks {
        let code = answer["code"].as_str().unwrap();
        assert!(
            (status, code) == (422, "PERMIT2_SIGNATURE_INVALID") || (status, code) == (503, "OVERLOADED"),
            "{code}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_reads_without_end_is_refused_after_few_messages() {
    // The number of messages matters here, not how long a busy machine takes.
    let config = Config { simulation_time: Duration::from_secs(600), ..Config::default() };
    let mut world = World::with(config, true).await;
    agrees(&world, &simulated("USDC", 50, "WETH")).await;
    let link = token("LINK");
    world.chain.set_code(link, &Bytes::from_static(READS_WITHOUT_END)).await.unwrap();
    world.next_block().await;
    let ((status, answer), asked) = world.node.asked_by(world.post("/v1/quote", &simulated("LINK", 5, "WETH"))).await;
    assert_eq!((status, answer["code"].as_str()), (422, Some("TOKEN_UNSUPPORTED")), "{answer:#}");
    // The check of the token and the simulation next to it each end at their limit.
    assert!(asked[0] <= 600, "{asked:?}");
    agrees(&world, &simulated("USDC", 50, "WETH")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_takes_so_many_calls_a_block() {
    const BLOCKS: u64 = 24;
    // Calls per block. A check that exceeds it takes about ten calls of a node with state overrides, and a hundred of
    // one without.
    for (lends, share, beyond) in [(true, 12, 40), (false, 60, 400)] {
        let share_of_block = u32::try_from(share).unwrap();
        let audit = AuditConfig { calls_per_block: share_of_block, ..AuditConfig::default() };
        let mut world = World::with(Config { audit, ..Config::default() }, lends).await;
        let (doubt, _doubted) = tokio::sync::mpsc::channel(16);
        let mut calls = 0;
        for _ in 0..BLOCKS {
            let published = world.feed.latest().unwrap();
            let rounds = async {
                for _ in 0..20 {
                    world.app.audit.round(&published.prepared, &published.doubtful, &doubt).await;
                }
            };
            let ((), asked) = world.node.asked_by(rounds).await;
            calls += asked[1];
            world.next_block().await;
        }
        eprintln!("lends {lends}: {calls} calls, checks {:?}", world.app.audit.counts());
        assert!(calls <= BLOCKS * share + beyond, "{calls}");
        assert!(world.app.audit.counts()[0] >= 4, "{:?}", world.app.audit.counts());
        assert_eq!(world.app.audit.counts()[1], 0);
    }
}
