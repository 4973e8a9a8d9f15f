//! The tree and its parser.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number. `1e4` and `10000.0` are whole, as JSON Schema has it.
    Integer(i128),
    /// A whole number of 2^53 or more that JSON gives as a double, beyond what any field takes.
    Huge(f64),
    /// Any other number.
    Fraction(f64),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object: members in the order written, with duplicate keys.
    Map(Vec<(String, Json)>),
}

impl Json {
    /// Returns the name of the value's type.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Integer(_) | Self::Huge(_) => "an integer",
            Self::Fraction(_) => "a fraction",
            Self::Text(_) => "a string",
            Self::List(_) => "an array",
            Self::Map(_) => "an object",
        }
    }
}

/// The parser's message for bytes that are not JSON, with line and column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(pub String);

/// Parses a whole body. Nesting deeper than 127 levels is refused.
///
/// # Errors
/// [`ParseError`] when the bytes are not exactly one JSON value in UTF-8.
pub fn parse(bytes: &[u8]) -> Result<Json, ParseError> {
    serde_json::from_slice(bytes).map_err(|error| ParseError(error.to_string()))
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

/// 2^53: doubles represent every integer up to it.
const EXACT_FLOAT: f64 = 9_007_199_254_740_992.0;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Integer(value.into()))
    }

    #[allow(clippy::cast_possible_truncation)] // whole and within ±2^53
    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(match value.fract() == 0.0 {
            true if value.abs() <= EXACT_FLOAT => Json::Integer(value as i128),
            true => Json::Huge(value),
            false => Json::Fraction(value),
        })
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Json::Map(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_named_twice_are_kept() {
        let tree = parse(br#"{"a": 1, "a": 2}"#).unwrap();
        assert_eq!(tree, Json::Map(vec![("a".into(), Json::Integer(1)), ("a".into(), Json::Integer(2))]));
    }

    #[test]
    fn whole_numbers_are_integers_however_written() {
        for text in ["10000", "1e4", "10000.0"] {
            assert_eq!(parse(text.as_bytes()).unwrap(), Json::Integer(10_000), "{text}");
        }
        assert_eq!(parse(b"1.5").unwrap(), Json::Fraction(1.5));
        assert_eq!(parse(b"1e300").unwrap(), Json::Huge(1e300));
        assert_eq!(parse(b"18446744073709551615").unwrap(), Json::Integer(u64::MAX.into()));
        assert_eq!(parse(b"18446744073709551616").unwrap(), Json::Huge(18_446_744_073_709_551_616.0));
        assert_eq!(parse(b"-1180591620717411303424").unwrap().kind(), "an integer");
    }

    #[test]
    fn deep_nesting_is_refused_not_followed() {
        assert!(parse("[".repeat(20_000).as_bytes()).is_err());
        let closed = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        assert!(parse(closed.as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn a_number_is_never_rounded_into_an_integer(value in any::<f64>().prop_filter("finite", |v| v.is_finite())) {
            if let Json::Integer(whole) = parse(format!("{value:?}").as_bytes()).unwrap() {
                prop_assert_eq!(whole as f64, value);
            }
        }
    }
}
