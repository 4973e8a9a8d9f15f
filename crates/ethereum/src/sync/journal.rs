//! The pools that the last blocks of an earlier run changed.

use braid_primitives::B256;
use braid_store::market::JournalEntry;

/// The last blocks of an earlier run, with the pools that each changed.
pub(super) struct Journal {
    /// Hash of the newest of them, with which our history begins.
    pub(super) tip: B256,
    pub(super) entries: Vec<JournalEntry>,
}
