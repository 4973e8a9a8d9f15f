//! Any input is a request or a client's problem with a pointer: never a panic, never a fault of the service.

use braid_primitives::Address;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{BuildRequest, QuoteRequest, Request as _, parse_quote_id};
use crate::json::{Json, parse};
use crate::problem::{Code, FieldCode, Problem};

const USDC: &str = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
const WETH: &str = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2";
const ID: &str = "0190163d-8694-739b-aea5-966c26f8ad91";

fn request() -> Value {
    json!({
        "inputs": [{"chain_id": 1, "address": USDC, "amount": "1000000000"}],
        "outputs": [{"chain_id": 1, "address": WETH, "ratio_bps": 10_000}],
        "taker": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
        "partner_fee": {"partner_fee_bps": 1, "partner_recipient": WETH},
    })
}

fn read(body: &Value) -> Result<QuoteRequest, Problem> {
    QuoteRequest::parse(&parse(body.to_string().as_bytes()).unwrap())
}

/// Returns the request with one value replaced.
fn with(pointer: &str, value: Value) -> Value {
    let mut body = request();
    *body.pointer_mut(pointer).unwrap() = value;
    body
}

fn build(signature: &str) -> Result<BuildRequest, Problem> {
    let body = json!({"quote_id": ID, "permit2_signature": signature}).to_string();
    BuildRequest::parse(&parse(body.as_bytes()).unwrap())
}

/// Generates names of fields, and one unknown name.
fn names() -> impl Strategy<Value = String> {
    let inner = ["chain_id", "address", "amount", "ratio_bps", "partner_fee_bps", "partner_recipient", "surprise"];
    let known: Vec<&str> = QuoteRequest::FIELDS.iter().chain(BuildRequest::FIELDS).chain(&inner).copied().collect();
    prop::sample::select(known).prop_map(str::to_owned)
}

/// Generates JSON, often with known names and values.
fn trees() -> impl Strategy<Value = Json> {
    let text = prop_oneof![
        "\\PC{0,12}".boxed(),
        prop::sample::select(vec![USDC, WETH, ID, "1", "slow", "uniswap_v2", ""]).prop_map(str::to_owned).boxed(),
    ];
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        prop_oneof![0..=10_001i128, any::<i128>()].prop_map(Json::Integer),
        any::<f64>().prop_map(Json::Fraction),
        text.prop_map(Json::Text),
    ];
    leaf.prop_recursive(4, 48, 8, |inner| {
        prop_oneof![vec(inner.clone(), 0..8).prop_map(Json::List), vec((names(), inner), 0..12).prop_map(Json::Map)]
    })
}

