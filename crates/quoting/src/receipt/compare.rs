//! Writes canonical JSON, and compares documents.

use braid_primitives::B256;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Writes a document as JSON without spaces, the keys of every object sorted.
pub(super) fn canonical(document: &Value) -> String {
    document.to_string()
}

/// Returns the digest of a receipt: SHA-256 of its canonical JSON without `digest`.
pub(super) fn digest(document: &Value) -> B256 {
    let mut document = document.clone();
    if let Some(fields) = document.as_object_mut() {
        fields.remove("digest");
    }
    B256::from(<[u8; 32]>::from(Sha256::digest(canonical(&document))))
}

/// Lists the differences of two documents, as JSON pointers with both values. Skips the keys in `ignored` at any depth.
pub(super) fn differences(stated: &Value, recomputed: &Value, ignored: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    compare(stated, recomputed, ignored, "", &mut found);
    found
}

fn compare(stated: &Value, recomputed: &Value, ignored: &[&str], at: &str, found: &mut Vec<(String, String)>) {
    match (stated, recomputed) {
        (Value::Object(one), Value::Object(other)) => {
            let keys: std::collections::BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for key in keys.into_iter().filter(|key| !ignored.contains(&key.as_str())) {
                let [one, other] = [one, other].map(|side| side.get(key).unwrap_or(&Value::Null));
                compare(one, other, ignored, &format!("{at}/{key}"), found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                compare(one, other, ignored, &format!("{at}/{index}"), found);
            }
        }
        (stated, recomputed) if stated != recomputed => {
            found.push((at.to_owned(), format!("{}, recomputed {}", short(stated), short(recomputed))))
        }
        _ => {}
    }
}

/// Writes a value in at most 80 characters.
fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 80 { text } else { text.chars().take(79).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sorted_so_that_the_same_content_has_the_same_digest() {
        let one: Value = serde_json::from_str(r#"{"b": [1.5, {"z": 1, "a": null}], "a": "x", "digest": "1"}"#).unwrap();
        let other: Value = serde_json::from_str(r#"{"digest": "2", "a":"x","b":[1.5,{"a":null,"z":1}]}"#).unwrap();
        assert_eq!(canonical(&one), r#"{"a":"x","b":[1.5,{"a":null,"z":1}],"digest":"1"}"#);
        assert_eq!(digest(&one), digest(&other));
        assert_ne!(digest(&one), digest(&json!({"a": "y"})));
    }

    #[test]
    fn differences_are_named_where_they_stand() {
        let told = json!({"a": [1, {"b": 2, "skip": 1}], "gone": 1});
        let again = json!({"a": [1, {"b": 3, "skip": 2}], "new": 1});
        let found: Vec<String> = differences(&told, &again, &["skip"]).into_iter().map(|(at, _)| at).collect();
        assert_eq!(found, ["/a/1/b", "/gone", "/new"]);
        assert_eq!(differences(&told, &told, &[]), []);
    }
}
