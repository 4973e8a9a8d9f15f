//! Tests of exact outputs: the recipient gets the amount, and the taker sells what the quote states.

use braid_devnet::accounts;
use braid_primitives::{Address, NATIVE_ETHER, U256};
use braid_quoting::receipt::{Verdict, verify};
use serde_json::{Value, json};

use crate::world::{World, decimal, number, token, units};

/// Requests a quote for an exact amount; `more` contains further fields of the request.
async fn purchase(world: &World, from: &str, amount: U256, to: &str, more: Value) -> Value {
    let mut body = json!({
        "inputs": [{"chain_id": 1, "address": token(from)}],
        "outputs": [{"chain_id": 1, "address": token(to), "amount": amount.to_string()}],
        "taker": accounts::TAKER,
    });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let (status, answer) = world.post("/v1/quote", &body).await;
    assert_eq!(status, 200, "{answer:#}");
    let quote = answer["data"].clone();
    let (input, output) = (&quote["estimated_inputs"][0], &quote["estimated_outputs"][0]);
    assert_eq!(decimal(&output["minimum_amount"]), amount);
    let (sold, maximum) = (decimal(&input["expected_amount"]), decimal(&input["maximum_amount"]));
    let needed = decimal(&quote["exact_output"]["needed_input"]);
    let slippage = U256::from(quote["slippage_tolerance_bps"].as_u64().unwrap() + 10_000);
    assert_eq!(maximum, (needed * slippage).div_ceil(U256::from(10_000)), "the slippage is on the input");
    match quote["exact_output"]["bought"].as_str() {
        Some("exactly") => assert_eq!((sold, decimal(&output["expected_amount"])), (needed, amount)),
        _ => assert!(sold == maximum && decimal(&output["expected_amount"]) >= amount, "{quote:#}"),
    }
    let surplus = quote["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == "EXACT_OUTPUT_SURPLUS");
    assert_eq!(surplus, quote["exact_output"]["bought"] == "at_least");
    let least = decimal(&quote["certificate"]["least_input"]);
    assert!(least <= needed, "{:#}", quote["certificate"]);
    for approval in quote["approvals"].as_array().unwrap() {
        assert_eq!(decimal(&approval["amount"]), maximum);
    }
    quote
}

async fn held(world: &World, token: Address, who: Address) -> U256 {
    match token {
        NATIVE_ETHER => world.chain.ether_of(who).await.unwrap(),
        _ => world.chain.balance_of(token, who).await.unwrap(),
    }
}

/// Sends a built transaction. Returns what the taker sold, what the recipient got, and the gas used.
async fn sent_for(world: &mut World, quote: &Value, built: &Value) -> ((U256, U256), U256) {
    let address = |value: &Value| value.as_str().unwrap().parse::<Address>().unwrap();
    let sold = address(&quote["estimated_inputs"][0]["token"]);
    let (bought, recipient) = (address(&quote["estimated_outputs"][0]["token"]), address(&quote["recipient"]));
    let before = (held(world, sold, accounts::TAKER).await, held(world, bought, recipient).await);
    let receipt = world.send(&built["rpc_transaction"]).await;
    let used = number(&receipt["gasUsed"]);
    assert!(used < U256::from(built["transaction"]["gas"].as_u64().unwrap()));
    let gas_wei = used * number(&receipt["effectiveGasPrice"]);
    let after = (held(world, sold, accounts::TAKER).await, held(world, bought, recipient).await);
    let fee = |token, who| if token == NATIVE_ETHER && who == accounts::TAKER { gas_wei } else { U256::ZERO };
    ((before.0 - after.0 - fee(sold, accounts::TAKER), after.1 + fee(bought, recipient) - before.1), used)
}

async fn sent(world: &mut World, quote: &Value, built: &Value) -> (U256, U256) {
    sent_for(world, quote, built).await.0
}

/// Recomputes the quote from its receipt alone.
async fn proves_itself(world: &World, quote: &Value) {
    let path = format!("{}/v1/quote/{}/receipt", world.base, quote["quote_id"].as_str().unwrap());
    let receipt = world.client.get(path).header("x-api-key", crate::world::KEY).send().await.unwrap();
    let findings = verify(&receipt.bytes().await.unwrap(), None).unwrap();
    assert!(findings.len() > 8, "{findings:#?}");
    assert!(!findings.iter().any(|finding| matches!(finding.verdict, Verdict::Differs(_))), "{findings:#?}");
}

/// Builds and sends, and checks that the result on chain is what was quoted.
async fn settles(world: &mut World, quote: &Value, more: Value) {
    proves_itself(world, quote).await;
    let mut body = json!({"quote_id": quote["quote_id"]});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let built = world.build(&body).await;
    assert_eq!(built["estimated_inputs"][0]["maximum_amount"], quote["estimated_inputs"][0]["maximum_amount"]);
    let expected = (
        decimal(&built["estimated_inputs"][0]["expected_amount"]),
        decimal(&built["estimated_outputs"][0]["expected_amount"]),
    );
    assert_eq!(expected.0, decimal(&quote["estimated_inputs"][0]["expected_amount"]));
    assert_eq!(expected.1, decimal(&quote["estimated_outputs"][0]["expected_amount"]));
    let (moved, used) = sent_for(world, quote, &built).await;
    assert_eq!(moved, expected, "{quote:#}");
    if built["authorization"] != "permit2" {
        let modelled = U256::from(quote["costs"]["total_gas_units"].as_u64().unwrap());
        assert!(used.abs_diff(modelled) < modelled / U256::from(10), "{used} gas used, {modelled} modelled");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn exactly_the_amount_is_bought_by_allowance() {
    let mut world = World::start().await;
    let chain = json!({"include_protocols": ["uniswap_v2", "uniswap_v3", "sushiswap_v2"], "max_steps": 2});
    let rows = [
        ("USDC", 3, "WETH"),
        ("USDC", 2, "ETH"),
        ("ETH", 5_000, "USDC"),
        ("WETH", 1_000, "DAI"),
        ("LINK", 50, "UNI"),
        ("USDT", 1, "WBTC"),
    ];
    let mut exact = 0;
    for (from, whole, to) in rows {
        let quote = purchase(&world, from, units(to, whole), to, chain.clone()).await;
        exact += usize::from(quote["exact_output"]["bought"] == "exactly");
        world.approve(&quote["approvals"]).await;
        settles(&mut world, &quote, json!({})).await;
    }
    assert!(exact >= 4, "only {exact} were bought exactly");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_split_sells_the_maximum_and_buys_at_least_the_amount() {
    let mut world = World::start().await;
    // Excludes everything whose price changes each second, because the time of the next block depends on the machine.
    let timeless = json!({"exclude_protocols": ["morpho", "erc4626", "balancer_v3_buffer"]});
    let mut split = 0;
    for (from, whole, to) in
        [("USDC", 3_000, "WETH"), ("ETH", 9_000_000, "USDC"), ("USDT", 6_000, "DAI"), ("USDC", 2_000, "ETH")]
    {
        let quote = purchase(&world, from, units(to, whole), to, timeless.clone()).await;
        split += usize::from(quote["exact_output"]["bought"] == "at_least");
        world.approve(&quote["approvals"]).await;
        settles(&mut world, &quote, json!({})).await;
    }
    assert!(split >= 2, "only {split} were sales of the maximum");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signature_pays_no_more_than_a_purchase_costs() {
    let mut world = World::start().await;
    let chain = json!({"include_protocols": ["uniswap_v3"], "max_steps": 1});
    let timeless = json!({"exclude_protocols": ["morpho", "erc4626", "balancer_v3_buffer"]});
    for (more, whole, bought) in [(chain, 2, "exactly"), (timeless, 3_000, "at_least")] {
        let quote = purchase(&world, "USDC", units("WETH", whole), "WETH", more).await;
        assert_eq!(quote["exact_output"]["bought"], bought);
        world.approve(&quote["permit2"]["approvals"]).await;
        let permitted = &quote["permit2"]["eip712"]["message"]["permitted"]["amount"];
        assert_eq!(permitted, &quote["estimated_inputs"][0]["maximum_amount"]);
        let data = &quote["permit2"]["eip712"];
        let signature = world.call("eth_signTypedData_v4", json!([accounts::TAKER, data])).await;
        settles(&mut world, &quote, json!({"permit2_signature": signature})).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_price_that_moved_costs_more_up_to_the_maximum_and_no_further() {
    let mut world = World::start().await;
    let more = json!({"include_protocols": ["uniswap_v3"], "max_steps": 1, "slippage_tolerance_bps": 30});
    let amount = units("WETH", 2);
    let quote = purchase(&world, "USDC", amount, "WETH", more.clone()).await;
    assert_eq!(quote["exact_output"]["bought"], "exactly");
    world.approve(&quote["approvals"]).await;
    let maximum = decimal(&quote["estimated_inputs"][0]["maximum_amount"]);
    let built = world.build(&json!({"quote_id": quote["quote_id"]})).await;

    // Another purchase comes first: a small one, and then a large one.
    let buy = async |world: &mut World, whole| {
        let moved = json!({"include_protocols": ["uniswap_v3"], "max_steps": 1, "slippage_tolerance_bps": 5_000});
        let mover = purchase(world, "USDC", units("WETH", whole), "WETH", moved).await;
        let signature = world.call("eth_signTypedData_v4", json!([accounts::TAKER, mover["permit2"]["eip712"]])).await;
        world.approve(&mover["permit2"]["approvals"]).await;
        let built = world.build(&json!({"quote_id": mover["quote_id"], "permit2_signature": signature})).await;
        sent(world, &mover, &built).await;
    };
    buy(&mut world, 1).await;
    let again = world.build(&json!({"quote_id": quote["quote_id"]})).await;
    let (first, now) = (&built["estimated_inputs"][0], &again["estimated_inputs"][0]);
    let asked = decimal(&now["expected_amount"]);
    assert!(asked > decimal(&first["expected_amount"]) && asked <= maximum, "{now:#}");
    assert_eq!(sent(&mut world, &quote, &again).await, (asked, amount));

    let quote = purchase(&world, "USDC", amount, "WETH", more).await;
    world.approve(&quote["approvals"]).await;
    let built = world.build(&json!({"quote_id": quote["quote_id"]})).await;
    buy(&mut world, 2_000).await;
    let (status, answer) = world.post("/v1/build", &json!({"quote_id": quote["quote_id"]})).await;
    assert_eq!((status, answer["code"].as_str()), (409, Some("QUOTE_STALE")), "{answer:#}");
    assert!(answer["detail"].as_str().unwrap().contains("maximum"), "{answer:#}");
    let before = held(&world, token("USDC"), accounts::TAKER).await;
    let sent = world.chain.rpc().call("eth_sendTransactionSync", json!([built["rpc_transaction"]])).await;
    assert!(sent.is_err() || sent.unwrap()["status"] == "0x0");
    assert_eq!(held(&world, token("USDC"), accounts::TAKER).await, before, "nothing was sold");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partner_is_paid_and_the_recipient_still_gets_the_amount() {
    let mut world = World::start().await;
    let partner = Address::repeat_byte(0x77);
    for on_output in [false, true] {
        let fee = json!({"partner_fee_bps": 50, "partner_recipient": partner, "partner_fee_on_output": on_output});
        let amount = units("WETH", 3);
        let quote = purchase(&world, "USDC", amount, "WETH", json!({"partner_fee": fee})).await;
        assert_eq!(quote["exact_output"]["bought"], "at_least", "no partner is paid along a path");
        world.approve(&quote["approvals"]).await;
        let paid_in = token(if on_output { "WETH" } else { "USDC" });
        let before = held(&world, paid_in, partner).await;
        settles(&mut world, &quote, json!({})).await;
        assert!(held(&world, paid_in, partner).await > before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_simulation_of_a_purchase_sees_the_amount_and_the_gas() {
    let mut world = World::start().await;
    let recipient = Address::repeat_byte(0x42);
    let chain = json!({"include_protocols": ["uniswap_v3"], "max_steps": 2, "simulate": true, "explain": true});
    for (from, whole, to) in [("USDC", 2, "WETH"), ("ETH", 900, "USDC"), ("USDC", 1, "ETH")] {
        let mut more = chain.clone();
        more["recipient"] = json!(recipient);
        let quote = purchase(&world, from, units(to, whole), to, more).await;
        assert_eq!(quote["simulation"]["status"], "success", "{quote:#}");
        assert_eq!(quote["exact_output"]["bought"], "exactly");
        assert_eq!(decimal(&quote["simulation"]["outputs"][0]["amount"]), units(to, whole));
        world.approve(&quote["approvals"]).await;
        let built = world.build(&json!({"quote_id": quote["quote_id"], "simulate": true})).await;
        assert_eq!(built["simulation"]["status"], "success", "{built:#}");
        let sold = decimal(&quote["estimated_inputs"][0]["expected_amount"]);
        assert_eq!(sent(&mut world, &quote, &built).await, (sold, units(to, whole)));
    }
}