fn is_the_clients(problem: &Problem) -> Result<(), TestCaseError> {
    prop_assert!(!problem.code.meaning().retryable, "{problem:?}");
    prop_assert!(!problem.errors.is_empty());
    for error in &problem.errors {
        prop_assert!(error.pointer.is_empty() || error.pointer.starts_with('/'), "{error:?}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_json_is_a_request_or_the_clients_problem(tree in trees()) {
        if let Err(problem) = QuoteRequest::parse(&tree) {
            is_the_clients(&problem)?;
        }
        if let Err(problem) = BuildRequest::parse(&tree) {
            is_the_clients(&problem)?;
        }
    }

    #[test]
    fn one_wrong_value_is_told_where_it_stands(
        at in prop::sample::select(vec!["/inputs/0/amount", "/inputs/0/address", "/inputs/0/chain_id", "/outputs/0/address", "/outputs/0/ratio_bps", "/taker"]),
        value in prop_oneof![any::<i64>().prop_map(Value::from), any::<bool>().prop_map(Value::from), "\\PC{0,20}".prop_map(Value::from)],
    ) {
        let right = match &value {
            Value::Number(number) => (at == "/outputs/0/ratio_bps" && number.as_i64() == Some(10_000))
                || (at == "/inputs/0/chain_id" && number.as_i64() == Some(1)),
            Value::String(text) => at == "/inputs/0/amount" && super::parse::parse_amount(text).is_some(),
            _ => false,
        };
        match read(&with(at, value)) {
            Ok(_) => prop_assert!(right),
            Err(problem) => {
                prop_assert!(!right);
                is_the_clients(&problem)?;
                // a valid share that is not 10000 is reported as a wrong sum
                prop_assert!(problem.errors.iter().all(|error| at.starts_with(&error.pointer)), "{problem:?}");
            }
        }
    }

    #[test]
    fn shares_are_taken_where_they_are_whole_and_sum_to_all(shares in vec(1..=10_000u64, 1..=6)) {
        let output = |(n, share): (usize, &u64)| {
            json!({"chain_id": 1, "address": format!("{:?}", Address::with_last_byte(u8::try_from(n).unwrap() + 1)), "ratio_bps": share})
        };
        let mut body = request();
        body["outputs"] = shares.iter().enumerate().map(output).collect();
        let sum: u64 = shares.iter().sum();
        let codes: Vec<_> = read(&body).err().into_iter().flat_map(|problem| problem.errors).map(|error| error.code).collect();
        prop_assert_eq!(codes, if sum == 10_000 { vec![] } else { vec![FieldCode::RatioSumInvalid] });
    }

    #[test]
    fn shares_that_sum_to_all_are_read_back(cuts in prop::collection::btree_set(1..10_000u64, 0..=5)) {
        let ends: Vec<u64> = std::iter::once(0).chain(cuts).chain([10_000]).collect();
        let shares: Vec<u64> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mut body = request();
        body["outputs"] = shares.iter().enumerate().map(|(n, share)| {
            json!({"chain_id": 1, "address": format!("{:?}", Address::with_last_byte(u8::try_from(n).unwrap() + 1)), "ratio_bps": share})
        }).collect();
        let read = read(&body).unwrap();
        prop_assert_eq!(read.outputs.iter().map(|output| u64::from(output.share_bps())).collect::<Vec<_>>(), shares);
    }

    #[test]
    fn a_share_outside_its_range_is_refused(share in prop_oneof![i64::MIN..=0, 10_001..=i64::MAX]) {
        let problem = read(&with("/outputs/0/ratio_bps", json!(share))).unwrap_err();
        prop_assert_eq!(problem.errors.iter().map(|error| error.code).collect::<Vec<_>>(), [FieldCode::OutOfRange]);
    }

    #[test]
    fn a_partner_fee_is_taken_within_its_cap_only(bps in any::<i64>()) {
        for bps in [bps, bps % 400] {
            let found = read(&with("/partner_fee/partner_fee_bps", json!(bps))).map(|request| request.partner_fee.unwrap().bps);
            match bps {
                1..=300 => prop_assert_eq!(found.map(i64::from), Ok(bps)),
                301.. => prop_assert_eq!(found.unwrap_err().code, Code::PartnerFeeExceedsCap),
                _ => prop_assert_eq!(found.unwrap_err().errors[0].code, FieldCode::OutOfRange),
            }
        }
    }

    #[test]
    fn every_id_is_read_back_in_its_usual_form_alone(bits: u128) {
        let id = uuid::Uuid::from_u128(bits);
        prop_assert_eq!(parse_quote_id(&id.to_string()), Some(id));
        prop_assert_eq!(parse_quote_id(&id.to_string().to_uppercase()), Some(id));
        for other in [id.simple().to_string(), id.urn().to_string(), id.braced().to_string()] {
            prop_assert_eq!(parse_quote_id(&other), None);
        }
    }

    #[test]
    fn no_text_makes_the_reader_of_ids_panic(text in "\\PC{0,40}") {
        if let Some(id) = parse_quote_id(&text) {
            prop_assert_eq!(id.to_string(), text.to_lowercase());
        }
    }

    #[test]
    fn every_signature_is_read_back(bytes in vec(any::<u8>(), 1..300)) {
        let text = braid_primitives::Bytes::from(bytes.clone()).to_string();
        prop_assert_eq!(build(&text).unwrap().permit2_signature.unwrap().to_vec(), bytes);
        // one hex digit less
        prop_assert_eq!(build(&text[..text.len() - 1]).unwrap_err().errors[0].code, FieldCode::HexInvalid);
    }

    #[test]
    fn no_text_makes_the_reader_of_signatures_panic(text in "(0x)?\\PC{0,80}") {
        if let Err(problem) = build(&text) {
            prop_assert_eq!(problem.errors[0].code, FieldCode::HexInvalid);
        }
    }

    #[test]
    fn one_letter_of_another_case_is_no_checksum(bytes in any::<[u8; 20]>(), at in 2..42usize) {
        let mut text = Address::from(bytes).to_checksum(None).into_bytes();
        prop_assume!(text[at].is_ascii_alphabetic());
        text[at] ^= 0x20;
        let text = String::from_utf8(text).unwrap();
        let one_case = text[2..].bytes().all(|c| !c.is_ascii_lowercase()) || text[2..].bytes().all(|c| !c.is_ascii_uppercase());
        prop_assume!(!one_case);
        let problem = read(&with("/taker", json!(text))).unwrap_err();
        prop_assert_eq!(problem.errors[0].code, FieldCode::AddressChecksumInvalid);
    }
}
