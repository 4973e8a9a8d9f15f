//! The types read what the OpenAPI document shows, and know every code that it lists.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;

use alloy_primitives::{Address, U256};
use braid_swap::{Built, Code, ETHER, Family, GasTier, Network, PartnerFee, Prices, Problem, Quote, QuoteRequest};
use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn document() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn example<T: DeserializeOwned>(document: &Value, path: &str, method: &str) -> T {
    let answer = &document["paths"][path][method]["responses"]["200"]["content"]["application/json"]["example"]["data"];
    T::deserialize(answer).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn answers_of_the_document_are_read() {
    let document = document();
    let quote: Quote = example(&document, "/v1/quote", "post");
    assert!(quote.estimated_outputs[0].expected_amount > quote.estimated_outputs[0].minimum_amount);
    let built: Built = example(&document, "/v1/build", "post");
    assert_eq!(built.calls.last().unwrap().data, built.transaction.data);
    assert_eq!(quote.estimated_inputs[0].token, built.estimated_inputs[0].token);
    let families: Vec<Family> = example(&document, "/v1/protocols", "get");
    assert!(families.iter().any(|family| !family.products.is_empty()));
    let network: Network = example(&document, "/v1/network", "get");
    assert_eq!(network.gas_prices.len(), 4);
    let prices: Prices = example(&document, "/v1/prices", "get");
    assert_eq!(prices.prices.len(), prices.prices_eth.len());
}

fn keys(object: &Value) -> BTreeSet<&String> {
    object.as_object().unwrap().keys().collect()
}

#[test]
fn every_field_of_a_request_can_be_said() {
    let (document, one) = (document(), Address::with_last_byte(1));
    let mut request = QuoteRequest::new(one).sell(one, U256::from(7)).buy(ETHER, 10_000);
    request.recipient = Some(one);
    request.slippage_tolerance_bps = Some(50);
    request.gas_priority = Some(GasTier::Fast);
    request.max_hops = Some(3);
    request.max_steps = Some(9);
    request.exclude_protocols = vec!["curve".into()];
    request.include_protocols = vec!["uniswap".into()];
    request.exclude_pools = vec![one.to_string()];
    request.ttl_s = Some(300);
    request.simulate = Some(true);
    request.check_allowances = Some(true);
    request.include_permit2 = Some(false);
    request.include_usd_pricing = Some(true);
    request.explain = Some(true);
    let (partner_fee_bps, partner_recipient) = (25, one);
    request.partner_fee = Some(PartnerFee { partner_fee_bps, partner_recipient, partner_fee_on_output: false });
    let said = serde_json::to_value(&request).unwrap();
    let schemas = &document["components"]["schemas"];
    assert_eq!(keys(&said), keys(&schemas["QuoteBody"]["properties"]));
    assert_eq!(keys(&said["inputs"][0]), keys(&schemas["InputBody"]["properties"]));
    assert_eq!(said["outputs"][0], json!({"chain_id": 1, "address": ETHER, "ratio_bps": 10_000}));

    let purchase = QuoteRequest::new(one).pay_with(one).buy_exactly(ETHER, U256::from(7));
    let said = serde_json::to_value(&purchase).unwrap();
    assert_eq!(said["inputs"][0], json!({"chain_id": 1, "address": one}));
    assert_eq!(said["outputs"][0], json!({"chain_id": 1, "address": ETHER, "amount": "7"}));
}

#[test]
fn the_hash_that_is_signed_is_worked_out_from_the_message() {
    let mut quote: Quote = example(&document(), "/v1/quote", "post");
    let permit2 = quote.permit2.as_mut().unwrap();
    let terms = permit2.terms().unwrap();
    assert_eq!(terms.hash, permit2.hash);
    assert_eq!(terms.minimums[0].1, quote.estimated_outputs[0].minimum_amount);
    permit2.eip712["message"]["witness"]["recipient"] = Value::from("0x00000000000000000000000000000000000000aa");
    assert!(permit2.terms().unwrap_err().to_string().contains("hashes to"));
}

#[test]
fn every_code_and_every_problem_of_the_document_is_known() {
    let document = document();
    let codes = document["components"]["schemas"]["ProblemCode"]["enum"].as_array().unwrap();
    for code in codes {
        assert_ne!(Code::deserialize(code).unwrap(), Code::Unknown, "{code}");
    }
    assert_eq!(Code::deserialize(Value::from("OF_TOMORROW")).unwrap(), Code::Unknown);
    let answers = document["paths"]["/v1/quote"]["post"]["responses"].as_object().unwrap();
    let examples =
        answers.values().filter_map(|answer| answer["content"]["application/problem+json"]["examples"].as_object());
    let problems: Vec<Problem> =
        examples.flat_map(|named| named.values()).map(|one| Problem::deserialize(&one["value"]).unwrap()).collect();
    assert!(problems.len() > 10);
    assert!(problems.iter().any(|problem| problem.code == Code::ValidationFailed && !problem.errors.is_empty()));
}

#[cfg(feature = "wallet")]
mod wallet {
    use alloy::providers::{Provider, ProviderBuilder};
    use alloy::signers::local::PrivateKeySigner;
    use alloy_primitives::{Address, U256};
    use braid_swap::wallet::{WalletError, approve, authorize, send, sign};
    use braid_swap::{Braid, Built, Quote};
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::document;

    /// Returns the document's example of an answer with a field of its own.
    fn changed<T: DeserializeOwned>(path: &str, field: &str, value: Value) -> T {
        let example = "/post/responses/200/content/application~1json/example/data";
        let mut answer = document()["paths"][path].pointer(example).cloned().unwrap();
        answer[field] = value;
        serde_json::from_value(answer).unwrap()
    }

    /// Returns a client whose service does not answer.
    fn braid() -> Braid {
        Braid::new("http://127.0.0.1:1")
    }

    /// Returns a provider whose node does not answer, so that any question to it is another error.
    fn nobody() -> impl Provider {
        ProviderBuilder::new().connect_http("http://127.0.0.1:1".parse().unwrap())
    }

    #[tokio::test]
    async fn nothing_is_sent_to_a_proxy_that_is_not_deployed() {
        let warnings = json!([{"code": "PROXY_NOT_DEPLOYED", "message": "the execution proxy is not deployed"}]);
        let built: Built = changed("/v1/build", "warnings", warnings.clone());
        let quote: Quote = changed("/v1/quote", "warnings", warnings);
        let refused = send(&braid(), &nobody(), &quote, &built).await.unwrap_err();
        assert!(matches!(refused, WalletError::ProxyNotDeployed(_)), "{refused}");
        let refused = authorize(&braid(), &nobody(), &PrivateKeySigner::random(), &quote).await.unwrap_err();
        assert!(matches!(refused, WalletError::ProxyNotDeployed(_)), "{refused}");
    }

    #[tokio::test]
    async fn nothing_is_sent_but_a_swap_to_the_proxy_and_nothing_else_is_approved_or_signed_for() {
        let one = Address::with_last_byte(1);
        let quote: Quote = changed("/v1/quote", "warnings", json!([]));
        let built: Built = changed("/v1/build", "simulation", Value::Null);
        let sent = send(&braid(), &nobody(), &quote, &built).await.unwrap_err();
        assert!(matches!(sent, WalletError::Node(_)), "{sent}");
        let mut elsewhere = built.clone();
        elsewhere.transaction.to = one;
        let refused = send(&braid(), &nobody(), &quote, &elsewhere).await.unwrap_err();
        assert!(matches!(refused, WalletError::NotToProxy { to, .. } if to == one), "{refused}");
        let data = &built.transaction.data;
        let transfer = [&[0xa9, 0x05, 0x9c, 0xbb], &data[4..]].concat();
        for data in [transfer, data[..4].to_vec(), Vec::new()] {
            let mut other = built.clone();
            other.transaction.data = data.into();
            let refused = send(&braid(), &nobody(), &quote, &other).await.unwrap_err();
            assert!(matches!(refused, WalletError::NoSwap), "{refused}");
        }

        let mut approval = quote.approvals[0].clone();
        approval.spender = one;
        let data = [&[0x09, 0x5e, 0xa7, 0xb3], one.into_word().as_slice(), &[0; 32]].concat();
        approval.transactions[0].data = data.into();
        let refused = approve(&braid(), &nobody(), &[approval]).await.unwrap_err();
        assert!(matches!(refused, WalletError::OtherSpender { spender, .. } if spender == one), "{refused}");
        // what the caller says counts
        let (other, signer) = (braid().with_proxy(one), PrivateKeySigner::random());
        let refused = authorize(&other, &nobody(), &signer, &quote).await.unwrap_err();
        assert!(matches!(refused, WalletError::OtherSpender { proxy, .. } if proxy == one), "{refused}");
        let permit2 = quote.permit2.as_ref().unwrap();
        assert!(sign(&braid(), &signer, permit2).await.is_ok());
        let refused = sign(&other, &signer, permit2).await.unwrap_err();
        assert!(matches!(refused, WalletError::OtherSpender { .. }), "{refused}");
        let refused = send(&other, &nobody(), &quote, &built).await.unwrap_err();
        assert!(matches!(refused, WalletError::NotToProxy { .. }), "{refused}");
    }

    #[tokio::test]
    async fn no_other_order_is_sent_or_signed_for_than_the_quotes() {
        let quote: Quote = changed("/v1/quote", "warnings", json!([]));
        let built: Built = changed("/v1/build", "simulation", Value::Null);
        let mut others = vec![quote.clone(); 3];
        others[0].recipient = Address::with_last_byte(1);
        others[1].estimated_inputs[0].maximum_amount -= U256::from(1);
        others[2].estimated_outputs[0].minimum_amount += U256::from(1);
        for other in others {
            let refused = send(&braid(), &nobody(), &other, &built).await.unwrap_err();
            assert!(matches!(refused, WalletError::OtherOrder), "{refused}");
            let refused = authorize(&braid(), &nobody(), &PrivateKeySigner::random(), &other).await.unwrap_err();
            assert!(matches!(refused, WalletError::OtherOrder), "{refused}");
        }
    }

    #[tokio::test]
    async fn an_approval_is_sent_only_if_it_is_one_of_the_token_and_spender_that_it_names() {
        let mut quote: Quote = changed("/v1/quote", "warnings", json!([]));
        let approvals = quote.permit2.as_ref().unwrap().approvals.clone();
        let refused = approve(&braid(), &nobody(), &approvals).await.unwrap_err();
        assert!(matches!(refused, WalletError::Node(_)), "{refused}");
        let one = Address::with_last_byte(1);
        // another contract, a transfer, another spender, no calldata, ether
        let mut wrong = vec![approvals.clone(); 5];
        wrong[0][0].transactions[0].to = one;
        let transfer = [&[0xa9, 0x05, 0x9c, 0xbb], &approvals[0].transactions[0].data[4..]].concat();
        wrong[1][0].transactions[0].data = transfer.into();
        wrong[2][0].spender = one;
        wrong[3][0].transactions[0].data = Default::default();
        wrong[4][0].transactions[0].value = U256::from(1);
        for (index, approvals) in wrong.iter_mut().enumerate() {
            let refused = approve(&braid(), &nobody(), approvals).await.unwrap_err();
            assert!(matches!(refused, WalletError::NoApproval { .. }), "{index}: {refused}");
            approvals[0].satisfied = Some(true);
            assert_eq!(approve(&braid(), &nobody(), approvals).await.unwrap(), None);
        }
        quote.permit2.as_mut().unwrap().approvals[0].spender = one;
        let refused = authorize(&braid(), &nobody(), &PrivateKeySigner::random(), &quote).await.unwrap_err();
        assert!(matches!(refused, WalletError::NoApproval { .. }), "{refused}");
    }
}
