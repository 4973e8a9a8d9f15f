//! Vectors are recorded pool states with the amounts that they paid. Reads files of vectors and recomputes every row.
//!
//! The format is one JSON object `{family, entries: [{protocol, block, timestamp, pool: {…}, swaps: [{…}]}]}` with
//! integers as decimal strings. Every protocol adds its kinds with a line in [`registry`]; everything else is common.

mod balancer;
mod curve;
mod entry;
mod fluid;
mod registry;
mod uniswap;
mod vaults;

use braid_primitives::U256;
use serde_json::Value;

pub use crate::states::{Fields, StateError};
pub use entry::{Entry, Row, RowKind, VectorPool};
pub use registry::{KINDS, Kind};

/// The identity of a row: its position in the file, and its contents in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowId {
    /// Position of its entry in the file.
    pub entry: usize,
    /// Position of the row among the entry's rows: swaps first, then refusals, then checks.
    pub row: usize,
    /// The entry's protocol.
    pub protocol: String,
    /// The pool's address as the file writes it.
    pub pool: String,
    /// The function that the row records, in a few words.
    pub what: String,
    /// True if the number was read from the chain, according to the file.
    pub on_chain: bool,
}

/// A row whose recomputed value differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The row.
    pub row: RowId,
    /// The value in the file.
    pub expected: String,
    /// The computed value: an amount in atomic units, or the reason for a refusal.
    pub got: String,
}

/// An entry that does not follow the format, or whose pool has an impossible state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Position in the file.
    pub entry: usize,
    /// The entry's protocol and its pool's address, as far as the file contains them.
    pub what: String,
    /// The defect.
    pub why: String,
    /// The number of rows that could not be recomputed because of it.
    pub rows: usize,
}

/// The results of a file's rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of rows that are equal to the wei.
    pub passed: usize,
    /// The number of these that were read from the chain, according to the file.
    pub passed_on_chain: usize,
    /// Those among the equal rows that are another project's computation and are equal only when computed as that
    /// project does, with how that differs from the contract.
    pub explained: Vec<(RowId, &'static str)>,
    /// Rows that differ.
    pub failed: Vec<Difference>,
    /// Entries that could not be read.
    pub malformed: Vec<Malformed>,
    /// Rows that were not recomputed, with the reasons.
    pub skipped: Vec<(RowId, String)>,
}

impl Report {
    /// Returns the number of failed rows: those that differ, those of malformed entries, and one for a malformed entry
    /// without any.
    pub fn failures(&self) -> usize {
        self.failed.len() + self.malformed.iter().map(|entry| entry.rows.max(1)).sum::<usize>()
    }
}

/// A reason for which a text is not a valid file of vectors.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    /// The text is not JSON.
    #[error("not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The text is JSON, but not in the format.
    #[error("not a file of vectors: expected an object with a list \"entries\"")]
    Format,
}

/// The result of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Equal to the wei.
    Equal,
    /// Equal to the wei when computed as the row's source does, which differs from the contract for this reason.
    Explained(&'static str),
    /// Different: the expected and the computed value.
    Differs(String, String),
    /// Not recomputed, with the reason.
    Skipped(String),
}

/// Recomputes every row of a file of vectors.
///
/// The file may state that a row's source is wrong by some atomic units (`recheck: "mismatch:1"`). Such a row is
/// skipped with the reason if it is recomputed with exactly that difference; any other difference fails.
///
/// # Errors
/// [`VectorError`] when the text is not in the format. A malformed entry is reported, and the others are recomputed.
pub fn check(text: &str) -> Result<Report, VectorError> {
    let root: Value = serde_json::from_str(text)?;
    let entries = root.get("entries").and_then(Value::as_array).ok_or(VectorError::Format)?;
    let mut report = Report::default();
    for (index, value) in entries.iter().enumerate() {
        check_entry(index, value, &mut report);
    }
    Ok(report)
}

fn check_entry(index: usize, value: &Value, report: &mut Report) {
    let malformed = |why: String, rows: usize| {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or("?").to_owned();
        let pool = value.get("pool").and_then(|pool| pool.get("address"));
        let what = format!("{} {}", text(value.get("protocol")), text(pool));
        Malformed { entry: index, what, why, rows }
    };
    let entry = match Entry::new(value) {
        Ok(entry) => entry,
        Err(why) => return report.malformed.push(malformed(why, 0)),
    };
    let kind = registry::kind_of(entry.protocol());
    let pool = match kind.map(|kind| (kind.load)(&entry)) {
        None => Err(registry::why_not(entry.protocol())),
        Some(Ok(pool)) => Ok(pool),
        Some(Err(error @ (StateError::Missing { .. } | StateError::Unsupported(_)))) => Err(error.to_string()),
        Some(Err(error)) => return report.malformed.push(malformed(error.to_string(), entry.rows().count())),
    };
    for (position, row) in entry.rows().enumerate() {
        let id = row.id(index, position, &entry);
        let outcome = match &pool {
            Ok(pool) => pool.check(&row),
            Err(reason) => Outcome::Skipped(reason.clone()),
        };
        match allow_known_error(&row, outcome) {
            Outcome::Equal => {
                report.passed += 1;
                report.passed_on_chain += usize::from(id.on_chain);
            }
            Outcome::Explained(reason) => {
                report.passed += 1;
                report.explained.push((id, reason));
            }
            Outcome::Differs(expected, got) => report.failed.push(Difference { row: id, expected, got }),
            Outcome::Skipped(reason) => report.skipped.push((id, reason)),
        }
    }
}

/// Turns a difference into a skipped row if it is exactly the error that the file states for the row's source.
fn allow_known_error(row: &Row<'_>, outcome: Outcome) -> Outcome {
    let Some(known) = row.known_error() else { return outcome };
    match outcome {
        Outcome::Differs(expected, got) => {
            let amount = |text: &str| U256::from_str_radix(text, 10).ok();
            match (amount(&expected), amount(&got)) {
                (Some(a), Some(b)) if a.abs_diff(b) == known => {
                    Outcome::Skipped(format!("the file says that its source is {known} wei off, and it is"))
                }
                _ => Outcome::Differs(expected, got),
            }
        }
        outcome => outcome,
    }
}

impl Difference {
    /// Returns the difference in atomic units, with its sign, if both values are amounts.
    pub fn wei(&self) -> Option<String> {
        let amount = |text: &str| U256::from_str_radix(text, 10).ok();
        let (expected, got) = (amount(&self.expected)?, amount(&self.got)?);
        let sign = if got > expected { '+' } else { '-' };
        Some(format!("{sign}{}", got.abs_diff(expected)))
    }
}

impl core::fmt::Display for RowId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "entry {} row {}: {} {} {}", self.entry, self.row, self.protocol, self.pool, self.what)
    }
}
