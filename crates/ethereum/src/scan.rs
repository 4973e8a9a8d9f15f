//! Scans a span of blocks for logs in ranges that adapt to what the node allows.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use crate::{DiscoveryProgress, Node, NodeError, node::PlacedLog, range::RangeWindow, spans::Segment};

/// How often a running scan says in the log where it is.
const REPORT_EVERY: Duration = Duration::from_secs(5);

/// Time-outs in a row, each with half the blocks of the one before, after which the node counts as silent.
const TIMEOUTS_IN_A_ROW: u32 = 3;

/// A scan under way. It stands where it is when a request fails, and goes on from there.
pub(crate) struct Scan {
    node: Node,
    /// What is left; the first one is under way.
    segments: VecDeque<(Segment, RangeWindow)>,
    progress: DiscoveryProgress,
    started: Instant,
    reported: Instant,
}

/// The logs of a range, both ends included.
pub(crate) struct Part {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) logs: Vec<PlacedLog>,
}

impl Scan {
    /// A scan of segments in order; the first range of each has `first_blocks`, unless another size was learnt by then.
    pub(crate) fn new(node: Node, segments: Vec<Segment>, first_blocks: u64) -> Self {
        let from = segments.first().map_or(0, |segment| segment.from);
        let to = segments.last().map_or(0, |segment| segment.to);
        let progress = DiscoveryProgress { from_block: from, next_block: from, to_block: to, found: 0 };
        let (started, reported) = (Instant::now(), Instant::now());
        let window = |segment: Segment| {
            let window = RangeWindow::new(segment.from, segment.to, first_blocks);
            (segment, window)
        };
        Self { node, segments: segments.into_iter().map(window).collect(), progress, started, reported }
    }

    pub(crate) const fn progress(&self) -> DiscoveryProgress {
        self.progress
    }

    /// The logs of the next range; `None` when the span is done.
    pub(crate) async fn next(&mut self) -> Result<Option<Part>, NodeError> {
        let mut timeouts = 0;
        while let Some((segment, window)) = self.segments.front_mut() {
            let Some((from, to)) = window.range() else {
                let blocks = window.blocks();
                self.segments.pop_front();
                if let Some((_, next)) = self.segments.front_mut() {
                    next.resize(blocks);
                }
                continue;
            };
            match self.node.logs_between(from, to, &segment.filter).await {
                Ok(logs) => {
                    window.answered(logs.len());
                    self.progress.next_block = to.saturating_add(1);
                    self.progress.found = self.progress.found.saturating_add(logs.len());
                    self.report();
                    return Ok(Some(Part { from, to, logs }));
                }
                Err(error) if error.may_be_a_limit() && timeouts < TIMEOUTS_IN_A_ROW && window.refused() => {
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
