//! Tests of gas tiers, partner fees and dollar values.

use serde_json::{Value, json};

use super::text;
use crate::support::{Service, WBTC, request};

#[tokio::test]
async fn a_dearer_tier_pays_more_and_says_its_name() {
    let service = Service::start().await;
    let mut last = 0;
    for tier in ["slow", "standard", "fast", "urgent"] {
        let mut body = request();
        body["gas_priority"] = json!(tier);
        let costs = service.quote(&body).await["costs"].clone();
        assert_eq!(costs["gas_priority"], tier);
        let fee = costs["max_priority_fee_per_gas"].as_u64().unwrap();
        assert!(fee > last);
        last = fee;
    }
}

#[tokio::test]
async fn a_partner_fee_is_taken_from_within_and_amounts_are_after_it() {
    let service = Service::start().await;
    let plain = text(&service.quote(&request()).await["estimated_outputs"][0]["expected_amount"]);
    let mut body = request();
    body["partner_fee"] = json!({"partner_fee_bps": 100, "partner_recipient": WBTC, "partner_fee_on_output": true});
    let quote = service.quote(&body).await;
    assert_eq!(text(&quote["estimated_outputs"][0]["expected_amount"]), plain - plain / 100);
    assert_eq!(quote["fee_config"]["partner_fee_bps"], 100);
    assert_eq!(quote["fee_config"]["partner_recipient"], WBTC.to_checksum(None));

    body["partner_fee"]["partner_fee_on_output"] = json!(false);
    let quote = service.quote(&body).await;
    assert_eq!(quote["inputs"][0]["amount"], "1000000000");
    assert_eq!(quote["approvals"][0]["amount"], "1000000000");
    let first =
        quote["path"]["steps"].as_array().unwrap().iter().filter(|s| s["token_in"] == quote["inputs"][0]["address"]);
    assert_eq!(first.map(|step| text(&step["amount_in"])).sum::<u128>(), 990_000_000);
}

#[tokio::test]
async fn a_partner_fee_is_no_price_impact() {
    let service = Service::start().await;
    let impacts = async |fee: Value| {
        let mut body = request();
        body["partner_fee"] = fee;
        let quote = service.quote(&body).await;
        [&quote["total_price_impact_bps"], &quote["estimated_outputs"][0]["price_impact_bps"]]
            .map(|x| x.as_i64().unwrap())
    };
    let plain = impacts(json!(null)).await;
    for on_output in [false, true] {
        let fee = json!({"partner_fee_bps": 300, "partner_recipient": WBTC, "partner_fee_on_output": on_output});
        let with_fee = impacts(fee).await;
        for (with_fee, plain) in with_fee.iter().zip(plain) {
            assert!((with_fee - plain).abs() <= 1, "{with_fee} bps beside {plain} without a fee");
        }
    }
}

#[tokio::test]
async fn dollars_come_from_the_markets_own_stablecoins() {
    let service = Service::start().await;
    let mut body = request();
    body["include_usd_pricing"] = json!(true);
    let quote = service.quote(&body).await;
    let value = quote["estimated_outputs"][0]["usd_value"].as_f64().unwrap();
    assert!((980.0..1_010.0).contains(&value), "{value}");
    let gas_usd = quote["costs"]["gas_cost_usd"].as_f64().unwrap();
    assert!(gas_usd > 0.0 && quote["costs"]["total_cost_usd"] == gas_usd);
    // 1% of a thousand dollars, on either side.
    for on_output in [false, true] {
        body["partner_fee"] =
            json!({"partner_fee_bps": 100, "partner_recipient": WBTC, "partner_fee_on_output": on_output});
        let costs = service.quote(&body).await["costs"].clone();
        let fee_usd = costs["total_cost_usd"].as_f64().unwrap() - costs["gas_cost_usd"].as_f64().unwrap();
        assert!((9.8..10.1).contains(&fee_usd), "{fee_usd}");
    }
    assert!(service.quote(&request()).await["estimated_outputs"][0]["usd_value"].is_null());
}

#[tokio::test]
async fn dollars_have_no_float_noise() {
    let service = Service::start().await;
    let mut body = request();
    body["include_usd_pricing"] = json!(true);
    let quote = service.quote(&body).await;
    let costs = &quote["costs"];
    for value in [&quote["estimated_outputs"][0]["usd_value"], &costs["gas_cost_usd"], &costs["total_cost_usd"]] {
        let text = value.to_string();
        let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        assert!(decimals <= 2, "{text}");
    }
}
