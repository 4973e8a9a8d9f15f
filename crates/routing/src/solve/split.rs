//! The split of one amount over many pools, and the bound that goes with it.

use super::layered::{self, LayeredTask, Narrowed};
use super::{Searched, Solver, Tightest};
use crate::bound::counting::{self, Limits};
use crate::bound::dual_prices::DualPrices;
use crate::bound::evaluate;
use crate::bound::passing::passing;
use crate::bound::settled::settled;
use crate::exact::candidate::Candidate;
use crate::prepare::active::is_large;
use crate::problem::Problem;
use crate::problem::potentials::Potentials;
use crate::problem::reachable::reachable;
use crate::relax::{FlowSearch, Newton};
use crate::round::{Found, Relaxed};
use crate::tuning::Tuning;

/// The result of a split: a bound, and the potentials that go with it.
pub(super) struct Split<'p> {
    pub(super) bound: f64,
    pub(super) potentials: Potentials,
    /// State from which the bound can be narrowed further; `None` if the split ended before its search.
    pub(super) rest: Option<Rest<'p>>,
}

/// The state of a flow search when it ended, and its bounds.
pub(super) struct Rest<'p> {
    is_reachable: Vec<bool>,
    start: Vec<f64>,
    newton: Newton,
    pub(super) tightest: (f64, DualPrices),
    /// The pools that earn more than their gas there, with what they earn; empty if the bound leaves nothing to be found.
    pub(super) earning: Vec<(f64, u32)>,
    relaxed: Option<Relaxed<'p>>,
    tokens: Vec<u32>,
}

impl Split<'_> {
    /// Returns the tokens that the search ended with, with their prices where the dual was least, and the most that a route can
    /// hold of them.
    pub(super) fn searched(&self) -> Vec<Searched> {
        let Some(Rest { tokens, tightest: (dual, dual_prices), .. }) = &self.rest else { return Vec::new() };
        let (price, cap) = (&dual_prices.price, &self.potentials.cap);
        let priced = tokens.iter().filter(|_| dual.is_finite());
        let searched =
            |token: &u32| Searched { token: *token, price: price[*token as usize], cap: cap[*token as usize] };
        priced.map(searched).collect()
    }

    /// Returns the least dual over a pair's pools, if there is one.
    pub(super) fn tightest(&self) -> Option<Tightest> {
        let (dual, dual_prices) = &self.rest.as_ref()?.tightest;
        dual.is_finite().then(|| Tightest { dual: *dual, price: dual_prices.price.as_slice().into() })
    }
}

impl<'a> Solver<'a> {
    /// Computes a bound for a trade that is worth less than its gas.
    pub(super) fn below_gas(&self, best: Option<&Candidate>) -> f64 {
        let problem = &self.problem;
        let mut potentials = Potentials::new(problem, 0.0);
        self.note(problem, &potentials);
        let is_reachable = reachable(problem);
        let Some(found) = best else { return potentials.bound(problem) };
        self.tighten(problem, &mut potentials, found.net);
        let mut bound = potentials.bound(problem);
        let incumbent = self.flows_of(best);
        let caps = &potentials.cap;
        // Takes prices along the incumbent, which account for the gas of every pool on it, and prices without arbitrage, which
        // account for stale pools.
        let price_sets = [
            counting::path_prices(problem, &is_reachable, &incumbent),
            counting::standing_prices(problem, &is_reachable),
        ];
        let price_sets: Vec<DualPrices> = price_sets.into_iter().flatten().collect();
        let duals = price_sets.iter().map(|dual_prices| {
            (evaluate::evaluate(problem, &is_reachable, caps, dual_prices, f64::INFINITY).bound, dual_prices)
        });
        let Some((dual, dual_prices)) = duals.min_by(|a, b| a.0.total_cmp(&b.0)) else { return bound };
        bound = bound.min(dual);
        let quotes = Tuning::COUNTING_QUOTES_BELOW_GAS;
        let limits = Limits::of_dual_prices(problem, dual, dual_prices, caps, quotes);
        let counted = counting::bound(problem, limits, &is_reachable, &price_sets, found.net);
        counted.map_or(bound, |counted| counted.min(bound))
    }

