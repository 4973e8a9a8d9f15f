//! Recorded pool states and what they paid: reads files of vectors and recomputes every row.
//!
//! The format is one JSON object `{family, entries: [{protocol, block, timestamp, pool: {…}, swaps: [{…}]}]}` with integers as
//! decimal strings. Every protocol adds its kinds by a line in [`registry`]; everything else is common.

mod balancer;
mod curve;
mod entry;
mod registry;
mod uniswap;
mod vaults;

use serde_json::Value;

pub use entry::{Entry, EntryError, Fields, Row, VectorPool};
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

/// What became of a file's rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Rows equal to the wei.
    pub passed: usize,
    /// Of these, rows that the file says were read from the chain.
    pub passed_on_chain: usize,
    /// Rows that differ.
    pub failed: Vec<Difference>,
    /// Rows not recomputed, and why.
    pub skipped: Vec<(RowId, String)>,
}

/// Why a text is not a file of vectors.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    /// Not JSON.
    #[error("not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// JSON, but not of the format.
    #[error("expected an object with a list of entries")]
    Format,
}

/// What a kind of pool makes of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Equal to the wei.
    Equal,
    /// Something else: what was expected, what was computed.
    Differs(String, String),
    /// Not recomputed, and why.
    Skipped(String),
}

/// Recomputes every row of a file of vectors.
///
/// # Errors
/// [`VectorError`] when the text is not in the format. An entry that cannot be read has its rows skipped, with the reason.
pub fn check(text: &str) -> Result<Report, VectorError> {
    let root: Value = serde_json::from_str(text)?;
    let entries = root.get("entries").and_then(Value::as_array).ok_or(VectorError::Format)?;
    let mut report = Report::default();
    for (index, value) in entries.iter().enumerate() {
        check_entry(index, &Entry::new(value), &mut report);
    }
    Ok(report)
}

fn check_entry(index: usize, entry: &Entry<'_>, report: &mut Report) {
    let kind = KINDS.iter().find(|kind| kind.protocols.contains(&entry.protocol()));
    let pool = match kind {
        None => Err(format!("no model of {}", entry.protocol())),
        Some(kind) => (kind.load)(entry).map_err(|error| error.to_string()),
    };
    for (position, row) in entry.rows().enumerate() {
        let id = row.id(index, position, entry);
        let outcome = match &pool {
            Ok(pool) => pool.check(&row),
            Err(reason) => Outcome::Skipped(reason.clone()),
        };
        match outcome {
            Outcome::Equal => {
                report.passed += 1;
                report.passed_on_chain += usize::from(id.on_chain);
            }
            Outcome::Differs(expected, got) => report.failed.push(Difference { row: id, expected, got }),
            Outcome::Skipped(reason) => report.skipped.push((id, reason)),
        }
    }
}

impl core::fmt::Display for RowId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "entry {} row {}: {} {} {}", self.entry, self.row, self.protocol, self.pool, self.what)
    }
}
