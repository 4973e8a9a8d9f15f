//! Lets requests to one node through: so many at once, and no faster than it answers.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, sleep},
};

use super::pace::{Pace, Urgency};

tokio::task_local! {
    static URGENCY: Urgency;
}

/// Works on something whose requests are that urgent, or less where it is part of something less urgent.
pub(super) async fn at<T>(urgency: Urgency, work: impl Future<Output = T>) -> T {
    let around = URGENCY.try_with(|around| *around).unwrap_or_default();
    URGENCY.scope(urgency.max(around), work).await
}

/// Works on something that nobody waits for.
pub(crate) async fn in_background<T>(work: impl Future<Output = T>) -> T {
    at(Urgency::Background, work).await
}

/// What a request holds while it is under way.
pub(super) struct Permits<'a> {
    _background: Option<SemaphorePermit<'a>>,
    _any: Option<SemaphorePermit<'a>>,
}

/// The way to one node.
pub(super) struct Gate {
    node: String,
    any: Semaphore,
    /// Requests that nobody waits for leave room for others.
    background: Semaphore,
    pace: Mutex<Pace>,
}

impl Gate {
    pub(super) fn new(concurrency: usize, node: String) -> Self {
        let all = concurrency.max(1);
        let (any, background) = (Semaphore::new(all), Semaphore::new(all - all / 4));
        Self { node, any, background, pace: Mutex::new(Pace::new(Instant::now())) }
    }

    /// Waits until a message of so many calls may be sent; nothing where somebody would wait for longer than `longest`.
    pub(super) async fn enter(&self, calls: usize, longest: Duration) -> Option<Permits<'_>> {
        let since = Instant::now();
        let urgency = URGENCY.try_with(|urgency| *urgency).unwrap_or_default();
        // Nobody closes a semaphore.
        let background = if urgency == Urgency::Background { self.background.acquire().await.ok() } else { None };
        loop {
            let taken = self.pace().take(calls, urgency, Instant::now());
            let Err(wait) = taken else { break };
            if urgency != Urgency::Background && since.elapsed() + wait > longest {
                return None;
            }
            sleep(wait).await;
        }
        Some(Permits { _background: background, _any: self.any.acquire().await.ok() })
    }

    /// Most calls in a message, so that what is more urgent does not wait long behind it.
    pub(super) fn most_calls(&self) -> usize {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
        self.pace().rate().map_or(usize::MAX, |rate| (rate / 4.0).max(1.0) as usize)
    }

    /// Calls a second, where the node limits them.
    pub(super) fn rate(&self) -> Option<f64> {
        self.pace().rate()
    }

    /// Begins with a rate that was kept to earlier.
    pub(super) fn recall(&self, calls_per_s: f64) {
        self.pace().recall(calls_per_s);
    }

    pub(super) fn answered(&self, calls: usize) {
        self.pace().answered(calls, Instant::now());
    }

    /// The node refused to be asked more often, and may have said when to come back.
    pub(super) fn refused(&self, sent_at: Instant, told: Option<Duration>) {
        let mut pace = self.pace();
        if pace.refused(sent_at, told, Instant::now()) {
            let calls_per_second = pace.rate().unwrap_or_default();
            tracing::warn!(
                node = self.node,
                calls_per_second,
                "the node limits how often it is asked: it is asked more slowly"
            );
        }
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        // A panic elsewhere leaves a rate behind that is at worst not the best.
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
