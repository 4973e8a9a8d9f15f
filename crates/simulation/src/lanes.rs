//! Threads shared fairly: a caller has at most half of them, so that nobody's jobs hold up everybody's.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Semaphore;

use crate::line::Line;
use crate::work::{WorkError, WorkPool, failed};

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
    /// Attempts that wait for the node use no core: they have threads of their own.
    waiting_threads: Arc<Semaphore>,
    lanes: Mutex<HashMap<Caller, Lane>>,
}

#[derive(Debug)]
struct Lane {
    line: Arc<Line>,
    /// Jobs under way, whatever they wait for, and those that were admitted.
    jobs: usize,
    /// Those that were admitted and have not begun.
    coming: usize,
}

/// A job that was admitted and has not begun: it counts as one that waits.
pub struct Admitted<'a> {
    lanes: &'a Lanes,
    caller: Caller,
}

/// A job under way in its caller's lane.
pub(crate) struct InLane<'a> {
    lanes: &'a Lanes,
    caller: Caller,
    line: Arc<Line>,
}

impl Lanes {
    pub(crate) fn over(threads: Arc<WorkPool>) -> Self {
        let waiting_threads = Arc::new(Semaphore::new(threads.thread_count().max(2)));
        Self { threads, waiting_threads, lanes: Mutex::default() }
    }

    fn lanes(&self) -> MutexGuard<'_, HashMap<Caller, Lane>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many jobs wait in all lanes.
    pub(crate) fn waiting(&self) -> usize {
        self.lanes().values().map(|lane| lane.line.waiting()).sum()
    }

    /// Turns a caller's next job away where its lane is full.
    pub(crate) fn admit(&self, caller: Caller) -> Result<Admitted<'_>, WorkError> {
        let mut lanes = self.lanes();
        if let Some(lane) = lanes.get(&caller) {
            self.threads.admit(&lane.line, lane.coming)?;
        }
        let lane = self.lane(&mut lanes, caller);
        lane.jobs += 1;
        lane.coming += 1;
        Ok(Admitted { lanes: self, caller })
    }

    fn lane<'a>(&self, lanes: &'a mut HashMap<Caller, Lane>, caller: Caller) -> &'a mut Lane {
        let width = (self.threads.thread_count() / 2).max(1);
        let new = || Lane { line: Arc::new(self.threads.part(width)), jobs: 0, coming: 0 };
        lanes.entry(caller).or_insert_with(new)
    }

    /// A job of a caller ended. Counted under the lock, so that nobody enters a lane that is being forgotten.
    fn leave(&self, caller: Caller, coming: usize) {
        let mut lanes = self.lanes();
        let Some(lane) = lanes.get_mut(&caller) else { return };
        lane.jobs -= 1;
        lane.coming -= coming;
        if lane.jobs == 0 {
            lanes.remove(&caller);
        }
    }

    /// Counts a job of a caller.
    pub(crate) fn enter(&self, caller: Caller) -> InLane<'_> {
        let mut lanes = self.lanes();
        let lane = self.lane(&mut lanes, caller);
        lane.jobs += 1;
        InLane { lanes: self, caller, line: Arc::clone(&lane.line) }
    }
}

impl InLane<'_> {
    /// Runs one attempt of the job on a thread. What somebody waits for goes before what begins.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        attempt: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, WorkError> {
        let place = self.line.join(true).await.map_err(failed)?;
        // the place goes with the attempt: a caller that hangs up does not free a thread that is still busy
        let attempt = move || {
            let answer = attempt();
            drop(place);
            answer
        };
        self.lanes.threads.in_turn(self.caller != Caller::SERVICE, attempt).await
    }

    /// Runs an attempt that waits for the node.
    pub(crate) async fn run_waiting<T: Send + 'static>(
        &self,
        attempt: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, WorkError> {
        let place = self.line.join(true).await.map_err(failed)?;
        let permit = Arc::clone(&self.lanes.waiting_threads).acquire_owned().await.map_err(failed)?;
        let attempt = move || {
            let answer = attempt();
            drop((place, permit));
            answer
        };
        tokio::task::spawn_blocking(attempt).await.map_err(failed)
    }
}

impl Drop for InLane<'_> {
    fn drop(&mut self) {
        self.lanes.leave(self.caller, 0);
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        self.lanes.leave(self.caller, 1);
    }
}
