//! Tests of the contents of a quote.

use braid_ethereum::SyncStatus;
use braid_market::Market;
use braid_primitives::{Address, B256, NATIVE_ETHER, PoolKey, WETH};
use braid_protocols::Pool;
use braid_server::Config;
use serde_json::{Value, json};

use crate::support::{
    DAI, ISLAND, LONELY, Service, TAKER, USDC, WBTC, data, market, market_with_island, problem, purchase, request, swap,
};

const ZERO: &str = "0x0000000000000000000000000000000000000000";

fn text(value: &Value) -> u128 {
    value.as_str().unwrap().parse().unwrap()
}

/// Checks that an object has exactly the documented keys.
fn keys(value: &Value, expected: &str) {
    let mut found: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected: Vec<&str> = expected.split_whitespace().collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

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
        let quote = service.quote(&one_hop(json!([excluded, contract.to_string()]))).await;
        assert_eq!(named(&quote), std::slice::from_ref(used));
        service.build(&json!({"quote_id": quote["quote_id"]})).await;
    }
    let (status, answer) = service.refused_quote(&one_hop(json!([first.to_lowercase(), second]))).await;
    assert_eq!((status, answer["code"].as_str()), (422, Some("NO_ROUTE_FOUND")));
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
async fn a_certificate_counts_what_it_leaves_out() {
    let service = Service::start().await;
    let all = service.quote(&request()).await["certificate"].clone();
    let excluded = json!({"quarantined": 0, "filtered": 0, "max_hops": 4});
    assert_eq!((&all["pools_covered"], &all["excluded"]), (&json!(6), &excluded));

    let mut body = request();
    body["exclude_protocols"] = json!(["sushiswap"]);
    body["exclude_pools"] = json!(["0x0000000000000000000000000000000000000003"]);
    body["max_hops"] = json!(2);
    service.status(SyncStatus { left_out: 9, ..SyncStatus::default() });
    let part = service.quote(&body).await["certificate"].clone();
    let excluded = json!({"quarantined": 9, "filtered": 3, "max_hops": 2});
    assert_eq!((&part["pools_covered"], &part["excluded"]), (&json!(3), &excluded));
    // The bound is rounded up by a part in 10¹², so two equal routes may differ by that much.
    let bound = |certificate: &Value| text(&certificate["upper_bound_value_wei"]);
    let rounded = bound(&all) + bound(&all) / 1_000_000_000_000;
    assert!(bound(&part) <= rounded, "what is left out cannot add to the bound: {part} {all}");
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

#[tokio::test]
async fn what_cannot_be_routed_is_the_callers_problem_and_says_which() {
    let service = Service::start().await;
    let unknown = "0x00000000000000000000000000000000000000ff";
    let huge = (u128::MAX).to_string() + "0";
    let cases = [
        (swap(unknown, "1", &WETH.to_string()), "TOKEN_NOT_FOUND", Some("/inputs/0/address")),
        (swap(&USDC.to_string(), "1", unknown), "TOKEN_NOT_FOUND", Some("/outputs/0/address")),
        (swap(&USDC.to_string(), "1000000", &LONELY.to_string()), "NO_ROUTE_FOUND", Some("/outputs/0/address")),
        (swap(&USDC.to_string(), &huge, &WETH.to_string()), "INSUFFICIENT_LIQUIDITY", None),
        (swap(&USDC.to_string(), "1", &WBTC.to_string()), "AMOUNT_TOO_SMALL", None),
    ];
    for (body, code, pointer) in cases {
        let (status, answer) = service.refused_quote(&body).await;
        assert_eq!((status, answer["code"].as_str()), (422, Some(code)), "{body}");
        assert_eq!(answer["errors"][0]["pointer"].as_str(), pointer, "{answer:#}");
        assert_eq!(answer["retryable"], false);
    }
}

#[tokio::test]
async fn an_amount_that_is_too_large_is_never_called_too_small() {
    let service = Service::start().await;
    let ether = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE";
    let [usdc, weth, dai, wbtc] = [USDC, WETH, DAI, WBTC].map(|token| token.to_string());
    let pairs =
        [(&*usdc, &*weth), (&weth, &usdc), (ether, &weth), (ether, &usdc), (&dai, ether), (&dai, &wbtc), (&wbtc, &dai)];
    for (from, to) in pairs {
        for zeros in (24..=77).step_by(3) {
            let (status, answer) =
                refused_or_quoted(&service, &swap(from, &format!("1{}", "0".repeat(zeros)), to)).await;
            let code = answer["code"].as_str().unwrap_or("quoted");
            assert!(status == 200 || code == "INSUFFICIENT_LIQUIDITY", "10^{zeros} from {from} to {to}: {code}");
        }
    }
}

async fn refused_or_quoted(service: &Service, body: &Value) -> (u16, Value) {
    let response = service.post("/v1/quote", body).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
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

#[tokio::test]
async fn a_route_is_explained_in_words_and_numbers() {
    let service = Service::start().await;
    let mut asked = swap(&USDC.to_string(), "600000000000", &WETH.to_string());
    asked["explain"] = json!(true);
    let quote = service.quote(&asked).await;
    let why = &quote["explanation"];
    assert!(why["splitting"]["bps"].as_f64().unwrap() > 100.0, "{why:#}");
    assert!(
        text(&why["best_single_route"]["expected_amount"]) < text(&quote["estimated_outputs"][0]["expected_amount"])
    );
    assert!(why["exclusions"].is_null());
    let share = text(&why["gas"]["cost_wei"]) as f64 / text(&why["output_value_wei"]) as f64 * 1e4;
    assert!((share - why["gas"]["share_bps"].as_f64().unwrap()).abs() < 0.01);
    // Where branches trade the same two tokens, the marginal price must be the same in each.
    let prices = why["step_prices"].as_array().unwrap();
    let direct = quote["path"]["steps"].as_array().unwrap().iter().zip(prices);
    let direct: Vec<f64> = direct
        .filter(|(step, _)| step["token_in"] == json!(USDC.to_checksum(None)))
        .filter(|(step, _)| step["token_out"] == json!(WETH.to_checksum(None)))
        .map(|(_, price)| price["marginal"].as_f64().unwrap())
        .collect();
    assert_eq!(direct.len(), 2, "{why:#}");
    assert!((direct[0] / direct[1] - 1.0).abs() < 0.002, "{direct:?}");
    // After the sale, the marginal price is lower than the reference price.
    let next = &why["marginal_prices"][0];
    let price = |key: &str| next[key].as_str().unwrap().parse::<f64>().unwrap();
    assert!(price("value") < price("reference"), "{next}");
    let words: Vec<&str> = why["words"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    assert!(words.iter().any(|line| line.contains("that is what splitting added")), "{words:?}");

    // Excluding a protocol costs something, and the explanation states how much.
    asked["exclude_protocols"] = json!(["sushiswap"]);
    let poorer = service.quote(&asked).await;
    let exclusions = &poorer["explanation"]["exclusions"];
    let lost = text(&quote["explanation"]["output_value_wei"]) - text(&poorer["explanation"]["output_value_wei"]);
    let cost = text(&exclusions["cost"]["value_wei"]);
    assert!(cost.abs_diff(lost) < lost / 5, "{cost} is told, {lost} is lost");
    let own = json!({"protocol": "sushiswap_v2", "pools": 2, "cost": exclusions["cost"]});
    assert_eq!((&exclusions["protocols"], &exclusions["pools"]), (&json!([own]), &json!(0)));
    assert!(exclusions["pools_cost"].is_null());
}

/// Each part of a request's exclusions has its own cost: the gain of the route if only that part were allowed again.
#[tokio::test]
async fn every_exclusion_is_told_with_what_it_cost() {
    let service = Service::start().await;
    let explained = async |protocols: Value, pools: Value| {
        let mut body = swap(&USDC.to_string(), "600000000000", &WETH.to_string());
        body["explain"] = json!(true);
        body["exclude_protocols"] = protocols;
        body["exclude_pools"] = pools;
        service.quote(&body).await["explanation"].clone()
    };
    let worth = |why: &Value| text(&why["output_value_wei"]) - text(&why["gas"]["cost_wei"]);
    let pool = json!(["0x0000000000000000000000000000000000000001"]);
    let both = explained(json!(["sushiswap_v2"]), pool.clone()).await;
    let without_sushi = explained(json!(["sushiswap_v2"]), json!([])).await;
    let without_pool = explained(json!([]), pool).await;
    let nothing = explained(json!([]), json!([])).await;
    let exclusions = &both["exclusions"];
    let [sushi] = exclusions["protocols"].as_array().unwrap().as_slice() else { panic!("{exclusions:#}") };
    assert_eq!(
        (&sushi["protocol"], &sushi["pools"], &exclusions["pools"]),
        (&json!("sushiswap_v2"), &json!(2), &json!(1))
    );
    // The gas outside of the steps is the same for all, and the modelled gas differs little.
    let near = |told: &Value, freer: &Value| {
        let (told, gained) = (text(&told["value_wei"]), worth(freer) - worth(&both));
        assert!(told > 0 && told.abs_diff(gained) < gained / 20, "{told} is told, {gained} is gained");
    };
    near(&sushi["cost"], &without_pool);
    near(&exclusions["pools_cost"], &without_sushi);
    near(&exclusions["cost"], &nothing);
    let words: Vec<&str> = both["words"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for part in
        ["Excluding sushiswap_v2, 2 pools, cost", "Excluding 1 single pool cost", "All exclusions together cost"]
    {
        assert!(words.iter().any(|line| line.contains(part)), "{part}: {words:?}");
    }
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

#[tokio::test]
async fn a_route_is_drawn_and_alike_each_time() {
    let service = Service::start().await;
    let quote = service.quote(&swap(&USDC.to_string(), "400000000000", &WBTC.to_string())).await;
    let path = format!("/v1/quote/{}/route.svg", quote["quote_id"].as_str().unwrap());
    let answer = service.get(&path).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "image/svg+xml");
    assert_eq!(answer.headers()["content-security-policy"], "default-src 'none'");
    let picture = answer.text().await.unwrap();
    assert_eq!(picture, service.get(&path).send().await.unwrap().text().await.unwrap());
    let steps = quote["path"]["steps"].as_array().unwrap();
    assert_eq!(picture.matches("<path ").count(), steps.len(), "a ribbon for each step");
    for text in ["400,000 USDC →", "WBTC", "Uniswap V2", "better exists in"] {
        assert!(picture.contains(text), "{text} is not in {picture}");
    }
    let missing = service.get("/v1/quote/0190163d-8694-739b-aea5-966c26f8ad91/route.svg").send().await.unwrap();
    assert_eq!(problem(missing).await.0, 404);
    service.clock.advance_ms(120_000);
    assert_eq!(problem(service.get(&path).send().await.unwrap()).await.0, 410);
}