    /// Prepares a search for a flow of about `value`, from prices close to its own.
    pub(super) fn search<'s, 'p>(
        &self,
        problem: &'s Problem<'p>,
        potentials: &'s Potentials,
        is_reachable: &'s [bool],
        start: &'s [f64],
        value: f64,
    ) -> FlowSearch<'s, 'p> {
        FlowSearch {
            problem,
            potentials,
            is_reachable,
            start,
            scale: value.max(problem.gas_price),
            ceiling: f64::INFINITY,
            max_steps: self.most_steps(),
            newton: Newton::default(),
            local: vec![u32::MAX; start.len()],
        }
    }

    /// Returns the most steps of a flow's route. Some are reserved for inputs that a flow leaves unspent.
    fn most_steps(&self) -> usize {
        let spare = if self.problem.is_pair() { 0 } else { self.problem.terms.supplies.len() };
        self.problem.max_steps.saturating_sub(spare).max(1)
    }

    /// Computes what tokens can hold and be worth over fewer pools; for several ends returns the values over all open
    /// pools, which are no lower.
    fn potentials_over(&self, problem: &Problem<'_>) -> Potentials {
        if !problem.is_pair() {
            return Potentials::clone(&self.potentials);
        }
        let is_same = std::ptr::eq(problem, &raw const self.problem);
        Potentials::with_first_slippage(problem, is_same.then_some(&*self.potentials))
    }

    /// Returns the value of the whole trade, given a bound.
    pub(super) fn scale(&self, bound: f64) -> f64 {
        if self.problem.is_pair() { bound } else { self.supplied_value() }
    }

