//! Scans a span of blocks for logs in ranges that adapt to what the node allows.

use std::time::{Duration, Instant};

use crate::{
    DiscoveryProgress, Node, NodeError,
    node::{LogFilter, PlacedLog},
    range::RangeWindow,
};

/// How often a running scan says in the log where it is.
const REPORT_EVERY: Duration = Duration::from_secs(5);

/// Time-outs in a row, each with half the blocks of the one before, after which the node counts as silent.
const TIMEOUTS_IN_A_ROW: u32 = 3;

/// A scan under way. It stands where it is when a request fails, and goes on from there.
pub(crate) struct Scan {
    node: Node,
    filter: LogFilter,
    window: RangeWindow,
    progress: DiscoveryProgress,
    started: Instant,
    reported: Instant,
}

impl Scan {
    pub(crate) fn new(node: Node, filter: LogFilter, from: u64, to: u64, first_blocks: u64) -> Self {
        let progress = DiscoveryProgress { from_block: from, next_block: from, to_block: to, found: 0 };
        let (started, reported) = (Instant::now(), Instant::now());
        Self { node, filter, window: RangeWindow::new(from, to, first_blocks), progress, started, reported }
    }

    pub(crate) const fn progress(&self) -> DiscoveryProgress {
        self.progress
    }

    /// The logs of the next range; `None` when the span is done.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<PlacedLog>>, NodeError> {
        let mut timeouts = 0;
        while let Some((from, to)) = self.window.range() {
            match self.node.logs_between(from, to, &self.filter).await {
                Ok(logs) => {
                    self.window.answered(logs.len());
                    self.progress.next_block = to.saturating_add(1);
                    self.progress.found = self.progress.found.saturating_add(logs.len());
                    self.report();
                    return Ok(Some(logs));
                }
                Err(error) if error.may_be_a_limit() && timeouts < TIMEOUTS_IN_A_ROW && self.window.refused() => {
                    timeouts += u32::from(matches!(error, NodeError::Timeout { .. }));
                    tracing::debug!(%error, from, to, "asking for fewer blocks at once");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn report(&mut self) {
        if self.reported.elapsed() < REPORT_EVERY {
            return;
        }
        self.reported = Instant::now();
        let DiscoveryProgress { from_block, next_block, to_block, found } = self.progress;
        let blocks_per_second = (next_block - from_block) as f64 / self.started.elapsed().as_secs_f64();
        tracing::info!(next_block, to_block, found, blocks_per_second, "looking for pools");
    }
}
