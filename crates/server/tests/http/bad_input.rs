//! Tests of invalid requests: each gives a documented problem with its pointer, and never a 500.

use braid_primitives::WETH;
use serde_json::{Value, json};

use crate::support::{KEY, Service, TAKER, USDC, problem, request, swap};

const ZERO: &str = "0x0000000000000000000000000000000000000000";

/// Returns the valid request with one value replaced. A pointer that does not exist yet is added.
fn with(pointer: &str, value: Value) -> Value {
    let mut body = request();
    match body.pointer_mut(pointer) {
        Some(place) => *place = value,
        None => {
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            body.pointer_mut(parent).unwrap()[name] = value;
        }
    }
    body
}

fn codes(body: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    body["errors"].as_array().unwrap().iter().map(|e| (text(&e["pointer"]), text(&e["code"]))).collect()
}

#[tokio::test]
async fn every_wrong_field_has_its_code_and_pointer() {
    let service = Service::start().await;
    let usdc = USDC.to_checksum(None);
    let proxy = braid_execution::proxy::address().to_checksum(None);
    let two_power_256 = "115792089237316195423570985008687907853269984665640564039457584007913129639936";
    let swapped: String = usdc
        .chars()
        .map(|c| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() })
        .collect();
    let amount = "/inputs/0/amount";
    let token = "/inputs/0/address";
    let ratio = "/outputs/0/ratio_bps";
    let mut rows: Vec<(&str, Value, &str)> = Vec::new();
    for wrong in ["", "-1", "0", "+1", "0x10", "1e6", "1.0", " 1", "01", two_power_256, &"9".repeat(400)] {
        rows.push((amount, json!(wrong), "AMOUNT_INVALID"));
    }
    for wrong in [json!(0), json!(1), json!(-1), json!([]), json!({}), json!(true), json!(1.5)] {
        rows.push((amount, wrong, "INVALID_TYPE"));
    }
    for wrong in ["", "0x", "USDC", &usdc[..41], &usdc[2..]] {
        rows.push((token, json!(wrong), "ADDRESS_INVALID"));
        rows.push(("/outputs/0/address", json!(wrong), "ADDRESS_INVALID"));
        rows.push(("/taker", json!(wrong), "ADDRESS_INVALID"));
        rows.push(("/recipient", json!(wrong), "ADDRESS_INVALID"));
    }
    let mixed = usdc.replace('b', "B");
    rows.extend([
        (amount, json!(null), "REQUIRED"),
        (token, json!(null), "REQUIRED"),
        (token, json!(5), "INVALID_TYPE"),
        (token, json!(mixed), "ADDRESS_CHECKSUM_INVALID"),
        (token, json!(swapped), "ADDRESS_CHECKSUM_INVALID"),
        ("/taker", json!(null), "REQUIRED"),
        ("/taker", json!(7), "INVALID_TYPE"),
        ("/taker", json!(ZERO), "ADDRESS_FORBIDDEN"),
        ("/taker", json!(proxy), "ADDRESS_FORBIDDEN"),
        ("/recipient", json!(ZERO), "ADDRESS_FORBIDDEN"),
        ("/recipient", json!(proxy), "ADDRESS_FORBIDDEN"),
        ("/recipient", json!(WETH), "ADDRESS_FORBIDDEN"),
        ("/taker", json!("0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"), "ADDRESS_FORBIDDEN"),
        ("/recipient", json!("0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"), "ADDRESS_FORBIDDEN"),
        ("/inputs/0/chain_id", json!(10), "CHAIN_UNSUPPORTED"),
        ("/inputs/0/chain_id", json!("1"), "INVALID_TYPE"),
        ("/outputs/0/chain_id", json!(null), "REQUIRED"),
        (ratio, json!(0), "OUT_OF_RANGE"),
        (ratio, json!(-1), "OUT_OF_RANGE"),
        (ratio, json!(10_001), "OUT_OF_RANGE"),
        (ratio, json!("10000"), "INVALID_TYPE"),
        (ratio, json!(10_000.5), "INVALID_TYPE"),
        (ratio, json!(null), "REQUIRED"),
        ("/slippage_tolerance_bps", json!(-1), "OUT_OF_RANGE"),
        ("/slippage_tolerance_bps", json!(5_001), "OUT_OF_RANGE"),
        ("/slippage_tolerance_bps", json!("100"), "INVALID_TYPE"),
        ("/slippage_tolerance_bps", json!(1.5), "INVALID_TYPE"),
        ("/max_hops", json!(0), "OUT_OF_RANGE"),
        ("/max_hops", json!(99), "OUT_OF_RANGE"),
        ("/max_steps", json!(0), "OUT_OF_RANGE"),
        ("/max_steps", json!(65), "OUT_OF_RANGE"),
        ("/max_steps", json!("4"), "INVALID_TYPE"),
        ("/max_hops", json!("4"), "INVALID_TYPE"),
        ("/gas_priority", json!(""), "VALUE_UNKNOWN"),
        ("/gas_priority", json!("FAST!"), "VALUE_UNKNOWN"),
        ("/gas_priority", json!(3), "INVALID_TYPE"),
        ("/surprise", json!(1), "UNKNOWN_FIELD"),
        ("/inputs/0/surprise", json!(1), "UNKNOWN_FIELD"),
        ("/inputs", json!([]), "LENGTH_INVALID"),
        ("/outputs", json!([]), "LENGTH_INVALID"),
        ("/inputs", json!({}), "INVALID_TYPE"),
        ("/inputs/0", json!(null), "INVALID_TYPE"),
        ("/exclude_protocols", json!("uniswap_v2"), "INVALID_TYPE"),
        ("/exclude_pools", json!(["0x12"]), "ADDRESS_INVALID"),
        ("/exclude_pools", json!(["0x0000000000000000000000000000000000000001/0x12"]), "ADDRESS_INVALID"),
        ("/simulate", json!("yes"), "INVALID_TYPE"),
        ("/partner_fee", json!(25), "INVALID_TYPE"),
    ]);
    for (pointer, value, expected) in rows {
        let (status, body) = service.refused_quote(&with(pointer, value.clone())).await;
        assert_eq!((status, body["code"].as_str()), (422, Some("VALIDATION_FAILED")), "{pointer} = {value}");
        let found = codes(&body);
        let at = found.iter().any(|(at, code)| at.starts_with(pointer) && code == expected);
        assert!(at, "{pointer} = {value}: {found:?}");
    }
}

