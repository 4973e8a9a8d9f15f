//! Reads answers, also those that are not quite JSON-RPC: errors without a numeric code or as plain text, a null beside a
//! result or an error, ids that are no ids. Pure.

use alloy::rpc::json_rpc::ResponsePacket;
use serde_json::{Map, Value, json};

/// Reads the body of an answer.
///
/// # Errors
/// That of the body as it came.
pub(super) fn read(body: &[u8]) -> serde_json::Result<ResponsePacket> {
    serde_json::from_slice(body).or_else(|error| corrected(body).ok_or(error))
}

fn corrected(body: &[u8]) -> Option<ResponsePacket> {
    let mut answer: Value = serde_json::from_slice(body).ok()?;
    match &mut answer {
        Value::Array(all) => all.iter_mut().for_each(correct),
        single => correct(single),
    }
    serde_json::from_str(&answer.to_string()).ok()
}

fn correct(answer: &mut Value) {
    let Some(fields) = answer.as_object_mut() else { return };
    if fields.get("id").is_some_and(|id| !id.is_u64() && !id.is_string()) {
        fields.remove("id");
    }
    match fields.remove("error").map(error) {
        None | Some(None) => {}
        Some(Some(error)) => {
            if fields.get("result").is_some_and(Value::is_null) {
                fields.remove("result");
            }
            fields.insert("error".into(), error);
        }
    }
}

/// Returns an error with a numeric code and a message; `None` for null.
fn error(given: Value) -> Option<Value> {
    let fields = match given {
        Value::Null => return None,
        Value::Object(fields) => fields,
        Value::String(message) => Map::from_iter([("message".into(), message.into())]),
        other => Map::from_iter([("message".into(), other.to_string().into())]),
    };
    let message = match fields.get("message").and_then(Value::as_str) {
        Some(message) => message.to_owned(),
        None => Value::Object(fields.clone()).to_string(),
    };
    let text = fields.get("code").and_then(Value::as_str).map(str::trim).unwrap_or_default();
    let code = fields.get("code").and_then(Value::as_i64).or_else(|| text.parse().ok());
    let message = if code.is_none() && !text.is_empty() { format!("{text}: {message}") } else { message };
    Some(json!({ "code": code.unwrap_or_default(), "message": message }))
}
