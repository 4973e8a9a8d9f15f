//! Detects that the search for pools missed old logs: nodes prune them, some without an error.

use super::synchronizer::Synchronizer;
use crate::{curated, scan::Part};

/// Blocks after the first deployment within which mainnet's first announcement was: about a month.
const FIRST_ANNOUNCEMENT_WITHIN: u64 = 200_000;

impl Synchronizer {
    /// Notes blocks whose logs no node has.
    pub(super) fn note_pruned(&self, part: &Part) {
        if part.pruned {
            self.report_history_from(part.to.saturating_add(1));
        }
    }

    /// Checks after a search that it found the announcements of our list of pools. If it did not, the node lacks the
    /// logs of those blocks, whatever it answered.
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
            "the node has no logs of old blocks: pools announced in them are not in the market, except those of our list. \
             Search again in an empty data directory with a node that has these logs, or start from a snapshot (--snapshot)"
        );
        self.report_history_from(first);
    }

    pub(super) fn report_history_from(&self, first: u64) {
        self.status.send_modify(|status| status.history_from = status.history_from.max(Some(first)));
    }
}
