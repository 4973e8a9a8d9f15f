//! The parts of an entry, read with reasons.

use alloy_primitives::{Address, U256};
use braid_primitives::ExecutionBlock;
use serde_json::Value;

use super::{Outcome, RowId};
use crate::SwapError;

/// Why an entry's pool could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// A field is missing, or not what it should be.
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
}

/// One entry of a file: a pool at a block, and rows.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    value: &'a Value,
}

/// One row of an entry.
#[derive(Clone, Copy, Debug)]
pub enum Row<'a> {
    /// A swap or a view of one, with both amounts.
    Swap(&'a Value),
    /// A swap that the contract refuses.
    Refusal(&'a Value),
    /// Another view of the pool.
    Check(&'a Value),
}

/// A pool that can recompute rows.
pub trait VectorPool {
    /// Recomputes one row.
    fn check(&self, row: &Row<'_>) -> Outcome;
}

/// A number that the file writes as a decimal string, or as a JSON number.
fn number(value: &Value) -> Option<U256> {
    match value {
        Value::String(text) => U256::from_str_radix(text, 10).ok(),
        Value::Number(number) => number.as_u64().map(U256::from),
        _ => None,
    }
}

impl<'a> Entry<'a> {
    pub(super) const fn new(value: &'a Value) -> Self {
        Self { value }
    }

    /// The entry's protocol, or nothing.
    pub fn protocol(&self) -> &'a str {
        self.value.get("protocol").and_then(Value::as_str).unwrap_or_default()
    }

    /// The pool's state.
    pub fn pool(&self) -> Fields<'a> {
        Fields { value: self.value.get("pool").unwrap_or(&Value::Null) }
    }

    /// The block that the rows were made in; zero for what the file leaves out.
    pub fn block(&self) -> ExecutionBlock {
        let seconds = |value: Option<&Value>| value.and_then(Value::as_u64);
        ExecutionBlock {
            number: seconds(self.value.get("block")).unwrap_or_default(),
            timestamp: seconds(self.value.get("timestamp"))
                .or_else(|| seconds(self.pool().value.get("timestamp")))
                .unwrap_or_default(),
        }
    }

    /// All rows: swaps, refusals, checks.
    pub fn rows(&self) -> impl Iterator<Item = Row<'a>> {
        let list = |value: Option<&'a Value>| value.and_then(Value::as_array).map_or(&[][..], Vec::as_slice).iter();
        let pool = self.pool().value;
        list(self.value.get("swaps"))
            .map(Row::Swap)
            .chain(list(pool.get("must_fail")).map(Row::Refusal))
            .chain(list(pool.get("checks")).map(Row::Check))
    }
}

/// The fields of a JSON object.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    value: &'a Value,
}

impl<'a> Fields<'a> {
    /// The fields of a value; none if it is not an object.
    pub const fn of(value: &'a Value) -> Self {
        Self { value }
    }

    fn wrong(field: &str, expected: &'static str) -> EntryError {
        EntryError::Field { field: field.to_owned(), expected }
    }

