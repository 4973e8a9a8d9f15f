//! Tests of chains, protocols, tokens, prices and gas prices.

use braid_primitives::{NATIVE_ETHER, WETH};
use serde_json::{Value, json};

use crate::support::{DAI, LONELY, Service, USDC, WBTC, data, market, problem, request};

async fn read(service: &Service, path: &str) -> Value {
    // Market data needs no key and ignores a wrong one.
    let call = service.client.get(format!("{}{path}", service.base)).header("x-api-key", "wrong");
    data(call.send().await.unwrap()).await
}

fn symbols(page: &Value) -> Vec<&str> {
    page["tokens"].as_array().unwrap().iter().map(|token| token["symbol"].as_str().unwrap()).collect()
}

/// A search of 65,000 tokens kept a thread that serves for 10 ms.
#[test]
fn a_search_of_tokens_keeps_no_thread_that_serves() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().max_blocking_threads(1).build().unwrap().block_on(async {
        let service = Service::start().await;
        let (go, gate) = std::sync::mpsc::channel::<()>();
        let busy = tokio::task::spawn_blocking(move || gate.recv().is_err());
        let search = tokio::spawn(service.get("/v1/tokens").send());
        for _ in 0..10 {
            assert_eq!(service.get("/health").send().await.unwrap().status(), 200);
        }
        assert!(!search.is_finished(), "it waits for the thread for blocking work");
        drop(go);
        assert!(busy.await.unwrap());
        assert_eq!(search.await.unwrap().unwrap().status(), 200);
    });
}

#[tokio::test]
async fn the_chain_and_its_protocols_are_listed() {
    let service = Service::start().await;
    let chains = read(&service, "/v1/chains").await;
    assert_eq!(chains[0]["chain_id"], 1);
    assert_eq!(chains[0]["wrapped_native_address"], WETH.to_checksum(None));
    assert_eq!(chains[0]["healthy"], true);
    let protocols = read(&service, "/v1/protocols?chain_id=1").await;
    let uniswap = protocols.as_array().unwrap().iter().find(|family| family["name"] == "uniswap").unwrap();
    let v2 = &uniswap["products"][0];
    assert_eq!(*v2, json!({"id": "uniswap_v2", "product": "Uniswap V2", "chains": [1], "pools": 4}));
}

#[tokio::test]
async fn tokens_are_found_by_symbol_name_and_address_best_known_first() {
    let service = Service::start().await;
    let all = read(&service, "/v1/tokens").await;
    assert_eq!(symbols(&all)[..2], ["ETH", "WETH"]);
    assert_eq!(*symbols(&all).last().unwrap(), "ALONE");
    assert_eq!(all["pagination"], json!({"limit": 50, "offset": 0, "has_more": false}));
    assert_eq!(symbols(&read(&service, "/v1/tokens?search=eth").await), ["ETH", "WETH"]);
    assert_eq!(symbols(&read(&service, "/v1/tokens?search=wBtC").await), ["WBTC"]);
    assert_eq!(symbols(&read(&service, "/v1/tokens?search=dai%20of").await), ["DAI"]);
    assert_eq!(symbols(&read(&service, &format!("/v1/tokens?search={USDC}")).await), ["USDC"]);
    assert_eq!(symbols(&read(&service, "/v1/tokens?tags=stablecoin,native&chain_id=1").await).len(), 3);
    // An empty parameter is the same as a missing one.
    assert_eq!(read(&service, "/v1/tokens?chain_id=&search=&tags=&limit=&offset=").await, all);
    let page = read(&service, "/v1/tokens?limit=2&offset=1").await;
    assert_eq!((page["tokens"].as_array().unwrap().len(), &page["pagination"]["has_more"]), (2, &json!(true)));
    for form in ["0x0000000000000000000000000000000000000000", "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"] {
        let found = read(&service, &format!("/v1/tokens?search={form}")).await;
        assert_eq!((symbols(&found), &found["tokens"][0]["address"]), (vec!["ETH"], &json!(form)));
    }
    let alone = &read(&service, &format!("/v1/tokens?search={LONELY}")).await["tokens"][0];
    assert_eq!(alone["pool_count"], 0);
}

#[tokio::test]
async fn prices_are_the_reference_prices_of_quotes() {
    let service = Service::start().await;
    let zero = "0x0000000000000000000000000000000000000000";
    let prices = read(&service, &format!("/v1/prices?addresses={WETH},{WBTC}%2C{DAI},{LONELY},{zero}")).await;
    let dollars = |token: &str| prices["prices"][token].as_f64().unwrap();
    assert!((2_950.0..3_050.0).contains(&dollars(zero)));
    assert!((85_000.0..95_000.0).contains(&dollars(&WBTC.to_checksum(None))));
    assert!((0.97..1.03).contains(&dollars(&DAI.to_checksum(None))));
    assert!(prices["prices"][LONELY.to_checksum(None)].is_null());
    assert_eq!(prices["block"]["number"], 20_000_000);

    let quote = service.quote(&request()).await;
    let reference = &quote["estimated_outputs"][0]["reference_price"]["value"];
    assert_eq!(prices["prices_eth"][WETH.to_checksum(None)], *reference);
}

#[tokio::test]
async fn gas_prices_are_given_by_tier() {
    let service = Service::start().await;
    let network = read(&service, "/v1/network?chain_id=1").await;
    assert_eq!(network["base_fee_wei"], 1_000_000_000);
    assert_eq!(network["gas_prices"]["urgent"]["max_priority_fee_per_gas"], 4);
    assert!(network["gas_prices"]["slow"]["max_fee_per_gas"].as_u64().unwrap() > 1_000_000_000);
}

