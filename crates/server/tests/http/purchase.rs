//! Tests of exact outputs over HTTP: refusals and amounts. The pools do not have their factories' addresses, so every
//! route sells the maximum; `tests/devnet/purchases.rs` tests the others.

use braid_primitives::{NATIVE_ETHER, WETH};
use serde_json::{Value, json};

use crate::support::{DAI, LONELY, Service, TAKER, USDC, market, purchase, request, swap};

fn text(value: &Value) -> u128 {
    value.as_str().unwrap().parse().unwrap()
}

fn tenth_of_an_ether() -> Value {
    purchase(&USDC.to_string(), "100000000000000000", &WETH.to_string())
}

fn errors(answer: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    answer["errors"].as_array().unwrap().iter().map(|e| (text(&e["pointer"]), text(&e["code"]))).collect()
}

#[tokio::test]
async fn the_numbers_fit_together() {
    let service = Service::start().await;
    let quote = service.quote(&tenth_of_an_ether()).await;
    let input = &quote["estimated_inputs"][0];
    let exact = &quote["exact_output"];
    let needed = text(&exact["needed_input"]);
    // 300 USDC, 0.3% and a small price impact.
    assert!((300_900_000..301_200_000).contains(&needed), "{needed}");
    assert_eq!(text(&input["maximum_amount"]), (needed * 10_100).div_ceil(10_000));
    assert_eq!(input["expected_amount"], input["maximum_amount"]);
    assert_eq!((&exact["amount"], &exact["bought"]), (&json!("100000000000000000"), &json!("at_least")));
    assert_eq!(quote["warnings"][0]["code"], "EXACT_OUTPUT_SURPLUS");
    let output = &quote["estimated_outputs"][0];
    assert_eq!((output["minimum_amount"].clone(), &output["ratio_bps"]), (exact["amount"].clone(), &json!(10_000)));
    assert!(text(&output["expected_amount"]) > 100_900_000_000_000_000, "a percent more is bought");
    assert_eq!((&quote["inputs"][0]["amount"], &quote["outputs"][0]["amount"]), (&Value::Null, &exact["amount"]));
    assert_eq!(quote["approvals"][0]["amount"], input["maximum_amount"]);
    assert_eq!(quote["permit2"]["eip712"]["message"]["permitted"]["amount"], input["maximum_amount"]);
    assert_eq!(quote["permit2"]["eip712"]["message"]["witness"]["outputs"][0]["minimum"], exact["amount"]);
    assert_eq!(quote["path"]["steps"][0]["amount_in"], input["expected_amount"]);
    let certificate = &quote["certificate"];
    let least = text(&certificate["least_input"]);
    let gap_bps = (needed - least) as f64 / needed as f64 * 1e4;
    assert!(least <= needed && (gap_bps - certificate["gap_bps"].as_f64().unwrap()).abs() < 0.01, "{certificate:#}");
    assert!(text(&certificate["upper_bound_value_wei"]) >= text(&certificate["achieved_value_wei"]));

    // A sale of the required input pays the amount, and a sale of one unit less does not.
    let sale = |amount: u128| swap(&USDC.to_string(), &amount.to_string(), &WETH.to_string());
    for (sold, enough) in [(needed, true), (needed - 1, false)] {
        let sold = service.quote(&sale(sold)).await;
        assert_eq!(text(&sold["estimated_outputs"][0]["expected_amount"]) >= 100_000_000_000_000_000, enough);
        assert_eq!(sold["estimated_inputs"][0]["maximum_amount"], sold["inputs"][0]["amount"]);
    }
    assert_eq!(service.quote(&tenth_of_an_ether()).await["estimated_inputs"], quote["estimated_inputs"]);
}

#[tokio::test]
async fn a_quote_of_a_purchase_is_built_until_the_market_asks_for_more() {
    let service = Service::start().await;
    let quote = service.quote(&tenth_of_an_ether()).await;
    let build = json!({"quote_id": quote["quote_id"]});
    let built = service.build(&build).await;
    assert_eq!(built["estimated_inputs"][0]["maximum_amount"], quote["estimated_inputs"][0]["maximum_amount"]);
    assert_eq!(built["estimated_outputs"][0]["minimum_amount"], "100000000000000000");
    let picture = service.get(&format!("/v1/quote/{}/route.svg", quote["quote_id"].as_str().unwrap()));
    assert_eq!(picture.send().await.unwrap().status(), 200);
    // 0.4% less ether in the pool is within the slippage tolerance; a fifth less is not.
    service.publish(market(996));
    assert_ne!(service.build(&build).await["estimated_outputs"], built["estimated_outputs"]);
    service.publish(market(800));
    let (status, answer) = service.refused_build(&build).await;
    assert_eq!((status, answer["code"].as_str()), (409, Some("QUOTE_STALE")));
}

