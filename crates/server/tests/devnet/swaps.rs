//! Tests of single swaps, by allowance and by signature, and of what answers state about the taker.

use braid_devnet::accounts;
use braid_execution::{Order, execute_calldata};
use braid_primitives::{Address, Bytes, U256};
use braid_server::{AuditConfig, Config};
use serde_json::{Value, json};

use crate::wallets::hex;
use crate::world::{World, number, token, units};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_quoted_is_what_the_chain_pays() {
    let mut world = World::start().await;
    let swaps = [
        ("USDC", 1_000, "WETH"),
        ("USDC", 400_000, "WETH"),
        ("USDT", 5_000, "WBTC"),
        ("USDT", 6_000, "DAI"),
        ("ETH", 3, "USDC"),
        ("WBTC", 1, "ETH"),
        ("WETH", 2, "ETH"),
        ("ETH", 2, "WETH"),
        ("LINK", 500, "UNI"),
    ];
    for (from, whole, to) in swaps {
        let (sold, bought) = (token(from), token(to));
        let quote = world.quote(sold, units(from, whole), bought).await;
        world.approve(&quote["approvals"]).await;
        let built = world.build(&json!({"quote_id": quote["quote_id"]})).await;
        assert_eq!(built["authorization"], if from == "ETH" { "native" } else { "allowance" });
        assert_eq!(built["issues"], json!({"balance": [], "allowance": [], "unknown_protocols": []}));
        world.settles(&quote, &built).await;
    }
}

/// The first units of a token cost an account 17,100 gas more than later ones. The estimate omits this, because it does
/// not depend on any account's balance. The limit must have room for it, and a simulation must measure it.
#[tokio::test(flavor = "multi_thread")]
async fn a_fresh_wallets_first_balance_fits_the_limit_and_is_measured_by_a_simulation() {
    let mut world = World::start().await;
    for bought in ["USDC", "WBTC"] {
        let mut body = json!({
            "inputs": [{"chain_id": 1, "address": token("ETH"), "amount": units("ETH", 1).to_string()}],
            "outputs": [{"chain_id": 1, "address": token(bought), "ratio_bps": 10000}],
            "taker": accounts::OTHER,
        });
        let (_, modelled) = world.post("/v1/quote", &body).await;
        body["simulate"] = json!(true);
        let (_, measured) = world.post("/v1/quote", &body).await;
        let units = |answer: &Value| answer["data"]["costs"]["total_gas_units"].as_u64().unwrap();
        let more = units(&measured).saturating_sub(units(&modelled));
        assert!((5_000..30_000).contains(&more), "{more} gas units more, of {}", units(&modelled));
        let built = world.build(&json!({"quote_id": modelled["data"]["quote_id"]})).await;
        let receipt = world.send(&built["rpc_transaction"]).await;
        let limit = U256::from(built["transaction"]["gas"].as_u64().unwrap());
        assert!(number(&receipt["gasUsed"]) < limit, "{} of {limit}", number(&receipt["gasUsed"]));
    }
}