    /// Searches for a better flow over the problem, and for a bound on every route over it.
    pub(super) fn split<'p>(&self, problem: &Problem<'p>, best: &mut Option<Candidate>) -> Split<'p> {
        let mut potentials = self.potentials_over(problem);
        let is_pair = problem.is_pair();
        if is_pair && potentials.worth[problem.source] <= 0.0 && problem.active.is_some() {
            let all = Problem { active: None, ..problem.clone() };
            return self.split(&all, best);
        }
        let net = best.as_ref().map_or(0.0, |found| found.net);
        // Takes the potentials of a pair as a bound if all tokens are active.
        let first = if is_pair && problem.active.is_none() { potentials.bound(problem) } else { f64::INFINITY };
        if self.is_close(first, best) {
            self.note(problem, &potentials);
            self.tighten(problem, &mut potentials, net);
            return Split { bound: first, potentials, rest: None };
        }
        self.tighten(problem, &mut potentials, net);
        // Prices all tokens of a basket: one may be reachable only through pools that a search excludes, and these pools are
        // evaluated too.
        let is_reachable = reachable(if is_pair { problem } else { &self.problem });
        let mut bound = first;
        let mut evaluated = None;
        // Evaluates the dual at start prices if stale pools may distort the potentials, which otherwise bound a pair as
        // tightly. Not in a large market, where the first round of the search costs no more, and bounds better.
        let is_in_doubt = !first.is_finite() || first - net > Tuning::DISTRUST_GAP * first.abs();
        if is_in_doubt && (!is_pair || problem.active.is_none()) {
            let start = potentials.start_prices(problem);
            bound = bound.min(Self::evaluate_start(problem, &potentials.cap, &is_reachable, &start, net));
            if self.is_close(bound, best) {
                return Split { bound, potentials, rest: None };
            }
            evaluated = Some(start);
        }
        let settled = self.settled_guesses(problem, &potentials);
        let start = settled.or(evaluated).unwrap_or_else(|| potentials.start_prices(problem));
        let value = if is_pair && !bound.is_finite() { potentials.bound(problem) } else { bound };
        let incumbent = self.flows_of(best.as_ref());
        let mut search = self.search(problem, &potentials, &is_reachable, &start, self.scale(value));
        let found = search.run(&incumbent, net, bound);
        let newton = search.newton;
        self.offer(best, &found.flows);
        if is_pair {
            found.runners_up.iter().for_each(|flows| self.offer(best, flows));
        }
        let Found { bound, tightest, relaxed, tokens, .. } = found;
        let is_open = tightest.0.is_finite() && !self.is_close(bound, best);
        let at = is_open.then(|| evaluate::evaluate(problem, &is_reachable, &potentials.cap, &tightest.1, 0.0));
        let earning = at.map_or_else(Vec::new, |at| at.earning);
        Split {
            bound,
            potentials,
            rest: Some(Rest { newton, tightest, earning, relaxed, tokens, is_reachable, start }),
        }
    }

    /// Searches for a better flow over a problem with another gas price. In a large market only among the tokens that the
    /// first split ended with, unless the bound says nothing: most of a split's time goes into pricing all others there.
    pub(super) fn split_again(&self, problem: &Problem<'_>, bound: f64, best: &mut Option<Candidate>) {
        if self.is_lost(bound, best.as_ref()) || !is_large(self.prepared) || !self.offer_among(problem, bound, best) {
            self.split(problem, best);
        }
    }

    /// Searches for a better flow among the tokens that the first split of a pair ended with; returns whether there was
    /// one.
    pub(super) fn offer_among(&self, problem: &Problem<'_>, bound: f64, best: &mut Option<Candidate>) -> bool {
        let Some((tokens, start)) = self.searched_prices() else { return false };
        let incumbent = self.flows_of(best.as_ref());
        let potentials = self.searched_caps();
        let mut search = self.search(problem, &potentials, &[], &start, bound);
        for flows in search.among(tokens.into_iter(), &incumbent) {
            self.offer(best, &flows);
        }
        true
    }

    /// Returns the tokens that the first split of a pair ended with, and for every token its price there or zero. `None`
    /// if there was no split.
    pub(super) fn searched_prices(&self) -> Option<(Vec<u32>, Vec<f64>)> {
        let searched = self.searched.borrow();
        let mut prices = vec![0.0; self.potentials.worth.len()];
        searched.iter().for_each(|Searched { token, price, .. }| prices[*token as usize] = *price);
        let tokens: Vec<u32> = searched.iter().map(|searched| searched.token).collect();
        Some((tokens, prices)).filter(|(tokens, _)| !tokens.is_empty())
    }

    /// Returns the most of each token that a route can hold, for a search among tokens of the first split: it may have ended with
    /// tokens of which nothing can be held over the active ones.
    pub(super) fn searched_caps(&self) -> Potentials {
        let mut caps = self.potentials.cap.clone();
        for Searched { token, cap, .. } in self.searched.borrow().iter() {
            caps[*token as usize] = caps[*token as usize].max(*cap);
        }
        Potentials::of_parts(caps, Vec::new())
    }

    /// Evaluates the dual at start prices; of a pair also at prices without arbitrage, if the first is far from `net`.
    /// Returns the lesser.
    fn evaluate_start(problem: &Problem<'_>, caps: &[f64], is_reachable: &[bool], start: &[f64], net: f64) -> f64 {
        let is_pair = problem.is_pair();
        let dual_prices = if is_pair {
            DualPrices::of_all(problem, is_reachable, start)
        } else {
            let ends = problem.terms.ends().into_iter().map(|end| (end, start[end]));
            DualPrices::of(problem, is_reachable, ends, start)
        };
        let dual = |dual_prices: &DualPrices| {
            evaluate::evaluate(problem, is_reachable, caps, dual_prices, f64::INFINITY).bound
        };
        let evaluated = dual(&dual_prices);
        let is_far = is_pair && evaluated - net > Tuning::DISTRUST_GAP * evaluated.abs();
        let standing = is_far.then(|| counting::standing_prices(problem, is_reachable)).flatten();
        standing.map_or(evaluated, |standing| evaluated.min(dual(&standing)))
    }

    /// Narrows the bound of a split, if it is not close to the incumbent, and the bound by chains.
    pub(super) fn narrowed(&self, split: Split<'a>, best: Option<&Candidate>) -> Narrowed<'a> {
        let problem = &self.problem;
        let (mut bound, known) = (split.bound, best.map_or(0.0, |found| found.net));
        let Split { potentials, rest: Some(rest), .. } = split else {
            return Narrowed { bound, ..Narrowed::default() };
        };
        let mut flows = Vec::new();
        let Rest { is_reachable, start, newton, tightest: (dual, dual_prices), earning, relaxed, .. } = rest;
        let caps = &potentials.cap;
        if dual.is_finite() && bound - known > Tuning::CLOSE_GAP * bound.abs() {
            bound = bound.min(dual - passing(problem, &is_reachable, caps, &dual_prices.price, &earning));
            let is_worth_it = !is_large(self.prepared) || bound - known > Tuning::SETTLED_GAP_OF_LARGE * bound.abs();
            if problem.is_pair() && is_worth_it && bound - known > Tuning::CLOSE_GAP * bound.abs() {
                let settled = settled(problem, &is_reachable, caps, &dual_prices.price, &earning);
                bound = settled
                    .map_or(bound, |prices| bound.min(Self::less_passing(problem, &is_reachable, caps, &prices)));
            }
        }
        let is_pair = problem.is_pair();
        let is_off = |bound: f64, gap: f64| is_pair && dual.is_finite() && bound - known > gap * bound.abs();
        // Leaves a gap of the gas of a few pools to counting and branching, which close it better; if more is open, prices
        // disagree.
        let is_by_gas = |bound: f64| Tuning::COUNTING_GAS_UNITS * problem.gas_price > bound - known;
        let large = is_large(self.prepared);
        let [gap, gap_by_gas] = if large { [Tuning::LAYERED_GAP_OF_LARGE; 2] } else { Tuning::LAYERED_GAPS };
        let incumbent = self.flows_of(best);
        let mut layered = |bound| {
            let tokens = layered::tokens_of(&incumbent);
            let bounds = layered::bounds(problem, &is_reachable, caps, &dual_prices.price, &tokens, [known, bound]);
            self.chain_bound.set(self.chain_bound.get().min(bounds.of_chains));
            flows = bounds.flows;
            bounds.of_paths
        };
        let do_prices_disagree = is_off(bound, gap) && !is_by_gas(bound);
        match relaxed {
            _ if do_prices_disagree && !large => bound = layered(bound),
            Some(mut relaxed) if !do_prices_disagree => {
                let search = self.search(problem, &potentials, &is_reachable, &start, self.scale(bound));
                bound = FlowSearch { max_steps: 0, newton, ..search }.branch(&mut relaxed, known, bound);
            }
            _ => {}
        }
        if is_off(bound, Tuning::UNCLEAR_GAPS[usize::from(large)]) && is_by_gas(bound) {
            let limits = Limits::of_dual_prices(problem, dual, &dual_prices, caps, Tuning::COUNTING_QUOTES);
            let price_sets = [Some(dual_prices.clone()), counting::path_prices(problem, &is_reachable, &incumbent)];
            let price_sets: Vec<DualPrices> = price_sets.into_iter().flatten().collect();
            let counted = counting::bound(problem, limits, &is_reachable, &price_sets, known);
            bound = counted.map_or(bound, |counted| counted.min(bound));
        }
        let is_still_off = !problem.is_small(bound) && is_off(bound, gap_by_gas);
        if large && (do_prices_disagree || is_still_off) {
            let tokens = layered::first_tokens(problem, &incumbent, earning);
            let (caps, price) = (potentials.cap, dual_prices.price);
            let problem = Problem { recorder: None, ..problem.clone() };
            let task = LayeredTask { problem, is_reachable, caps, price, tokens, net: known, bound };
            return Narrowed { bound, flows, task: Some(task) };
        }
        if !do_prices_disagree && is_still_off {
            bound = layered(bound);
        }
        Narrowed { bound, flows, task: None }
    }

    /// Computes the dual at prices, less the gas that every route pays at the tokens that it passes.
    fn less_passing(problem: &Problem<'_>, is_reachable: &[bool], caps: &[f64], prices: &[f64]) -> f64 {
        let dual_prices = DualPrices::of_all(problem, is_reachable, prices);
        let at = evaluate::evaluate(problem, is_reachable, caps, &dual_prices, 0.0);
        at.bound - passing(problem, is_reachable, caps, &dual_prices.price, &at.earning)
    }

    /// Returns guesses at the prices of a pair's tokens: those without arbitrage between the ends, because potentials
    /// follow whichever pool promises most, and a stale pool can promise anything; potentials for tokens that have no
    /// such price. `None` if the output has none.
    pub(super) fn settled_guesses(&self, problem: &Problem<'_>, potentials: &Potentials) -> Option<Vec<f64>> {
        let standing = self.prepared.standing();
        if !problem.is_pair() || standing.price(problem.target) <= 0.0 {
            return None;
        }
        let scale = problem.price_out / standing.price(problem.target);
        let guess = |(price, worth): (&f64, &f64)| if *price > 0.0 { price * scale } else { *worth };
        let mut guesses: Vec<f64> = standing.prices().iter().zip(&potentials.worth).map(guess).collect();
        guesses[problem.source] = potentials.worth[problem.source];
        guesses[problem.target] = problem.price_out;
        Some(guesses)
    }

    /// Records the bound of the potentials as a dual bound, if an explanation needs its prices.
    fn note(&self, problem: &Problem<'_>, potentials: &Potentials) {
        if problem.recorder.is_none() {
            return;
        }
        let is_reachable = reachable(problem);
        let start = potentials.start_prices(problem);
        for guess in [&start, &potentials.worth] {
            let dual_prices = DualPrices::of_all(problem, &is_reachable, guess);
            evaluate::evaluate(problem, &is_reachable, &potentials.cap, &dual_prices, f64::INFINITY);
        }
    }

    /// Returns whether a bound leaves nothing to be found.
    fn is_close(&self, bound: f64, best: &Option<Candidate>) -> bool {
        bound.is_finite() && best.as_ref().is_some_and(|found| bound - found.net <= Tuning::CLOSE_GAP * bound.abs())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use braid_primitives::U256;

    use super::*;
    use crate::prepare::active::ActiveTokens;
    use crate::prepare::index32;
    use crate::testing::{prepared, request, token};

    #[test]
    fn a_search_among_the_tokens_of_the_first_split_uses_those_that_are_not_active() {
        const ETHER: u128 = 10_u128.pow(18);
        // Token 3, over which the trade pays a fifth more, is not active, but the first split ended with it.
        let deep = [100_000 * ETHER; 2];
        let market = prepared(&[((1, 0), deep), ((1, 3), deep), ((3, 0), [100_000 * ETHER, 120_000 * ETHER])]);
        let request = request(&market, token(1), U256::from(ETHER), token(0));
        let problem = Problem::new(&market, &request).unwrap();
        let [from, through, to] = [1, 3, 0].map(|at| index32(market.node(token(at))));
        let active = ActiveTokens::only(&market, vec![from, to], problem.token_count);
        let solver = Solver::new(&market, &request, Problem { active: Some(Arc::new(active)), ..problem });
        assert_eq!(solver.potentials.cap[through as usize], 0.0);
        let searched = |token| Searched { token, price: 1.0, cap: 2e18 };
        solver.searched.replace([from, through, to].map(searched).to_vec());
        let mut best = None;
        assert!(solver.offer_among(&solver.problem, 1.2e18, &mut best));
        let steps = best.unwrap().route.steps;
        assert_eq!(steps.iter().map(|step| step.token_in).collect::<Vec<_>>(), [token(1), token(3)]);
    }
}
