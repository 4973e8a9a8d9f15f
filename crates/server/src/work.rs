//! Solves run on a bounded number of threads; when too many wait, new ones are turned away at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Semaphore;

use crate::problem::{Code, Problem};

/// The bound on work that keeps a core busy.
#[derive(Debug)]
pub struct WorkPool {
    threads: Arc<Semaphore>,
    waiting: AtomicUsize,
    queue: usize,
}

/// Counts one waiter for as long as it lives.
struct Waiter<'a>(&'a AtomicUsize);

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl WorkPool {
    /// A pool that runs `threads` jobs at once while at most `queue` wait.
    pub fn new(threads: usize, queue: usize) -> Self {
        Self { threads: Arc::new(Semaphore::new(threads.max(1))), waiting: AtomicUsize::new(0), queue }
    }

    /// Runs a job on a thread that may be kept busy.
    ///
    /// # Errors
    /// `OVERLOADED` when too many wait; an internal problem when the job panics.
    pub async fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
        let ahead = self.waiting.fetch_add(1, Ordering::Relaxed);
        let waiter = Waiter(&self.waiting);
        if ahead > self.queue {
            return Err(Problem::new(Code::Overloaded, "more quotes wait than the service accepts"));
        }
        let permit = Arc::clone(&self.threads).acquire_owned().await.map_err(Problem::internal)?;
        drop(waiter);
        // the permit goes with the job: a client that hangs up does not free a thread that is still busy
        let job = move || {
            let answer = job();
            drop(permit);
            answer
        };
        tokio::task::spawn_blocking(job).await.map_err(Problem::internal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[tokio::test]
    async fn jobs_beyond_the_queue_are_turned_away_and_the_others_are_done() {
        let pool = Arc::new(WorkPool::new(1, 0));
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
        while pool.waiting.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        let third = pool.run(|| 3).await;
        assert_eq!(third.unwrap_err().code, Code::Overloaded);
        go.send(()).unwrap();
        assert_eq!(busy.await.unwrap().unwrap(), 1);
        assert_eq!(second.await.unwrap().unwrap(), 2);
    }

    #[tokio::test]
    async fn a_panic_in_a_job_is_an_internal_problem_and_frees_its_thread() {
        let pool = WorkPool::new(1, 0);
        assert_eq!(pool.run(|| panic!("boom")).await.map(|_: ()| ()).unwrap_err().code, Code::Internal);
        assert_eq!(pool.run(|| 1).await.unwrap(), 1);
    }
}
