//! Bounds the requests to one node: how many at once, and how fast.

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

/// The gate of one node.
pub(super) struct Gate {
    node: String,
    any: Semaphore,
    /// Fewer permits for background requests, so that they leave room for others.
    background: Semaphore,
    pace: Mutex<Pace>,
}

impl Gate {
    pub(super) fn new(concurrency: usize, node: String) -> Self {
        let all = concurrency.max(1);
        let (any, background) = (Semaphore::new(all), Semaphore::new(all - all / 4));
        Self { node, any, background, pace: Mutex::new(Pace::new(Instant::now())) }
    }

    /// Waits until a message of so many calls may be sent; `None` if a request that is not background would wait longer than
    /// `longest`.
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
