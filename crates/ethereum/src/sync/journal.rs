//! Which pools the last blocks of an earlier run changed.

use braid_primitives::B256;
use braid_store::market::JournalEntry;

/// The last blocks of an earlier run: which pools each of them changed.
pub(super) struct Journal {
    /// The newest of them, which our history began with.
    pub(super) tip: B256,
    pub(super) entries: Vec<JournalEntry>,
}
