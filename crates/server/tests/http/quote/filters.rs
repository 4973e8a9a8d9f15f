//! Tests of requests that exclude protocols or pools.

use braid_market::Market;
use braid_primitives::{Address, B256, PoolKey, WETH};
use braid_protocols::Pool;
use serde_json::{Value, json};

use super::ZERO;
use crate::support::{Service, USDC, market, request, swap};

#[tokio::test]
async fn every_listed_protocol_can_be_excluded_and_a_route_that_still_wraps_says_so() {
    let service = Service::start().await;
    let told = |quote: &Value| quote["warnings"].to_string().contains("WRAPPING_NOT_EXCLUDED");
    for (input, wraps) in [(ZERO.to_owned(), true), (WETH.to_string(), false)] {
        let mut body = swap(&input, "1000000000000000000", &USDC.to_string());
        assert!(!told(&service.quote(&body).await));
        body["exclude_protocols"] = json!(["balancer", "wrapped_ether"]);
        let quote = service.quote(&body).await;
        assert_eq!(told(&quote), wraps, "{quote}");
        assert_eq!(quote["issues"]["unknown_protocols"], json!([]));
    }
}

/// A quote must name pools by their ids, must be built from them, and must exclude the one that the request excludes.
#[tokio::test]
async fn pools_that_share_a_contract_go_by_their_ids() {
    let service = Service::start().await;
    let plain = market(1_000);
    let contract = Address::repeat_byte(0xc1);
    let mut pools: Vec<Pool> = plain.pools().iter().map(|pool| (**pool).clone()).collect();
    for (pool, id) in pools.iter_mut().zip(1..=2) {
        pool.key = PoolKey::with_id(contract, B256::with_last_byte(id));
    }
    service.publish(Market::new(*plain.block(), plain.tokens().clone(), pools).unwrap());
    let named = |quote: &Value| -> Vec<String> {
        let steps = quote["path"]["steps"].as_array().unwrap().iter();
        steps.map(|step| step["pool"].as_str().unwrap().to_owned()).collect()
    };
    let one_hop = |excluded: Value| {
        let mut body = request();
        body["max_hops"] = json!(1);
        body["exclude_pools"] = excluded;
        body
    };
    let [first, second] = [1, 2].map(|id| PoolKey::with_id(contract, B256::with_last_byte(id)).to_string());
    assert_eq!(first.len(), 42 + 1 + 66);
    for (excluded, used) in [(&second, &first), (&first, &second)] {
        let quote = service.quote(&one_hop(json!([excluded]))).await;
        assert_eq!(named(&quote), std::slice::from_ref(used));
        assert!(!quote["warnings"].to_string().contains("UNKNOWN_POOLS"));
        service.build(&json!({"quote_id": quote["quote_id"]})).await;
    }
    // A contract's address alone excludes all its pools.
    // The prefix may be in upper case too, as in any address.
    let upper = [&first, &second].map(|pool| pool.to_lowercase().replace("0x", "0X"));
    let whole = contract.to_string();
    let all = [vec![first.to_lowercase(), second], upper.into(), vec![whole.replace("0x", "0X")], vec![whole]];
    for excluded in all.map(|pools| json!(pools)) {
        let (status, answer) = service.refused_quote(&one_hop(excluded)).await;
        assert_eq!((status, answer["code"].as_str()), (422, Some("NO_ROUTE_FOUND")));
    }
}

/// A mistyped address once excluded nothing, and the answer did not say so.
#[tokio::test]
async fn excluded_pools_that_nobody_knows_are_named_in_a_warning() {
    let service = Service::start().await;
    let mut body = request();
    let known = service.quote(&body).await["path"]["steps"][0]["pool"].as_str().unwrap().to_owned();
    let [stranger, id] = [Address::repeat_byte(0xee).to_string(), format!("{known}/{}", B256::with_last_byte(7))];
    body["exclude_pools"] = json!([known, stranger, id]);
    let quote = service.quote(&body).await;
    let warning = &quote["warnings"][0];
    assert_eq!(warning["code"], "UNKNOWN_POOLS");
    let message = warning["message"].as_str().unwrap();
    assert!(message.ends_with(&format!(": {stranger}, {id}")), "{message}");
}

#[tokio::test]
async fn protocols_and_pools_can_be_left_out() {
    let service = Service::start().await;
    let mut body = request();
    body["exclude_protocols"] = json!(["uniswap", "moon_dex"]);
    let quote = service.quote(&body).await;
    assert_eq!(quote["protocols_used"], json!(["sushiswap_v2"]));
    assert_eq!(quote["issues"]["unknown_protocols"], json!(["moon_dex"]));

    let mut body = request();
    body["include_protocols"] = json!(["uniswap_v2"]);
    assert_eq!(service.quote(&body).await["protocols_used"], json!(["uniswap_v2"]));

    let mut body = request();
    body["exclude_pools"] = json!(["0x0000000000000000000000000000000000000001"]);
    let quote = service.quote(&body).await;
    let pools: Vec<_> = quote["path"]["steps"].as_array().unwrap().iter().map(|step| step["pool"].clone()).collect();
    assert!(!pools.contains(&json!("0x0000000000000000000000000000000000000001")), "{pools:?}");

    let mut body = request();
    body["exclude_protocols"] = json!(["uniswap_v2", "sushiswap_v2"]);
    let (status, answer) = service.refused_quote(&body).await;
    assert_eq!((status, answer["code"].as_str()), (422, Some("NO_ROUTE_FOUND")));

    let mut body = request();
    body["include_protocols"] = json!([]);
    let (status, answer) = service.refused_quote(&body).await;
    assert_eq!((status, answer["code"].as_str()), (422, Some("NO_ROUTE_FOUND")));
}

#[tokio::test]
async fn a_misspelt_protocol_is_named_where_there_is_no_route_without_it() {
    let service = Service::start().await;
    let mut body = request();
    body["include_protocols"] = json!(["unisawp", "uniswap_v2"]);
    assert_eq!(service.quote(&body).await["issues"]["unknown_protocols"], json!(["unisawp"]));

    body["include_protocols"] = json!(["curve", "unisawp"]);
    let (status, answer) = service.refused_quote(&body).await;
    assert_eq!((status, answer["code"].as_str()), (422, Some("VALIDATION_FAILED")));
    let error = &answer["errors"][0];
    assert_eq!((&error["pointer"], &error["code"]), (&json!("/include_protocols/1"), &json!("VALUE_UNKNOWN")));
    assert!(error["detail"].as_str().unwrap().contains("unisawp"), "{error}");
}
