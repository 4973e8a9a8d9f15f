//! What is tried for a pair if the amount may be beyond the market's liquidity: searches depend on chance there.

use std::sync::Arc;

use super::{Solver, better_of, exceeds, net_of};
use crate::Request;
use crate::candidates::chunks::{Cut, PartSearch, chunked};
use crate::exact::candidate::Candidate;
use crate::prepare::active::{ActiveTokens, is_large, is_largest};
use crate::problem::potentials::Potentials;
use crate::problem::{Flow, Problem};
use crate::tuning::Tuning;

impl Solver<'_> {
    /// Tries other searches for a pair whose bound is far above its best route.
    pub(super) fn offer_thin(&self, bound: f64, best: &mut Option<Candidate>) {
        // Leaves trades that are worth little more than their gas: a wide gap of theirs says nothing of liquidity.
        let is_worth_it = bound > Tuning::SMALL_TRADE_GAS_UNITS * self.problem.gas_price;
        if !self.problem.is_pair() || best.is_none() || !is_worth_it {
            return;
        }
        let sizes = usize::from(is_large(self.prepared)) + usize::from(is_largest(self.prepared));
        let gap = Tuning::THIN_GAPS[sizes];
        if !exceeds(bound.min(self.chain_bound.get()), net_of(best.as_ref()), gap) {
            return;
        }
        self.offer_chunks(bound, best);
        // No pool on the way refuses much of a trade that pays almost what marginal rates would.
        let is_beyond =
            exceeds(self.potentials.bound(&self.problem), net_of(best.as_ref()), Tuning::PARTS_LEAST_IMPACT);
        if is_beyond {
            self.offer_parts_again(bound, gap, best);
        }
        let before = net_of(best.as_ref());
        let is_far = exceeds(bound, before, Tuning::FEWER_STEPS_GAP_OF_LARGE);
        if !is_large(self.prepared) || (is_far && !is_largest(self.prepared)) {
            self.offer_fewer_steps(bound, best);
        }
        if is_beyond && net_of(best.as_ref()) > before {
            self.offer_parts_again(bound, gap, best);
        }
    }

    /// Tries splits by many chunks, as they are and with their pools balanced, at several prices of gas: dear gas leaves out
    /// what brings little, as another limit would. In the largest markets only among the tokens that the first split ended
    /// with.
    pub(super) fn offer_chunks(&self, bound: f64, best: &mut Option<Candidate>) {
        let before = net_of(best.as_ref());
        let Some(whole) = self.for_chunks() else { return };
        let mut gas_price = f64::NAN;
        for share in Tuning::CHUNKED_GAS_SHARES {
            let problem = whole.at_dearer_gas(bound, share);
            // Gas is no dearer yet.
            if std::mem::replace(&mut gas_price, problem.gas_price) == problem.gas_price {
                continue;
            }
            let potentials = Potentials::new(&problem, 1.0);
            if potentials.worth[problem.source] <= 0.0 {
                break;
            }
            let search = PartSearch::with_tolerance(Tuning::TOLERANCE_OF_MANY_CHUNKS);
            let cut = Cut { chunks: Tuning::MOST_CHUNKS, paths: usize::MAX, search };
            let flows = chunked(&problem, &potentials, cut);
            self.offer(best, &flows);
            self.offer(best, &self.balanced(&flows, bound).unwrap_or_default());
        }
        *best = self.trim_gas(best.take());
        if net_of(best.as_ref()) > before {
            self.offer_refined(best);
        }
    }

    /// Returns the problem over the tokens among which many chunks are sent: in the largest markets only those that the first
    /// split ended with. `None` if it ended before its search.
    pub(super) fn for_chunks(&self) -> Option<Problem<'_>> {
        let mut whole = Problem { recorder: None, ..self.problem.clone() };
        if is_largest(self.prepared) {
            let (tokens, _) = self.searched_prices()?;
            whole.active = Some(Arc::new(ActiveTokens::only(self.prepared, tokens, whole.token_count)));
        }
        Some(whole)
    }

    /// Returns the best flow over the pools of another, for a trade of about `value`.
    pub(super) fn balanced(&self, flows: &[Flow], value: f64) -> Option<Vec<Flow>> {
        let start = self.searched_prices().map(|(_, start)| start);
        let start = start.unwrap_or_else(|| self.potentials.start_prices(&self.problem));
        let mut search = self.search(&self.problem, &self.potentials, &[], &start, value);
        let guesses = search.guesses();
        let pools: Vec<u32> = flows.iter().map(|flow| flow.pair).collect();
        Some(search.fixed(&pools, &guesses, Tuning::BALANCED_SHARE * value)?.flows)
    }

    /// Searches again with fewer steps, and with fewer pools on a path: more steps must not pay less.
    fn offer_fewer_steps(&self, bound: f64, best: &mut Option<Candidate>) {
        for (max_steps, hops) in Tuning::FEWER_STEPS {
            let (steps, most_hops) = (usize::from(max_steps), self.problem.hops);
            let is_less = steps < self.problem.max_steps || hops < most_hops;
            if !is_less || !exceeds(bound, net_of(best.as_ref()), Tuning::FEWER_STEPS_GAP) {
                continue;
            }
            let request = Request { max_steps: max_steps.min(self.request.max_steps), ..self.request.clone() };
            let max_steps = usize::from(request.max_steps);
            let hops = hops.min(most_hops).min(max_steps);
            let problem = Problem { max_steps, hops, recorder: None, ..self.problem.clone() };
            if let Ok((_, found)) = Solver::new(self.prepared, &request, problem).searched_best() {
                *best = better_of(best.take(), found);
            }
        }
    }
}
