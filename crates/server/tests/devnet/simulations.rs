//! Compares simulations with the results on chain.

use braid_devnet::accounts;
use braid_primitives::{Address, U256};
use braid_server::Config;
use serde_json::{Value, json};

use crate::world::{World, decimal, number, token, units};

#[tokio::test(flavor = "multi_thread")]
async fn a_simulation_sees_what_the_chain_then_does() {
    let mut world = World::start().await;
    for (from, whole, to) in [("USDC", 20_000, "WETH"), ("USDT", 5_000, "WBTC"), ("ETH", 3, "DAI")] {
        let (sold, bought) = (token(from), token(to));
        let simulated = json!({
            "inputs": [{"chain_id": 1, "address": sold, "amount": units(from, whole).to_string()}],
            "outputs": [{"chain_id": 1, "address": bought, "ratio_bps": 10000}],
            "taker": accounts::TAKER, "simulate": true, "explain": true,
        });
        let (_, answer) = world.post("/v1/quote", &simulated).await;
        let quote = answer["data"].clone();
        let seen = &quote["simulation"];
        assert_eq!(seen["status"], "success", "{quote:#}");
        assert_eq!(seen["outputs"][0]["amount"], quote["estimated_outputs"][0]["expected_amount"]);
        assert_eq!(seen["overrides"], if from == "ETH" { json!([]) } else { json!(["allowance"]) });
        assert_eq!(quote["costs"]["total_gas_units"], seen["gas_used"]);
        assert_eq!(quote["explanation"]["gas"]["gas_units"], seen["gas_used"]);

        world.approve(&quote["approvals"]).await;
        let built = world.build(&json!({"quote_id": quote["quote_id"], "simulate": true})).await;
        assert_eq!(built["simulation"]["overrides"], json!([]));
        let gas_used = built["simulation"]["gas_used"].as_u64().unwrap();
        // A call receives at most 63/64 of the remaining gas. The node's own search for a limit considers this.
        let needed = world.chain.rpc().call("eth_estimateGas", json!([built["rpc_transaction"]])).await.unwrap();
        let limit = built["transaction"]["gas"].as_u64().unwrap();
        assert!(number(&needed) < U256::from(limit) && limit < gas_used * 2, "{needed} needed, {limit} given");
        // A pool writes an observation once per timestamp, so the block gets the timestamp of the simulation.
        let newest = world.chain.rpc().call("eth_getBlockByNumber", json!(["latest", false])).await.unwrap();
        let next_s: U256 = number(&newest["timestamp"]) + U256::from(12);
        world.chain.rpc().call("evm_setNextBlockTimestamp", json!([format!("{next_s:#x}")])).await.unwrap();
        let (before, receipt) = (world.holds(bought).await, world.send(&built["rpc_transaction"]).await);
        assert_eq!(number(&receipt["gasUsed"]), U256::from(gas_used), "the same gas to the unit");
        assert_eq!(world.holds(bought).await - before, decimal(&built["simulation"]["outputs"][0]["amount"]));
    }
}

