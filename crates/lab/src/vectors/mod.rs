//! Recorded pool states and what they paid: reads files of vectors and recomputes every row.
//!
//! The format is one JSON object `{family, entries: [{protocol, block, timestamp, pool: {…}, swaps: [{…}]}]}` with integers as
//! decimal strings. Every protocol adds its kinds by a line in [`registry`]; everything else is common.

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

/// A row: where it stands in its file, and what it is about.
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
    /// Which function the row records, in a few words.
    pub what: String,
    /// Whether the file says that the number was read from the chain.
    pub on_chain: bool,
}

/// A row that was recomputed to something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which row.
    pub row: RowId,
    /// What the file says.
    pub expected: String,
    /// What was computed: an amount in atomic units, or the reason of a refusal.
    pub got: String,
}

/// An entry of a file that is not of the format, or a pool in a state that none can be in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Position in the file.
    pub entry: usize,
    /// The entry's protocol and its pool's address, as far as the file has them.
    pub what: String,
    /// What is wrong.
    pub why: String,
    /// Rows that could not be recomputed for it.
    pub rows: usize,
}

/// What became of a file's rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Rows equal to the wei.
    pub passed: usize,
    /// Of these, rows that the file says were read from the chain.
    pub passed_on_chain: usize,
    /// Of these, rows of another project's own computation, equal where we compute as it does, and how that is not the contract's.
    pub explained: Vec<(RowId, &'static str)>,
    /// Rows that differ.
    pub failed: Vec<Difference>,
    /// Entries that could not be read at all.
    pub malformed: Vec<Malformed>,
    /// Rows not recomputed, and why.
    pub skipped: Vec<(RowId, String)>,
}

impl Report {
    /// Returns how many rows failed: those that differ, those of malformed entries, and one for a malformed entry without any.
    pub fn failures(&self) -> usize {
        self.failed.len() + self.malformed.iter().map(|entry| entry.rows.max(1)).sum::<usize>()
    }
}

/// Why a text is not a file of vectors.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    /// Not JSON.
    #[error("not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// JSON, but not of the format.
    #[error("not a file of vectors: expected an object with a list \"entries\"")]
    Format,
}

/// What a kind of pool makes of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Equal to the wei.
    Equal,
    /// Equal to the wei when computed as the row's source computes it, which is not quite what the contract does, for this reason.
    Explained(&'static str),
    /// Something else: what was expected, what was computed.
    Differs(String, String),
    /// Not recomputed, and why.
    Skipped(String),
}

/// Recomputes every row of a file of vectors.
///
/// A row whose source the file itself knows to be wrong by some atomic units (`recheck: "mismatch:1"`) and that is recomputed to
/// that difference is skipped with the reason; any other difference fails.
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

/// Skips a row that differs by exactly what the file says its source is wrong by.
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
    /// By how much the amount differs, in atomic units, where both are amounts.
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
