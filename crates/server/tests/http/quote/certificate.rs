//! Tests of certificates.

use braid_ethereum::SyncStatus;
use serde_json::{Value, json};

use super::text;
use crate::support::{ISLAND, LONELY, Service, market_with_island, request, swap};

#[tokio::test]
async fn a_certificate_counts_what_it_leaves_out() {
    let service = Service::start().await;
    let all = service.quote(&request()).await["certificate"].clone();
    let excluded = json!({"quarantined": 0, "filtered": 0, "max_hops": 4});
    assert_eq!((&all["pools_covered"], &all["excluded"]), (&json!(6), &excluded));

    let mut body = request();
    body["exclude_protocols"] = json!(["sushiswap"]);
    body["exclude_pools"] = json!(["0x0000000000000000000000000000000000000003"]);
    body["max_hops"] = json!(2);
    service.status(SyncStatus { excluded: 9, ..SyncStatus::default() });
    let part = service.quote(&body).await["certificate"].clone();
    let excluded = json!({"quarantined": 9, "filtered": 3, "max_hops": 2});
    assert_eq!((&part["pools_covered"], &part["excluded"]), (&json!(3), &excluded));
    // The bound is rounded up by a part in 10¹², so two equal routes may differ by that much.
    let bound = |certificate: &Value| text(&certificate["upper_bound_value_wei"]);
    let rounded = bound(&all) + bound(&all) / 1_000_000_000_000;
    assert!(bound(&part) <= rounded, "what is left out cannot add to the bound: {part} {all}");
}

#[tokio::test]
async fn where_there_is_no_certificate_the_reason_is_told() {
    let service = Service::start().await;
    service.publish(market_with_island());
    let mut body = swap(&LONELY.to_string(), "1000", &ISLAND.to_string());
    body["check_allowances"] = json!(false);
    body["explain"] = json!(true);
    let quote = service.quote(&body).await;
    assert_eq!(quote["estimated_outputs"][0]["expected_amount"], "996");
    for unknown in ["certificate", "total_price_impact_bps"] {
        assert!(quote[unknown].is_null(), "{unknown}: {quote:#}");
    }
    assert!(quote["estimated_outputs"][0]["reference_price"].is_null());
    let message = "the route has no certificate: the output has no reference price";
    assert_eq!(quote["warnings"], json!([{"code": "CERTIFICATE_UNAVAILABLE", "message": message}]));
    let words: Vec<&str> = quote["explanation"]["words"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let last = "The route has no certificate: the output has no reference price.";
    assert_eq!(words.last(), Some(&last));
}
