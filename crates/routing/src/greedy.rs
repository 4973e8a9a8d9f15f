//! A flow by equal chunks: each goes down the chain that pays most on the pools as the earlier chunks left them.
//!
//! Never the optimum, but sound at any size: beyond the market's liquidity too, where a single chain collapses.

use crate::path::best_paths;
use crate::potentials::Potentials;
use crate::problem::{Flow, Problem};
use crate::support::Support;

/// The flow that `chunks` equal parts make, over at most `max_pools` pools; empty if the first finds no chain.
pub(crate) fn chunked(problem: &Problem<'_>, potentials: &Potentials, chunks: u16, max_pools: usize) -> Vec<Flow> {
    let part = problem.amount / f64::from(chunks);
    let mut support = Support::default();
    for _ in 0..chunks {
        // When nothing takes another part, the rest follows the proportions reached so far.
        let Some(next) = best_paths(problem, potentials, part, &support, 3)
            .into_iter()
            .find_map(|path| support.with(&path.flows, problem.hops).filter(|next| next.len() <= max_pools))
        else {
            break;
        };
        support = next;
    }
    support.flows().to_vec()
}
