//! The fields of a JSON object, read with reasons.

use braid_primitives::{Address, U256};
use serde_json::Value;

/// Why a pool's state could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The file does not record something that the product's amounts depend on: the rows cannot be recomputed.
    #[error("pool.{field} is not recorded")]
    Missing {
        /// The field's name.
        field: String,
    },
    /// A field is there, and is not what it should be.
    #[error("pool.{field}: expected {expected}")]
    Field {
        /// The field's name.
        field: String,
        /// What was expected there.
        expected: &'static str,
    },
    /// The pool is in a state that none can be in.
    #[error("impossible pool: {0}")]
    Impossible(String),
    /// The pool is of a kind that we do not model, for this reason.
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
    /// Returns the fields of a value; none if it is not an object.
    pub const fn of(value: &'a Value) -> Self {
        Self { value }
    }

    /// Returns the error of a field that is not what it should be, or not there.
    pub(crate) fn wrong(&self, field: &str, expected: &'static str) -> StateError {
        match self.get(field) {
            Some(_) => StateError::Field { field: field.to_owned(), expected },
            None => StateError::Missing { field: field.to_owned() },
        }
    }

    /// Returns the value itself, if it is there and not null.
    pub fn get(&self, field: &str) -> Option<&'a Value> {
        self.value.get(field).filter(|value| !value.is_null())
    }

    /// Reads an object.
    ///
    /// # Errors
    /// [`StateError::Field`] without one.
    pub fn object(&self, field: &str) -> Result<Self, StateError> {
        let value = self.get(field).filter(|value| value.is_object());
        value.map(|value| Self { value }).ok_or_else(|| self.wrong(field, "an object"))
    }

    /// Reads a text, or nothing.
    pub fn text(&self, field: &str) -> Option<&'a str> {
        self.get(field).and_then(Value::as_str)
    }

    /// Reads an address.
    ///
    /// # Errors
    /// [`StateError::Field`] without one.
    pub fn address(&self, field: &str) -> Result<Address, StateError> {
        let text = self.text(field).unwrap_or_default();
        text.parse().map_err(|_| self.wrong(field, "an address"))
    }

    /// Reads a number.
    ///
    /// # Errors
    /// [`StateError::Field`] without one.
    pub fn u256(&self, field: &str) -> Result<U256, StateError> {
        self.get(field).and_then(number).ok_or_else(|| self.wrong(field, "an integer"))
    }

    /// Reads a number, or takes the given one where the file has none.
    ///
    /// # Errors
    /// [`StateError::Field`] for something else than a number.
    pub fn u256_or(&self, field: &str, otherwise: U256) -> Result<U256, StateError> {
        if self.get(field).is_some() { self.u256(field) } else { Ok(otherwise) }
    }

    /// Reads a number of at most 64 bits, or takes the given one where the file has none.
    ///
    /// # Errors
    /// [`StateError::Field`] for something else.
    pub fn u64_or(&self, field: &str, otherwise: u64) -> Result<u64, StateError> {
        let value = self.u256_or(field, U256::from(otherwise))?;
        u64::try_from(value).map_err(|_| self.wrong(field, "an integer of 64 bits"))
    }

    /// Reads a list of numbers.
    ///
    /// # Errors
    /// [`StateError::Field`] without one.
    pub fn list(&self, field: &str) -> Result<Vec<U256>, StateError> {
        let wrong = || self.wrong(field, "a list of integers");
        let list = self.get(field).and_then(Value::as_array).ok_or_else(wrong)?;
        list.iter().map(|value| number(value).ok_or_else(wrong)).collect()
    }
}
