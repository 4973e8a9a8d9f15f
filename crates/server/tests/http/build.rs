//! Tests of builds from a quote: repeated, on a changing market, and across expiry and restarts.

use braid_primitives::{NATIVE_ETHER, WETH};
use braid_server::Config;
use serde_json::{Value, json};

use crate::support::{DataDir, NOW_MS, Service, TAKER, USDC, market, request, swap};

const NOW_S: u64 = NOW_MS / 1_000;

async fn quote_id(service: &Service) -> Value {
    service.quote(&request()).await["quote_id"].clone()
}

#[tokio::test]
async fn a_quote_becomes_a_transaction_as_often_as_asked() {
    let service = Service::start().await;
    let quote = service.quote(&request()).await;
    let first = service.build(&json!({"quote_id": quote["quote_id"]})).await;
    let second = service.build(&json!({"quote_id": quote["quote_id"]})).await;
    assert_eq!(first, second);
    let proxy = braid_execution::proxy::address().to_checksum(None);
    let transaction = &first["transaction"];
    assert_eq!(transaction["to"], proxy);
    assert_eq!(transaction["from"], TAKER.to_checksum(None));
    assert_eq!(transaction["value"], "0x0");
    assert_eq!((transaction["type"].as_u64(), transaction["chain_id"].as_u64()), (Some(2), Some(1)));
    assert!(transaction["gas"].as_u64().unwrap() <= 8_388_608);
    assert_eq!(first["authorization"], "allowance");
    assert_eq!(first["approvals"], quote["approvals"]);
    let (built, quoted) = (&first["estimated_outputs"][0], &quote["estimated_outputs"][0]);
    assert_eq!(built["expected_amount"], quoted["expected_amount"]);
    assert_eq!(built["minimum_amount"], quoted["minimum_amount"]);
    for key in ["quote_id", "deadline", "issues", "simulation", "rpc_transaction"] {
        assert!(first.get(key).is_some(), "{key}");
    }
}

#[tokio::test]
async fn the_rpc_form_says_the_same_in_hex() {
    let service = Service::start().await;
    let ether = swap(&NATIVE_ETHER.to_string(), "1000000000000000000", &USDC.to_string());
    let quote = service.quote(&ether).await;
    let built = service.build(&json!({"quote_id": quote["quote_id"]})).await;
    assert_eq!(built["authorization"], "native");
    let (plain, rpc) = (&built["transaction"], &built["rpc_transaction"]);
    let hex = |value: &Value| format!("{:#x}", value.as_u64().unwrap());
    assert_eq!(rpc["gas"], hex(&plain["gas"]));
    assert_eq!(rpc["maxFeePerGas"], hex(&plain["max_fee_per_gas"]));
    assert_eq!(rpc["maxPriorityFeePerGas"], hex(&plain["max_priority_fee_per_gas"]));
    assert_eq!((&rpc["type"], &rpc["chainId"]), (&json!("0x2"), &json!("0x1")));
    assert_eq!(rpc["value"], "0xde0b6b3a7640000");
    for key in ["from", "to", "data", "value"] {
        assert_eq!(rpc[key], plain[key]);
    }
    assert_eq!(rpc.as_object().unwrap().len(), 9);
}

#[tokio::test]
async fn a_quote_expires_and_is_told_apart_from_one_that_never_was() {
    let service = Service::start().await;
    let id = quote_id(&service).await;
    service.clock.advance_ms(119_999);
    service.build(&json!({"quote_id": id})).await;
    service.clock.advance_ms(1);
    for (later_ms, expected) in
        [(0, (410, "QUOTE_EXPIRED")), (10 * 60_000, (410, "QUOTE_EXPIRED")), (6 * 60_000, (404, "QUOTE_NOT_FOUND"))]
    {
        service.clock.advance_ms(later_ms);
        let (status, body) = service.refused_build(&json!({"quote_id": id})).await;
        assert_eq!((status, body["code"].as_str().unwrap()), expected);
    }
    let never = json!({"quote_id": "0190163d-8694-739b-aea5-966c26f8ad91"});
    assert_eq!(service.refused_build(&never).await.1["code"], "QUOTE_NOT_FOUND");
}

