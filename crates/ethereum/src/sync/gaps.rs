//! Detects that the search for pools missed logs: nodes prune old ones, some without an error, and fail at others.

use std::time::Duration;

use super::{background::Background, synchronizer::Synchronizer};
use crate::{
    curated,
    scan::{Missing, Part},
    spans::Segment,
};

/// Blocks after the first deployment within which mainnet's first announcement was: about a month.
const FIRST_ANNOUNCEMENT_WITHIN: u64 = 200_000;

impl Synchronizer {
    /// Notes the progress of a search: blocks that were searched, and blocks without logs.
    pub(super) fn note_missing(&mut self, part: &Part) {
        let segment = Segment { from: part.from, to: part.to, filter: part.filter.clone() };
        match part.missing {
            None => self.spans.searched(&segment),
            Some(Missing::Pruned) => {
                self.spans.searched(&segment);
                self.report_history_from(part.to.saturating_add(1));
            }
            Some(Missing::AllUnread) => {
                if self.spans.passed_over(&segment) {
                    let (from, to) = (part.from, part.to);
                    tracing::warn!(
                        from,
                        to,
                        "every node fails at the logs of every range of blocks, and answers otherwise: pools announced in these \
                         blocks are not in the market, except those of our list. Blocks are followed, and the search is tried \
                         again later. Name a node that gives the logs of ranges (eth_getLogs), or start from a snapshot (--snapshot)"
                    );
                }
            }
            Some(Missing::Unread) => {
                if self.spans.passed_over(&segment) {
                    let (from, to) = (part.from, part.to);
                    tracing::warn!(
                        from,
                        to,
                        "every node fails at the logs of these blocks, and gives those of others: the search for pools passes \
                         over them and tries them again later. Pools announced in them are not in the market until then"
                    );
                }
            }
        }
        self.report_unread();
    }

    /// Shows from which block on the search has all logs.
    pub(super) fn report_unread(&self) {
        let unread = self.spans.last_unread().map(|last| last.saturating_add(1));
        let history_from = self.lacks_logs_before.max(unread);
        self.status
            .send_if_modified(|status| std::mem::replace(&mut status.history_from, history_from) != history_from);
    }

    /// Starts to search blocks in the background after a pause.
    pub(super) fn search(&self, segments: Vec<Segment>, pause: Duration) -> Background {
        Background::spawn(&self.node, segments, pause, self.config.backoff)
    }

    /// Searches blocks whose logs could not be read again, after a pause that doubles each time. Returns whether there
    /// are such blocks.
    pub(super) fn search_unread_later(&mut self) -> bool {
        let segments = self.spans.segments();
        if segments.is_empty() {
            self.unread_tries = 0;
            return false;
        }
        if self.background.is_none() {
            let (first, longest) = self.config.search_again;
            let pause = first.saturating_mul(1 << self.unread_tries.min(16)).min(longest);
            self.unread_tries += 1;
            self.background = Some(self.search(segments, pause));
        }
        true
    }

    /// Checks after a search that it found the announcements of our list of pools. If it did not, the node lacks the
    /// logs of those blocks, whatever it answered.
    pub(super) fn check_history(&mut self) {
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
        let first = self.lacks_logs_before.unwrap_or(first);
        tracing::warn!(
            missing,
            listed = listed.len(),
            first_announcement = first,
            "the node has no logs of old blocks: pools announced in them are not in the market, except those of our list. \
             Search again in an empty data directory with a node that has these logs, or start from a snapshot (--snapshot)"
        );
        self.report_history_from(first);
    }

    /// Notes that the search lacks logs before a block, and will not get them.
    pub(super) fn report_history_from(&mut self, first: u64) {
        self.lacks_logs_before = self.lacks_logs_before.max(Some(first));
        self.report_unread();
    }
}
