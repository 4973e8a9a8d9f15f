//! Scans blocks for logs: several ranges at once, as large as the node accepts, returned in the order of blocks.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use futures::{StreamExt, future::BoxFuture, stream::FuturesOrdered};
use tokio::{sync::oneshot, time::sleep_until};

use crate::{
    DiscoveryProgress, Node, NodeError,
    node::{LogFilter, PlacedLog},
    spans::Segment,
    unread::{self, Stretch},
};

/// How often a running scan logs its progress.
const REPORT_EVERY: Duration = Duration::from_secs(5);

/// Time after which the remaining time is estimated.
const ESTIMATE_AFTER: Duration = Duration::from_secs(20);

/// Remaining time from which a scan logs advice.
const LONG: Duration = Duration::from_secs(10 * 60);

/// Most ranges under way at once.
const RANGES_AT_ONCE: usize = 6;

/// The same if every event of every pool is asked for: answers are megabytes.
const LARGE_RANGES_AT_ONCE: usize = 2;

/// Time between two ranges: at most 30 a second, even if the node allows more.
const BETWEEN_RANGES: Duration = Duration::from_millis(33);

/// Failures in a row at one block after which a scan finds out how far blocks cannot be read, and passes over them.
const TRIES: u32 = 5;

/// Failures in a row after which a scan that is waited for gives up.
const MOST_TRIES: u32 = 20;

/// Longest pauses for which every range has to fail before a scan passes over all of them: a node may be at fault for a
/// moment only.
const PAUSES_OF_ALL: u32 = 6;

/// A range, and its result: the logs of its first blocks, and the block after them at which reading failed.
type Answer = (Segment, Result<(Vec<PlacedLog>, Option<u64>), NodeError>);

/// Why a part of a scan has no logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// No node has the logs of these blocks any more.
    Pruned,
    /// Every node fails at these blocks, and answers for others.
    Unread,
    /// Every node fails at the logs of every range of blocks, and answers otherwise.
    AllUnread,
}

/// A scan under way. After a failed request it goes on from the same range; after [`TRIES`] failures it passes over the
/// blocks that cannot be read, or later over all if none can be.
pub(crate) struct Scan {
    node: Node,
    /// Blocks not asked for yet.
    segments: VecDeque<Segment>,
    running: FuturesOrdered<BoxFuture<'static, Answer>>,
    next_at: tokio::time::Instant,
    /// First block whose logs a node has, as far as known.
    first_logs: u64,
    /// First and longest pause after failures.
    pauses: (Duration, Duration),
    /// Failures since the last answer, and when the first of them was.
    failures: u32,
    failing_since: Option<Instant>,
    /// Block at which the newest requests failed, and how often.
    failed: (u64, u32),
    /// Blocks that cannot be read.
    unread: Option<Stretch>,
    progress: DiscoveryProgress,
    /// Number of blocks that were answered.
    searched: u64,
    started: Instant,
    reported: Instant,
    advised: bool,
}

/// The logs of a range, both ends included.
pub(crate) struct Part {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) logs: Vec<PlacedLog>,
    /// What the logs were asked for by.
    pub(crate) filter: LogFilter,
    /// Why it has no logs; `None` if the blocks were searched.
    pub(crate) missing: Option<Missing>,
}

impl Scan {
    /// A scan of segments, in order. Segments without blocks are skipped: a node that replaces blocks may be seen while
    /// its head is below the first block to search. `pauses` are the first and the longest pause after failures.
    pub(crate) fn new(node: &Node, mut segments: Vec<Segment>, pauses: (Duration, Duration)) -> Self {
        segments.retain(|segment| segment.from <= segment.to);
        let from = segments.first().map_or(0, |segment| segment.from);
        let to = segments.last().map_or(0, |segment| segment.to);
        let progress =
            DiscoveryProgress { from_block: from, next_block: from, to_block: to, found: 0, seconds_left: None };
        Self {
            node: node.clone(),
            segments: segments.into(),
            running: FuturesOrdered::new(),
            next_at: tokio::time::Instant::now(),
            first_logs: 0,
            pauses,
            failures: 0,
            failing_since: None,
            failed: (0, 0),
            unread: None,
            progress,
            searched: 0,
            started: Instant::now(),
            reported: Instant::now(),
            advised: false,
        }
    }

    pub(crate) const fn progress(&self) -> DiscoveryProgress {
        self.progress
    }