#[tokio::test]
async fn a_clock_that_is_set_by_an_hour_ends_quotes_at_once_or_an_hour_later() {
    const HOUR_MS: u64 = 3_600_000;
    let service = Service::start().await;
    let refused = async |id: &Value| {
        let (status, problem) = service.refused_build(&json!({"quote_id": id})).await;
        (status, problem["code"].as_str().unwrap().to_owned())
    };
    let ready = async || service.get("/ready").send().await.unwrap().json::<Value>().await.unwrap()["status"].clone();
    let before = quote_id(&service).await;

    // A clock that is set back keeps valid quotes valid. A new quote is valid for its whole time by the new clock.
    service.clock.set_ms(NOW_MS - HOUR_MS);
    assert_eq!(ready().await, "ready");
    let during = service.quote(&request()).await;
    assert_eq!(during["expires_at"], "2023-11-14T21:15:20.000Z");
    for id in [&before, &during["quote_id"]] {
        let built = service.build(&json!({"quote_id": id})).await;
        assert!(built["deadline"].as_u64().unwrap() >= NOW_S + 180, "the chain's time counts where it is later");
    }
    service.clock.advance_ms(120_000);
    assert_eq!(refused(&during["quote_id"]).await, (410, "QUOTE_EXPIRED".into()));
    service.build(&json!({"quote_id": before})).await;

    // A clock that is set forward ends all quotes. After it is set right, quotes that have not expired are valid again.
    service.clock.set_ms(NOW_MS + HOUR_MS);
    assert_eq!(ready().await, "ready");
    assert_eq!(refused(&before).await, (404, "QUOTE_NOT_FOUND".into()));
    let ahead = service.quote(&request()).await;
    assert_eq!(ahead["expires_at"], "2023-11-14T23:15:20.000Z");
    service.build(&json!({"quote_id": ahead["quote_id"]})).await;
    service.clock.set_ms(NOW_MS + 119_999);
    service.build(&json!({"quote_id": before})).await;
    service.clock.advance_ms(1);
    assert_eq!(refused(&before).await, (410, "QUOTE_EXPIRED".into()));
}

#[tokio::test]
async fn slow_signers_get_the_time_that_they_ask_for() {
    let service = Service::start().await;
    let mut body = request();
    body["ttl_s"] = json!(900);
    let quote = service.quote(&body).await;
    assert_eq!((&quote["ttl_ms"], &quote["expires_at"]), (&json!(900_000), &json!("2023-11-14T22:28:20.000Z")));
    assert_eq!(quote["permit2"]["deadline"], NOW_S + 900 + 600);
    let long: Vec<_> = quote["warnings"].as_array().unwrap().iter().filter(|told| told["code"] == "LONG_TTL").collect();
    assert!(long[0]["message"].as_str().unwrap().contains("100 basis points"), "{long:?}");

    // A transaction that is built at once can be signed for as long as the requested validity of the quote.
    let built = service.build(&json!({"quote_id": quote["quote_id"]})).await;
    assert_eq!(built["deadline"], NOW_S + 900);
    let dir = service.stop().await;
    let service = Service::without_market(Config::default(), dir, NOW_MS + 899_999).await;
    service.publish(market(1_000));
    let built = service.build(&json!({"quote_id": quote["quote_id"]})).await;
    assert_eq!(built["deadline"], NOW_S + 899 + 900);
    service.clock.advance_ms(1);
    let (status, problem) = service.refused_build(&json!({"quote_id": quote["quote_id"]})).await;
    assert_eq!((status, problem["code"].as_str()), (410, Some("QUOTE_EXPIRED")));
}

#[tokio::test]
async fn a_time_out_of_bounds_is_refused_and_a_short_one_warns_of_nothing() {
    let service = Service::start().await;
    let mut body = request();
    for wrong in [0, 9, 901] {
        body["ttl_s"] = json!(wrong);
        let (_, problem) = service.refused_quote(&body).await;
        assert_eq!(
            (&problem["errors"][0]["pointer"], &problem["errors"][0]["code"]),
            (&json!("/ttl_s"), &json!("OUT_OF_RANGE"))
        );
    }
    body["ttl_s"] = json!(30);
    let quote = service.quote(&body).await;
    assert_eq!(quote["ttl_ms"], 30_000);
    assert!(quote["warnings"].as_array().unwrap().iter().all(|told| told["code"] != "LONG_TTL"));
    let built = service.build(&json!({"quote_id": quote["quote_id"]})).await;
    assert_eq!(built["deadline"], NOW_S + 600);
}

/// The warning once came only where the request set the time.
#[tokio::test]
async fn a_long_time_that_the_service_sets_warns_too() {
    let service = Service::with(Config { quote_ttl_ms: 3_600_000, ..Config::default() }).await;
    let is_warned = |quote: &Value| quote["warnings"].as_array().unwrap().iter().any(|told| told["code"] == "LONG_TTL");
    let mut body = request();
    let quote = service.quote(&body).await;
    assert_eq!((&quote["ttl_ms"], is_warned(&quote)), (&json!(3_600_000), true), "{}", quote["warnings"]);
    body["ttl_s"] = json!(120);
    assert!(!is_warned(&service.quote(&body).await));
}

