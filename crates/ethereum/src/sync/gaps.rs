//! Whether the search for pools saw all of history: nodes prune old logs, some without a word.

use super::synchronizer::Synchronizer;
use crate::{curated, scan::Part};

/// Blocks after the first deployment within which the first announcement was, on mainnet: about a month.
const FIRST_ANNOUNCEMENT_WITHIN: u64 = 200_000;

impl Synchronizer {
    /// Takes notice of blocks whose logs no node has.
    pub(super) fn note_pruned(&self, part: &Part) {
        if part.pruned {
            self.tell_history_from(part.to.saturating_add(1));
        }
    }

    /// After a search: the pools of our list must have been announced in it. Where they were not, the node has no logs of the
    /// blocks that announced them, whatever it said.
    pub(super) fn check_history(&self) {
        if self.config.start_block.is_some() || !self.config.largest_pools_first {
            return;
        }
        let listed = curated::pools(|product| self.catalog.follows(product));
        let missing = listed.iter().filter(|pool| !self.known.is_announced(pool.key)).count();
        let nothing = self.tip().map_or(0, |tip| tip.block().number);
        let first = self.known.first_announcement().unwrap_or(nothing);
        let from_the_start =
            first <= self.catalog.first_block(None, u64::MAX).saturating_add(FIRST_ANNOUNCEMENT_WITHIN);
        if missing == 0 || from_the_start {
            return;
        }
        let first = self.status.borrow().history_from.unwrap_or(first);
        tracing::warn!(
            missing,
            listed = listed.len(),
            first_announcement = first,
            "the node has no logs of old blocks: pools that were announced before are not in the market, but for those of our \
             list. Search once more in an empty data directory with a node that has them, or start from a \
             snapshot (--snapshot)"
        );
        self.tell_history_from(first);
    }

    fn tell_history_from(&self, first: u64) {
        self.status.send_modify(|status| status.history_from = status.history_from.max(Some(first)));
    }
}