#[tokio::test]
async fn an_integer_of_any_size_is_an_integer() {
    let service = Service::start().await;
    let huge = ["18446744073709551616", "-18446744073709551616", "1000000000000000000000000000000", "1e300"];
    for number in huge {
        let rows =
            [("slippage_tolerance_bps", "OUT_OF_RANGE"), ("max_hops", "OUT_OF_RANGE"), ("simulate", "INVALID_TYPE")];
        for (field, code) in rows {
            let raw = request().to_string().replacen('{', &format!("{{\"{field}\": {number}, "), 1);
            let (status, body) = problem(service.raw("/v1/quote", raw).send().await.unwrap()).await;
            let detail = &body["errors"][0]["detail"].as_str().unwrap();
            assert_eq!((status, body["errors"][0]["code"].as_str()), (422, Some(code)), "{number}: {body:#}");
            assert!(!detail.contains("fraction"), "{detail}");
        }
        let raw = request().to_string().replacen("\"chain_id\":1", &format!("\"chain_id\":{number}"), 1);
        let (_, body) = problem(service.raw("/v1/quote", raw).send().await.unwrap()).await;
        assert_eq!(codes(&body), [("/inputs/0/chain_id".to_owned(), "CHAIN_UNSUPPORTED".to_owned())]);
    }
}

