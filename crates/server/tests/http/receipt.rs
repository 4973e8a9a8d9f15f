//! Tests of receipts: they can be recomputed without the service, and the check names what is forged.

use braid_market::Market;
use braid_quoting::receipt::{Finding, Verdict, verify};
use braid_server::Config;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::{NOW_MS, Service, TAKER, USDC, data, market, problem, purchase, request, swap};

/// Returns the receipt of a quote and the file of its market.
async fn evidence(service: &Service, quote: &Value) -> (Value, Vec<u8>) {
    let id = quote["quote_id"].as_str().unwrap();
    let receipt = data(service.get(&format!("/v1/quote/{id}/receipt")).send().await.unwrap()).await;
    let file = service.get(&format!("/v1/quote/{id}/market")).send().await.unwrap();
    assert_eq!(
        (file.status().as_u16(), &file.headers()["content-type"]),
        (200, &"application/octet-stream".parse().unwrap())
    );
    (receipt, file.bytes().await.unwrap().to_vec())
}

fn checked(receipt: &Value, file: Option<&[u8]>) -> Vec<Finding> {
    verify(receipt.to_string().as_bytes(), file.map(|file| Market::from_bytes(file).unwrap())).unwrap()
}

/// Returns the names of the differences.
fn wrong(receipt: &Value, file: Option<&[u8]>) -> Vec<&'static str> {
    let findings = checked(receipt, file);
    let differs = findings.iter().filter(|finding| matches!(finding.verdict, Verdict::Differs(_)));
    differs.map(|finding| finding.about).collect()
}

/// Computes the digest of a changed receipt again, as a forger would.
fn named_anew(mut receipt: Value) -> Value {
    receipt.as_object_mut().unwrap().remove("digest");
    let digest = Sha256::digest(receipt.to_string());
    receipt["digest"] = json!(format!("0x{}", digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()));
    receipt
}

#[tokio::test]
async fn a_receipt_is_worked_out_again_to_the_byte() {
    let service = Service::start().await;
    let large = swap(&USDC.to_string(), "600000000000", &braid_primitives::WETH.to_string());
    let mut full = large.clone();
    full["explain"] = json!(true);
    full["include_usd_pricing"] = json!(true);
    full["ttl_s"] = json!(900);
    full["exclude_protocols"] = json!(["curve", "nothing_known"]);
    full["partner_fee"] = json!({"partner_fee_bps": 25, "partner_recipient": TAKER, "partner_fee_on_output": true});
    let mut basket = request();
    basket["outputs"] = json!([
        {"chain_id": 1, "address": braid_primitives::WETH, "ratio_bps": 6000},
        {"chain_id": 1, "address": "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", "ratio_bps": 4000},
    ]);
    let bought = purchase(&USDC.to_string(), "100000000000000000", &braid_primitives::WETH.to_string());
    // A token with few decimals: a wide range of inputs buys the same amount.
    let dollars = purchase("0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", "3000000000", &USDC.to_string());
    let mut with_fee = bought.clone();
    with_fee["partner_fee"] = full["partner_fee"].clone();
    for body in [request(), large, full, basket, bought, dollars, with_fee] {
        let quote = service.quote(&body).await;
        let (receipt, file) = evidence(&service, &quote).await;
        assert_eq!(receipt["quote"], quote);
        assert_eq!(receipt["request"], body);
        let findings = checked(&receipt, Some(&file));
        let names: Vec<&str> = findings.iter().map(|finding| finding.about).collect();
        assert_eq!(
            names,
            [
                "receipt",
                "version",
                "block",
                "request",
                "route",
                "amounts",
                "costs",
                "permit2",
                "transaction",
                "market",
                "search",
                "certificate"
            ]
        );
        assert!(findings.iter().all(|finding| matches!(finding.verdict, Verdict::Agrees(_))), "{findings:#?}");
        // Without the market, three items remain unchecked and nothing differs.
        let open =
            checked(&receipt, None).into_iter().filter(|finding| matches!(finding.verdict, Verdict::Unchecked(_)));
        assert_eq!(open.map(|finding| finding.about).collect::<Vec<_>>(), ["market", "search", "certificate"]);
        assert_eq!(wrong(&receipt, None), Vec::<&str>::new());
    }
}

#[tokio::test]
async fn the_same_receipt_is_given_again_and_to_those_with_a_key_alone() {
    let service = Service::start().await;
    let quote = service.quote(&request()).await;
    let path = format!("/v1/quote/{}/receipt", quote["quote_id"].as_str().unwrap());
    let text = async || service.get(&path).send().await.unwrap().text().await.unwrap();
    let first = text().await;
    service.publish(market(1_005));
    assert_eq!(text().await, first, "whatever market came since");
    let inner = first.strip_prefix("{\"data\":").unwrap().strip_suffix('}').unwrap();
    assert_eq!(inner, serde_json::from_str::<Value>(inner).unwrap().to_string(), "canonical as it comes");
    assert!(verify(first.as_bytes(), None).is_ok(), "the file as curl keeps it is read too");
    let keyless = service.client.get(format!("{}{path}", service.base)).send().await.unwrap();
    assert_eq!(problem(keyless).await.0, 401);
}

