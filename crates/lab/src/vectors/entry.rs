//! The parts of an entry, read with reasons.

use braid_primitives::{Address, ExecutionBlock, U256};
use braid_protocols::SwapError;
use serde_json::Value;

use super::{Outcome, RowId};

/// Why an entry's pool could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
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

/// One entry of a file: a pool at a block, and rows.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    value: &'a Value,
}

/// What a row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// A swap or a view of one, with both amounts.
    Swap,
    /// A swap that the contract refuses.
    Refusal,
    /// Another view of the pool.
    Check,
}

/// One row of an entry.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// What it says.
    pub kind: RowKind,
    coins: Option<(u8, u8)>,
    value: &'a Value,
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

/// A list that a file may leave out.
fn optional_list<'a>(value: Option<&'a Value>, name: &str) -> Result<&'a [Value], String> {
    match value {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(list)) if list.iter().all(Value::is_object) => Ok(list),
        Some(_) => Err(format!("{name}: expected a list of objects")),
    }
}

impl<'a> Entry<'a> {
    /// An entry with the outer form that the format asks for.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(super) fn new(value: &'a Value) -> Result<Self, String> {
        let object = value.as_object().ok_or_else(|| "expected an object".to_owned())?;
        if !object.get("protocol").is_some_and(Value::is_string) {
            return Err("protocol: expected a name".to_owned());
        }
        let pool = object.get("pool").and_then(Value::as_object);
        let pool = pool.ok_or_else(|| "pool: expected an object".to_owned())?;
        for name in ["block", "timestamp"] {
            if let Some(value) = object.get(name).filter(|value| !value.is_null()) {
                number(value).ok_or_else(|| format!("{name}: expected an integer"))?;
            }
        }
        optional_list(object.get("swaps"), "swaps")?;
        optional_list(pool.get("must_fail"), "pool.must_fail")?;
        optional_list(pool.get("checks"), "pool.checks")?;
        Ok(Self { value })
    }

    /// Positions of a row's coins: `i` and `j`, or where its tokens stand among the pool's (or the underlying) tokens.
    fn coins_of(&self, row: &'a Value) -> Option<(u8, u8)> {
        let place = |index: &str, token: &str| match row.get(index).and_then(number) {
            Some(position) => u8::try_from(position).ok(),
            None => {
                let name = row.get(token)?.as_str()?;
                ["tokens", "underlying_tokens"].iter().find_map(|list| {
                    let tokens = self.pool().get(list)?.as_array()?;
                    let is_it = |entry: &Value| {
                        let address = entry.get("address").unwrap_or(entry).as_str();
                        address.is_some_and(|address| address.eq_ignore_ascii_case(name))
                    };
                    u8::try_from(tokens.iter().position(is_it)?).ok()
                })
            }
        };
        Some((place("i", "token_in")?, place("j", "token_out")?))
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
        let whole = |value: Option<&Value>| value.and_then(number).and_then(|number| u64::try_from(number).ok());
        ExecutionBlock {
            number: whole(self.value.get("block")).unwrap_or_default(),
            timestamp: whole(self.value.get("timestamp"))
                .or_else(|| whole(self.pool().value.get("timestamp")))
                .unwrap_or_default(),
        }
    }

    /// All rows: swaps, refusals, checks.
    pub fn rows(&self) -> impl Iterator<Item = Row<'a>> {
        let list = |value: Option<&'a Value>| value.and_then(Value::as_array).map_or(&[][..], Vec::as_slice).iter();
        let pool = self.pool().value;
        let row = move |kind, value| Row { kind, coins: self.coins_of(value), value };
        let rows = list(self.value.get("swaps"))
            .map(move |value| row(RowKind::Swap, value))
            .chain(list(pool.get("must_fail")).map(move |value| row(RowKind::Refusal, value)))
            .chain(list(pool.get("checks")).map(move |value| row(RowKind::Check, value)));
        rows.collect::<Vec<_>>().into_iter()
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

    /// The error of a field that is not what it should be, or not there.
    pub(super) fn wrong(&self, field: &str, expected: &'static str) -> EntryError {
        match self.get(field) {
            Some(_) => EntryError::Field { field: field.to_owned(), expected },
            None => EntryError::Missing { field: field.to_owned() },
        }
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
        value.map(|value| Self { value }).ok_or_else(|| self.wrong(field, "an object"))
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
        text.parse().map_err(|_| self.wrong(field, "an address"))
    }

    /// A number.
    ///
    /// # Errors
    /// [`EntryError::Field`] without one.
    pub fn u256(&self, field: &str) -> Result<U256, EntryError> {
        self.get(field).and_then(number).ok_or_else(|| self.wrong(field, "an integer"))
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
        u64::try_from(value).map_err(|_| self.wrong(field, "an integer of 64 bits"))
    }

    /// A list of numbers.
    ///
    /// # Errors
    /// [`EntryError::Field`] without one.
    pub fn list(&self, field: &str) -> Result<Vec<U256>, EntryError> {
        let wrong = || self.wrong(field, "a list of integers");
        let list = self.get(field).and_then(Value::as_array).ok_or_else(wrong)?;
        list.iter().map(|value| number(value).ok_or_else(wrong)).collect()
    }
}

impl<'a> Row<'a> {
    /// The row's fields.
    pub fn fields(&self) -> Fields<'a> {
        Fields { value: self.value }
    }

    /// The function that the row records.
    pub fn function(&self) -> &'a str {
        self.fields().text("fn").unwrap_or_default()
    }

    /// Positions of the coin in and the coin out.
    pub const fn coins(&self) -> Option<(u8, u8)> {
        self.coins
    }

    /// A number of the row. A refusal may write its one amount as `amount`.
    pub fn amount(&self, field: &str) -> Option<U256> {
        let only = || self.value.get("amount").filter(|_| self.kind == RowKind::Refusal);
        self.value.get(field).or_else(only).and_then(number)
    }

    /// Whether the row asks for an exact amount out.
    pub fn is_exact_out(&self) -> bool {
        self.fields().text("kind").unwrap_or_default().starts_with("exact_out")
    }

    /// By how many atomic units the file says that the row's source is wrong.
    pub(super) fn known_error(&self) -> Option<U256> {
        let wei = self.fields().text("recheck")?.strip_prefix("mismatch:")?;
        U256::from_str_radix(wei.trim_start_matches(['±', '+', '-']), 10).ok()
    }

    pub(super) fn id(&self, entry: usize, row: usize, of: &Entry<'_>) -> RowId {
        let fields = self.fields();
        let what = match self.kind {
            RowKind::Swap if self.function().is_empty() => "swap",
            RowKind::Swap => self.function(),
            RowKind::Refusal => "must fail",
            RowKind::Check => "check",
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
