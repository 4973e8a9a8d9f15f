//! Reads the parts of an entry, with errors that state the reason.

use braid_primitives::{ExecutionBlock, U256};
use braid_protocols::SwapError;
use serde_json::Value;

use super::{Outcome, RowId};
use crate::states::{Fields, number};

/// An entry of a file: a pool at a block, with rows.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    value: &'a Value,
}

/// The kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// A swap, or the view that predicts it, with both amounts.
    Swap,
    /// A swap that the contract refuses.
    Refusal,
    /// Another view of the pool.
    Check,
}

/// One row of an entry.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The kind of the row.
    pub kind: RowKind,
    coins: Option<(u8, u8)>,
    value: &'a Value,
}

/// A pool that can recompute rows.
pub trait VectorPool {
    /// Recomputes one row.
    fn check(&self, row: &Row<'_>) -> Outcome;
}

/// Reads a list that a file may omit.
fn optional_list<'a>(value: Option<&'a Value>, name: &str) -> Result<&'a [Value], String> {
    match value {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(list)) if list.iter().all(Value::is_object) => Ok(list),
        Some(_) => Err(format!("{name}: expected a list of objects")),
    }
}

impl<'a> Entry<'a> {
    /// Checks that an entry has the structure that the format requires.
    ///
    /// # Errors
    /// A description of the defect.
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

    /// Returns the positions of a row's coins: `i` and `j`, or the positions of its tokens among the pool's tokens or
    /// the underlying ones.
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

    /// Returns the entry's protocol; empty if it is missing.
    pub fn protocol(&self) -> &'a str {
        self.value.get("protocol").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the pool's state.
    pub fn pool(&self) -> Fields<'a> {
        Fields::of(self.value.get("pool").unwrap_or(&Value::Null))
    }

    /// Returns the block of the rows, with zero for fields that the file omits.
    pub fn block(&self) -> ExecutionBlock {
        let whole = |value: Option<&Value>| value.and_then(number).and_then(|number| u64::try_from(number).ok());
        ExecutionBlock {
            number: whole(self.value.get("block")).unwrap_or_default(),
            timestamp: whole(self.value.get("timestamp"))
                .or_else(|| whole(self.pool().get("timestamp")))
                .unwrap_or_default(),
        }
    }

    /// Returns all rows: swaps, then refusals, then checks.
    pub fn rows(&self) -> impl Iterator<Item = Row<'a>> {
        let list = |value: Option<&'a Value>| value.and_then(Value::as_array).map_or(&[][..], Vec::as_slice).iter();
        let pool = self.pool();
        let row = move |kind, value| Row { kind, coins: self.coins_of(value), value };
        let rows = list(self.value.get("swaps"))
            .map(move |value| row(RowKind::Swap, value))
            .chain(list(pool.get("must_fail")).map(move |value| row(RowKind::Refusal, value)))
            .chain(list(pool.get("checks")).map(move |value| row(RowKind::Check, value)));
        rows.collect::<Vec<_>>().into_iter()
    }
}

impl<'a> Row<'a> {
    /// Returns the row's fields.
    pub fn fields(&self) -> Fields<'a> {
        Fields::of(self.value)
    }

    /// Returns the function that the row records.
    pub fn function(&self) -> &'a str {
        self.fields().text("fn").unwrap_or_default()
    }

    /// Returns the positions of the coin in and the coin out.
    pub const fn coins(&self) -> Option<(u8, u8)> {
        self.coins
    }

    /// Returns a number of the row. A refusal may contain its only amount as `amount`.
    pub fn amount(&self, field: &str) -> Option<U256> {
        let only = || self.value.get("amount").filter(|_| self.kind == RowKind::Refusal);
        self.value.get(field).or_else(only).and_then(number)
    }

    /// Returns whether the row has an exact output.
    pub fn is_exact_out(&self) -> bool {
        self.fields().text("kind").unwrap_or_default().starts_with("exact_out")
    }

    /// Returns the number of atomic units by which the row's source is wrong according to the file.
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

    /// Returns [`Outcome::Equal`] if the computation was refused.
    pub fn refused(&self, got: Result<U256, SwapError>) -> Outcome {
        match got {
            Err(_) => Outcome::Equal,
            Ok(got) => Outcome::Differs("a refusal".to_owned(), got.to_string()),
        }
    }
}