#[tokio::test]
async fn ether_is_paid_up_to_the_maximum() {
    let service = Service::start().await;
    let quote = service.quote(&purchase(&NATIVE_ETHER.to_string(), "1000000000", &USDC.to_string())).await;
    let built = service.build(&json!({"quote_id": quote["quote_id"]})).await;
    let maximum = text(&quote["estimated_inputs"][0]["maximum_amount"]);
    assert_eq!(built["transaction"]["value"], format!("{maximum:#x}"));
    let wrapped = service.quote(&purchase(&NATIVE_ETHER.to_string(), "7", &WETH.to_string())).await;
    assert_eq!(wrapped["exact_output"]["needed_input"], "7");
    assert_eq!(wrapped["estimated_inputs"][0]["maximum_amount"], "7", "wrapping has no slippage");
    let is_surplus = |warning: &Value| warning["code"] == "EXACT_OUTPUT_SURPLUS";
    assert!(!wrapped["warnings"].as_array().unwrap().iter().any(is_surplus), "and buys no more");
}

#[tokio::test]
async fn a_partner_is_paid_on_top() {
    let service = Service::start().await;
    let plain = text(&service.quote(&tenth_of_an_ether()).await["exact_output"]["needed_input"]);
    for on_output in [false, true] {
        let mut body = tenth_of_an_ether();
        body["partner_fee"] =
            json!({"partner_fee_bps": 100, "partner_recipient": TAKER, "partner_fee_on_output": on_output});
        let quote = service.quote(&body).await;
        let needed = text(&quote["exact_output"]["needed_input"]);
        assert!(
            (plain * 10_100 / 10_000..plain * 10_105 / 10_000).contains(&needed),
            "{needed} with a fee, {plain} without"
        );
        assert_eq!(quote["estimated_outputs"][0]["minimum_amount"], "100000000000000000");
    }
}

#[tokio::test]
async fn what_a_purchase_cannot_have_is_told_where_it_stands() {
    let service = Service::start().await;
    let refused = async |change: fn(&mut Value)| {
        let mut body = tenth_of_an_ether();
        change(&mut body);
        let (status, answer) = service.refused_quote(&body).await;
        assert_eq!((status, answer["code"].as_str()), (422, Some("VALIDATION_FAILED")), "{answer:#}");
        errors(&answer)
    };
    let one = |pointer: &str, code: &str| vec![(pointer.to_owned(), code.to_owned())];
    assert_eq!(
        refused(|body| body["inputs"][0]["amount"] = json!("5")).await,
        one("/inputs/0/amount", "AMOUNT_CONFLICT")
    );
    let found = refused(|body| body["outputs"][0]["ratio_bps"] = json!(10_000)).await;
    assert_eq!(found, one("/outputs/0/ratio_bps", "AMOUNT_CONFLICT"));
    assert_eq!(
        refused(|body| body["outputs"][0]["amount"] = json!("0")).await,
        one("/outputs/0/amount", "AMOUNT_INVALID")
    );
    let found = refused(|body| {
        body["inputs"].as_array_mut().unwrap().push(json!({"chain_id": 1, "address": DAI}));
    });
    assert_eq!(found.await, one("/inputs", "EXACT_OUTPUT_UNSUPPORTED"));
    let found = refused(|body| {
        body["outputs"].as_array_mut().unwrap().push(json!({"chain_id": 1, "address": DAI, "ratio_bps": 5_000}));
    });
    let both = [("/outputs", "EXACT_OUTPUT_UNSUPPORTED"), ("/outputs/1/ratio_bps", "AMOUNT_CONFLICT")];
    assert_eq!(found.await, both.map(|(pointer, code)| (pointer.to_owned(), code.to_owned())));
    let mut neither = request();
    neither["inputs"][0].as_object_mut().unwrap().remove("amount");
    let (_, answer) = service.refused_quote(&neither).await;
    assert_eq!(errors(&answer), one("/inputs/0/amount", "REQUIRED"));
}

#[tokio::test]
async fn an_amount_that_the_market_does_not_pay_is_refused() {
    let service = Service::start().await;
    // The pools hold 2,700 ether.
    for amount in ["3000000000000000000000", &(u128::MAX.to_string() + "0")] {
        let (status, answer) = service.refused_quote(&purchase(&USDC.to_string(), amount, &WETH.to_string())).await;
        assert_eq!((status, answer["code"].as_str()), (422, Some("INSUFFICIENT_LIQUIDITY")), "{answer:#}");
    }
    let (status, answer) = service.refused_quote(&purchase(&USDC.to_string(), "1", &LONELY.to_string())).await;
    assert_eq!((status, answer["code"].as_str()), (422, Some("NO_ROUTE_FOUND")), "{answer:#}");
    let one = service.quote(&purchase(&USDC.to_string(), "1", &WETH.to_string())).await;
    assert_eq!((&one["exact_output"]["needed_input"], &one["taker"]), (&json!("1"), &json!(TAKER.to_checksum(None))));
}
