//! A chain with the real pools and a service on it, with helpers for the tests.

use std::sync::Arc;

use braid_devnet::{Devnet, Options, accounts, tokens};
use braid_ethereum::{Follower, FollowerConfig, FollowerHandle, Node};
use braid_primitives::{Address, NATIVE_ETHER, U256};
use braid_server::{App, Config, LimitsConfig, MarketFeed, Parts, SystemClock, router};
use braid_store::{KeyStore, QuoteStore};
use serde_json::{Value, json};

use crate::stand_in::StandIn;

pub const KEY: &str = "test-key";
pub const OTHER_KEY: &str = "other-key";

/// A chain with a service.
pub struct World {
    pub chain: Devnet,
    pub follower: FollowerHandle,
    pub feed: Arc<MarketFeed>,
    pub app: App,
    /// The node between the service and the chain. The follower uses the chain directly.
    pub node: StandIn,
    pub base: String,
    pub client: reqwest::Client,
    _dir: tempfile::TempDir,
}

impl World {
    pub async fn start() -> Self {
        Self::with(Config::default(), true).await
    }

    /// Starts a service with settings, using a node with or without state overrides.
    pub async fn with(config: Config, lends: bool) -> Self {
        let chain = Devnet::start(Options::default()).await.unwrap();
        let stand_in = StandIn::before(chain.http_url(), lends).await;
        let node = Node::connect(&stand_in.url).await.unwrap();
        let followed = Node::connect(&chain.http_url()).await.unwrap();
        let follower = Follower::spawn(followed, FollowerConfig::default());
        let feed = Arc::new(MarketFeed::new(follower.status.clone()));
        let dir = tempfile::tempdir().unwrap();
        let limits = LimitsConfig { keyed_per_min: 10_000, ..LimitsConfig::default() };
        let app = App::new(Parts {
            config: Config { limits, ..config },
            clock: Arc::new(SystemClock),
            feed: feed.clone(),
            node: Some(node),
            keys: KeyStore::open(dir.path()).unwrap().with_fixed("test", KEY).with_fixed("other", OTHER_KEY),
            quotes: QuoteStore::open(dir.path()).unwrap(),
            replicas: None,
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let serving = axum::serve(listener, router(&app)).into_future();
        tokio::spawn(serving);
        let client = reqwest::Client::new();
        let mut world = Self { chain, follower, feed, app, node: stand_in, base, client, _dir: dir };
        world.follow().await;
        world
    }

    /// Publishes the market of the chain's newest block to the service.
    pub async fn follow(&mut self) {
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

    pub async fn next_block(&mut self) {
        self.chain.mine(1).await.unwrap();
        self.follow().await;
    }

    pub async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.post_as(KEY, path, body).await
    }

    pub async fn post_as(&self, key: &str, path: &str, body: &Value) -> (u16, Value) {
        let call = self.client.post(format!("{}{path}", self.base)).json(body).header("x-api-key", key);
        let response = call.send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// Makes a call to the node, which must succeed.
    pub async fn call(&self, method: &str, params: Value) -> Value {
        self.chain.rpc().call(method, params).await.unwrap()
    }

    pub async fn quote(&self, from: Address, amount: U256, to: Address) -> Value {
        let body = json!({
            "inputs": [{"chain_id": 1, "address": from, "amount": amount.to_string()}],
            "outputs": [{"chain_id": 1, "address": to, "ratio_bps": 10000}],
            "taker": accounts::TAKER,
        });
        let (status, answer) = self.post("/v1/quote", &body).await;
        assert_eq!(status, 200, "{answer:#}");
        answer["data"].clone()
    }

    pub async fn build(&self, body: &Value) -> Value {
        let (status, answer) = self.post("/v1/build", body).await;
        assert_eq!(status, 200, "{answer:#}");
        answer["data"].clone()
    }

    /// Sends a transaction as the taker and waits for its block.
    pub async fn send(&mut self, transaction: &Value) -> Value {
        let receipt = self.chain.rpc().call("eth_sendTransactionSync", json!([transaction])).await.unwrap();
        assert_eq!(receipt["status"], "0x1", "{receipt:#}");
        self.follow().await;
        receipt
    }

    pub async fn approve(&mut self, approvals: &Value) {
        for transaction in
            approvals.as_array().unwrap().iter().flat_map(|approval| approval["transactions"].as_array().unwrap())
        {
            self.send(&json!({"from": accounts::TAKER, "to": transaction["to"], "data": transaction["data"]})).await;
        }
    }

    pub async fn holds(&self, token: Address) -> U256 {
        match token {
            NATIVE_ETHER => self.chain.ether_of(accounts::TAKER).await.unwrap(),
            _ => self.chain.balance_of(token, accounts::TAKER).await.unwrap(),
        }
    }

    /// Returns the taker's balances of every input and output of a quote.
    pub async fn holdings(&self, quote: &Value) -> Vec<(Address, U256)> {
        let inputs = quote["inputs"].as_array().unwrap().iter().map(|input| &input["address"]);
        let outputs = quote["estimated_outputs"].as_array().unwrap().iter().map(|output| &output["token"]);
        let mut held = Vec::new();
        for token in inputs.chain(outputs).map(|address| address.as_str().unwrap().parse().unwrap()) {
            held.push((token, self.holds(token).await));
        }
        held
    }

    /// Sends a built transaction, and checks that it takes and pays what the quote stated.
    pub async fn settles(&mut self, quote: &Value, built: &Value) {
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

    /// Requests a quote for a basket; `more` contains further fields of the request.
    pub async fn basket(&self, inputs: &[(&str, u64)], outputs: &[(&str, u16)], more: Value) -> Value {
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

pub fn number(value: &Value) -> U256 {
    value.as_str().unwrap().parse().unwrap()
}

pub fn decimal(value: &Value) -> U256 {
    U256::from_str_radix(value.as_str().unwrap(), 10).unwrap()
}

pub fn token(symbol: &str) -> Address {
    if symbol == "ETH" { NATIVE_ETHER } else { tokens::by_symbol(symbol).address }
}

pub fn units(symbol: &str, whole: u64) -> U256 {
    if symbol == "ETH" {
        U256::from(whole) * U256::from(10).pow(U256::from(18))
    } else {
        tokens::by_symbol(symbol).units(whole)
    }
}