#[tokio::test]
async fn a_compressed_body_is_told_to_come_plain() {
    let service = Service::start().await;
    for coding in ["gzip", "zstd", "deflate", "br"] {
        let call = service.post("/v1/quote", &request()).header("content-encoding", coding);
        let (status, body) = problem(call.send().await.unwrap()).await;
        assert_eq!((status, body["code"].as_str()), (415, Some("UNSUPPORTED_MEDIA_TYPE")), "{coding}");
        assert!(body["detail"].as_str().unwrap().contains("content-encoding"));
    }
    let plain = service.post("/v1/quote", &request()).header("content-encoding", "identity");
    assert_eq!(plain.send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn shares_must_sum_and_tokens_must_differ() {
    let service = Service::start().await;
    let input = request()["inputs"][0].clone();
    let output = request()["outputs"][0].clone();
    let eth = |form: &str| json!({"chain_id": 1, "address": form, "amount": "1"});
    let rows = [
        (with("/outputs/0/ratio_bps", json!(9_999)), "/outputs", "RATIO_SUM_INVALID"),
        (with("/inputs", json!([input, input])), "/inputs/1/address", "TOKEN_DUPLICATE"),
        (with("/outputs/0/address", json!(USDC)), "/outputs/0/address", "TOKEN_ON_BOTH_SIDES"),
        (with("/inputs", json!(vec![input.clone(); 7])), "/inputs", "LENGTH_INVALID"),
        (with("/outputs", json!(vec![output; 7])), "/outputs", "LENGTH_INVALID"),
        (
            with("/inputs", json!([eth(ZERO), eth("0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE")])),
            "/inputs/1/address",
            "TOKEN_DUPLICATE",
        ),
    ];
    for (body, pointer, code) in rows {
        let (status, answer) = service.refused_quote(&body).await;
        assert_eq!(status, 422);
        assert!(codes(&answer).contains(&(pointer.into(), code.into())), "{answer:#}");
    }
}

#[tokio::test]
async fn all_mistakes_are_told_at_once() {
    let service = Service::start().await;
    let (status, body) = service
        .refused_quote(&json!({
            "inputs": [{"chain_id": 10, "address": "0x12", "amount": "1.5"}, {"chain_id": 1}],
            "outputs": [],
            "slippage_tolerance_bps": 9_999,
            "max_hops": 0,
            "exclude_pools": ["0x12", USDC, 7],
            "gas_priority": "warp",
            "surprise": 1,
            "partner_fee": {"partner_fee_bps": 0},
        }))
        .await;
    assert_eq!(status, 422);
    let expected = [
        ("/surprise", "UNKNOWN_FIELD"),
        ("/inputs/0/chain_id", "CHAIN_UNSUPPORTED"),
        ("/inputs/0/address", "ADDRESS_INVALID"),
        ("/inputs/0/amount", "AMOUNT_INVALID"),
        ("/inputs/1/address", "REQUIRED"),
        ("/inputs/1/amount", "REQUIRED"),
        ("/outputs", "LENGTH_INVALID"),
        ("/taker", "REQUIRED"),
        ("/slippage_tolerance_bps", "OUT_OF_RANGE"),
        ("/max_hops", "OUT_OF_RANGE"),
        ("/exclude_pools/0", "ADDRESS_INVALID"),
        ("/exclude_pools/2", "INVALID_TYPE"),
        ("/gas_priority", "VALUE_UNKNOWN"),
        ("/partner_fee/partner_fee_bps", "OUT_OF_RANGE"),
        ("/partner_fee/partner_recipient", "REQUIRED"),
    ];
    let expected: Vec<_> = expected.map(|(pointer, code)| (pointer.to_owned(), code.to_owned())).into();
    assert_eq!(codes(&body), expected);
    assert_eq!(body["detail"], "15 fields are invalid");
    assert_eq!(body["error"]["details"]["errors"], body["errors"]);
    assert!(body["error"]["message"].as_str().unwrap().contains("surprise"));
}

/// Entries with any mistake were once left out of the checks of entries against each other, and entries past the sixth out
/// of the sum.
#[tokio::test]
async fn a_mistake_hides_none_across_entries_and_invents_none() {
    let service = Service::start().await;
    let input = |amount: &str| json!({"chain_id": 1, "address": USDC, "amount": amount});
    let output = |address: &str, ratio: u64| json!({"chain_id": 1, "address": address, "ratio_bps": ratio});
    let weth = WETH.to_string();
    let shares = [1_428, 1_428, 1_428, 1_428, 1_428, 1_428, 1_432];
    let address = |n: usize| format!("0x{:040x}", n + 1);
    let seven: Vec<Value> = shares.iter().enumerate().map(|(n, share)| output(&address(n), *share)).collect();
    let mut forbidden = with("/outputs", json!([output(&weth, 0)]));
    forbidden["recipient"] = json!(weth);
    let mut lost_fee = with("/inputs/0/amount", json!("1.5"));
    lost_fee["partner_fee"] = json!({"partner_fee_bps": 25, "partner_recipient": USDC});
    let exact: Vec<Value> = (0..7).map(|n| json!({"chain_id": 1, "address": address(n), "amount": "1"})).collect();
    let mut bought = with("/outputs", json!(exact));
    bought["inputs"] = json!([{"chain_id": 1, "address": USDC}]);
    let rows: [(Value, &[(&str, &str)]); 6] = [
        (
            with("/outputs", json!([output("0x12", 9_000)])),
            &[("/outputs/0/address", "ADDRESS_INVALID"), ("/outputs", "RATIO_SUM_INVALID")],
        ),
        (
            with("/inputs", json!([input("1.5"), input("1")])),
            &[("/inputs/0/amount", "AMOUNT_INVALID"), ("/inputs/1/address", "TOKEN_DUPLICATE")],
        ),
        (forbidden, &[("/outputs/0/ratio_bps", "OUT_OF_RANGE"), ("/recipient", "ADDRESS_FORBIDDEN")]),
        (lost_fee, &[("/inputs/0/amount", "AMOUNT_INVALID"), ("/partner_fee/partner_recipient", "ADDRESS_FORBIDDEN")]),
        (with("/outputs", json!(seven)), &[("/outputs", "LENGTH_INVALID")]),
        (bought, &[("/outputs", "LENGTH_INVALID"), ("/outputs", "EXACT_OUTPUT_UNSUPPORTED")]),
    ];
    for (body, expected) in rows {
        let (status, answer) = service.refused_quote(&body).await;
        let expected: Vec<_> =
            expected.iter().map(|(pointer, code)| ((*pointer).to_owned(), (*code).to_owned())).collect();
        assert_eq!((status, codes(&answer)), (422, expected), "{answer:#}");
        let details = answer["errors"].to_string();
        assert!(!details.contains("got 6"), "a list of seven is counted to its end: {details}");
    }
}

#[tokio::test]
async fn a_partner_fee_above_the_cap_has_a_code_of_its_own() {
    let service = Service::start().await;
    let fee = json!({"partner_fee_bps": 301, "partner_recipient": TAKER});
    let (status, body) = service.refused_quote(&with("/partner_fee", fee)).await;
    assert_eq!((status, body["code"].as_str()), (422, Some("PARTNER_FEE_EXCEEDS_CAP")));
}

/// Ether for the contract of wrapped ether is credited to the proxy, and was once quoted.
#[tokio::test]
async fn a_recipient_is_no_contract_that_the_output_would_be_lost_in() {
    let service = Service::start().await;
    let [usdc, weth] = [USDC.to_string(), WETH.to_string()];
    for ether in [ZERO, "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE"] {
        let mut body = swap(&usdc, "1000000000", ether);
        service.quote(&body).await;
        body["recipient"] = json!(weth);
        let (status, answer) = service.refused_quote(&body).await;
        let expected = vec![("/recipient".to_owned(), "ADDRESS_FORBIDDEN".to_owned())];
        assert_eq!((status, codes(&answer)), (422, expected), "{ether}");
    }
    let mut body = swap(&weth, "1000000000000000000", &usdc);
    body["recipient"] = json!(weth);
    service.quote(&body).await;
}

#[tokio::test]
async fn a_partner_is_no_contract_that_the_fee_would_be_lost_in() {
    let service = Service::start().await;
    let ether = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE";
    let [usdc, weth] = [USDC.to_string(), WETH.to_string()];
    let rows = [
        (&usdc, false, &usdc, weth.as_str(), true),
        (&weth, true, &usdc, weth.as_str(), true),
        (&weth, true, &usdc, ether, true),
        (&usdc, true, &usdc, weth.as_str(), false),
        (&weth, false, &usdc, weth.as_str(), false),
    ];
    for (partner, on_output, sold, bought, is_lost) in rows {
        let mut body = swap(sold, "1000000000", bought);
        body["partner_fee"] =
            json!({"partner_fee_bps": 25, "partner_recipient": partner, "partner_fee_on_output": on_output});
        if is_lost {
            let (status, answer) = service.refused_quote(&body).await;
            let expected = vec![("/partner_fee/partner_recipient".to_owned(), "ADDRESS_FORBIDDEN".to_owned())];
            assert_eq!((status, codes(&answer)), (422, expected), "{partner} for {bought}");
        } else {
            service.quote(&body).await;
        }
    }
    let mut body = swap(&usdc, "1000000000", &weth);
    body["partner_fee"] = json!({"partner_fee_bps": 0, "partner_recipient": usdc});
    let (_, answer) = service.refused_quote(&body).await;
    assert_eq!(codes(&answer).len(), 2, "a wrong fee hides no wrong partner: {answer}");
}

#[tokio::test]
async fn what_is_no_json_object_is_refused_however_large_or_deep() {
    let service = Service::start().await;
    let rows: Vec<(Vec<u8>, u16, &str)> = vec![
        (b"".to_vec(), 400, "MALFORMED_JSON"),
        (b"{".to_vec(), 400, "MALFORMED_JSON"),
        (b"{} {}".to_vec(), 400, "MALFORMED_JSON"),
        (b"[".repeat(20_000), 400, "MALFORMED_JSON"),
        ([b"{\"inputs\":".to_vec(), b"[".repeat(5_000)].concat(), 400, "MALFORMED_JSON"),
        ([b"[".repeat(5_000), b"]".repeat(5_000)].concat(), 400, "MALFORMED_JSON"),
        ([b"[".repeat(100), b"]".repeat(100)].concat(), 422, "VALIDATION_FAILED"),
        (b"{} ".repeat(2), 400, "MALFORMED_JSON"),
        (format!("{{\"surprise\": \"{}\"}}", "x".repeat(1_000_000)).into_bytes(), 413, "PAYLOAD_TOO_LARGE"),
        (b"\xff\xfe".to_vec(), 400, "MALFORMED_JSON"),
        (b"[]".to_vec(), 422, "VALIDATION_FAILED"),
        (b"null".to_vec(), 422, "VALIDATION_FAILED"),
        (b"\"x\"".to_vec(), 422, "VALIDATION_FAILED"),
        (b"{}".to_vec(), 422, "VALIDATION_FAILED"),
        (b"x".repeat(3_000_000), 413, "PAYLOAD_TOO_LARGE"),
    ];
    for (raw, status, code) in rows {
        let start = String::from_utf8_lossy(&raw[..raw.len().min(20)]).into_owned();
        for path in ["/v1/quote", "/v1/build"] {
            let answer = problem(service.raw(path, raw.clone()).send().await.unwrap()).await;
            assert_eq!((answer.0, answer.1["code"].as_str()), (status, Some(code)), "{start}");
        }
    }
}

#[tokio::test]
async fn a_field_named_twice_is_a_mistake() {
    let service = Service::start().await;
    let raw = request().to_string().replacen("{\"", "{\"taker\":\"0x12\",\"", 1);
    let (status, body) = problem(service.raw("/v1/quote", raw).send().await.unwrap()).await;
    assert_eq!(status, 422);
    assert!(codes(&body).contains(&("/taker".into(), "DUPLICATE_FIELD".into())), "{body:#}");
}

#[tokio::test]
async fn a_flood_of_unknown_fields_gets_a_short_answer() {
    let service = Service::start().await;
    let fields: Vec<String> = (0..5_000).map(|n| format!("\"f{n}\":1")).collect();
    let raw = format!("{{{}}}", fields.join(","));
    let response = service.raw("/v1/quote", raw).send().await.unwrap();
    assert_eq!(response.status(), 422);
    assert!(response.bytes().await.unwrap().len() < 2_000);
}

#[tokio::test]
async fn the_body_must_be_declared_as_json() {
    let service = Service::start().await;
    for kind in ["text/plain", "", "application/x-www-form-urlencoded"] {
        let request = service.client.post(format!("{}/v1/quote", service.base)).body(request().to_string());
        let response = request.header("content-type", kind).header("x-api-key", KEY).send().await.unwrap();
        let (status, body) = problem(response).await;
        assert_eq!((status, body["code"].as_str()), (415, Some("UNSUPPORTED_MEDIA_TYPE")), "{kind:?}");
    }
}

#[tokio::test]
async fn build_requests_are_checked_like_quotes() {
    let service = Service::start().await;
    let id = "0190163d-8694-739b-aea5-966c26f8ad91";
    let rows = [
        (json!({}), "/quote_id", "REQUIRED"),
        (json!({"quote_id": 5}), "/quote_id", "INVALID_TYPE"),
        (json!({"quote_id": "nonsense"}), "/quote_id", "QUOTE_ID_INVALID"),
        (json!({"quote_id": id.replace('-', "")}), "/quote_id", "QUOTE_ID_INVALID"),
        (json!({"quote_id": id, "permit2_signature": "0x"}), "/permit2_signature", "HEX_INVALID"),
        (json!({"quote_id": id, "permit2_signature": "0xabc"}), "/permit2_signature", "HEX_INVALID"),
        (json!({"quote_id": id, "permit2_signature": "zz"}), "/permit2_signature", "HEX_INVALID"),
        (json!({"quote_id": id, "permit2_signature": 1}), "/permit2_signature", "INVALID_TYPE"),
        (json!({"quote_id": id, "simulate": 1}), "/simulate", "INVALID_TYPE"),
        (json!({"quote_id": id, "deadline": -1}), "/deadline", "OUT_OF_RANGE"),
        (json!({"quote_id": id, "deadline": "soon"}), "/deadline", "INVALID_TYPE"),
        (json!({"quote_id": id, "surprise": 1}), "/surprise", "UNKNOWN_FIELD"),
    ];
    for (body, pointer, code) in rows {
        let (status, answer) = service.refused_build(&body).await;
        assert_eq!((status, answer["code"].as_str()), (422, Some("VALIDATION_FAILED")), "{body}");
        assert_eq!(codes(&answer), [(pointer.to_owned(), code.to_owned())], "{body}");
    }
}

#[test]
fn every_line_of_the_table_names_a_test_that_exists() {
    const TABLE: &str = include_str!("../../../../docs/internals/bad-input.md");
    const TESTS: [&str; 16] = [
        include_str!("bad_input.rs"),
        include_str!("build.rs"),
        include_str!("connections.rs"),
        include_str!("keys.rs"),
        include_str!("limits.rs"),
        include_str!("market_data.rs"),
        include_str!("overload.rs"),
        include_str!("purchase.rs"),
        include_str!("quote/filters.rs"),
        include_str!("quote/refusals.rs"),
        include_str!("receipt.rs"),
        include_str!("service.rs"),
        include_str!("../audit/main.rs"),
        include_str!("../devnet/simulations.rs"),
        include_str!("../devnet/swaps.rs"),
        include_str!("../devnet/wallets.rs"),
    ];
    const PROPERTIES: &str = include_str!("../../../quoting/src/request/properties.rs");
    let lines = TABLE
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| input") && !line.starts_with("| ---"));
    let mut seen = 0;
    for line in lines {
        let name = line.trim_end_matches(" |").rsplit("| ").next().unwrap().trim_matches('`');
        let known = format!("fn {name}(");
        assert!(TESTS.iter().chain([&PROPERTIES]).any(|text| text.contains(&known)), "{line}");
        seen += 1;
    }
    assert!(seen > 40, "{seen} lines were read");
}