    /// Returns the logs of the next range; `None` when all segments are done.
    pub(crate) async fn next(&mut self) -> Result<Option<Part>, NodeError> {
        loop {
            let room = self.has_room();
            if self.running.is_empty() && !room {
                return Ok(None);
            }
            let (Segment { from, to, filter }, result) = tokio::select! {
                biased;
                () = sleep_until(self.next_at), if room => {
                    self.ask_for_more();
                    continue;
                }
                Some(answer) = self.running.next() => answer,
            };
            match result {
                Ok((logs, failed_at)) => {
                    let last = failed_at.map_or(to, |failed_at| failed_at - 1);
                    if last < to {
                        self.ask_first(Segment { from: last + 1, to, filter: filter.clone() });
                    }
                    self.searched += last - from + 1;
                    (self.failed, self.failures, self.failing_since) = ((0, 0), 0, None);
                    self.note(last, logs.len());
                    return Ok(Some(Part { from, to: last, logs, filter, missing: None }));
                }
                Err(NodeError::Pruned { first_block, .. }) if first_block > from => {
                    self.first_logs = first_block;
                    let last = to.min(first_block - 1);
                    if last < to {
                        self.ask_first(Segment { from: first_block, to, filter: filter.clone() });
                    }
                    self.note(last, 0);
                    return Ok(Some(Part { from, to: last, logs: Vec::new(), filter, missing: Some(Missing::Pruned) }));
                }
                Err(error) => {
                    self.note_failure(from, &error);
                    let Some(stretch) = self.unreadable(from, &filter).await else {
                        self.ask_first_after_pause(Segment { from, to, filter });
                        return Err(error);
                    };
                    self.failures = 0;
                    let by_hash = stretch.first_by_hash();
                    let last = to.min(if from < by_hash { by_hash - 1 } else { stretch.last });
                    if last < to {
                        self.ask_first(Segment { from: last + 1, to, filter: filter.clone() });
                    }
                    let node = self.node.clone();
                    let logs =
                        if from < by_hash { None } else { unread::logs_by_hash(&node, from, last, &filter).await };
                    self.note(last, logs.as_ref().map_or(0, Vec::len));
                    let missing = if stretch.is_all { Missing::AllUnread } else { Missing::Unread };
                    let missing = logs.is_none().then_some(missing);
                    return Ok(Some(Part { from, to: last, logs: logs.unwrap_or_default(), filter, missing }));
                }
            }
        }
    }

    /// Returns the logs of the next range as [`Self::next`] does. After the failure of a node that answers otherwise it
    /// asks again, so that blocks that cannot be read are passed over.
    pub(crate) async fn next_patiently(&mut self) -> Result<Option<Part>, NodeError> {
        loop {
            match self.next().await {
                Err(error) if !error.is_rate_limit() && self.failures <= MOST_TRIES => {
                    if self.node.height().await.is_err() {
                        return Err(error);
                    }
                    tracing::debug!(%error, "asking for logs again");
                }
                result => return result,
            }
        }
    }

    /// Returns whether the newest request failed, and the one before it too.
    pub(crate) const fn failed_again(&self) -> bool {
        self.failures > 1
    }

    fn note_failure(&mut self, from: u64, error: &NodeError) {
        self.failures = self.failures.saturating_add(1);
        self.failing_since.get_or_insert_with(Instant::now);
        self.failed = match self.failed {
            _ if error.is_rate_limit() => (from, 0),
            (block, times) if block == from => (from, times.saturating_add(1)),
            _ => (from, 1),
        };
    }

    /// Returns the stretch that a block is in, after requests for it failed: at once if it is known, or else after
    /// [`TRIES`] failures. `None` if that is not known, or if the node does not answer at all.
    async fn unreadable(&mut self, from: u64, filter: &LogFilter) -> Option<Stretch> {
        if let Some(known) = self.unread.filter(|known| known.contains(from)) {
            return Some(known);
        }
        if self.failed.1 < TRIES {
            return None;
        }
        self.failed = (from, 0);
        let node = self.node.clone();
        let DiscoveryProgress { from_block, to_block, .. } = self.progress;
        let stretch = unread::stretch_from(&node, from, (from_block, to_block), filter).await?;
        let failed_for = self.failing_since.map_or(Duration::ZERO, |since| since.elapsed());
        if stretch.is_all && failed_for < self.pauses.1.saturating_mul(PAUSES_OF_ALL) {
            return None;
        }
        self.unread = Some(stretch);
        Some(stretch)
    }

