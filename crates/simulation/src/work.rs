//! Work that keeps a core busy runs on a bounded number of threads; what would wait too long is turned away at once, so that
//! what was accepted is not held up by what comes later.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

/// Why a job did not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkError {
    /// It would have waited too long.
    #[error("more work waits than the service accepts")]
    Overloaded,
    /// It panicked, or the runtime is being shut down. The log has the cause, which is not for clients.
    #[error("the service failed at a job")]
    Failed,
}

/// The bound on work that keeps a core busy.
#[derive(Debug)]
pub struct WorkPool {
    threads: Arc<Semaphore>,
    thread_count: usize,
    bounds: Bounds,
    waiting: AtomicUsize,
    turned_away: AtomicU64,
    job_time: Arc<JobTime>,
}

/// How much may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Most jobs that wait for a thread.
    pub jobs: usize,
    /// Longest wait that a job is accepted for, judged by how many wait and how long jobs have taken lately.
    pub wait: Duration,
}

/// How long jobs have taken lately, in microseconds: an average in which a job counts a sixteenth.
#[derive(Debug, Default)]
struct JobTime(AtomicU64);

impl JobTime {
    fn note(&self, took: Duration) {
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).min(u64::MAX / 32);
        // a race between two jobs loses one of them: an average that bears it
        let before_us = self.0.load(Ordering::Relaxed);
        let after_us = if before_us == 0 { took_us } else { (before_us * 15 + took_us) / 16 };
        self.0.store(after_us, Ordering::Relaxed);
    }

    fn us(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts one waiter for as long as it lives.
pub(crate) struct Waiter<'a> {
    waiting: &'a AtomicUsize,
    /// How many waited before it came.
    pub(crate) ahead: usize,
}

impl<'a> Waiter<'a> {
    pub(crate) fn join(waiting: &'a AtomicUsize) -> Self {
        Self { waiting, ahead: waiting.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl WorkPool {
    /// A pool that runs `threads` jobs at once while others wait within bounds.
    pub fn new(threads: usize, bounds: Bounds) -> Self {
        let threads = threads.max(1);
        Self {
            threads: Arc::new(Semaphore::new(threads)),
            thread_count: threads,
            bounds,
            waiting: AtomicUsize::new(0),
            turned_away: AtomicU64::new(0),
            job_time: Arc::default(),
        }
    }

    /// How many jobs wait for a thread now.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// How many jobs were turned away so far.
    pub fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }

    /// The longest wait that a job is accepted for.
    pub(crate) fn wait(&self) -> Duration {
        self.bounds.wait
    }

    /// How many jobs run at once.
    pub(crate) fn thread_count(&self) -> usize {
        self.thread_count
    }

    /// Counts a job that was turned away.
    pub(crate) fn turn_away(&self) -> WorkError {
        self.turned_away.fetch_add(1, Ordering::Relaxed);
        WorkError::Overloaded
    }

    /// Whether a job that finds `ahead` others waiting for so many threads would wait longer than that.
    pub(crate) fn is_full(&self, ahead: usize, threads: usize, wait: Duration) -> bool {
        let expected_us = (ahead as u64).saturating_mul(self.job_time.us()) / threads.max(1) as u64;
        ahead > self.bounds.jobs || u128::from(expected_us) > wait.as_micros()
    }

    /// Runs a job on a thread that may be kept busy.
    ///
    /// # Errors
    /// [`WorkError`] when it would wait too long, and when the job panics.
    pub async fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, WorkError> {
        self.run_within(self.bounds.wait, job).await
    }

    /// As [`WorkPool::run`], for a job that is accepted for another wait.
    ///
    /// # Errors
    /// As [`WorkPool::run`].
    pub async fn run_within<T: Send + 'static>(
        &self,
        wait: Duration,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, WorkError> {
        let waiter = Waiter::join(&self.waiting);
        if self.is_full(waiter.ahead, self.thread_count, wait) {
            return Err(self.turn_away());
        }
        self.run_after(waiter, job).await
    }

    /// Runs a job that is part of one that was accepted, however many wait.
    pub(crate) async fn go_on<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, WorkError> {
        self.run_after(Waiter::join(&self.waiting), job).await
    }

    async fn run_after<T: Send + 'static>(
        &self,
        waiter: Waiter<'_>,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, WorkError> {
        let permit = Arc::clone(&self.threads).acquire_owned().await.map_err(failed)?;
        drop(waiter);
        let job_time = Arc::clone(&self.job_time);
        // the permit goes with the job: a client that hangs up does not free a thread that is still busy
        let job = move || {
            let started = Instant::now();
            let answer = job();
            job_time.note(started.elapsed());
            drop(permit);
            answer
        };
        tokio::task::spawn_blocking(job).await.map_err(failed)
    }
}

fn failed(cause: impl std::fmt::Display) -> WorkError {
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

    #[test]
    fn the_slower_jobs_are_the_fewer_may_wait() {
        let wait = Duration::from_millis(250);
        let pool = WorkPool::new(2, Bounds { jobs: 100, wait });
        let is_full = |ahead| pool.is_full(ahead, 2, wait);
        assert!(!is_full(100) && is_full(101), "until a job was seen the count alone bounds");
        pool.job_time.note(Duration::from_millis(10));
        assert!(!is_full(50) && is_full(51));
        for _ in 0..200 {
            pool.job_time.note(Duration::from_millis(100));
        }
        assert!(!is_full(5) && is_full(6));
        pool.job_time.note(Duration::MAX);
        assert!(!is_full(0), "nobody waits: whatever comes is tried");
    }

    #[tokio::test]
    async fn a_panic_in_a_job_is_an_error_and_frees_its_thread() {
        let pool = WorkPool::new(1, BOUNDS);
        let boom: Result<(), _> = pool.run(|| panic!("boom")).await;
        assert!(matches!(boom, Err(WorkError::Failed)));
        assert_eq!(pool.run(|| 1).await.unwrap(), 1);
    }
}
