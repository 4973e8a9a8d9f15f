//! Runs work that keeps a core busy on a bounded number of threads. A job that would wait too long is refused at once,
//! so that accepted jobs are not held up by later ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

use crate::line::{Kept, Line};

/// How long a thread is kept that has nothing to do.
const IDLE: Duration = Duration::from_secs(600);

/// Why a job has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkError {
    /// It would have waited too long.
    #[error("more work waits than the service accepts")]
    Overloaded,
    /// It panicked, or the runtime is shutting down. The cause is in the log and is not shown to clients.
    #[error("the service failed at a job")]
    Failed,
}

/// Threads for work that keeps a core busy, and the queue before them.
#[derive(Debug)]
pub struct WorkPool {
    line: Arc<Line>,
    threads: Threads,
    thread_count: usize,
    bounds: Bounds,
    turned_away: AtomicU64,
    job_time: Arc<JobTime>,
}

/// The threads. Those of the runtime that serves requests would take turns, and each would keep the working memory of a
/// solve.
#[derive(Debug)]
struct Threads(Option<Runtime>);

/// Bounds on waiting jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Most jobs that wait for a thread.
    pub jobs: usize,
    /// Longest expected wait of an accepted job, estimated from the waiting jobs and the recent job time.
    pub wait: Duration,
}

/// Recent job time in microseconds: an average in which the newest job weighs a sixteenth.
#[derive(Debug, Default)]
struct JobTime(AtomicU64);

impl JobTime {
    fn note(&self, took: Duration) {
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).min(u64::MAX / 32);
        // A race between two jobs loses one of them, which an average tolerates.
        let before_us = self.0.load(Ordering::Relaxed);
        let after_us = if before_us == 0 { took_us } else { (before_us * 15 + took_us) / 16 };
        self.0.store(after_us, Ordering::Relaxed);
    }

    fn get(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed))
    }
}

impl WorkPool {
    /// A pool that runs `threads` jobs at once and lets others wait within bounds.
    pub fn new(threads: usize, bounds: Bounds) -> Self {
        let thread_count = threads.max(1);
        let line = Arc::new(Line::new(thread_count, bounds.jobs.saturating_add(1)));
        let threads = Threads::new(thread_count);
        Self { line, threads, thread_count, bounds, turned_away: AtomicU64::new(0), job_time: Arc::default() }
    }

    /// Returns how many jobs wait for a thread.
    pub fn waiting(&self) -> usize {
        self.line.waiting()
    }

    /// Returns how many jobs were refused so far.
    pub fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }

    /// Returns how many jobs run at once.
    pub(crate) fn thread_count(&self) -> usize {
        self.thread_count
    }

    /// A queue for some of the threads.
    pub(crate) fn part(&self, threads: usize) -> Line {
        Line::new(threads, self.bounds.jobs.saturating_add(1))
    }

    /// Refuses a job that would be refused now, before anything is done for it.
    ///
    /// # Errors
    /// [`WorkError::Overloaded`] when it would wait too long.
    pub fn check_room(&self) -> Result<(), WorkError> {
        self.admit(&self.line, 0)
    }

    /// Refuses a job that a queue has no room for, which `admitted` other jobs are about to join.
    pub(crate) fn admit(&self, line: &Line, admitted: usize) -> Result<(), WorkError> {
        if line.has_room(admitted, self.job_time.get(), self.bounds.wait) {
            return Ok(());
        }
        self.turned_away.fetch_add(1, Ordering::Relaxed);
        Err(WorkError::Overloaded)
    }

    /// Runs a job on a thread that may be kept busy.
    ///
    /// # Errors
    /// [`WorkError`] when the job would wait too long, and when it panics.
    pub async fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, WorkError> {
        self.check_room()?;
        self.in_turn(false, None, job).await
    }

    /// Runs a job as [`run`](Self::run) does, and keeps its place for the job that continues it at once.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_and_keep<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<(T, Kept), WorkError> {
        let line = Arc::clone(&self.line);
        // Kept before the place is free.
        self.run(move || (job(), line.keep())).await
    }

    /// Runs a job however many wait: before jobs that begin if it `continues` accepted work, in its turn otherwise. A
    /// place that was kept for it is let go once it has one.
    pub(crate) async fn in_turn<T: Send + 'static>(
        &self,
        continues: bool,
        kept: Option<Kept>,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, WorkError> {
        let place = self.line.join(continues);
        drop(kept);
        let place = place.await.map_err(failed)?;
        let job_time = Arc::clone(&self.job_time);
        // Moved into the job: a client that hangs up does not free a busy thread.
        let job = move || {
            let started = Instant::now();
            let answer = job();
            job_time.note(started.elapsed());
            drop(place);
            answer
        };
        self.threads.run(job).await
    }
}

