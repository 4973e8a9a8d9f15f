//! A flow by equal chunks: each goes down the chain that pays most on the pools as the earlier chunks left them.
//!
//! Never the optimum, but sound at any size: beyond the market's liquidity too, where a single chain collapses.

use crate::path::best_paths_within;
use crate::problem::potentials::Potentials;
use crate::problem::support::Support;
use crate::problem::{Flow, Problem};
use crate::tuning::Tuning;

/// How finely a flow is cut, and how far it may spread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    /// Equal parts.
    pub(crate) chunks: u16,
    /// Most pools.
    pub(crate) pools: usize,
    /// Most chains that add a pool.
    pub(crate) chains: usize,
    /// Most pools priced for one part.
    pub(crate) quotes: usize,
}

/// The flow that equal parts make; empty if the first finds no chain.
pub(crate) fn chunked(problem: &Problem<'_>, potentials: &Potentials, cut: Cut) -> Vec<Flow> {
    let part = problem.amount / f64::from(cut.chunks);
    let mut support = Support::default();
    let mut chains = 0;
    for _ in 0..cut.chunks {
        // Others are looked for only where the best one does not fit.
        let grown = [1, Tuning::CHUNK_CHAINS].into_iter().find_map(|keep| {
            let paths = best_paths_within(problem, potentials, part, &support, keep, cut.quotes);
            paths.into_iter().find_map(|path| {
                let next = support.with(&path.flows, problem.hops)?;
                let fresh = usize::from(next.len() > support.len());
                (next.len() <= cut.pools && chains + fresh <= cut.chains).then_some((next, fresh))
            })
        });
        // Where nothing takes another part, the rest follows the proportions reached so far.
        let Some((next, fresh)) = grown else { break };
        support = next;
        chains += fresh;
    }
    support.flows().to_vec()
}