/// A quote keeps the only thread until its simulation begins. What waits for the node meanwhile must not keep it.
#[tokio::test(flavor = "multi_thread")]
async fn with_one_thread_quotes_at_once_are_all_simulated() {
    let world = World::with(Config { solve_threads: 1, ..Config::default() }, true).await;
    let amounts = [10, 20_000, 300, 4_000, 50, 600];
    let requests = amounts.map(|whole| {
        json!({
            "inputs": [{"chain_id": 1, "address": token("USDC"), "amount": units("USDC", whole).to_string()}],
            "outputs": [{"chain_id": 1, "address": token(if whole < 1_000 { "WETH" } else { "WBTC" }), "ratio_bps": 10000}],
            "taker": accounts::TAKER, "simulate": true,
        })
    });
    let calls = requests.iter().map(|request| world.post("/v1/quote", request));
    for (status, answer) in futures::future::join_all(calls).await {
        assert_eq!((status, answer["data"]["simulation"]["status"].as_str()), (200, Some("success")), "{answer:#}");
    }
    assert_eq!(world.app.work.waiting(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_would_revert_says_why_and_is_still_answered() {
    let world = World::start().await;
    let quote = world.quote(token("USDC"), units("USDC", 10), token("WETH")).await;
    let built = world.build(&json!({"quote_id": quote["quote_id"], "simulate": true})).await;
    let seen = &built["simulation"];
    assert_eq!(seen["status"], "reverted", "nothing is approved");
    assert_eq!((seen["outputs"].clone(), seen["overrides"].clone()), (json!([]), json!([])));
    let revert = &seen["revert"];
    let selector = revert["selector"].as_str().unwrap();
    assert!(selector.len() == 10 && selector.starts_with("0x"), "{revert:#}");
    assert!(revert["name"] == "TransferFailed" || revert["name"] == "PoolCallFailed", "{revert:#}");
    assert_eq!(revert["step"], "s1");
    assert!(revert["message"].as_str().unwrap().contains("fail"), "{revert:#}");
}

/// The proxy counts the payment of the outputs as the step after the last, and along a path as the first.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_the_recipient_refuses_names_no_step() {
    let mut world = World::start().await;
    let refuses = Address::repeat_byte(0x6e);
    world.call("anvil_setCode", json!([refuses, "0x5f5ffd"])).await;
    world.next_block().await;
    let fee = json!({"partner_fee_bps": 10, "partner_recipient": Address::repeat_byte(0x6f)});
    for partner_fee in [Value::Null, fee] {
        let body = json!({
            "inputs": [{"chain_id": 1, "address": token("USDC"), "amount": units("USDC", 500).to_string()}],
            "outputs": [{"chain_id": 1, "address": token("ETH"), "ratio_bps": 10000}],
            "taker": accounts::TAKER, "recipient": refuses, "simulate": true, "partner_fee": partner_fee,
            "include_protocols": ["uniswap_v3", "wrapped_ether"],
        });
        let (status, answer) = world.post("/v1/quote", &body).await;
        assert_eq!(status, 200, "{answer:#}");
        let revert = &answer["data"]["simulation"]["revert"];
        assert_eq!((&revert["name"], &revert["step"]), (&json!("EtherTransferFailed"), &Value::Null), "{answer:#}");
    }
}

/// The node has no state of the quote's block, as after a reorganisation or with a node that does not keep it.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_without_the_blocks_state_makes_a_simulation_unavailable_and_nothing_else() {
    let mut world = World::start().await;
    // The tokens are checked while their state is available.
    world.quote(token("USDC"), units("USDC", 50), token("WETH")).await;
    let snapshot = world.call("evm_snapshot", json!([])).await;
    world.call("evm_mine", json!([])).await;
    world.follow().await;
    assert_eq!(world.call("evm_revert", json!([snapshot])).await, true);
    let body = json!({
        "inputs": [{"chain_id": 1, "address": token("USDC"), "amount": units("USDC", 50).to_string()}],
        "outputs": [{"chain_id": 1, "address": token("WETH"), "ratio_bps": 10000}],
        "taker": accounts::TAKER, "simulate": true,
    });
    let (status, answer) = world.post("/v1/quote", &body).await;
    assert_eq!(status, 200, "{answer:#}");
    let quote = &answer["data"];
    let seen = &quote["simulation"];
    assert_eq!(
        (&seen["status"], &seen["gas_used"], &seen["outputs"]),
        (&json!("unavailable"), &Value::Null, &json!([]))
    );
    assert!(decimal(&quote["estimated_outputs"][0]["expected_amount"]) > U256::ZERO);
    let told = |code: &str| quote["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == code);
    assert!(told("SIMULATION_UNAVAILABLE") && told("ALLOWANCES_UNAVAILABLE"), "{:#}", quote["warnings"]);
    let built = world.build(&json!({"quote_id": quote["quote_id"], "simulate": true})).await;
    assert_eq!(built["simulation"]["status"], "unavailable");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taker_with_nothing_is_granted_what_it_lacks() {
    let world = World::start().await;
    let stranger = Address::repeat_byte(0x5a);
    for (from, whole) in [("USDT", 1_000), ("WBTC", 1), ("ETH", 2)] {
        let body = json!({
            "inputs": [{"chain_id": 1, "address": token(from), "amount": units(from, whole).to_string()}],
            "outputs": [{"chain_id": 1, "address": token("USDC"), "ratio_bps": 10000}],
            "taker": stranger, "simulate": true,
        });
        let (_, answer) = world.post("/v1/quote", &body).await;
        let seen = &answer["data"]["simulation"];
        assert_eq!(seen["status"], "success", "{seen:#}");
        let granted = if from == "ETH" { json!(["balance"]) } else { json!(["balance", "allowance"]) };
        assert_eq!(seen["overrides"], granted);
        assert_eq!(seen["outputs"][0]["amount"], answer["data"]["estimated_outputs"][0]["expected_amount"]);
    }
}
