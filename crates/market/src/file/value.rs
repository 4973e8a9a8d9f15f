//! Integers and addresses out of JSON, which writes large ones as decimal strings.

use std::str::FromStr;

use serde_json::Value;

/// Why an entry of a recorded market is skipped.
pub(super) type Reason = String;

/// A number under a key: a JSON integer, or a decimal string of any length.
pub(super) fn number<T: FromStr>(entry: &Value, key: &str) -> Result<T, Reason> {
    parse(entry.get(key).unwrap_or(&Value::Null)).ok_or_else(|| format!("{key} is missing or out of range"))
}

/// A list of values under a key.
pub(super) fn list<'a>(entry: &'a Value, key: &str) -> Result<&'a [Value], Reason> {
    entry.get(key).and_then(Value::as_array).map(Vec::as_slice).ok_or_else(|| format!("{key} is missing"))
}

/// A text under a key; empty when it is missing.
pub(super) fn text<'a>(entry: &'a Value, key: &str) -> &'a str {
    entry.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A number, a hex string for addresses and hashes, or whatever else reads itself from text.
pub(super) fn parse<T: FromStr>(value: &Value) -> Option<T> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.to_string().parse().ok(),
        _ => None,
    }
}
