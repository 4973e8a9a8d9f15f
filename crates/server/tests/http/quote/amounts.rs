//! Tests of a quote's amounts, steps and forms of ether.

use braid_primitives::{NATIVE_ETHER, WETH};
use serde_json::{Value, json};

use super::{ZERO, text};
use crate::support::{Service, TAKER, USDC, request, swap};

#[tokio::test]
async fn the_numbers_fit_together() {
    let service = Service::start().await;
    let quote = service.quote(&request()).await;
    let output = &quote["estimated_outputs"][0];
    let expected = text(&output["expected_amount"]);
    // 1,000 USDC at 3,000 USDC per ether, less 0.3% and a small price impact.
    assert!((331_000_000_000_000_000..333_000_000_000_000_000).contains(&expected), "{expected}");
    assert_eq!(text(&output["minimum_amount"]), expected * 9_900 / 10_000);
    assert_eq!(output["realized_ratio_bps"], 10_000);
    assert!((30..60).contains(&quote["total_price_impact_bps"].as_i64().unwrap()));

    let costs = &quote["costs"];
    let units = costs["total_gas_units"].as_u64().unwrap();
    let parts = costs["breakdown"].as_array().unwrap().iter().map(|part| part["gas_units"].as_u64().unwrap());
    assert_eq!(parts.sum::<u64>(), units);
    assert!(costs["gas_limit"].as_u64().unwrap() > units);
    assert_eq!(text(&costs["gas_cost_wei"]), u128::from(units) * (1_000_000_000 + 2));

    let steps = quote["path"]["steps"].as_array().unwrap();
    let spent: u128 =
        steps.iter().filter(|s| s["token_in"] == json!(USDC.to_checksum(None))).map(|s| text(&s["amount_in"])).sum();
    assert_eq!(spent, 1_000_000_000);
    let got: u128 =
        steps.iter().filter(|s| s["token_out"] == json!(WETH.to_checksum(None))).map(|s| text(&s["amount_out"])).sum();
    assert_eq!(got, expected);
    assert_eq!(quote["taker"], TAKER.to_checksum(None));
    assert_eq!(quote["recipient"], quote["taker"]);
    assert_eq!(quote["created_at"], "2023-11-14T22:13:20.000Z");
    assert_eq!(quote["expires_at"], "2023-11-14T22:15:20.000Z");
    assert_eq!(quote["ttl_ms"], 120_000);
}

#[tokio::test]
async fn a_large_trade_is_split_and_its_steps_say_how() {
    let service = Service::start().await;
    let quote = service.quote(&swap(&USDC.to_string(), "600000000000", &WETH.to_string())).await;
    let steps = quote["path"]["steps"].as_array().unwrap();
    assert!(steps.len() > 1, "{steps:?}");
    let first: u64 = steps
        .iter()
        .filter(|step| step["token_in"] == json!(USDC.to_checksum(None)))
        .map(|step| step["share_bps"].as_u64().unwrap())
        .sum();
    assert!((9_998..=10_002).contains(&first), "{first}");
    for step in steps {
        let known = |id: &Value| steps.iter().any(|other| other["id"] == *id && other["token_out"] == step["token_in"]);
        assert!(step["after"].as_array().unwrap().iter().all(known));
    }
}

#[tokio::test]
async fn ether_goes_in_and_out_in_the_form_that_the_caller_uses() {
    let service = Service::start().await;
    let placeholder = NATIVE_ETHER.to_checksum(None);
    for form in [ZERO, &placeholder] {
        let sold = service.quote(&swap(form, "1000000000000000000", &USDC.to_string())).await;
        assert_eq!(sold["inputs"][0]["address"], form);
        assert_eq!(sold["path"]["tokens"][0]["address"], form);
        assert_eq!(sold["path"]["steps"][0]["protocol"], "wrapped_ether");
        assert!(sold["approvals"].as_array().unwrap().is_empty());
        assert!(sold["permit2"].is_null());
        let bought = service.quote(&swap(&USDC.to_string(), "1000000000", form)).await;
        assert_eq!(bought["estimated_outputs"][0]["token"], form);
        assert_eq!(bought["estimated_outputs"][0]["symbol"], "ETH");
    }
    let wrapped = service.quote(&swap(ZERO, "5", &WETH.to_string())).await;
    assert_eq!(wrapped["estimated_outputs"][0]["expected_amount"], "5");
}

#[tokio::test]
async fn a_route_has_no_more_steps_than_the_request_allows() {
    let service = Service::start().await;
    let mut body = request();
    for most in [1, 2, 64] {
        body["max_steps"] = json!(most);
        let quote = service.quote(&body).await;
        let steps = quote["path"]["steps"].as_array().unwrap().len();
        assert!((1..=most).contains(&steps), "{steps} steps where {most} are allowed");
    }
}