#[tokio::test]
async fn a_changed_receipt_says_what_was_changed() {
    let service = Service::start().await;
    let quote = service.quote(&request()).await;
    let (receipt, file) = evidence(&service, &quote).await;
    let other = |pointer: &str, value: Value| {
        let mut changed = receipt.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        changed
    };
    let amount = "/quote/estimated_outputs/0/expected_amount";
    let bumped = |pointer: &str| {
        let text = receipt.pointer(pointer).unwrap().as_str().unwrap();
        let last = if text.ends_with('1') { "2" } else { "1" };
        other(pointer, json!(format!("{}{last}", &text[..text.len() - 1])))
    };
    assert_eq!(wrong(&bumped(amount), None), ["receipt", "amounts"]);
    // A digest that is computed again hides nothing.
    assert_eq!(wrong(&named_anew(bumped(amount)), None), ["amounts"]);
    assert_eq!(wrong(&named_anew(bumped("/quote/path/steps/0/amount_out")), None), ["route"]);
    let share = wrong(&named_anew(other("/plan/steps/0/share", json!(7))), None);
    assert!(share.contains(&"route") && share.contains(&"amounts"), "{share:?}");
    assert_eq!(wrong(&named_anew(other("/plan/order/deadline", json!(7))), None), ["transaction"]);
    assert_eq!(wrong(&named_anew(other("/quote/costs/total_gas_units", json!(7))), None), ["costs"]);
    assert_eq!(wrong(&named_anew(bumped("/quote/permit2/hash")), None), ["permit2"]);
    assert_eq!(wrong(&named_anew(other("/quote/created_at", json!("2023-11-14T22:13:21.000Z"))), None), ["request"]);
    // Steps that sell something other than the request are not a route for it.
    assert_eq!(wrong(&named_anew(other("/request/inputs/0/amount", json!("1000000001"))), None), ["route"]);
    let certificate = named_anew(other("/quote/certificate/gap_bps", json!(0.001)));
    assert_eq!(wrong(&certificate, None), Vec::<&str>::new());
    assert_eq!(wrong(&certificate, Some(&file)), ["certificate"]);
    assert_eq!(wrong(&named_anew(other("/block/number", json!(7))), Some(&file)), ["block", "market"]);

    // One digit of the route's pools is changed.
    let pools = receipt["market"]["route_pools"].as_str().unwrap();
    let flipped = if pools.ends_with('0') { "1" } else { "0" };
    let pools = other("/market/route_pools", json!(format!("{}{flipped}", &pools[..pools.len() - 1])));
    assert_eq!(wrong(&pools, None), ["receipt", "route"]);
    // Another market: its digest, the route's pools and the result of the search differ.
    let another = market(1_005).to_bytes().unwrap();
    let found = wrong(&receipt, Some(&another));
    assert!(found.contains(&"market") && found.contains(&"search"), "{found:?}");
    let Verdict::Differs(at) =
        &checked(&receipt, Some(&another)).into_iter().find(|f| f.about == "market").unwrap().verdict.clone()
    else {
        panic!("the market differs");
    };
    assert!(
        at.iter().any(|what| what.contains("0x0000000000000000000000000000000000000001 is in another state")),
        "{at:?}"
    );
}

#[tokio::test]
async fn what_is_no_receipt_is_told_so() {
    for text in [
        "",
        "{}",
        "[]",
        r#"{"format": 1}"#,
        r#"{"data": {"format": "braid-receipt/1"}}"#,
        r#"{"format": "braid-receipt/9"}"#,
    ] {
        assert!(verify(text.as_bytes(), None).is_err(), "{text}");
    }
}

#[tokio::test]
async fn a_receipt_ends_with_the_quote_and_does_not_outlive_the_process() {
    let service = Service::start().await;
    let quote = service.quote(&request()).await;
    let path = format!("/v1/quote/{}/receipt", quote["quote_id"].as_str().unwrap());
    let dir = service.stop().await;
    let service = Service::without_market(Config::default(), dir, NOW_MS + 1).await;
    for path in [path.clone(), path.replace("receipt", "market")] {
        let (status, told) = problem(service.get(&path).send().await.unwrap()).await;
        assert_eq!((status, told["code"].as_str()), (404, Some("RECEIPT_UNAVAILABLE")));
    }
    service.clock.advance_ms(120_000);
    let (status, told) = problem(service.get(&path).send().await.unwrap()).await;
    assert_eq!((status, told["code"].as_str()), (410, Some("QUOTE_EXPIRED")));
    let (_, told) = problem(service.get("/v1/quote/nothing/receipt").send().await.unwrap()).await;
    assert_eq!(told["code"], "QUOTE_NOT_FOUND");
}

#[tokio::test]
async fn few_market_files_are_in_memory_at_once() {
    let service = Service::start().await;
    let quote = service.quote(&request()).await;
    let id = quote["quote_id"].as_str().unwrap();
    let receipts = &service.app.receipts;
    let mut held: Vec<_> = (0..4).map(|_| receipts.market(id.parse().unwrap()).unwrap()).collect();
    let path = format!("/v1/quote/{id}/market");
    let ask = async || service.get(&path).send().await.unwrap();
    let busy = ask().await;
    let wait = busy.headers()["retry-after"].to_str().unwrap().to_owned();
    let (status, body) = problem(busy).await;
    assert_eq!((status, &body["code"]), (503, &json!("OVERLOADED")));
    let detail = body["detail"].as_str().unwrap();
    assert!(detail.starts_with("4 market files") && detail.contains(&format!("try again in {wait} s")), "{detail}");
    let expected = held.pop().unwrap().bytes;
    assert_eq!(ask().await.bytes().await.unwrap(), expected);
    drop(held);
    // Answers release their memory; more answers are read than fit at once.
    for _ in 0..12 {
        assert_eq!(ask().await.bytes().await.unwrap(), expected);
    }
}
