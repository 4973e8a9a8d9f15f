//! The rate of calls to a node: unlimited until the node reports a rate limit, and learnt from then on. Pure: times are
//! arguments.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

/// Urgency of a request. If a node limits the rate, the first are served first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// A quote waits.
    #[default]
    Quote,
    /// The market of the next block waits.
    Block,
    /// Nobody waits: the search for pools, and reads between blocks.
    Background,
}

/// Time over which answers are counted to learn the rate.
const WINDOW: Duration = Duration::from_secs(1);

/// Share of an observed rate that is used, and factor on the rate after each further refusal.
const CAUTION: f64 = 0.85;

/// Lowest rate, and lowest rate after the first refusal, in calls a second.
const LOWEST: (f64, f64) = (0.5, 5.0);

/// Growth of the rate per second while requests wait, as shares: up to 90% of the rate that was refused, and above.
const GROWTH: (f64, f64) = (0.1, 0.01);

/// Time without a refusal after which the limit may be gone, and the growth from then on.
const QUIET: (Duration, f64) = (Duration::from_secs(10), 0.25);

/// Rate above which a node counts as unlimited, in calls a second.
const UNLIMITED: f64 = 1_000.0;

/// First and longest pause after refusals in a row that state no pause.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(3));

/// Longest pause that a node can ask for.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);

