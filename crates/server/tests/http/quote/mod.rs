//! Tests of the contents of a quote.

mod amounts;
mod answer;
mod approvals;
mod certificate;
mod explanation;
mod fees;
mod filters;
mod refusals;

use serde_json::Value;

/// How the API writes native ether in the form of the zero address.
const ZERO: &str = "0x0000000000000000000000000000000000000000";

/// Reads an amount.
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
