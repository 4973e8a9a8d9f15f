//! Bounds the requests to one node: how many at once, more for a node that is far away, and how fast.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, sleep},
};

use super::pace::{Pace, Urgency};

tokio::task_local! {
    static URGENCY: Urgency;
}

/// Runs work whose requests have an urgency, or the lower one of the work around it.
pub(super) async fn at<T>(urgency: Urgency, work: impl Future<Output = T>) -> T {
    let around = URGENCY.try_with(|around| *around).unwrap_or_default();
    URGENCY.scope(urgency.max(around), work).await
}

/// Runs work that nobody waits for.
pub(crate) async fn in_background<T>(work: impl Future<Output = T>) -> T {
    at(Urgency::Background, work).await
}

/// Permits of a request under way.
pub(super) struct Permits<'a> {
    _background: Option<SemaphorePermit<'a>>,
    _any: Option<SemaphorePermit<'a>>,
}

/// Latency from which a node is far away: what it can be asked in a second then depends on the requests under way.
const FAR: Duration = Duration::from_millis(20);

/// Answers after which it is decided whether a node is far away, by the quickest.
const ANSWERS: usize = 4;

/// Factor by which more requests may be under way to a node that is far away.
pub(super) const FAR_TIMES: usize = 4;

/// The gate of one node.
pub(super) struct Gate {
    node: String,
    any: Semaphore,
    /// Fewer permits for background requests, so that they leave room for others.
    background: Semaphore,
    concurrency: usize,
    distance: Mutex<Distance>,
    pace: Mutex<Pace>,
}

/// How long the first answers took.
struct Distance {
    answers: usize,
    quickest: Duration,
}

impl Gate {
    pub(super) fn new(concurrency: usize, node: String) -> Self {
        let all = concurrency.max(1);
        let (any, background) = (Semaphore::new(all), Semaphore::new(all - all / 4));
        let distance = Mutex::new(Distance { answers: 0, quickest: Duration::MAX });
        Self { node, any, background, concurrency: all, distance, pace: Mutex::new(Pace::new(Instant::now())) }
    }

    /// Notes how long an answer took. Once the node is known to be far away, more requests may be under way.
    pub(super) fn took(&self, took: Duration) {
        let mut distance = self.distance.lock();
        if distance.answers == ANSWERS {
            return;
        }
        distance.answers += 1;
        distance.quickest = distance.quickest.min(took);
        if distance.answers == ANSWERS && distance.quickest >= FAR {
            let more = self.concurrency * (FAR_TIMES - 1);
            self.any.add_permits(more);
            self.background.add_permits(more - more / 4);
            tracing::debug!(node = self.node, quickest = ?distance.quickest, "the node is far away: it is asked more at once");
        }
    }

    /// Waits until a message of so many calls may be sent; `None` if a request that is not background would wait longer
    /// than `longest`.
    pub(super) async fn enter(&self, calls: usize, longest: Duration) -> Option<Permits<'_>> {
        let since = Instant::now();
        let urgency = URGENCY.try_with(|urgency| *urgency).unwrap_or_default();
        // Nobody closes a semaphore.
        let background = if urgency == Urgency::Background { self.background.acquire().await.ok() } else { None };
        loop {
            let taken = self.pace.lock().take(calls, urgency, Instant::now());
            let Err(wait) = taken else { break };
            if urgency != Urgency::Background && since.elapsed() + wait > longest {
                return None;
            }
            sleep(wait).await;
        }
        Some(Permits { _background: background, _any: self.any.acquire().await.ok() })
    }

    /// Returns the most calls of a message, so that urgent requests do not wait long behind it.
    pub(super) fn most_calls(&self) -> usize {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
        self.pace.lock().rate().map_or(usize::MAX, |rate| (rate / 4.0).max(1.0) as usize)
    }

    /// Returns the calls a second, if the node limits them.
    pub(super) fn rate(&self) -> Option<f64> {
        self.pace.lock().rate()
    }

    /// Starts from a stored rate.
    pub(super) fn recall(&self, calls_per_s: f64) {
        self.pace.lock().recall(calls_per_s);
    }

    /// Notes that calls were answered.
    pub(super) fn answered(&self, calls: usize) {
        self.pace.lock().answered(calls, Instant::now());
    }

    /// Notes a rate limit; `retry_after` is the pause that the node asked for.
    pub(super) fn refused(&self, sent_at: Instant, retry_after: Option<Duration>) {
        let mut pace = self.pace.lock();
        if pace.refused(sent_at, retry_after, Instant::now()) {
            let calls_per_second = pace.rate().unwrap_or_default();
            tracing::warn!(
                node = self.node,
                calls_per_second,
                "the node limits the rate of calls: it is asked more slowly"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many more background requests, and how many more requests in all, may be sent.
    fn room(gate: &Gate) -> [usize; 2] {
        [&gate.background, &gate.any].map(Semaphore::available_permits)
    }

    #[test]
    fn more_may_be_under_way_to_a_node_that_is_far_away() {
        let ms = Duration::from_millis;
        let (far, near) = (Gate::new(8, "far".into()), Gate::new(8, "near".into()));
        for took in [300, 100, 100, 100] {
            assert_eq!(room(&far), [6, 8]);
            far.took(ms(took));
        }
        [300, 100, 2, 100, 100].into_iter().for_each(|took| near.took(ms(took)));
        assert_eq!((room(&far), room(&near)), ([24, 32], [6, 8]));
        far.took(ms(100));
        assert_eq!(room(&far), [24, 32], "once");
    }
}