/// A token bucket whose rate is learnt from refusals. A message takes a unit per call, and may leave a debt; the less
/// urgent it is, the fuller the bucket must be.
#[derive(Debug)]
pub(super) struct Pace {
    /// Calls a second; `None` before the first refusal.
    rate: Option<f64>,
    /// The last rate that was refused.
    refused: f64,
    level: f64,
    filled_at: Instant,
    paused_until: Instant,
    refused_at: Option<Instant>,
    /// When the node last refused, or else the start.
    limited_at: Instant,
    in_a_row: u32,
    grown_at: Instant,
    /// Calls answered within the window.
    answered: VecDeque<(Instant, f64)>,
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            rate: None,
            refused: f64::INFINITY,
            level: 0.0,
            filled_at: now,
            paused_until: now,
            refused_at: None,
            limited_at: now,
            in_a_row: 0,
            grown_at: now,
            answered: VecDeque::new(),
        }
    }

    /// Returns the calls a second, if the node limits them.
    pub(super) const fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// Starts from a stored rate.
    pub(super) fn recall(&mut self, calls_per_s: f64) {
        if self.rate.is_none() && (LOWEST.0..UNLIMITED).contains(&calls_per_s) {
            (self.rate, self.refused) = (Some(calls_per_s), calls_per_s / CAUTION);
        }
    }

    /// Takes the units for a message of so many calls, or returns how long to wait before trying again.
    pub(super) fn take(&mut self, calls: usize, urgency: Urgency, now: Instant) -> Result<(), Duration> {
        let Some(rate) = self.rate else { return Ok(()) };
        if now < self.paused_until {
            return Err(self.paused_until - now);
        }
        let most = (rate / 2.0).max(2.0);
        let since = now.duration_since(self.filled_at.max(self.paused_until).min(now));
        self.level = (self.level + rate * since.as_secs_f64()).min(most);
        self.filled_at = now;
        let wanted = match urgency {
            Urgency::Quote => 1.0,
            Urgency::Block => (most * 0.25).max(1.0),
            Urgency::Background => (most * 0.5).max(1.0),
        };
        if self.level < wanted {
            self.grow(rate, now);
            return Err(Duration::from_secs_f64((wanted - self.level) / rate).max(Duration::from_millis(1)));
        }
        self.level -= calls as f64;
        Ok(())
    }

    /// Grows the rate while requests wait.
    fn grow(&mut self, rate: f64, now: Instant) {
        let since = now.duration_since(self.grown_at).min(WINDOW);
        self.grown_at = now;
        let growth = match now.duration_since(self.limited_at) {
            quiet if quiet >= QUIET.0 => QUIET.1,
            _ if rate < self.refused * 0.9 => GROWTH.0,
            _ => GROWTH.1,
        };
        let rate = rate + rate * growth * since.as_secs_f64();
        self.rate = (rate < UNLIMITED).then_some(rate);
    }

    /// Notes that calls were answered.
    pub(super) fn answered(&mut self, calls: usize, now: Instant) {
        self.in_a_row = 0;
        self.answered.push_back((now, calls as f64));
        self.forget_before(now);
    }

    /// Notes a rate limit on a message; `retry_after` is the pause that the node asked for. Returns whether it is the
    /// first.
    pub(super) fn refused(&mut self, sent_at: Instant, retry_after: Option<Duration>, now: Instant) -> bool {
        if self.refused_at.is_some_and(|at| sent_at <= at) {
            // Of the same burst as the last one.
            return false;
        }
        let first = self.rate.is_none();
        self.forget_before(now);
        let rate = match self.rate {
            None => self.answered.iter().map(|(_, calls)| calls).sum::<f64>().max(LOWEST.1 / CAUTION) * CAUTION,
            // No answer since the last one: the node is not ready at all, which says nothing about the rate.
            Some(rate) if self.in_a_row > 0 => rate,
            Some(rate) => {
                self.refused = rate;
                (rate * CAUTION).max(LOWEST.0)
            }
        };
        self.rate = Some(rate);
        let pause = PAUSES.0.saturating_mul(1 << self.in_a_row.min(8)).min(PAUSES.1);
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.paused_until = now + retry_after.unwrap_or(pause).min(LONGEST_RETRY_AFTER);
        (self.refused_at, self.limited_at, self.level, self.filled_at) = (Some(now), now, 0.0, now);
        first
    }

    fn forget_before(&mut self, now: Instant) {
        while self.answered.front().is_some_and(|(at, _)| *at + WINDOW < now) {
            self.answered.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// A provider's token bucket: calls per second, and as many at once.
    struct Provider {
        rate: f64,
        level: f64,
        at: Instant,
    }

    impl Provider {
        fn takes(&mut self, now: Instant) -> bool {
            self.level = (self.level + self.rate * now.duration_since(self.at).as_secs_f64()).min(self.rate);
            self.at = now;
            let takes = self.level >= 1.0;
            self.level -= f64::from(u8::from(takes));
            takes
        }
    }

    /// Makes single calls as fast as the pace allows, for some seconds. Returns the numbers of answered and refused
    /// calls.
    fn run(pace: &mut Pace, provider: &mut Provider, urgency: Urgency, seconds: u64, now: &mut Instant) -> (u32, u32) {
        let (mut answered, mut refused) = (0, 0);
        let end = *now + Duration::from_secs(seconds);
        while *now < end {
            if let Err(wait) = pace.take(1, urgency, *now) {
                *now += wait;
                continue;
            }
            *now += MS;
            if provider.takes(*now) {
                pace.answered(1, *now);
                answered += 1;
            } else {
                pace.refused(*now - MS, Some(Duration::from_secs(1)), *now);
                refused += 1;
            }
        }
        (answered, refused)
    }

    #[test]
    fn a_rate_is_learnt_used_and_kept_to() {
        let mut now = Instant::now();
        for rate in [3.0, 25.0, 300.0] {
            let (mut pace, mut provider) = (Pace::new(now), Provider { rate, level: rate, at: now });
            run(&mut pace, &mut provider, Urgency::Background, 20, &mut now);
            let (answered, refused) = run(&mut pace, &mut provider, Urgency::Background, 60, &mut now);
            assert!(f64::from(answered) > rate * 60.0 * 0.7, "{answered} at {rate}");
            assert!(f64::from(refused) < 12.0, "{refused} at {rate}");
        }
    }

    #[test]
    fn a_limit_that_is_gone_is_outgrown_within_half_a_minute() {
        let mut now = Instant::now();
        let mut pace = Pace::new(now);
        for _ in 0..40 {
            pace.answered(1, now);
            pace.refused(now, None, now + MS);
            now += Duration::from_secs(1);
        }
        assert!(pace.rate().unwrap() < 1.0, "{pace:?}");
        let mut provider = Provider { rate: 10_000.0, level: 10_000.0, at: now };
        run(&mut pace, &mut provider, Urgency::Block, 35, &mut now);
        assert!(pace.rate().is_none_or(|rate| rate > 50.0), "{:?}", pace.rate());
    }

    #[test]
    fn after_a_minute_of_refusals_the_calls_of_some_blocks_take_eight_seconds() {
        let (start, mut pace) = (Instant::now(), Pace::new(Instant::now()));
        let (mut now, mut last) = (start, start);
        while last < start + Duration::from_secs(60) {
            match pace.take(1, Urgency::Block, now) {
                Err(wait) => now += wait,
                Ok(()) => {
                    // A JSON-RPC error says nothing of a pause.
                    pace.refused(now, None, now + MS);
                    (last, now) = (now, now + MS);
                }
            }
        }
        let mut answered = 0;
        while answered < 25 {
            match pace.take(1, Urgency::Block, now) {
                Err(wait) => now += wait,
                Ok(()) => {
                    now += MS;
                    pace.answered(1, now);
                    answered += 1;
                }
            }
        }
        assert!(now - last < Duration::from_secs(8), "{:?}", now - last);
    }

    #[test]
    fn a_node_that_refuses_nothing_is_not_held_back() {
        let now = Instant::now();
        let mut pace = Pace::new(now);
        assert!((0..10_000).all(|_| pace.take(50, Urgency::Background, now).is_ok()));
    }

    #[test]
    fn what_a_quote_waits_for_goes_first() {
        let now = Instant::now();
        let mut pace = Pace::new(now);
        pace.answered(25, now);
        assert!(pace.refused(now, Some(MS), now + MS), "the first time");
        let later = now + Duration::from_secs(5);
        while pace.take(1, Urgency::Background, later).is_ok() {}
        assert!(pace.take(1, Urgency::Block, later).is_ok());
        while pace.take(1, Urgency::Block, later).is_ok() {}
        assert!(pace.take(1, Urgency::Quote, later).is_ok());
    }

    #[test]
    fn a_node_says_how_long_to_wait_and_a_burst_counts_once() {
        let now = Instant::now();
        let mut pace = Pace::new(now);
        pace.answered(100, now);
        pace.refused(now, Some(Duration::from_secs(3)), now + MS);
        let rate = pace.rate();
        for _ in 0..8 {
            assert!(!pace.refused(now, Some(Duration::from_secs(9)), now + MS * 2));
        }
        assert_eq!(pace.rate(), rate);
        let wait = pace.take(1, Urgency::Quote, now + MS).unwrap_err();
        assert_eq!(wait, Duration::from_secs(3));
    }
}
