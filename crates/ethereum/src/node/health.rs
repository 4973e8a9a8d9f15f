//! A node's health: errors, latency, lag and faults, and the score that they make. Pure: times are arguments.

use std::{collections::VecDeque, fmt, time::Duration};

use tokio::time::Instant;

use crate::NodeError;

/// Latencies that are kept of each kind.
const SAMPLES: usize = 64;

/// Latencies needed for a tail.
const ENOUGH_SAMPLES: usize = 8;

/// Weight of the newest outcome in the average share of failures.
const NEWEST_WEIGHT: f64 = 0.2;

/// First and longest rest after failures in a row; each failure doubles it.
const RESTS: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// Highest score of a node that rests.
const RESTING: u8 = 15;

/// Rate limits in a row after which a node counts as failing.
const BUSY_IN_A_ROW: u32 = 16;

/// Average shares of messages with contract calls that fail: above the first the node is at fault, below the second it
/// is no longer.
const CALLS_FAIL: (f64, f64) = (0.5, 0.25);

/// Most outcomes that count at once: more change the average by less than a thousandth.
const MOST_OUTCOMES: u32 = 32;

/// Kinds of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Headers, chain ids, single words.
    Quick,
    /// Calls and logs, which take longer.
    Heavy,
    /// Calls with overridden code: as heavy, and asked first of nodes that support overrides.
    Overridden,
}

/// A fault of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeFault {
    /// It serves another chain.
    WrongChain {
        /// The chain id that it reports.
        got: u64,
    },
    /// At this height its block differs from that of the other nodes.
    Disagrees {
        /// Height of the block.
        height: u64,
    },
    /// It left out logs of the block at this height.
    MissingLogs {
        /// Height of the block.
        height: u64,
    },
    /// It answers most contract calls with errors of its own, whatever else it answers.
    CallsFail {
        /// The newest failure; shows at most scheme and host of a URL.
        why: String,
    },
    /// Its latest answers were failures.
    Failing {
        /// The newest failure; shows at most scheme and host of a URL.
        why: String,
    },
    /// Its head is behind that of the other nodes.
    Behind {
        /// Number of blocks.
        blocks: u64,
    },
}

impl NodeFault {
    /// Returns a word for it, for metrics and readiness.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::WrongChain { .. } => "wrong_chain",
            Self::Disagrees { .. } => "disagrees",
            Self::MissingLogs { .. } => "missing_logs",
            Self::CallsFail { .. } => "calls_fail",
            Self::Failing { .. } => "failing",
            Self::Behind { .. } => "behind",
        }
    }

    /// Returns the highest score of a node with this fault.
    const fn cap(&self) -> u8 {
        match self {
            Self::WrongChain { .. } => 0,
            Self::Disagrees { .. } => 5,
            Self::MissingLogs { .. } => 10,
            Self::CallsFail { .. } | Self::Failing { .. } => RESTING,
            Self::Behind { .. } => 20,
        }
    }
}

impl fmt::Display for NodeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongChain { got } => write!(f, "it serves chain {got}"),
            Self::Disagrees { height } => {
                write!(f, "its block at height {height} differs from that of the other nodes")
            }
            Self::MissingLogs { height } => write!(f, "it left out logs of the block at height {height}"),
            Self::CallsFail { why } => write!(f, "most contract calls fail, the last one thus: {why}"),
            Self::Failing { why } => f.write_str(why),
            Self::Behind { blocks } => write!(f, "its head is {blocks} blocks behind"),
        }
    }
}

/// The newest latencies of a kind.
#[derive(Clone, Debug, Default)]
struct Latencies(VecDeque<Duration>);

impl Latencies {
    fn push(&mut self, latency: Duration) {
        if self.0.len() == SAMPLES {
            self.0.pop_front();
        }
        self.0.push_back(latency);
    }

    /// Returns the latency that `percent` of the samples do not exceed.
    fn percentile(&self, percent: usize) -> Option<Duration> {
        let mut sorted: Vec<Duration> = self.0.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1))).copied()
    }
}

