//! Reads the fields of a JSON object, with an error that states the field.

use braid_primitives::{Address, U256};
use serde_json::Value;

/// A reason for which a pool's state cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The file lacks a field that the product's amounts depend on, so the rows cannot be recomputed.
    #[error("pool.{field} is not recorded")]
    Missing {
        /// The field's name.
        field: String,
    },
    /// A field exists but has the wrong form.
    #[error("pool.{field}: expected {expected}")]
    Field {
        /// The field's name.
        field: String,
        /// The expected value.
        expected: &'static str,
    },
    /// The pool's state is impossible.
    #[error("impossible pool: {0}")]
    Impossible(String),
    /// The pool is of a kind that is not modelled, for this reason.
    #[error("{0}")]
    Unsupported(String),
}

impl From<StateError> for String {
    fn from(error: StateError) -> Self {
        error.to_string()
    }
}

/// Reads a number that the file writes as a decimal string, or as a JSON number.
pub(crate) fn number(value: &Value) -> Option<U256> {
    match value {
        Value::String(text) => U256::from_str_radix(text, 10).ok(),
        Value::Number(number) => number.as_u64().map(U256::from),
        _ => None,
    }
}

/// The fields of a JSON object.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    value: &'a Value,
}

impl<'a> Fields<'a> {
    /// Returns the fields of a value; there are none if it is not an object.
    pub const fn of(value: &'a Value) -> Self {
        Self { value }
    }

    /// Returns the error for a field that is missing or has the wrong form.
    pub(crate) fn wrong(&self, field: &str, expected: &'static str) -> StateError {
        match self.get(field) {
            Some(_) => StateError::Field { field: field.to_owned(), expected },
            None => StateError::Missing { field: field.to_owned() },
        }
    }

    /// Returns the value of a field if it exists and is not null.
    pub fn get(&self, field: &str) -> Option<&'a Value> {
        self.value.get(field).filter(|value| !value.is_null())
    }

    /// Reads an object.
    ///
    /// # Errors
    /// [`StateError`] when the field is not an object.
    pub fn object(&self, field: &str) -> Result<Self, StateError> {
        let value = self.get(field).filter(|value| value.is_object());
        value.map(|value| Self { value }).ok_or_else(|| self.wrong(field, "an object"))
    }

    /// Reads a text; `None` if the field is not a text.
    pub fn text(&self, field: &str) -> Option<&'a str> {
        self.get(field).and_then(Value::as_str)
    }

    /// Reads an address.
    ///
    /// # Errors
    /// [`StateError`] when the field is not an address.
    pub fn address(&self, field: &str) -> Result<Address, StateError> {
        let text = self.text(field).unwrap_or_default();
        text.parse().map_err(|_| self.wrong(field, "an address"))
    }

    /// Reads a number.
    ///
    /// # Errors
    /// [`StateError`] when the field is not a number.
    pub fn u256(&self, field: &str) -> Result<U256, StateError> {
        self.get(field).and_then(number).ok_or_else(|| self.wrong(field, "an integer"))
    }

    /// Reads a number, or returns the given one if the file has none.
    ///
    /// # Errors
    /// [`StateError::Field`] when the field is not a number.
    pub fn u256_or(&self, field: &str, otherwise: U256) -> Result<U256, StateError> {
        if self.get(field).is_some() { self.u256(field) } else { Ok(otherwise) }
    }

    /// Reads a number of at most 64 bits, or returns the given one if the file has none.
    ///
    /// # Errors
    /// [`StateError::Field`] when the field is not such a number.
    pub fn u64_or(&self, field: &str, otherwise: u64) -> Result<u64, StateError> {
        let value = self.u256_or(field, U256::from(otherwise))?;
        u64::try_from(value).map_err(|_| self.wrong(field, "an integer of 64 bits"))
    }

    /// Reads a list of numbers.
    ///
    /// # Errors
    /// [`StateError`] when the field is not such a list.
    pub fn list(&self, field: &str) -> Result<Vec<U256>, StateError> {
        let wrong = || self.wrong(field, "a list of integers");
        let list = self.get(field).and_then(Value::as_array).ok_or_else(wrong)?;
        list.iter().map(|value| number(value).ok_or_else(wrong)).collect()
    }
}
