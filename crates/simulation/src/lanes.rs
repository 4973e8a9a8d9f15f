//! Shares threads fairly: a caller's jobs run on at most half of them, so that they cannot hold up everybody else's.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::line::{Kept, Line};
use crate::work::{WorkError, WorkPool, failed};

/// The caller that a job counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Caller(pub u64);

impl Caller {
    /// The service itself, for its audit.
    pub const SERVICE: Self = Self(0);
}

/// One lane for each caller that has jobs under way.
#[derive(Debug)]
pub(crate) struct Lanes {
    threads: Arc<WorkPool>,
    /// Threads for attempts that wait for the node, which use no core.
    waiting_threads: Arc<Semaphore>,
    lanes: Mutex<HashMap<Caller, Lane>>,
}

/// The jobs of one caller.
#[derive(Debug)]
struct Lane {
    line: Arc<Line>,
    /// Jobs that were admitted or are under way.
    jobs: usize,
    /// Jobs that were admitted and have not begun.
    admitted: usize,
}

/// A job that was admitted and has not begun. It counts as waiting until this is dropped.
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

    /// Returns how many jobs wait in all lanes.
    pub(crate) fn waiting(&self) -> usize {
        self.lanes.lock().values().map(|lane| lane.line.waiting()).sum()
    }

    /// Admits a caller's next job unless its lane is full.
    pub(crate) fn admit(&self, caller: Caller) -> Result<Admitted<'_>, WorkError> {
        let mut lanes = self.lanes.lock();
        if let Some(lane) = lanes.get(&caller) {
            self.threads.admit(&lane.line, lane.admitted)?;
        }
        let lane = self.lane(&mut lanes, caller);
        lane.jobs += 1;
        lane.admitted += 1;
        Ok(Admitted { lanes: self, caller })
    }

    fn lane<'a>(&self, lanes: &'a mut HashMap<Caller, Lane>, caller: Caller) -> &'a mut Lane {
        let width = (self.threads.thread_count() / 2).max(1);
        let new = || Lane { line: Arc::new(self.threads.part(width)), jobs: 0, admitted: 0 };
        lanes.entry(caller).or_insert_with(new)
    }

    /// Counts the end of a caller's job, and drops the lane after its last one.
    fn leave(&self, caller: Caller, admitted: usize) {
        let mut lanes = self.lanes.lock();
        let Some(lane) = lanes.get_mut(&caller) else { return };
        lane.jobs -= 1;
        lane.admitted -= admitted;
        if lane.jobs == 0 {
            lanes.remove(&caller);
        }
    }

    /// Begins a job in its caller's lane.
    pub(crate) fn enter(&self, caller: Caller) -> InLane<'_> {
        let mut lanes = self.lanes.lock();
        let lane = self.lane(&mut lanes, caller);
        lane.jobs += 1;
        InLane { lanes: self, caller, line: Arc::clone(&lane.line) }
    }
}

impl InLane<'_> {
    /// Runs an attempt on a solving thread, before jobs that have not begun. The service's own jobs wait behind those.
    /// A thread that was kept for it is let go where the attempt waits for others of its caller.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        mut kept: Option<Kept>,
        attempt: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, WorkError> {
        let mut place = self.line.join(true);
        let place = match place.try_recv() {
            Ok(place) => place,
            Err(_) => {
                kept = None;
                place.await.map_err(failed)?
            }
        };
        // Moved into the attempt: a caller that hangs up does not free a busy thread.
        let attempt = move || {
            let answer = attempt();
            drop(place);
            answer
        };
        self.lanes.threads.in_turn(self.caller != Caller::SERVICE, kept, attempt).await
    }

    /// Runs an attempt that waits for the node on a thread for such attempts.
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
