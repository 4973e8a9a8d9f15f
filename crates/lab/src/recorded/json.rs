//! Numbers and addresses in recorded markets: JSON that writes large integers as decimal strings.

use std::str::FromStr;

use braid_primitives::Address;
use serde_json::Value;

/// The reason for which an entry of a recorded market is skipped.
pub(super) type Reason = String;

/// The decimals of a token of the recorded market, by its address; `None` for a token that is not listed.
pub(super) type TokensOf<'a> = &'a dyn Fn(Address) -> Option<u8>;

/// Reads a number under a key: a JSON integer, or a decimal string of any length.
pub(super) fn number<T: FromStr>(entry: &Value, key: &str) -> Result<T, Reason> {
    parse(entry.get(key).unwrap_or(&Value::Null)).ok_or_else(|| format!("{key} is missing or out of range"))
}

/// Returns an error if a field is missing that files of vectors may omit but recorded pools may not.
pub(super) fn require(entry: &Value, fields: &[&str]) -> Result<(), Reason> {
    let missing = fields.iter().find(|field| entry.get(**field).is_none_or(Value::is_null));
    missing.map_or(Ok(()), |field| Err(format!("{field} is missing or out of range")))
}

/// Reads a number that may be missing or null.
pub(super) fn maybe<T: FromStr>(entry: &Value, key: &str) -> Option<T> {
    entry.get(key).and_then(parse)
}

/// Reads a list of values under a key.
pub(super) fn list<'a>(entry: &'a Value, key: &str) -> Result<&'a [Value], Reason> {
    entry.get(key).and_then(Value::as_array).map(Vec::as_slice).ok_or_else(|| format!("{key} is missing"))
}

/// Reads a list under a key with the same function for each value.
pub(super) fn each<T>(entry: &Value, key: &str, read: impl Fn(&Value) -> Option<T>) -> Result<Vec<T>, Reason> {
    let values = list(entry, key)?.iter().map(read).collect::<Option<Vec<T>>>();
    values.ok_or_else(|| format!("{key} out of range"))
}

/// Reads a text under a key; empty when it is missing.
pub(super) fn text<'a>(entry: &'a Value, key: &str) -> &'a str {
    entry.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Reads a number, an address or a hash in hexadecimal, or any other type that can be parsed from text.
pub(super) fn parse<T: FromStr>(value: &Value) -> Option<T> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.to_string().parse().ok(),
        _ => None,
    }
}
