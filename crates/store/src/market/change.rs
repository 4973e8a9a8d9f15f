//! A change of what is stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_market::Market;
use braid_primitives::{B256, PoolKey};

use super::record::{KnownPool, ListRecord, SourceSpan};

/// A change to store: a whole market, of which only the difference is written, and changes of the rest.
#[derive(Clone, Debug)]
pub struct Change {
    /// The newest market.
    pub market: Arc<Market>,
    /// Pools whose state was read at its block, not updated from logs.
    pub read: Vec<PoolKey>,
    /// Announced pools that are new or changed; `None` for those that were removed.
    pub known: BTreeMap<PoolKey, Option<KnownPool>>,
    /// Every source's span.
    pub sources: Vec<SourceSpan>,
    /// Progress of every list.
    pub lists: Vec<ListRecord>,
    /// Heights and hashes of a few blocks older than the journal, to find where a deep reorganisation starts.
    pub anchors: Vec<(u64, B256)>,
    /// Lowest height that the chain was rolled back to since the change before, if it was.
    pub rolled_back_to: Option<u64>,
}

impl Change {
    /// Merges a later change into this one.
    pub(super) fn and(mut self, later: Self) -> Self {
        self.known.extend(later.known);
        let rolled_back_to = [self.rolled_back_to, later.rolled_back_to].into_iter().flatten().min();
        Self { known: self.known, rolled_back_to, ..later }
    }
}