#[tokio::test]
async fn wrong_parameters_are_problems() {
    let service = Service::start().await;
    let many = format!("/v1/prices?addresses={}", vec![USDC.to_string(); 101].join(","));
    let rows = [
        ("/v1/tokens?chain_id=10", "/chain_id", "CHAIN_UNSUPPORTED"),
        ("/v1/chains?chain_id=5", "/chain_id", "CHAIN_UNSUPPORTED"),
        ("/v1/protocols?chain_id=x", "/chain_id", "INVALID_TYPE"),
        ("/v1/tokens?limit=340282366920938463463374607431768211456", "/limit", "OUT_OF_RANGE"),
        ("/v1/tokens?limit=0", "/limit", "OUT_OF_RANGE"),
        ("/v1/tokens?limit=201", "/limit", "OUT_OF_RANGE"),
        ("/v1/tokens?offset=-1", "/offset", "OUT_OF_RANGE"),
        ("/v1/tokens?limit=many", "/limit", "INVALID_TYPE"),
        ("/v1/network?chain_id=0", "/chain_id", "CHAIN_UNSUPPORTED"),
        ("/v1/prices", "/addresses", "LENGTH_INVALID"),
        ("/v1/prices?addresses=", "/addresses", "LENGTH_INVALID"),
        ("/v1/prices?addresses=,", "/addresses", "LENGTH_INVALID"),
        (many.as_str(), "/addresses", "LENGTH_INVALID"),
        ("/v1/prices?addresses=0x12", "/addresses/0", "ADDRESS_INVALID"),
        ("/v1/tokens?serach=usdc", "/serach", "UNKNOWN_FIELD"),
        ("/v1/chains?chain=1", "/chain", "UNKNOWN_FIELD"),
        ("/v1/tokens?limit=5&limit=6", "/limit", "DUPLICATE_FIELD"),
        ("/v1/tokens?search=usdc&search=dai", "/search", "DUPLICATE_FIELD"),
    ];
    for (path, pointer, code) in rows {
        let (status, body) = problem(service.get(path).send().await.unwrap()).await;
        assert_eq!((status, body["code"].as_str()), (422, Some("VALIDATION_FAILED")), "{path}");
        assert_eq!(
            (&body["errors"][0]["pointer"], &body["errors"][0]["code"]),
            (&json!(pointer), &json!(code)),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_list_in_several_parameters_is_one_list() {
    let service = Service::start().await;
    let apart = read(&service, &format!("/v1/prices?addresses={WETH}&addresses={DAI},{WBTC}&addresses=")).await;
    assert_eq!(apart["prices"].as_object().unwrap().len(), 3);
    assert_eq!(apart, read(&service, &format!("/v1/prices?addresses={WETH},{DAI},{WBTC}")).await);
    let many = format!("/v1/tokens?{}", "x=1&".repeat(1_000));
    let (status, body) = problem(service.get(&many).send().await.unwrap()).await;
    assert_eq!((status, body["errors"].as_array().unwrap().len()), (422, 16));
    assert_eq!(
        body["errors"][0]["detail"],
        "there is no parameter \"x\" here, only chain_id, search, tags, limit, offset"
    );
}

#[tokio::test]
async fn accounts_need_a_node_and_a_well_formed_question() {
    let service = Service::start().await;
    let ask = async |path: &str, body: Value| problem(service.post(path, &body).send().await.unwrap()).await;
    let (status, body) = ask("/v1/balances", json!({"chain_id": 1, "owner": "0x12", "tokens": []})).await;
    assert_eq!((status, body["errors"].as_array().unwrap().len()), (422, 2));
    let pairs = json!([{"token": USDC, "spender": NATIVE_ETHER, "extra": 1}]);
    let (status, _) = ask("/v1/allowances", json!({"chain_id": 1, "owner": USDC, "allowances": pairs})).await;
    assert_eq!(status, 422);
    let (status, body) = ask("/v1/balances", json!({"chain_id": 1, "owner": USDC, "tokens": [USDC]})).await;
    assert_eq!((status, body["code"].as_str()), (503, Some("NOT_READY")));
    assert!(body["detail"].as_str().unwrap().starts_with("this service has no node"), "{body}");
}

/// A single pool with another price, deep or drained, must not change the prices, because the other pools outweigh it.
#[tokio::test]
async fn a_manipulated_pool_does_not_move_prices() {
    let service = Service::start().await;
    let prices = async || read(&service, &format!("/v1/prices?addresses={USDC},{DAI},{WBTC}")).await;
    let before = prices().await;
    // The pool holds 3,000,000 USDC; at the market's price it would hold 1,000 ether.
    for ether in [20, 250, 4_000, 20_000] {
        service.publish(market(ether));
        let after = prices().await;
        for token in [USDC, DAI, WBTC] {
            let (key, table) = (token.to_checksum(None), "prices_eth");
            let price = |answer: &Value| answer[table][&key].as_str().unwrap().parse::<f64>().unwrap();
            let moved = price(&after) / price(&before) - 1.0;
            assert!(moved.abs() < 0.005, "{ether} ether in one pool move {key} by {moved}");
        }
        let mut asked = request();
        asked["outputs"] = json!([{"chain_id": 1, "address": WBTC, "ratio_bps": 10000}]);
        let quote = service.quote(&asked).await;
        let reference = &quote["estimated_outputs"][0]["reference_price"]["value"];
        assert_eq!(reference, &after["prices_eth"][WBTC.to_checksum(None)], "one price for all");
    }
}