/// Upper bounds of the buckets of [`CallTimes`], in seconds; a last bucket holds longer times.
pub const CALL_SECONDS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];

/// Durations of a node's answers since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallTimes {
    /// Answers that took at most each of [`CALL_SECONDS`] and more than the bound before.
    pub buckets: [u64; CALL_SECONDS.len() + 1],
    /// Sum of all durations.
    pub total: Duration,
}

impl CallTimes {
    fn push(&mut self, took: Duration) {
        let bucket = CALL_SECONDS.partition_point(|bound| *bound < took.as_secs_f64());
        self.buckets[bucket] += 1;
        self.total = self.total.saturating_add(took);
    }
}

/// What became of messages with contract calls.
#[derive(Clone, Debug, Default)]
pub(super) struct CallOutcomes {
    /// Those that were answered, also by a revert.
    pub(super) answered: u32,
    /// Those that failed with errors of the node's own.
    pub(super) failed: u32,
    /// The newest of these errors.
    pub(super) error: Option<String>,
}

/// The health of one node.
#[derive(Clone, Debug, Default)]
pub(super) struct Health {
    /// Durations of its answers.
    pub(super) calls: CallTimes,
    failed_share: f64,
    in_a_row: u32,
    rests_until: Option<Instant>,
    /// Latencies of quick and of heavy requests.
    latencies: [Latencies; 2],
    /// Height of the newest block that it reported.
    pub(super) head: Option<u64>,
    /// Chain that it reported, if it is not ours.
    pub(super) wrong_chain: Option<u64>,
    /// Height at which its block differs from the others'.
    pub(super) disagrees: Option<u64>,
    /// Height at which it left out logs.
    pub(super) missing_logs: Option<u64>,
    /// Blocks behind the others, if too many.
    pub(super) behind: Option<u64>,
    failing: Option<String>,
    /// Average share of messages with contract calls that failed.
    calls_failed_share: f64,
    calls_failed_in_a_row: u32,
    calls_rest_until: Option<Instant>,
    /// The newest failure of a contract call, while most fail.
    calls_fail: Option<String>,
    /// Questions put to it.
    pub(super) asked: u64,
    /// Questions that it failed to answer.
    pub(super) failed: u64,
    /// Questions put to it because another node was slow.
    pub(super) hedged: u64,
}

impl Health {
    /// Notes an answer.
    pub(super) fn answered(&mut self, class: Class, latency: Duration) {
        self.asked += 1;
        self.calls.push(latency);
        self.latencies[kind(class)].push(latency);
        self.failed_share *= 1.0 - NEWEST_WEIGHT;
        self.in_a_row = 0;
        self.rests_until = None;
        self.failing = None;
    }

    /// Notes a failure. Errors that say nothing of the node's health, such as an unknown block, are not counted.
    pub(super) fn failed(&mut self, error: &NodeError, now: Instant) {
        self.asked += 1;
        match error {
            NodeError::UnknownBlock { .. } | NodeError::Unsupported { .. } | NodeError::Pruned { .. } => return,
            // A limit, which is learnt.
            error if error.is_too_large() => return,
            NodeError::WrongChain { got, .. } => self.wrong_chain = Some(*got),
            NodeError::MissingLogs { number, .. } => self.missing_logs = Some(*number),
            _ => {}
        }
        self.failed += 1;
        self.failed_share = self.failed_share * (1.0 - NEWEST_WEIGHT) + NEWEST_WEIGHT;
        self.in_a_row = self.in_a_row.saturating_add(1);
        // A JSON-RPC error may be the request's fault: a node rests only after several.
        let lenient = matches!(error, NodeError::Rpc { .. });
        if lenient && self.in_a_row < 4 {
            return;
        }
        // A rate limit is no fault, unless the node answers nothing at all any more.
        let busy = error.is_rate_limit() && self.in_a_row < BUSY_IN_A_ROW;
        self.rests_until = Some(now + rest(self.in_a_row));
        self.failing = (!busy).then(|| error.to_string());
    }