/// A path does not check what arrives, so the service may send one only if the tokens' transfers have been verified.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_verifies_no_transfers_sends_no_path() {
    let order = Order { inputs: vec![], outputs: vec![], recipient: Address::ZERO, deadline: 0, partner_fee: None };
    let execute = execute_calldata(&order, &Bytes::new()).get(..4).map(hex).unwrap();
    let off = AuditConfig { per_block: 0, ..AuditConfig::default() };
    for (audit, looks) in [(AuditConfig::default(), false), (off, true)] {
        let mut world = World::with(Config { audit, ..Config::default() }, true).await;
        let body = json!({
            "inputs": [{"chain_id": 1, "address": token("USDC"), "amount": units("USDC", 1_000).to_string()}],
            "outputs": [{"chain_id": 1, "address": token("WETH"), "ratio_bps": 10000}],
            "taker": accounts::TAKER, "include_protocols": ["uniswap_v3"], "max_steps": 1,
        });
        let (status, answer) = world.post("/v1/quote", &body).await;
        let quote = &answer["data"];
        assert_eq!((status, quote["path"]["steps"].as_array().unwrap().len()), (200, 1), "{answer:#}");
        world.approve(&quote["approvals"]).await;
        let built = world.build(&json!({"quote_id": quote["quote_id"]})).await;
        assert_eq!(built["transaction"]["data"].as_str().unwrap().starts_with(&execute), looks);
        world.settles(quote, &built).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signature_replaces_the_approval_of_the_proxy() {
    let mut world = World::start().await;
    let (usdc, weth) = (token("USDC"), token("WETH"));
    let quote = world.quote(usdc, units("USDC", 777), weth).await;
    world.approve(&quote["permit2"]["approvals"]).await;

    let sign = async |who: Address, data: &Value| {
        world.chain.rpc().call("eth_signTypedData_v4", json!([who, data])).await.unwrap()
    };
    let foreign = sign(accounts::OTHER, &quote["permit2"]["eip712"]).await;
    let body = json!({"quote_id": quote["quote_id"], "permit2_signature": foreign});
    let (status, answer) = world.post("/v1/build", &body).await;
    assert_eq!((status, answer["code"].as_str()), (422, Some("PERMIT2_SIGNATURE_INVALID")));

    let signature = sign(accounts::TAKER, &quote["permit2"]["eip712"]).await;
    let late = quote["permit2"]["deadline"].as_u64().unwrap() + 1;
    let body = json!({"quote_id": quote["quote_id"], "permit2_signature": signature, "deadline": late});
    let (status, answer) = world.post("/v1/build", &body).await;
    assert_eq!((status, answer["errors"][0]["code"].as_str()), (422, Some("DEADLINE_INVALID")));

    let built = world.build(&json!({"quote_id": quote["quote_id"], "permit2_signature": signature})).await;
    assert_eq!(built["authorization"], "permit2");
    assert_eq!(built["approvals"][0]["satisfied"], true);
    world.settles(&quote, &built).await;
}

/// An approval of exactly the amount was used up by the swap, so that every swap needed one.
#[tokio::test(flavor = "multi_thread")]
async fn permit2_is_approved_once_and_each_later_swap_takes_a_signature() {
    let mut world = World::start().await;
    // USDT refuses to change an allowance, and UNI stores the largest one as 2^96 - 1.
    for symbol in ["USDC", "USDT", "UNI"] {
        let quote = world.quote(token(symbol), units(symbol, 5), token("WETH")).await;
        let approval = &quote["permit2"]["approvals"][0];
        assert_eq!(
            (&approval["satisfied"], &approval["amount"]),
            (&json!(false), &json!(units(symbol, 5).to_string()))
        );
        world.approve(&quote["permit2"]["approvals"]).await;
        for whole in [5, 40] {
            let quote = world.quote(token(symbol), units(symbol, whole), token("WETH")).await;
            let approval = &quote["permit2"]["approvals"][0];
            assert_eq!((&approval["satisfied"], &approval["transactions"]), (&json!(true), &json!([])), "{symbol}");
            let signed = json!([accounts::TAKER, quote["permit2"]["eip712"]]);
            let signature = world.call("eth_signTypedData_v4", signed).await;
            let built = world.build(&json!({"quote_id": quote["quote_id"], "permit2_signature": signature})).await;
            assert_eq!(built["calls"].as_array().unwrap().len(), 1);
            world.settles(&quote, &built).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn allowances_and_balances_are_told_and_fail_nothing() {
    let mut world = World::start().await;
    let (usdt, dai) = (token("USDT"), token("DAI"));
    let quote = world.quote(usdt, units("USDT", 10), dai).await;
    let approval = quote["approvals"][0].clone();
    assert_eq!((&approval["current_allowance"], &approval["satisfied"]), (&json!("0"), &json!(false)));
    assert_eq!(approval["requires_zero_reset"], true);
    assert_eq!(approval["transactions"].as_array().unwrap().len(), 1);
    assert_eq!(quote["issues"]["allowance"][0]["expected"], units("USDT", 10).to_string());
    assert!(quote["issues"]["balance"].as_array().unwrap().is_empty());

    world.approve(&quote["approvals"]).await;
    let larger = world.quote(usdt, units("USDT", 20), dai).await;
    // Ten are allowed and twenty are required, and USDT must be reset to zero first.
    assert_eq!(larger["approvals"][0]["transactions"].as_array().unwrap().len(), 2);
    let again = world.quote(usdt, units("USDT", 10), dai).await;
    assert_eq!(again["approvals"][0]["satisfied"], true);
    assert!(again["approvals"][0]["transactions"].as_array().unwrap().is_empty());

    assert_eq!(again["approvals"].as_array().unwrap().len(), 1, "listed although it is in place");

    // If the check is requested explicitly, only missing approvals are returned, and a bundle contains no others.
    let mut asked = json!({
        "inputs": [{"chain_id": 1, "address": usdt, "amount": units("USDT", 10).to_string()}],
        "outputs": [{"chain_id": 1, "address": dai, "ratio_bps": 10000}],
        "taker": accounts::TAKER, "check_allowances": true,
    });
    let (_, answer) = world.post("/v1/quote", &asked).await;
    assert_eq!(answer["data"]["approvals"], json!([]));
    let built = world.build(&json!({"quote_id": answer["data"]["quote_id"]})).await;
    assert_eq!((&built["approvals"], built["calls"].as_array().unwrap().len()), (&json!([]), 1));
    asked["inputs"][0]["amount"] = json!(units("USDT", 20).to_string());
    let (_, answer) = world.post("/v1/quote", &asked).await;
    assert_eq!(answer["data"]["approvals"][0]["satisfied"], false);
    let built = world.build(&json!({"quote_id": answer["data"]["quote_id"]})).await;
    let [reset, approve, swap] = built["calls"].as_array().unwrap().as_slice() else { panic!("{}", built["calls"]) };
    assert_eq!((&reset["to"], &approve["to"]), (&json!(usdt.to_checksum(None)), &json!(usdt.to_checksum(None))));
    assert_eq!(swap["data"], built["transaction"]["data"]);

    let poor = json!({
        "inputs": [{"chain_id": 1, "address": usdt, "amount": "1000000"}],
        "outputs": [{"chain_id": 1, "address": dai, "ratio_bps": 10000}],
        "taker": accounts::OTHER,
    });
    let (status, answer) = world.post("/v1/quote", &poor).await;
    assert_eq!(status, 200);
    assert_eq!(
        answer["data"]["issues"]["balance"][0],
        json!({"token": usdt.to_checksum(None), "actual": "0", "expected": "1000000"})
    );
}
