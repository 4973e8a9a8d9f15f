//! What a block changes of what is stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_market::Market;
use braid_primitives::PoolKey;

use super::record::{KnownPool, ListRecord, SourceSpan};

/// What is to be stored: the market whole, of which only the difference is written, and differences of the rest.
#[derive(Clone, Debug)]
pub struct Change {
    /// The newest market.
    pub market: Arc<Market>,
    /// Pools whose state was read for its block rather than carried to it by logs.
    pub read: Vec<PoolKey>,
    /// Announced pools that are new or different; `None` for those that no longer are.
    pub known: BTreeMap<PoolKey, Option<KnownPool>>,
    /// Every source's span.
    pub sources: Vec<SourceSpan>,
    /// Every list that was read.
    pub lists: Vec<ListRecord>,
    /// Blocks above this height were replaced since the change before, if any were.
    pub rolled_back_to: Option<u64>,
}

impl Change {
    /// This change and a later one as one.
    pub(super) fn and(mut self, later: Self) -> Self {
        self.known.extend(later.known);
        let rolled_back_to = match (self.rolled_back_to, later.rolled_back_to) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Self { known: self.known, rolled_back_to, ..later }
    }
}