    /// Notes what became of contract calls. A node that fails at most of them is at fault, even while it answers
    /// everything else.
    pub(super) fn called(&mut self, outcomes: CallOutcomes, now: Instant) {
        let CallOutcomes { answered, failed, error } = outcomes;
        let mut note = |newest: f64| {
            self.calls_failed_share = self.calls_failed_share * (1.0 - NEWEST_WEIGHT) + NEWEST_WEIGHT * newest;
        };
        (0..failed.min(MOST_OUTCOMES)).for_each(|_| note(1.0));
        (0..answered.min(MOST_OUTCOMES)).for_each(|_| note(0.0));
        if answered > 0 {
            (self.calls_failed_in_a_row, self.calls_rest_until) = (0, None);
        } else if failed > 0 {
            self.calls_failed_in_a_row = self.calls_failed_in_a_row.saturating_add(1);
            self.calls_rest_until = Some(now + rest(self.calls_failed_in_a_row));
        }
        if self.calls_failed_share > CALLS_FAIL.0 {
            self.calls_fail = error.or_else(|| self.calls_fail.take());
        } else if self.calls_failed_share < CALLS_FAIL.1 {
            self.calls_fail = None;
        }
    }

    /// Notes that another node answered first, after this one had been asked for `latency`.
    pub(super) fn overtaken(&mut self, class: Class, latency: Duration) {
        self.asked += 1;
        self.latencies[kind(class)].push(latency);
    }

    /// Returns the latency after which a second node is asked: the 95th percentile.
    pub(super) fn tail(&self, class: Class) -> Option<Duration> {
        let latencies = &self.latencies[kind(class)];
        (latencies.0.len() >= ENOUGH_SAMPLES).then(|| latencies.percentile(95)).flatten()
    }

    /// Returns the worst fault.
    pub(super) fn fault(&self) -> Option<NodeFault> {
        let wrong_chain = self.wrong_chain.map(|got| NodeFault::WrongChain { got });
        wrong_chain
            .or_else(|| self.disagrees.map(|height| NodeFault::Disagrees { height }))
            .or_else(|| self.missing_logs.map(|height| NodeFault::MissingLogs { height }))
            .or_else(|| self.calls_fail.clone().map(|why| NodeFault::CallsFail { why }))
            .or_else(|| self.failing.clone().map(|why| NodeFault::Failing { why }))
            .or_else(|| self.behind.map(|blocks| NodeFault::Behind { blocks }))
    }

    /// Returns whether it failed so often that it is not asked for a while.
    pub(super) fn rests(&self, now: Instant) -> bool {
        self.rests_until.is_some_and(|until| now < until)
    }

    /// Returns whether its contract calls failed so often that it is not asked for a while.
    fn calls_rest(&self, now: Instant) -> bool {
        self.calls_rest_until.is_some_and(|until| now < until)
    }

    /// Returns the score, 0 to 100: failures cost up to 60, latency up to 30, and a fault caps the rest. A failing node
    /// whose rest is over is tried again, uncapped.
    pub(super) fn score(&self, now: Instant) -> u8 {
        let median = self.latencies.iter().filter_map(|latencies| latencies.percentile(50)).max().unwrap_or_default();
        let slow = (median.as_secs_f64() * 15.0).min(30.0);
        let score = 100.0 - 60.0 * self.failed_share - slow;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0..=100")]
        let score = score.round().clamp(0.0, 100.0) as u8;
        match self.fault() {
            None if self.rests(now) => score.min(RESTING),
            Some(NodeFault::CallsFail { .. }) if !self.calls_rest(now) && !self.rests(now) => score,
            Some(NodeFault::Failing { .. }) if !self.rests(now) => score,
            Some(fault) => score.min(fault.cap()),
            None => score,
        }
    }
}

/// Returns how long a node rests after so many failures in a row.
fn rest(in_a_row: u32) -> Duration {
    RESTS.0.saturating_mul(1 << in_a_row.saturating_sub(1).min(10)).min(RESTS.1)
}

