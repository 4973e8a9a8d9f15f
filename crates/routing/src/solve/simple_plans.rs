//! Tries the plans of simpler routers for a pair, so that the answer is not worse than theirs.

use std::sync::Arc;

use super::{Solver, Tightest, exceeds, net_of};
use crate::bound::useful::{Shortfall, useful_arrows};
use crate::candidates::chunks::PartSearch;
use crate::candidates::simple::SimplePlan;
use crate::exact::candidate::Candidate;
use crate::prepare::active::{ActiveTokens, is_large, is_largest};
use crate::problem::Problem;
use crate::problem::potentials::Potentials;
use crate::tuning::Tuning;

impl<'a> Solver<'a> {
    /// Returns the gap from the best route above which splits by chunks are tried in a large market, the least of all plans.
    /// Where one atomic unit of an output is worth more than a simple plan may pay more, it is that of a small market.
    pub(super) fn chunks_gap_of_large(best: Option<&Candidate>) -> f64 {
        let [_, short] = Tuning::SIMPLE_GAPS_OF_LARGE;
        let is_coarse = |found: &Candidate| {
            found.route.amounts_out.iter().any(|amount_out| f64::from(*amount_out) * Tuning::SIMPLE_GAP < 1.0)
        };
        if best.is_some_and(is_coarse) { Tuning::SIMPLE_GAP } else { short }
    }

    /// Tries the plans of simpler routers, so that the answer is not worse than theirs, if the bound is above the route by
    /// more than a share. That a route has all the steps that it may have is no reason to leave them out: they may have as
    /// many. They run over the pools that a better route can use. In a large market these are often too many: there plans
    /// run among the tokens of the first split, and over the whole market only if the bound is far off.
    pub(super) fn offer_simple_plans(&self, bound: f64, share: f64, best: &mut Option<Candidate>) {
        let is_above = |best: &Option<Candidate>, gap: f64| exceeds(bound, net_of(best.as_ref()), gap);
        if !is_large(self.prepared) {
            if is_above(best, share) && !self.offer_simple_over_useful(bound, share, best) {
                self.offer_simple(bound, share, best);
            }
            return;
        }
        if is_above(best, if is_largest(self.prepared) { Tuning::LOST_GAP } else { Tuning::WHOLE_PLANS_GAP }) {
            self.offer_simple(bound, share, best);
        }
        let [long, short] = Tuning::SIMPLE_GAPS_OF_LARGE;
        let grid = match best {
            Some(found) if found.route.steps.len() <= Tuning::SHORT_ROUTE_STEPS => short,
            _ => long,
        };
        let chunks = Self::chunks_gap_of_large(best.as_ref());
        let plans = [(SimplePlan::Grid, grid), (SimplePlan::Chunks, chunks), (SimplePlan::FineChunks, chunks)];
        self.offer_simple_among(bound, &plans, best);
    }

    /// Tries simple plans of a pair, as long as the bound is above the route by more than a share. Searches for them pass
    /// through all tokens, except in the largest markets.
    fn offer_simple(&self, bound: f64, share: f64, best: &mut Option<Candidate>) {
        let is_cut = self.problem.active.is_some() && !is_largest(self.prepared);
        let whole = is_cut.then(|| Problem { active: None, recorder: None, ..self.problem.clone() });
        let potentials = whole.as_ref().map(|whole| Potentials::new(whole, 1.0));
        let (problem, potentials) =
            (whole.as_ref().unwrap_or(&self.problem), potentials.as_ref().unwrap_or(&self.potentials));
        self.offer_simple_over(problem, potentials, [bound, share], best);
    }

    /// Tries simple plans over the pools that a route better than the incumbent can use. Returns whether these are known:
    /// not without a route or a dual.
    fn offer_simple_over_useful(&self, bound: f64, share: f64, best: &mut Option<Candidate>) -> bool {
        let Some(useful) = self.over_useful_pools(best.as_ref()) else { return false };
        let potentials = Potentials::new(&useful, 1.0);
        self.offer_simple_over(&useful, &potentials, [bound, share], best);
        true
    }