    fn has_room(&self) -> bool {
        let Some(segment) = self.segments.front() else { return false };
        let (_, steady) = self.node.range_blocks(segment.from, &segment.filter);
        let most = match (steady, segment.filter.emitters.is_empty()) {
            (false, _) => 1,
            (true, true) => LARGE_RANGES_AT_ONCE,
            (true, false) => RANGES_AT_ONCE,
        };
        self.running.len() < most
    }

    fn ask_for_more(&mut self) {
        let Some(segment) = self.segments.front_mut() else { return };
        let (blocks, _) = self.node.range_blocks(segment.from, &segment.filter);
        // Blocks that are known to have no logs are skipped at once.
        let unread = self.unread.filter(|unread| unread.contains(segment.from));
        let first = unread.map_or(self.first_logs, |unread| self.first_logs.max(unread.last.saturating_add(1)));
        let blocks = blocks.max(first.saturating_sub(segment.from));
        let to = segment.from.saturating_add(blocks - 1).min(segment.to);
        let range = Segment { to, ..segment.clone() };
        if to == segment.to {
            self.segments.pop_front();
        } else {
            segment.from = to + 1;
        }
        self.next_at = tokio::time::Instant::now() + BETWEEN_RANGES;
        self.running.push_back(ask(self.node.clone(), range, Duration::ZERO));
    }

    fn ask_first(&mut self, range: Segment) {
        self.running.push_front(ask(self.node.clone(), range, Duration::ZERO));
    }

    /// Asks for a range again after a pause that doubles with each failure.
    fn ask_first_after_pause(&mut self, range: Segment) {
        let (first, longest) = self.pauses;
        let pause = first.saturating_mul(1 << self.failures.saturating_sub(1).min(16)).min(longest);
        self.running.push_front(ask(self.node.clone(), range, pause));
    }

    fn note(&mut self, to: u64, found: usize) {
        self.progress.next_block = to.saturating_add(1);
        self.progress.found = self.progress.found.saturating_add(found);
        let elapsed = self.started.elapsed();
        if elapsed >= ESTIMATE_AFTER && self.searched > 0 {
            let left = self.progress.to_block.saturating_sub(to) as f64;
            let seconds = left * elapsed.as_secs_f64() / self.searched as f64;
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive number of seconds")]
            let seconds = seconds.ceil() as u64;
            self.progress.seconds_left = Some(seconds);
            self.advise(Duration::from_secs(seconds));
        }
        self.report();
    }

    /// Logs once how long the scan takes, and what to do about it.
    fn advise(&mut self, left: Duration) {
        if self.advised || left < LONG {
            return;
        }
        self.advised = true;
        let blocks = self.segments.front().map_or(0, |segment| self.node.range_blocks(segment.from, &segment.filter).0);
        tracing::warn!(
            minutes_left = left.as_secs() / 60,
            blocks_a_request = blocks,
            "the search for pools takes long at this node; quotes use the pools found so far. Name a node that accepts longer \
             ranges of logs, or start from a snapshot of the market (--snapshot, docs/internals/following.md)"
        );
    }

    fn report(&mut self) {
        if self.reported.elapsed() < REPORT_EVERY {
            return;
        }
        self.reported = Instant::now();
        let DiscoveryProgress { next_block, to_block, found, seconds_left, .. } = self.progress;
        let blocks_per_second = self.searched as f64 / self.started.elapsed().as_secs_f64();
        tracing::info!(next_block, to_block, found, blocks_per_second, seconds_left, "looking for pools");
    }
}

/// Asks for a range in a task after a pause, so that it proceeds while the caller does something else. The task ends when
/// the result is no longer wanted.
fn ask(node: Node, range: Segment, pause: Duration) -> BoxFuture<'static, Answer> {
    let (mut done, answer) = oneshot::channel();
    let asked = range.clone();
    tokio::spawn(async move {
        let logs = async {
            tokio::time::sleep(pause).await;
            node.first_logs_between(asked.from, asked.to, &asked.filter).await
        };
        let logs = tokio::select! {
            () = done.closed() => return,
            logs = logs => logs,
        };
        // The receiver may be gone by now.
        let _ = done.send(logs);
    });
    Box::pin(async move {
        let ended = |_| Err(NodeError::Unsupported { what: "a request whose task has ended" });
        (range, answer.await.unwrap_or_else(ended))
    })
}