#[tokio::test]
async fn a_restart_keeps_quotes() {
    let service = Service::start().await;
    let quote = service.quote(&request()).await;
    let before = service.build(&json!({"quote_id": quote["quote_id"]})).await;
    let dir = service.stop().await;
    let service = reopen(dir).await;
    service.publish(market(1_000));
    let after = service.build(&json!({"quote_id": quote["quote_id"]})).await;
    assert_eq!(after, before);
}

/// Starts a service on the data directory of one that has stopped.
async fn reopen(dir: DataDir) -> Service {
    Service::without_market(Config::default(), dir, NOW_MS + 1).await
}

#[tokio::test]
async fn a_build_is_worked_out_again_on_the_newest_market() {
    let service = Service::start().await;
    let mut body = request();
    body["include_protocols"] = json!(["uniswap_v2"]);
    body["max_hops"] = json!(1);
    let quote = service.quote(&body).await;
    let expected =
        |built: &Value| -> u128 { built["estimated_outputs"][0]["expected_amount"].as_str().unwrap().parse().unwrap() };
    let same = service.build(&json!({"quote_id": quote["quote_id"]})).await;

    service.publish(market(1_005));
    let better = service.build(&json!({"quote_id": quote["quote_id"]})).await;
    assert!(expected(&better) > expected(&same));
    assert_eq!(better["estimated_outputs"][0]["minimum_amount"], same["estimated_outputs"][0]["minimum_amount"]);

    service.publish(market(980));
    let (status, body) = service.refused_build(&json!({"quote_id": quote["quote_id"]})).await;
    assert_eq!((status, body["code"].as_str()), (409, Some("QUOTE_STALE")));
}

#[tokio::test]
async fn the_deadline_leaves_time_by_clock_and_chain() {
    let service = Service::start().await;
    let id = quote_id(&service).await;
    let deadline = |built: Value| built["deadline"].as_u64().unwrap();
    assert!(deadline(service.build(&json!({"quote_id": id})).await) >= NOW_S + 180);
    assert_eq!(deadline(service.build(&json!({"quote_id": id, "deadline": NOW_S + 30})).await), NOW_S + 30);
    let (status, body) = service.refused_build(&json!({"quote_id": id, "deadline": NOW_S})).await;
    assert_eq!((status, body["errors"][0]["code"].as_str()), (422, Some("DEADLINE_INVALID")));
}

#[tokio::test]
async fn a_signature_must_be_the_takers_for_this_quote() {
    let service = Service::start().await;
    let id = quote_id(&service).await;
    for signature in ["0x00", &format!("0x{}", "11".repeat(65)), &format!("0x{}1b", "22".repeat(64))] {
        let (status, body) = service.refused_build(&json!({"quote_id": id, "permit2_signature": signature})).await;
        assert_eq!((status, body["code"].as_str()), (422, Some("PERMIT2_SIGNATURE_INVALID")), "{signature}");
    }
    let ether = service.quote(&swap(&NATIVE_ETHER.to_string(), "1000", &WETH.to_string())).await;
    let signed = json!({"quote_id": ether["quote_id"], "permit2_signature": format!("0x{}", "11".repeat(65))});
    assert_eq!(service.refused_build(&signed).await.1["code"], "PERMIT2_SIGNATURE_INVALID");
}

#[tokio::test]
async fn the_calls_of_a_bundle_are_the_missing_approvals_and_the_swap() {
    let service = Service::start().await;
    let quote = service.quote(&request()).await;
    let built = service.build(&json!({"quote_id": quote["quote_id"]})).await;
    let approval = &built["approvals"][0]["transactions"][0];
    let swap = &built["transaction"];
    let expected = json!([
        {"to": approval["to"], "data": approval["data"], "value": "0x0"},
        {"to": swap["to"], "data": swap["data"], "value": "0x0"},
    ]);
    assert_eq!(built["calls"], expected);

    // A token whose allowance can be changed only through zero has two calls of its own, which belong to the approval;
    // ether has none.
    let ether = swap_of_ether(&service).await;
    assert_eq!(ether["calls"].as_array().unwrap().len(), 1);
    assert_eq!(ether["calls"][0]["value"], "0xde0b6b3a7640000");
}

async fn swap_of_ether(service: &Service) -> Value {
    let ether = swap(&NATIVE_ETHER.to_string(), "1000000000000000000", &USDC.to_string());
    let quote = service.quote(&ether).await;
    service.build(&json!({"quote_id": quote["quote_id"]})).await
}
