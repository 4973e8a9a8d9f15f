//! Tests of answers without a node: approvals, simulations.

use serde_json::json;

use super::keys;
use crate::support::{Service, USDC, request};

#[tokio::test]
async fn approvals_are_listed_even_when_nothing_is_known_of_them() {
    let service = Service::start().await;
    let quote = service.quote(&request()).await;
    let approval = &quote["approvals"][0];
    assert_eq!(approval["token"], USDC.to_checksum(None));
    assert_eq!(approval["spender"], braid_execution::proxy::address().to_checksum(None));
    assert_eq!(approval["amount"], "1000000000");
    assert!(approval["current_allowance"].is_null() && approval["satisfied"].is_null());
    assert!(approval["transactions"][0]["data"].as_str().unwrap().starts_with("0x095ea7b3"));
    let codes: Vec<_> = quote["warnings"].as_array().unwrap().iter().map(|w| w["code"].clone()).collect();
    assert_eq!(codes, ["ALLOWANCES_UNAVAILABLE"]);

    let mut quiet = request();
    quiet["check_allowances"] = json!(false);
    quiet["include_permit2"] = json!(false);
    let quote = service.quote(&quiet).await;
    assert!(quote["warnings"].as_array().unwrap().is_empty());
    assert!(quote["permit2"].is_null());
}

#[tokio::test]
async fn a_simulation_that_cannot_be_made_is_told_and_does_no_harm() {
    let service = Service::start().await;
    let mut body = request();
    body["simulate"] = json!(true);
    let quote = service.quote(&body).await;
    keys(&quote["simulation"], "status block_number gas_used outputs overrides revert");
    assert_eq!(quote["simulation"]["status"], "unavailable");
    let codes: Vec<_> = quote["warnings"].as_array().unwrap().iter().map(|w| w["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"SIMULATION_UNAVAILABLE"));
}