    /// Returns the problem over the pools that a route of a pair better than the incumbent can use, for flows in no more
    /// parts than simple plans have.
    fn over_useful_pools(&self, best: Option<&Candidate>) -> Option<Problem<'a>> {
        let (tightest, net) = (self.tightest.borrow(), net_of(best)?);
        let Tightest { dual, price } = tightest.as_ref().filter(|_| self.problem.is_pair())?;
        let all = Problem { active: None, recorder: None, ..self.problem.clone() };
        let share = 1.0 / f64::from(Tuning::FINE_CHUNKS);
        let arrows = useful_arrows(&all, Shortfall { price, dual: *dual, net, share });
        let active = ActiveTokens::only_arrows(self.prepared, &arrows, all.target, all.token_count);
        Some(Problem { active: Some(Arc::new(active)), ..all })
    }

    /// Tries simple plans of a pair over a problem's pools, as long as the bound is above the route by more than a share.
    fn offer_simple_over(
        &self,
        problem: &Problem<'_>,
        potentials: &Potentials,
        [bound, share]: [f64; 2],
        best: &mut Option<Candidate>,
    ) {
        // Skips single paths if searches were not cut short: the best ones were already tried.
        let searched = self.problem.active.is_none();
        for plan in SimplePlan::ALL.iter().filter(|plan| !searched || **plan != SimplePlan::SinglePath) {
            let net = net_of(best.as_ref());
            if !exceeds(bound, net, share) {
                return;
            }
            let least = self.least_of_share(net.unwrap_or(f64::NEG_INFINITY));
            // Keeps paths that are worth enough for the smallest share only, if the bound is far.
            let is_far = exceeds(bound, net, Tuning::SMALLEST_SHARES_GAP);
            let least =
                |share: f64| least(if is_far { Tuning::GRID_SHARES[Tuning::GRID_SHARES.len() - 1] } else { share });
            let search = PartSearch { quotes: Tuning::PATH_QUOTES, ..PartSearch::EXHAUSTIVE };
            let flows = plan.flows(problem, potentials, search, &least);
            self.offer(best, &flows.unwrap_or_default());
        }
    }

    /// Tries simple plans among the tokens that the first split of a pair ended with, each if the bound is above the route by
    /// more than its share: as they are, and with the pools that they use balanced. Over the whole of a large market they
    /// take longer, and seldom find more.
    fn offer_simple_among(&self, bound: f64, plans: &[(SimplePlan, f64)], best: &mut Option<Candidate>) {
        let is_above = |best: &Option<Candidate>, gap: f64| exceeds(bound, net_of(best.as_ref()), gap);
        if !plans.iter().any(|(_, gap)| is_above(best, *gap)) {
            return;
        }
        let Some((tokens, start)) = self.searched_prices() else { return };
        let active = ActiveTokens::only(self.prepared, tokens, self.problem.token_count);
        let problem = Problem { active: Some(Arc::new(active)), recorder: None, ..self.problem.clone() };
        // Computes worths for these tokens: column generation adds tokens that are not active for other searches, and have
        // no worth there.
        let potentials = Potentials::new(&problem, 1.0);
        let mut search = self.search(&self.problem, &self.potentials, &[], &start, bound);
        let guesses = search.guesses();
        for (plan, gap) in plans {
            if !is_above(best, *gap) {
                continue;
            }
            let parts = PartSearch::with_tolerance(Tuning::CHUNK_TOLERANCE);
            let flows = plan.flows(&problem, &potentials, parts, &|_| f64::NEG_INFINITY).unwrap_or_default();
            self.offer(best, &flows);
            let pools: Vec<u32> = flows.iter().map(|flow| flow.pair).collect();
            if let Some(fixed) = search.fixed(&pools, &guesses, Tuning::BALANCED_SHARE * bound) {
                self.offer(best, &fixed.flows);
            }
        }
    }

    /// Returns the least value that a share of a pair's amount must bring along one path, if a split with that path is
    /// to be better than `net`. At the prices of the least dual, all other shares together are worth no more than the
    /// dual without this share. The gas of a longest path is allowed in addition, because a path that fails at one
    /// share by its gas may do at a larger one.
    fn least_of_share(&self, net: f64) -> impl Fn(f64) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "a handful of pools")]
        let gas = self.problem.hops as f64 * Tuning::SWAP_GAS_UNITS * self.problem.gas_price;
        let (source, amount) = (self.problem.source, self.problem.amount);
        let tightest = self.tightest.borrow();
        let known = tightest.as_ref().map(|known| (known.dual, known.price[source]));
        move |share| known.map_or(f64::NEG_INFINITY, |(dual, price_in)| price_in * amount * share - (dual - net) - gas)
    }
}