    /// The value itself, if it is there and not null.
    pub fn get(&self, field: &str) -> Option<&'a Value> {
        self.value.get(field).filter(|value| !value.is_null())
    }

    /// An object inside.
    ///
    /// # Errors
    /// [`EntryError::Field`] without one.
    pub fn object(&self, field: &str) -> Result<Self, EntryError> {
        let value = self.get(field).filter(|value| value.is_object());
        value.map(|value| Self { value }).ok_or_else(|| Self::wrong(field, "an object"))
    }

    /// A text, or nothing.
    pub fn text(&self, field: &str) -> Option<&'a str> {
        self.get(field).and_then(Value::as_str)
    }

    /// An address.
    ///
    /// # Errors
    /// [`EntryError::Field`] without one.
    pub fn address(&self, field: &str) -> Result<Address, EntryError> {
        let text = self.text(field).unwrap_or_default();
        text.parse().map_err(|_| Self::wrong(field, "an address"))
    }

    /// A number.
    ///
    /// # Errors
    /// [`EntryError::Field`] without one.
    pub fn u256(&self, field: &str) -> Result<U256, EntryError> {
        self.get(field).and_then(number).ok_or_else(|| Self::wrong(field, "an integer"))
    }

    /// A number, or the given one where the file has none.
    ///
    /// # Errors
    /// [`EntryError::Field`] for something else than a number.
    pub fn u256_or(&self, field: &str, otherwise: U256) -> Result<U256, EntryError> {
        if self.get(field).is_some() { self.u256(field) } else { Ok(otherwise) }
    }

    /// A number of at most 64 bits, or the given one where the file has none.
    ///
    /// # Errors
    /// [`EntryError::Field`] for something else.
    pub fn u64_or(&self, field: &str, otherwise: u64) -> Result<u64, EntryError> {
        let value = self.u256_or(field, U256::from(otherwise))?;
        u64::try_from(value).map_err(|_| Self::wrong(field, "an integer of 64 bits"))
    }

    /// A list of numbers.
    ///
    /// # Errors
    /// [`EntryError::Field`] without one.
    pub fn list(&self, field: &str) -> Result<Vec<U256>, EntryError> {
        let wrong = || Self::wrong(field, "a list of integers");
        let list = self.get(field).and_then(Value::as_array).ok_or_else(wrong)?;
        list.iter().map(|value| number(value).ok_or_else(wrong)).collect()
    }
}

impl<'a> Row<'a> {
    fn value(&self) -> &'a Value {
        match self {
            Self::Swap(value) | Self::Refusal(value) | Self::Check(value) => value,
        }
    }

    /// The row's fields.
    pub fn fields(&self) -> Fields<'a> {
        Fields { value: self.value() }
    }

    /// The function that the row records.
    pub fn function(&self) -> &'a str {
        self.fields().text("fn").unwrap_or_default()
    }

    /// Positions of the coin in and the coin out.
    pub fn coins(&self) -> Option<(u8, u8)> {
        let position = |field| u8::try_from(self.value().get(field)?.as_u64()?).ok();
        Some((position("i")?, position("j")?))
    }

    /// A number of the row.
    pub fn amount(&self, field: &str) -> Option<U256> {
        self.value().get(field).and_then(number)
    }

    pub(super) fn id(&self, entry: usize, row: usize, of: &Entry<'_>) -> RowId {
        let fields = self.fields();
        let what = match self {
            Self::Swap(_) => self.function(),
            Self::Refusal(_) => "must fail",
            Self::Check(_) => "check",
        };
        let coins = self.coins().map(|(i, j)| format!(" {i}→{j}")).unwrap_or_default();
        let amount = self.amount("amount_in").map(|amount| format!(" of {amount}")).unwrap_or_default();
        RowId {
            entry,
            row,
            protocol: of.protocol().to_owned(),
            pool: of.pool().text("address").unwrap_or("?").to_owned(),
            what: format!("{what}{coins}{amount}"),
            on_chain: fields.text("verified") == Some("on-chain"),
        }
    }

    /// Compares an amount with a field of the row.
    pub fn compare(&self, field: &str, got: Result<U256, SwapError>) -> Outcome {
        let Some(expected) = self.amount(field) else { return Outcome::Skipped(format!("no {field}")) };
        match got {
            Ok(got) if got == expected => Outcome::Equal,
            Ok(got) => Outcome::Differs(expected.to_string(), got.to_string()),
            Err(error) => Outcome::Differs(expected.to_string(), error.to_string()),
        }
    }

    /// Holds if the computation was refused.
    pub fn refused(&self, got: Result<U256, SwapError>) -> Outcome {
        match got {
            Err(_) => Outcome::Equal,
            Ok(got) => Outcome::Differs("a refusal".to_owned(), got.to_string()),
        }
    }
}
