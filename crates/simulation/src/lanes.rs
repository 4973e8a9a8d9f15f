//! Threads shared fairly: a caller has at most half of them, so that nobody's jobs hold up everybody's.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;

use crate::work::{Waiter, WorkError, WorkPool};

/// Who wants a job done: callers that are counted apart have different numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Caller(pub u64);

impl Caller {
    /// The service itself: its audit.
    pub const SERVICE: Self = Self(0);
}

/// The lanes of the callers that have jobs under way.
#[derive(Debug)]
pub(crate) struct Lanes {
    threads: Arc<WorkPool>,
    lanes: Mutex<HashMap<Caller, Arc<Lane>>>,
}

#[derive(Debug)]
struct Lane {
    permits: Arc<Semaphore>,
    /// Jobs under way, whatever they wait for.
    jobs: AtomicUsize,
    /// Jobs that wait for a thread.
    waiting: AtomicUsize,
}

/// A job under way in its caller's lane.
pub(crate) struct InLane<'a> {
    lanes: &'a Lanes,
    caller: Caller,
    lane: Arc<Lane>,
}

impl Lanes {
    pub(crate) fn over(threads: Arc<WorkPool>) -> Self {
        Self { threads, lanes: Mutex::default() }
    }

    fn lanes(&self) -> MutexGuard<'_, HashMap<Caller, Arc<Lane>>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many threads one caller may have.
    fn width(&self) -> usize {
        (self.threads.thread_count() / 2).max(1)
    }

    /// Counts a job of a caller.
    pub(crate) fn enter(&self, caller: Caller) -> InLane<'_> {
        let mut lanes = self.lanes();
        let new = || {
            let permits = Arc::new(Semaphore::new(self.width()));
            Arc::new(Lane { permits, jobs: AtomicUsize::new(0), waiting: AtomicUsize::new(0) })
        };
        let lane = Arc::clone(lanes.entry(caller).or_insert_with(new));
        lane.jobs.fetch_add(1, Ordering::Relaxed);
        InLane { lanes: self, caller, lane }
    }
}

impl InLane<'_> {
    /// Runs one attempt of the job on a thread. A `fresh` job is turned away where it would wait too long; one that is under way goes on.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        fresh: bool,
        attempt: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, WorkError> {
        let threads = &self.lanes.threads;
        let waiter = Waiter::join(&self.lane.waiting);
        if fresh && threads.is_full(waiter.ahead, self.lanes.width(), threads.wait()) {
            return Err(threads.turn_away());
        }
        let permit = Arc::clone(&self.lane.permits).acquire_owned().await.map_err(|_| WorkError::Failed)?;
        drop(waiter);
        // the permit goes with the attempt: a caller that hangs up does not free a thread that is still busy
        let attempt = move || {
            let answer = attempt();
            drop(permit);
            answer
        };
        if fresh { threads.run(attempt).await } else { threads.go_on(attempt).await }
    }
}

impl Drop for InLane<'_> {
    fn drop(&mut self) {
        // counted under the lock, so that nobody enters a lane that is being forgotten
        let mut lanes = self.lanes.lanes();
        if self.lane.jobs.fetch_sub(1, Ordering::Relaxed) == 1 {
            lanes.remove(&self.caller);
        }
    }
}