impl Threads {
    /// Makes at most `count` threads, each when it is first needed.
    fn new(count: usize) -> Self {
        let mut threads = Builder::new_current_thread();
        let threads = threads.thread_name("solver").max_blocking_threads(count).thread_keep_alive(IDLE).build();
        Self(threads.inspect_err(|error| tracing::error!(%error, "there are no threads for solves")).ok())
    }

    async fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, WorkError> {
        let threads = self.0.as_ref().ok_or(WorkError::Failed)?;
        threads.spawn_blocking(job).await.map_err(failed)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // Does not wait for jobs: a pool may be dropped on a thread that must not wait.
        if let Some(threads) = self.0.take() {
            threads.shutdown_background();
        }
    }
}

pub(crate) fn failed(cause: impl std::fmt::Display) -> WorkError {
    tracing::error!(%cause, "a job failed");
    WorkError::Failed
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    const BOUNDS: Bounds = Bounds { jobs: 0, wait: Duration::from_secs(3_600) };

    #[tokio::test]
    async fn jobs_beyond_the_queue_are_turned_away_and_the_others_are_done() {
        let pool = Arc::new(WorkPool::new(1, BOUNDS));
        let (go, gate) = channel::<()>();
        let (started, has_started) = tokio::sync::oneshot::channel();
        let busy = tokio::spawn({
            let pool = Arc::clone(&pool);
            async move {
                pool.run(move || {
                    let _ = started.send(());
                    gate.recv().unwrap();
                    1
                })
                .await
            }
        });
        has_started.await.unwrap();
        let second = tokio::spawn({
            let pool = Arc::clone(&pool);
            async move { pool.run(|| 2).await }
        });
        while pool.waiting() == 0 {
            tokio::task::yield_now().await;
        }
        let third = pool.run(|| 3).await;
        assert!(matches!(third, Err(WorkError::Overloaded)));
        assert_eq!(pool.turned_away(), 1);
        go.send(()).unwrap();
        assert_eq!(busy.await.unwrap().unwrap(), 1);
        assert_eq!(second.await.unwrap().unwrap(), 2);
    }

    #[tokio::test]
    async fn a_job_that_continues_another_at_once_goes_before_whoever_waits() {
        let pool = Arc::new(WorkPool::new(1, BOUNDS));
        let (answer, kept) = pool.run_and_keep(|| 1).await.unwrap();
        assert_eq!(answer, 1);
        let begins = tokio::spawn({
            let pool = Arc::clone(&pool);
            async move { pool.run(|| 3).await }
        });
        while pool.waiting() == 0 && !begins.is_finished() {
            tokio::task::yield_now().await;
        }
        assert!(!begins.is_finished(), "the place is kept");
        assert_eq!(pool.in_turn(true, Some(kept), || 2).await, Ok(2));
        assert_eq!(begins.await.unwrap(), Ok(3));
        // A job that nothing continues leaves its place to others.
        drop(pool.run_and_keep(|| 4).await.unwrap());
        assert_eq!(pool.run(|| 5).await, Ok(5));
    }

    #[test]
    fn one_job_that_took_very_long_does_not_close_the_pool() {
        let pool = WorkPool::new(2, Bounds { jobs: 100, wait: Duration::from_millis(250) });
        pool.job_time.note(Duration::MAX);
        assert_eq!(pool.admit(&pool.line, 0), Ok(()), "nobody waits: whatever comes is tried");
    }

    #[tokio::test]
    async fn a_panic_in_a_job_is_an_error_and_frees_its_thread() {
        let pool = WorkPool::new(1, BOUNDS);
        let boom: Result<(), _> = pool.run(|| panic!("boom")).await;
        assert!(matches!(boom, Err(WorkError::Failed)));
        assert_eq!(pool.run(|| 1).await.unwrap(), 1);
    }
}
