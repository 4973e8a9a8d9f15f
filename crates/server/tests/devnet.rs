//! The whole way on a real chain: quote, approve or sign, build, send, receive — equal to the wei.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::sync::Arc;

use braid_devnet::{Devnet, Options, accounts, tokens};
use braid_ethereum::{Follower, FollowerConfig, FollowerHandle, Node};
use braid_primitives::{Address, NATIVE_ETHER, U256};
use braid_server::{App, Config, LimitsConfig, MarketFeed, Parts, SystemClock, router};
use braid_store::{KeyStore, QuoteStore};
use serde_json::{Value, json};

const KEY: &str = "test-key";

/// A chain and a service on it.
struct World {
    chain: Devnet,
    follower: FollowerHandle,
    feed: Arc<MarketFeed>,
    app: Arc<App>,
    base: String,
    client: reqwest::Client,
    _dir: tempfile::TempDir,
}

impl World {
    async fn start() -> Self {
        let chain = Devnet::start(Options::default()).await.unwrap();
        let node = Node::connect(&chain.http_url()).await.unwrap();
        let follower = Follower::spawn(node.clone(), FollowerConfig::default());
        let feed = Arc::new(MarketFeed::new(follower.status.clone()));
        let dir = tempfile::tempdir().unwrap();
        let limits = LimitsConfig { keyed_per_min: 10_000, ..LimitsConfig::default() };
        let app = App::new(Parts {
            config: Config { limits, ..Config::default() },
            clock: Arc::new(SystemClock),
            feed: feed.clone(),
            node: Some(node),
            keys: KeyStore::open(dir.path()).unwrap().with_fixed("test", KEY),
            quotes: QuoteStore::open(dir.path()).unwrap(),
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let serving = axum::serve(listener, router(&app)).into_future();
        tokio::spawn(serving);
        let mut world = Self { chain, follower, feed, app, base, client: reqwest::Client::new(), _dir: dir };
        world.follow().await;
        world
    }

    /// Puts the market of the chain's newest block in front of the service.
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

    async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let call = self.client.post(format!("{}{path}", self.base)).json(body).header("x-api-key", KEY);
        let response = call.send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    async fn quote(&self, from: Address, amount: U256, to: Address) -> Value {
        let body = json!({
            "inputs": [{"chain_id": 1, "address": from, "amount": amount.to_string()}],
            "outputs": [{"chain_id": 1, "address": to, "ratio_bps": 10000}],
            "taker": accounts::TAKER,
        });
        let (status, answer) = self.post("/v1/quote", &body).await;
        assert_eq!(status, 200, "{answer:#}");
        answer["data"].clone()
    }

    async fn build(&self, body: &Value) -> Value {
        let (status, answer) = self.post("/v1/build", body).await;
        assert_eq!(status, 200, "{answer:#}");
        answer["data"].clone()
    }

    /// Sends a transaction as the taker and waits for its block.
    async fn send(&mut self, transaction: &Value) -> Value {
        let receipt = self.chain.rpc().call("eth_sendTransactionSync", json!([transaction])).await.unwrap();
        assert_eq!(receipt["status"], "0x1", "{receipt:#}");
        self.follow().await;
        receipt
    }

    async fn approve(&mut self, approvals: &Value) {
        for transaction in
            approvals.as_array().unwrap().iter().flat_map(|approval| approval["transactions"].as_array().unwrap())
        {
            self.send(&json!({"from": accounts::TAKER, "to": transaction["to"], "data": transaction["data"]})).await;
        }
    }

    async fn holds(&self, token: Address) -> U256 {
        match token {
            NATIVE_ETHER => self.chain.ether_of(accounts::TAKER).await.unwrap(),
            _ => self.chain.balance_of(token, accounts::TAKER).await.unwrap(),
        }
    }

    /// What the taker holds of every input and output of a quote.
    async fn holdings(&self, quote: &Value) -> Vec<(Address, U256)> {
        let inputs = quote["inputs"].as_array().unwrap().iter().map(|input| &input["address"]);
        let outputs = quote["estimated_outputs"].as_array().unwrap().iter().map(|output| &output["token"]);
        let mut held = Vec::new();
        for token in inputs.chain(outputs).map(|address| address.as_str().unwrap().parse().unwrap()) {
            held.push((token, self.holds(token).await));
        }
        held
    }

    /// Sends what was built and checks that it takes and pays what the quote said.
    async fn settles(&mut self, quote: &Value, built: &Value) {
        let before = self.holdings(quote).await;
        let receipt = self.send(&built["rpc_transaction"]).await;
        let gas_wei = number(&receipt["gasUsed"]) * number(&receipt["effectiveGasPrice"]);
        let after = self.holdings(quote).await.into_iter();
        let after = after.map(|(token, held)| held + if token == NATIVE_ETHER { gas_wei } else { U256::ZERO });
        let inputs = quote["inputs"].as_array().unwrap().iter().map(|input| (&input["amount"], true));
        let outputs = quote["estimated_outputs"].as_array().unwrap().iter().map(|out| (&out["expected_amount"], false));
        for (((token, before), after), (amount, spent)) in before.into_iter().zip(after).zip(inputs.chain(outputs)) {
            let moved = if spent { before - after } else { after - before };
            assert_eq!(moved, decimal(amount), "{token}: {quote:#}");
        }
        let limit = built["transaction"]["gas"].as_u64().unwrap();
        assert!(number(&receipt["gasUsed"]) < U256::from(limit));
    }

    /// A quote for a basket; `more` are further fields of the request.
    async fn basket(&self, inputs: &[(&str, u64)], outputs: &[(&str, u16)], more: Value) -> Value {
        let sold = |(symbol, whole): &(&str, u64)| json!({"chain_id": 1, "address": token(symbol), "amount": units(symbol, *whole).to_string()});
        let bought = |(symbol, ratio_bps): &(&str, u16)| json!({"chain_id": 1, "address": token(symbol), "ratio_bps": ratio_bps});
        let mut body = json!({
            "inputs": inputs.iter().map(sold).collect::<Vec<_>>(),
            "outputs": outputs.iter().map(bought).collect::<Vec<_>>(),
            "taker": accounts::TAKER,
        });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (status, answer) = self.post("/v1/quote", &body).await;
        assert_eq!(status, 200, "{answer:#}");
        let quote = answer["data"].clone();
        for output in quote["estimated_outputs"].as_array().unwrap() {
            let off = output["realized_ratio_bps"].as_i64().unwrap() - output["ratio_bps"].as_i64().unwrap();
            assert!(off.abs() <= 1, "{output:#}");
            assert!(decimal(&output["minimum_amount"]) < decimal(&output["expected_amount"]));
            assert!(output["price_impact_bps"].is_i64(), "{output:#}");
        }
        assert!(quote["warnings"].as_array().unwrap().iter().all(|warning| warning["code"] != "RATIO_NOT_MET"));
        assert!(quote["certificate"]["gap_bps"].as_f64().unwrap() < 50.0, "{:#}", quote["certificate"]);
        quote
    }
}

fn number(value: &Value) -> U256 {
    value.as_str().unwrap().parse().unwrap()
}

fn decimal(value: &Value) -> U256 {
    U256::from_str_radix(value.as_str().unwrap(), 10).unwrap()
}

fn token(symbol: &str) -> Address {
    if symbol == "ETH" { NATIVE_ETHER } else { tokens::by_symbol(symbol).address }
}

fn units(symbol: &str, whole: u64) -> U256 {
    if symbol == "ETH" {
        U256::from(whole) * U256::from(10).pow(U256::from(18))
    } else {
        tokens::by_symbol(symbol).units(whole)
    }
}

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
    // ten are allowed and twenty wanted: tether must be reset first
    assert_eq!(larger["approvals"][0]["transactions"].as_array().unwrap().len(), 2);
    let again = world.quote(usdt, units("USDT", 10), dai).await;
    assert_eq!(again["approvals"][0]["satisfied"], true);
    assert!(again["approvals"][0]["transactions"].as_array().unwrap().is_empty());

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

#[tokio::test(flavor = "multi_thread")]
async fn the_proxy_is_found_on_the_chain() {
    let world = World::start().await;
    let block = *world.feed.latest().unwrap().head.block();
    let node = world.app.node.clone().unwrap();
    let found = world.app.proxy.look(&node, block.hash).await.unwrap();
    assert_eq!(found, braid_server::proxy::ProxyState::Deployed);
    let empty = world.quote(token("USDC"), units("USDC", 1), token("WETH")).await;
    assert!(empty["warnings"].as_array().unwrap().is_empty());
}

/// Quotes go on, builds say so, and a simulation puts the proxy's code in its place and says that it did.
#[tokio::test(flavor = "multi_thread")]
async fn where_the_proxy_is_missing_simulations_place_it_and_answers_warn() {
    use braid_server::proxy::ProxyState;

    let mut world = World::start().await;
    let proxy = braid_execution::proxy::address();
    for (code, found, simulated) in [("0x", ProxyState::Missing, "success"), ("0xfe", ProxyState::Foreign, "reverted")]
    {
        world.chain.rpc().call("anvil_setCode", json!([proxy, code])).await.unwrap();
        world.chain.rpc().call("evm_mine", json!([])).await.unwrap();
        world.follow().await;
        let node = world.app.node.clone().unwrap();
        let block = *world.feed.latest().unwrap().head.block();
        assert_eq!(world.app.proxy.look(&node, block.hash).await.unwrap(), found);

        let body = json!({
            "inputs": [{"chain_id": 1, "address": token("USDC"), "amount": units("USDC", 100).to_string()}],
            "outputs": [{"chain_id": 1, "address": token("WETH"), "ratio_bps": 10000}],
            "taker": accounts::TAKER, "simulate": true,
        });
        let (status, answer) = world.post("/v1/quote", &body).await;
        assert_eq!(status, 200, "{answer:#}");
        let quote = &answer["data"];
        assert_eq!(quote["warnings"][0]["code"], "PROXY_NOT_DEPLOYED", "{quote:#}");
        assert_eq!(quote["simulation"]["status"], simulated, "{quote:#}");
        let placed = quote["simulation"]["overrides"].as_array().unwrap().contains(&json!("code"));
        assert_eq!(placed, found == ProxyState::Missing);
        let built = world.build(&json!({"quote_id": quote["quote_id"]})).await;
        assert_eq!(built["warnings"][0]["code"], "PROXY_NOT_DEPLOYED", "{built:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn balances_and_allowances_are_read_from_the_chain() {
    let mut world = World::start().await;
    let (usdc, taker) = (token("USDC"), accounts::TAKER);
    let quote = world.quote(usdc, units("USDC", 5), token("WETH")).await;
    world.approve(&quote["approvals"]).await;
    let proxy = &quote["approvals"][0]["spender"];

    let no_contract = Address::with_last_byte(0xaa);
    let body = json!({"chain_id": 1, "owner": taker, "tokens": [NATIVE_ETHER, usdc, no_contract]});
    let (status, answer) = world.post("/v1/balances", &body).await;
    assert_eq!(status, 200, "{answer:#}");
    let balances = &answer["data"]["balances"];
    assert_eq!(balances[usdc.to_checksum(None)], world.holds(usdc).await.to_string());
    assert_eq!(balances[NATIVE_ETHER.to_checksum(None)], world.holds(NATIVE_ETHER).await.to_string());
    assert!(balances[no_contract.to_checksum(None)].is_null());

    let body = json!({"chain_id": 1, "owner": taker, "allowances": [{"token": usdc, "spender": proxy}]});
    let (_, answer) = world.post("/v1/allowances", &body).await;
    let key = format!("{}:{}", usdc.to_checksum(None), proxy.as_str().unwrap());
    assert_eq!(answer["data"]["allowances"][key], units("USDC", 5).to_string());
}

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
        // a call passes on 63 of 64 parts of what is left: the node's own search for a limit knows that
        let needed = world.chain.rpc().call("eth_estimateGas", json!([built["rpc_transaction"]])).await.unwrap();
        let limit = built["transaction"]["gas"].as_u64().unwrap();
        assert!(number(&needed) < U256::from(limit) && limit < gas_used * 2, "{needed} needed, {limit} given");
        // A pool writes an observation once a second: the block comes when the simulation said it would.
        let newest = world.chain.rpc().call("eth_getBlockByNumber", json!(["latest", false])).await.unwrap();
        let next_s: U256 = number(&newest["timestamp"]) + U256::from(12);
        world.chain.rpc().call("evm_setNextBlockTimestamp", json!([format!("{next_s:#x}")])).await.unwrap();
        let (before, receipt) = (world.holds(bought).await, world.send(&built["rpc_transaction"]).await);
        assert_eq!(number(&receipt["gasUsed"]), U256::from(gas_used), "the same gas to the unit");
        assert_eq!(world.holds(bought).await - before, decimal(&built["simulation"]["outputs"][0]["amount"]));
    }
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

/// The quote's block is gone from the node, as after a reorganisation, or with a node that keeps no state of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_without_the_blocks_state_makes_a_simulation_unavailable_and_nothing_else() {
    let mut world = World::start().await;
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

#[tokio::test(flavor = "multi_thread")]
async fn baskets_pay_every_output_in_one_transaction() {
    let mut world = World::start().await;
    let six_in = [("USDC", 5_000), ("USDT", 4_000), ("LINK", 100), ("UNI", 200), ("ETH", 1), ("DAI", 3_000)];
    let six_out =
        [("WBTC", 2_500), ("WETH", 2_500), ("AAVE", 2_000), ("CRV", 1_000), ("wstETH", 1_000), ("LDO", 1_000)];
    let partner = json!({"partner_fee_bps": 25, "partner_recipient": accounts::OTHER, "partner_fee_on_output": true});
    let on_input = json!({"partner_fee_bps": 30, "partner_recipient": accounts::OTHER});
    type Basket<'a> = (&'a [(&'a str, u64)], &'a [(&'a str, u16)], Value);
    let baskets: [Basket<'_>; 5] = [
        (&[("USDC", 5_000), ("LINK", 100)], &[("WBTC", 6_000), ("UNI", 4_000)], json!({})),
        (&[("USDT", 9_000), ("WETH", 2), ("WBTC", 1)], &[("ETH", 5_000), ("DAI", 3_333), ("LINK", 1_667)], json!({})),
        (&[("ETH", 3)], &[("WETH", 2_000), ("USDC", 8_000)], json!({"partner_fee": on_input})),
        (&[("USDC", 2_000), ("DAI", 2_000)], &[("ETH", 5_000), ("WETH", 5_000)], json!({"partner_fee": partner})),
        (&six_in, &six_out, json!({"simulate": true})),
    ];
    for (inputs, outputs, more) in baskets {
        let quote = world.basket(inputs, outputs, more).await;
        if !quote["simulation"].is_null() {
            assert_eq!(quote["simulation"]["status"], "success", "{:#}", quote["simulation"]);
        }
        world.approve(&quote["approvals"]).await;
        let simulates = !quote["simulation"].is_null();
        let built = world.build(&json!({"quote_id": quote["quote_id"], "simulate": simulates})).await;
        // sent with the measured limit where it was measured
        world.settles(&quote, &built).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_signature_pays_for_several_inputs() {
    let mut world = World::start().await;
    let inputs = [("USDT", 500), ("USDC", 700), ("LINK", 30)];
    let quote = world.basket(&inputs, &[("DAI", 7_000), ("WETH", 3_000)], json!({})).await;
    world.approve(&quote["permit2"]["approvals"]).await;
    let data = &quote["permit2"]["eip712"];
    assert_eq!(data["message"]["permitted"].as_array().unwrap().len(), 3, "the batch form");
    let signature = world.chain.rpc().call("eth_signTypedData_v4", json!([accounts::TAKER, data])).await.unwrap();
    let built = world.build(&json!({"quote_id": quote["quote_id"], "permit2_signature": signature})).await;
    assert_eq!(built["authorization"], "permit2");
    world.settles(&quote, &built).await;
}

/// An account that stands by what `owner` signs (EIP-1271): a stand-in for a contract wallet, written out in opcodes. It
/// recovers the signer of the hash and answers the magic value if that is the owner.
fn wallet_code(owner: Address) -> Vec<u8> {
    let mut code = vec![
        0x60, 0x04, 0x35, 0x5f, 0x52, // hash
        0x60, 0xa4, 0x35, 0x5f, 0x1a, 0x60, 0x20, 0x52, // v
        0x60, 0x64, 0x35, 0x60, 0x40, 0x52, // r
        0x60, 0x84, 0x35, 0x60, 0x60, 0x52, // s
        0x60, 0x20, 0x5f, 0x60, 0x80, 0x5f, 0x60, 0x01, 0x5a, 0xfa, 0x50, // ecrecover
        0x5f, 0x51, 0x73,
    ];
    code.extend(owner);
    code.extend([0x14, 0x63, 0x16, 0x26, 0xba, 0x7e, 0x60, 0xe0, 0x1b, 0x02, 0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3]);
    code
}

impl World {
    async fn call(&self, method: &str, params: Value) -> Value {
        self.chain.rpc().call(method, params).await.unwrap()
    }

    /// Gives an account that no key opens ether and USDC, and lets transactions be sent in its name.
    async fn endow(&mut self, account: Address, usdc: Address, amount: U256) {
        self.call("anvil_impersonateAccount", json!([account])).await;
        self.call("anvil_setBalance", json!([account, "0x8ac7230489e80000"])).await;
        let data = [&[0xa9, 0x05, 0x9c, 0xbb], account.into_word().as_slice(), &amount.to_be_bytes::<32>()].concat();
        self.send(&json!({"from": accounts::TAKER, "to": usdc, "data": hex(&data)})).await;
    }

    async fn quote_for(&self, taker: Address, from: Address, amount: U256, to: Address) -> Value {
        let body = json!({
            "inputs": [{"chain_id": 1, "address": from, "amount": amount.to_string()}],
            "outputs": [{"chain_id": 1, "address": to, "ratio_bps": 10000}],
            "taker": taker,
        });
        let (status, answer) = self.post("/v1/quote", &body).await;
        assert_eq!(status, 200, "{answer:#}");
        answer["data"].clone()
    }

    async fn signed(&self, owner: Address, quote: &Value) -> String {
        let signature = self.call("eth_signTypedData_v4", json!([owner, quote["permit2"]["eip712"]])).await;
        signature.as_str().unwrap().to_owned()
    }
}

fn hex(bytes: &[u8]) -> String {
    braid_primitives::Bytes::copy_from_slice(bytes).to_string()
}

fn unhex(text: &str) -> Vec<u8> {
    text.parse::<braid_primitives::Bytes>().unwrap().to_vec()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contract_wallet_signs_by_its_own_rule() {
    let mut world = World::start().await;
    let (usdc, weth) = (token("USDC"), token("WETH"));
    let wallet = Address::repeat_byte(0x77);
    world.call("anvil_setCode", json!([wallet, hex(&wallet_code(accounts::TAKER))])).await;
    world.endow(wallet, usdc, units("USDC", 500)).await;
    let quote = world.quote_for(wallet, usdc, units("USDC", 500), weth).await;
    for approval in quote["permit2"]["approvals"][0]["transactions"].as_array().unwrap() {
        world.send(&json!({"from": wallet, "to": approval["to"], "data": approval["data"]})).await;
    }
    let foreign = world.signed(accounts::OTHER, &quote).await;
    let body = json!({"quote_id": quote["quote_id"], "permit2_signature": foreign});
    let (status, answer) = world.post("/v1/build", &body).await;
    assert_eq!((status, answer["code"].as_str()), (422, Some("PERMIT2_SIGNATURE_INVALID")));

    let signature = world.signed(accounts::TAKER, &quote).await;
    let built = world.build(&json!({"quote_id": quote["quote_id"], "permit2_signature": signature})).await;
    let before = world.chain.balance_of(weth, wallet).await.unwrap();
    world.send(&built["rpc_transaction"]).await;
    let received = world.chain.balance_of(weth, wallet).await.unwrap() - before;
    assert_eq!(received, decimal(&quote["estimated_outputs"][0]["expected_amount"]));
}

/// Once an account has code, Permit2 asks the code and no longer the key: so does the service.
#[tokio::test(flavor = "multi_thread")]
async fn the_key_of_an_account_with_code_counts_for_nothing() {
    let world = World::start().await;
    let quote = world.quote(token("USDC"), units("USDC", 5), token("WETH")).await;
    let signature = world.signed(accounts::TAKER, &quote).await;
    // code that answers nothing, as a careless delegation (EIP-7702) would
    world.call("anvil_setCode", json!([accounts::TAKER, "0x00"])).await;
    world.call("anvil_mine", json!(["0x1"])).await;
    let mut world = world;
    world.follow().await;
    let body = json!({"quote_id": quote["quote_id"], "permit2_signature": signature});
    let (status, answer) = world.post("/v1/build", &body).await;
    assert_eq!((status, answer["code"].as_str()), (422, Some("PERMIT2_SIGNATURE_INVALID")), "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_is_not_deployed_yet_signs_as_erc_6492_says() {
    let mut world = World::start().await;
    let (usdc, weth) = (token("USDC"), token("WETH"));
    let code = wallet_code(accounts::TAKER);
    let length = u8::try_from(code.len()).unwrap();
    let init = [&[0x60, length, 0x80, 0x60, 0x09, 0x5f, 0x39, 0x5f, 0xf3], code.as_slice()].concat();
    let factory = braid_execution::proxy::CREATE2_DEPLOYER;
    let wallet = factory.create2_from_code([0; 32], &init);
    let calldata = [[0; 32].as_slice(), &init].concat();
    world.endow(wallet, usdc, units("USDC", 500)).await;
    let quote = world.quote_for(wallet, usdc, units("USDC", 500), weth).await;

    // abi.encode(factory, calldata, signature), then the suffix
    let wrap = |signature: &str| {
        let word = |number: usize| U256::from(number).to_be_bytes::<32>();
        let padded = |bytes: &[u8]| [bytes, &vec![0; bytes.len().next_multiple_of(32) - bytes.len()]].concat();
        let (data, inner) = (padded(&calldata), unhex(signature));
        let parts: [&[u8]; 8] = [
            factory.into_word().as_slice(),
            &word(96),
            &word(128 + data.len()),
            &word(calldata.len()),
            &data,
            &word(inner.len()),
            &padded(&inner),
            &[0x64, 0x92].repeat(16),
        ]
        .map(<[u8]>::to_vec)
        .map(|part| &*part.leak());
        hex(&parts.concat())
    };
    let wrapped = wrap(&world.signed(accounts::TAKER, &quote).await);
    let foreign = wrap(&world.signed(accounts::OTHER, &quote).await);
    let body = json!({"quote_id": quote["quote_id"], "permit2_signature": foreign});
    let (status, answer) = world.post("/v1/build", &body).await;
    assert_eq!((status, answer["code"].as_str()), (422, Some("PERMIT2_SIGNATURE_INVALID")));

    let body = json!({"quote_id": quote["quote_id"], "permit2_signature": wrapped});
    let early = world.build(&body).await;
    assert_eq!(early["warnings"][0]["code"], "ACCOUNT_NOT_DEPLOYED");

    world.send(&json!({"from": accounts::TAKER, "to": factory, "data": hex(&calldata)})).await;
    for approval in quote["permit2"]["approvals"][0]["transactions"].as_array().unwrap() {
        world.send(&json!({"from": wallet, "to": approval["to"], "data": approval["data"]})).await;
    }
    let built = world.build(&body).await;
    assert_eq!(built["warnings"], json!([]));
    let before = world.chain.balance_of(weth, wallet).await.unwrap();
    world.send(&built["rpc_transaction"]).await;
    let received = world.chain.balance_of(weth, wallet).await.unwrap() - before;
    assert_eq!(received, decimal(&quote["estimated_outputs"][0]["expected_amount"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nonce_is_unused_at_the_quotes_block_and_its_use_is_told() {
    let mut world = World::start().await;
    let (usdc, weth) = (token("USDC"), token("WETH"));
    let quote = world.quote(usdc, units("USDC", 7), weth).await;
    world.approve(&quote["permit2"]["approvals"]).await;
    let nonce_of = |quote: &Value| -> U256 {
        let nonce = &quote["permit2"]["eip712"]["message"]["nonce"];
        nonce.as_str().map_or_else(|| U256::from(nonce.as_u64().unwrap()), |text| text.parse().unwrap())
    };
    let nonce = nonce_of(&quote);
    let beside = nonce_of(&world.quote(usdc, units("USDC", 7), weth).await);
    assert!(beside != nonce && beside >> 8 == nonce >> 8, "another nonce, in a word that both share");
    let used = async |world: &World| {
        let data = braid_execution::permit2::nonce_bitmap_calldata(accounts::TAKER, nonce);
        let asked = json!([{"to": braid_execution::permit2::ADDRESS, "data": data}, "latest"]);
        let word: U256 = world.call("eth_call", asked).await.as_str().unwrap().parse().unwrap();
        braid_execution::permit2::nonce_is_used(word, nonce)
    };
    assert!(!used(&world).await);
    let signature = world.signed(accounts::TAKER, &quote).await;
    let body = json!({"quote_id": quote["quote_id"], "permit2_signature": signature});
    let built = world.build(&body).await;
    world.settles(&quote, &built).await;
    assert!(used(&world).await);
    let later = nonce_of(&world.quote(usdc, units("USDC", 7), weth).await);
    assert!(later != nonce && later >> 8 == nonce >> 8, "the word is in use now, which makes it the cheaper one");
    let again = world.build(&body).await;
    assert_eq!(again["warnings"][0]["code"], "PERMIT2_NONCE_USED");
}
