//! The types read what the OpenAPI document shows, and know every code that it lists.
#![allow(clippy::unwrap_used, clippy::panic)]

use braid_swap::{Built, Code, Network, Prices, Problem, Quote};
use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::Value;

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
    let network: Network = example(&document, "/v1/network", "get");
    assert_eq!(network.gas_prices.len(), 4);
    let prices: Prices = example(&document, "/v1/prices", "get");
    assert_eq!(prices.prices.len(), prices.prices_eth.len());
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