/// Returns the index of a class's latencies.
const fn kind(class: Class) -> usize {
    match class {
        Class::Quick => 0,
        Class::Heavy | Class::Overridden => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn unreachable() -> NodeError {
        NodeError::Unreachable { endpoint: "http://a".into(), why: "refused".into() }
    }

    #[test]
    fn a_failing_node_rests_longer_each_time_and_is_forgiven_by_one_answer() {
        let (mut health, now) = (Health::default(), Instant::now());
        assert_eq!(health.score(now), 100);
        for rest in [500, 1_000, 2_000] {
            health.failed(&unreachable(), now);
            assert!(health.rests(now + ms(rest - 1)) && !health.rests(now + ms(rest)));
            assert!(health.score(now) <= 15);
        }
        (0..20).for_each(|_| health.failed(&unreachable(), now));
        assert!(!health.rests(now + RESTS.1), "never longer than the longest");
        assert!(health.score(now + RESTS.1) > 15, "after its rest it is tried again");
        health.answered(Class::Quick, ms(5));
        assert_eq!((health.fault(), health.rests(now)), (None, false));
    }

    #[test]
    fn a_node_that_fails_at_most_calls_is_at_fault_whatever_else_it_answers() {
        let (mut health, now) = (Health::default(), Instant::now());
        let failed = || CallOutcomes { failed: 1, error: Some("Internal error".into()), ..CallOutcomes::default() };
        let answered = || CallOutcomes { answered: 1, ..CallOutcomes::default() };
        for _ in 0..3 {
            health.called(failed(), now);
            health.answered(Class::Quick, ms(5));
        }
        assert_eq!(health.fault(), None, "a few are no fault");
        health.called(failed(), now);
        health.answered(Class::Quick, ms(5));
        let fault = health.fault().unwrap();
        assert_eq!(fault.name(), "calls_fail");
        assert!(fault.to_string().contains("Internal error"), "{fault}");
        assert!(health.score(now) <= 15);
        assert!(health.score(now + RESTS.1) > 15, "after its rest it is tried again");
        (0..5).for_each(|_| health.called(answered(), now));
        assert_eq!(health.fault(), None);
        (0..40).for_each(|_| {
            health.called(answered(), now);
            health.called(failed(), now);
        });
        (0..40).for_each(|_| {
            (0..4).for_each(|_| health.called(answered(), now));
            health.called(failed(), now);
        });
        assert_eq!(health.fault(), None, "a fifth of them is no fault");
    }

    #[test]
    fn a_block_that_it_does_not_have_yet_is_no_failure() {
        let (mut health, now) = (Health::default(), Instant::now());
        health.failed(&NodeError::UnknownBlock { hash: Default::default() }, now);
        assert_eq!((health.score(now), health.failed), (100, 0));
    }

    #[test]
    fn a_slow_node_scores_less_and_its_tail_is_that_of_its_newest_answers() {
        let (mut fast, mut slow) = (Health::default(), Health::default());
        for index in 0..200 {
            fast.answered(Class::Heavy, ms(if index % 20 == 0 { 900 } else { 10 }));
            slow.answered(Class::Heavy, ms(1_200));
        }
        let now = Instant::now();
        assert!(slow.score(now) + 10 < fast.score(now), "{} and {}", slow.score(now), fast.score(now));
        assert_eq!(slow.tail(Class::Heavy), Some(ms(1_200)));
        assert_eq!(fast.tail(Class::Quick), None, "nothing was asked of that kind");
    }

    #[test]
    fn lies_weigh_more_than_lag() {
        let now = Instant::now();
        let behind = Health { behind: Some(5), ..Health::default() };
        let lies = Health { disagrees: Some(5), behind: Some(5), ..Health::default() };
        assert!(lies.score(now) < behind.score(now));
        assert_eq!(lies.fault().unwrap().name(), "disagrees");
    }
}
