//! Tests of a quote's answer as a whole: its keys, its repetition, its copy in the store.

use braid_primitives::WETH;
use braid_server::Config;
use serde_json::Value;

use super::keys;
use crate::support::{Service, USDC, data, market, problem, purchase, request, swap};

#[tokio::test]
async fn every_documented_key_is_there() {
    let service = Service::start().await;
    let quote = service.quote(&request()).await;
    keys(
        &quote,
        "quote_id created_at expires_at ttl_ms block taker recipient inputs outputs slippage_tolerance_bps
         estimated_inputs estimated_outputs exact_output total_price_impact_bps costs path protocols_used fee_config approvals permit2 issues certificate
         simulation warnings explanation",
    );
    keys(&quote["block"], "number hash timestamp");
    keys(&quote["inputs"][0], "chain_id address amount");
    keys(&quote["outputs"][0], "chain_id address ratio_bps amount");
    keys(&quote["estimated_inputs"][0], "token chain_id symbol decimals expected_amount maximum_amount");
    keys(
        &quote["estimated_outputs"][0],
        "token chain_id symbol decimals expected_amount minimum_amount ratio_bps realized_ratio_bps reference_price
         price_impact_bps usd_value",
    );
    keys(&quote["estimated_outputs"][0]["reference_price"], "numeraire value");
    keys(
        &quote["costs"],
        "gas_priority total_gas_units gas_limit base_fee_per_gas max_fee_per_gas max_priority_fee_per_gas gas_cost_wei
         max_gas_cost_wei gas_cost_usd total_cost_usd breakdown",
    );
    keys(&quote["costs"]["breakdown"][0], "step gas_units");
    keys(&quote["path"], "tokens steps");
    keys(&quote["path"]["tokens"][0], "address symbol name decimals warnings");
    keys(
        &quote["path"]["steps"][0],
        "id after protocol pool token_in token_out amount_in amount_out share_bps fee_bps gas_units price_impact_bps",
    );
    keys(
        &quote["fee_config"],
        "protocol_fee_bps partner_fee_bps partner_recipient partner_fee_on_output pass_positive_slippage_to_user",
    );
    keys(&quote["approvals"][0], "token spender amount current_allowance satisfied requires_zero_reset transactions");
    keys(&quote["approvals"][0]["transactions"][0], "to data value");
    keys(&quote["permit2"], "contract approvals hash deadline eip712");
    keys(&quote["permit2"]["eip712"], "types domain primaryType message");
    keys(&quote["issues"], "balance allowance unknown_protocols");
    keys(&quote["certificate"], "upper_bound_value_wei achieved_value_wei gap_bps pools_covered excluded least_input");
    keys(&quote["certificate"]["excluded"], "quarantined filtered max_hops");
    assert!(quote["simulation"].is_null() && quote["explanation"].is_null());
    assert!(quote["exact_output"].is_null() && quote["certificate"]["least_input"].is_null());
    let bought = service.quote(&purchase(&USDC.to_string(), "100000000000000000", &WETH.to_string())).await;
    keys(&bought["exact_output"], "amount bought needed_input");
}

#[tokio::test]
async fn the_same_market_and_request_give_the_same_route() {
    let service = Service::start().await;
    let body = swap(&USDC.to_string(), "600000000000", &WETH.to_string());
    let (mut one, mut two) = (service.quote(&body).await, service.quote(&body).await);
    for quote in [&mut one, &mut two] {
        // Only the identity of the quote differs.
        quote["quote_id"] = Value::Null;
        quote["permit2"] = Value::Null;
    }
    assert_eq!(one, two);
}

#[tokio::test]
async fn a_stored_quote_is_given_back_word_for_word() {
    let service = Service::start().await;
    let quote = service.quote(&request()).await;
    let id = quote["quote_id"].as_str().unwrap();
    let again = data(service.get(&format!("/v1/quote/{id}")).send().await.unwrap()).await;
    assert_eq!(again, quote);
    for unknown in ["0190163d-8694-739b-aea5-966c26f8ad91", "nonsense"] {
        let (status, body) = problem(service.get(&format!("/v1/quote/{unknown}")).send().await.unwrap()).await;
        assert_eq!((status, body["code"].as_str()), (404, Some("QUOTE_NOT_FOUND")));
    }
}

#[tokio::test]
async fn many_quotes_at_once_are_all_answered_or_turned_away_in_order() {
    let service = Service::with(Config { solve_threads: 1, solve_queue: 4, ..Config::default() }).await;
    service.publish(market(1_000));
    let calls = (0..64).map(|_| tokio::spawn(service.post("/v1/quote", &request()).send()));
    let mut answered = 0;
    for call in calls.collect::<Vec<_>>() {
        let response = call.await.unwrap().unwrap();
        match response.status().as_u16() {
            200 => answered += 1,
            503 => {
                assert_eq!(response.headers()["retry-after"], "1");
                assert_eq!(problem(response).await.1["code"], "OVERLOADED");
            }
            other => panic!("{other}"),
        }
    }
    assert!(answered >= 5, "{answered}");
}
