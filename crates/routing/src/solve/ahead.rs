//! What the first split of a large market needs and the first routes do not change: computed beside these, if a thread is
//! free.

use crate::problem::Problem;
use crate::problem::potentials::Potentials;
use crate::problem::reachable::reachable;
use crate::threads::Helper;

/// The potentials of a pair that the first split starts from, and the tokens that a route can pass.
pub(super) struct Ahead {
    pub(super) potentials: Potentials,
    pub(super) alive: Vec<bool>,
}

impl Ahead {
    /// Runs `first`, and computes this at the same time for a pair in a large market if a thread is free. Otherwise the
    /// split computes it itself, and the answer is the same.
    pub(super) fn beside<T>(problem: &Problem<'_>, first: impl FnOnce() -> T) -> (Option<Self>, T) {
        let is_large = problem.active.is_some() && problem.is_pair();
        let Some(helper) = is_large.then(Helper::free).flatten() else { return (None, first()) };
        let ahead = || Self { potentials: Potentials::with_first_slippage(problem, None), alive: reachable(problem) };
        helper.both(ahead, first)
    }
}
