//! Threads for a part of a solve that needs nothing else of it.
//!
//! Both parts run whether another thread is free or not, and give the same: threads change how long an answer takes, and
//! not the answer.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Threads besides those that call the solver; `None` if there are none. They stay, because a new thread would spend a
/// millisecond on memory.
static HELPERS: OnceLock<Option<Helpers>> = OnceLock::new();

/// Threads that are solving, or preparing the market of a block.
static BUSY: AtomicUsize = AtomicUsize::new(0);

struct Helpers {
    pool: ThreadPool,
    /// Most threads that are busy at one time, as long as callers keep to that themselves.
    most: usize,
}

impl Helpers {
    /// Starts one thread less than `most`; `None` if that is none, or if the system has no more.
    fn start(most: usize) -> Option<Self> {
        let named = |at| format!("solve-helper-{at}");
        let pool = ThreadPoolBuilder::new().num_threads(most.saturating_sub(1)).thread_name(named);
        // Starts no pool without threads: rayon would give it as many as there are cores.
        Some(Self { pool: Some(pool).filter(|_| most > 1)?.build().ok()?, most })
    }
}

/// Lets a solve use a second thread while fewer than `most` threads of this process solve or prepare a market. Without
/// this call every solve runs on the thread that called it. The first call decides for the whole process. Returns
/// whether there is a second thread.
pub fn use_threads(most: usize) -> bool {
    HELPERS.get_or_init(|| Helpers::start(most)).is_some()
}

/// Counts a thread as busy for as long as it lives.
pub(crate) struct Busy(());

impl Busy {
    /// Counts the thread that calls this.
    pub(crate) fn this_thread() -> Self {
        BUSY.fetch_add(1, Ordering::Relaxed);
        Self(())
    }

    /// Counts a further thread, if fewer than `most` are busy.
    fn another(most: usize) -> Option<Self> {
        let next = |busy| (busy < most).then_some(busy + 1);
        BUSY.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok().map(|_| Self(()))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        BUSY.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A thread that is free, and counted as busy from now on.
pub(crate) struct Helper<'a> {
    pool: &'a ThreadPool,
    busy: Busy,
}

impl Helper<'_> {
    /// Returns a thread that is free, if there is one.
    pub(crate) fn free() -> Option<Self> {
        let helpers = HELPERS.get()?.as_ref()?;
        Some(Self { pool: &helpers.pool, busy: Busy::another(helpers.most)? })
    }

    /// Runs both, the first on that thread. Its result is always there: a panic in it is passed on.
    pub(crate) fn both<A: Send, B>(
        self,
        first: impl FnOnce() -> A + Send,
        second: impl FnOnce() -> B,
    ) -> (Option<A>, B) {
        let (mut done, Self { pool, busy }) = (None, self);
        let second = pool.in_place_scope(|scope| {
            scope.spawn(|_| {
                done = Some(first());
                drop(busy);
            });
            second()
        });
        (done, second)
    }
}

#[cfg(test)]
mod tests {
    use braid_primitives::U256;

    use super::*;
    use crate::prepare::active::is_large;
    use crate::testing::{prepared, request, token};
    use crate::{Prepared, solve};

    /// Returns a large market whose pools disagree by up to 4% each way.
    fn disagreeing() -> Prepared {
        const ETHER: u128 = 10_u128.pow(18);
        let mut state = 7_u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let pools: Vec<((u32, u32), [u128; 2])> = (0..4_000)
            .map(|at| {
                let (hub, other) = (u32::try_from(random(8)).unwrap(), 8 + at % 400);
                let ends = if at < 64 { (at % 8, (at + 1 + at / 8 % 7) % 8) } else { (hub, other) };
                let depth = u128::from(1 + random(200)) * ETHER * if at < 64 { 50 } else { 1 };
                (ends, [depth, depth / 1_000 * u128::from(960 + random(80))])
            })
            .collect();
        prepared(&pools)
    }

    #[test]
    fn an_answer_is_the_same_with_and_without_a_second_thread() {
        let market = disagreeing();
        assert!(is_large(&market));
        let trades = [(0, 1, 1_u64), (1, 2, 40), (2, 300, 5), (301, 3, 20), (0, 5, 900)];
        let solutions = || {
            trades.map(|(from, to, ether)| {
                let amount = U256::from(ether) * U256::from(10_u64.pow(18));
                solve(&market, &request(&market, token(from), amount, token(to)))
            })
        };
        let alone = solutions();
        assert!(Helper::free().is_none(), "nobody allowed a second thread");
        assert!(use_threads(64));
        assert_eq!(solutions(), alone);
        let here = std::thread::current().id();
        let thread = || std::thread::current().id();
        let (first, second) = Helper::free().unwrap().both(thread, thread);
        assert!(first.is_some_and(|first| first != here) && second == here);
    }
}
