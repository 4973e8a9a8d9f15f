//! The split of one amount over many pools, and the bound that goes with it.

use super::layered::{self, LayeredTask};
use super::{Solver, Tightest};
use crate::bound::dual_prices::DualPrices;
use crate::bound::few::{self, Worth};
use crate::bound::{evaluate, passing};
use crate::exact::candidate::Candidate;
use crate::plan;
use crate::prepare::active::is_large;
use crate::problem::Problem;
use crate::problem::potentials::Potentials;
use crate::problem::reachable::reachable;
use crate::relax::{FlowSearch, Newton};
use crate::round::{Found, Relaxed};
use crate::tuning::Tuning;

/// The result of a split: a bound, and the potentials that go with it.
pub(super) struct Split<'p> {
    bound: f64,
    potentials: Potentials,
    /// What can narrow the bound further.
    rest: Option<Rest<'p>>,
}

/// The state of a flow search when it ended, and what it found about bounds.
pub(super) struct Rest<'p> {
    alive: Vec<bool>,
    start: Vec<f64>,
    newton: Newton,
    tightest: (f64, DualPrices),
    relaxed: Option<Relaxed<'p>>,
    tokens: Vec<u32>,
}

impl Split<'_> {
    /// Returns the tokens that the search ended with, with their prices where the dual was least.
    pub(super) fn searched(&self) -> Vec<(u32, f64)> {
        let Some(Rest { tokens, tightest: (dual, dual_prices), .. }) = &self.rest else { return Vec::new() };
        let priced = tokens.iter().filter(|_| dual.is_finite());
        priced.map(|token| (*token, dual_prices.price[*token as usize])).collect()
    }

    /// Returns the least dual over a pair's pools, if there is one.
    pub(super) fn tightest(&self, problem: &Problem<'_>) -> Option<Tightest> {
        let (dual, dual_prices) = &self.rest.as_ref()?.tightest;
        let price_in = dual_prices.price.get(problem.source).copied()?;
        dual.is_finite().then_some(Tightest { dual: *dual, price_in })
    }
}

impl<'a> Solver<'a> {
    /// Computes a bound for a trade that is worth less than its gas.
    pub(super) fn below_gas(&self, best: Option<&Candidate>) -> f64 {
        let problem = &self.problem;
        let mut potentials = Potentials::new(problem, 0.0);
        self.note(problem, &potentials);
        let alive = reachable(problem);
        let Some(found) = best else { return potentials.bound(problem) };
        self.tighten(problem, &mut potentials, found.net);
        let mut bound = potentials.bound(problem);
        let incumbent = self.flows_of(best);
        let caps = &potentials.cap;
        // Prices along the incumbent account for the gas of every pool on it; prices without arbitrage, for stale pools.
        let price_sets = [few::path_prices(problem, &alive, &incumbent), few::standing_prices(problem, &alive)];
        let price_sets: Vec<DualPrices> = price_sets.into_iter().flatten().collect();
        let evaluated = |dual_prices| evaluate::evaluate(problem, &alive, caps, dual_prices, f64::INFINITY).bound;
        let least = price_sets
            .iter()
            .map(|dual_prices| (evaluated(dual_prices), dual_prices))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let worth = if let Some((evaluated, dual_prices)) = least {
            bound = bound.min(evaluated);
            Worth {
                quotes: Tuning::COUNTING_QUOTES_BELOW_GAS,
                ..Worth::of_dual_prices(problem, evaluated, dual_prices, caps)
            }
        } else {
            let gas_left_out = potentials.gas_left_out();
            Worth {
                unit: &potentials.worth,
                spare: 0.0,
                gas_left_out,
                cap: caps,
                quotes: Tuning::COUNTING_QUOTES_BELOW_GAS,
            }
        };
        let few = few::bound(problem, worth, &alive, &price_sets, found.net);
        few.map_or(bound, |few| few.min(bound))
    }

    /// Prepares a search for a flow of about such a value, from prices close to its own.
    pub(super) fn search<'s, 'p>(
        &self,
        problem: &'s Problem<'p>,
        potentials: &'s Potentials,
        alive: &'s [bool],
        start: &'s [f64],
        value: f64,
    ) -> FlowSearch<'s, 'p> {
        FlowSearch {
            problem,
            potentials,
            alive,
            start,
            scale: value.max(problem.gas_price),
            ceiling: f64::INFINITY,
            max_pools: self.most_pools(),
            newton: Newton::default(),
            local: vec![u32::MAX; start.len()],
        }
    }

    /// Returns the most pools of a flow. Some are reserved for inputs that a flow leaves unspent.
    fn most_pools(&self) -> usize {
        let spare = if self.problem.is_pair() { 0 } else { self.problem.terms.supplies.len() };
        plan::most_pools(self.prepared, self.request).saturating_sub(spare).max(1)
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
        // If all tokens are active, the potentials of a pair are a bound by themselves.
        let first = if is_pair && problem.active.is_none() { potentials.bound(problem) } else { f64::INFINITY };
        if self.is_close(first, best) {
            self.note(problem, &potentials);
            self.tighten(problem, &mut potentials, net);
            return Split { bound: first, potentials, rest: None };
        }
        self.tighten(problem, &mut potentials, net);
        // With several ends, a token may be reachable only through pools that a search excludes: it needs a price for
        // these pools to be evaluated.
        let alive = reachable(if is_pair { problem } else { &self.problem });
        let mut bound = first;
        let mut judged = None;
        // The potentials of a pair bound it as tightly as the dual at their prices, unless stale pools distort them. In a
        // large market the first round of the search costs no more than the dual at start prices, and bounds better.
        let is_in_doubt = !first.is_finite() || first - net > Tuning::DISTRUST_GAP * first.abs();
        if is_in_doubt && (!is_pair || problem.active.is_none()) {
            let start = potentials.start_prices(problem);
            bound = bound.min(Self::judge_start(problem, &potentials.cap, &alive, &start, net));
            if self.is_close(bound, best) {
                return Split { bound, potentials, rest: None };
            }
            judged = Some(start);
        }
        let settled = self.settled_guesses(problem, &potentials);
        let start = settled.or(judged).unwrap_or_else(|| potentials.start_prices(problem));
        let value = if is_pair && !bound.is_finite() { potentials.bound(problem) } else { bound };
        let incumbent = self.flows_of(best.as_ref());
        let mut search = self.search(problem, &potentials, &alive, &start, self.scale(value));
        let found = search.run(&incumbent, net, bound);
        let newton = search.newton;
        self.offer(best, &found.flows);
        if is_pair {
            found.runners_up.iter().for_each(|flows| self.offer(best, flows));
        }
        let Found { bound, tightest, relaxed, tokens, .. } = found;
        Split { bound, potentials, rest: Some(Rest { newton, tightest, relaxed, tokens, alive, start }) }
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
        let mut search = self.search(problem, &self.potentials, &[], &start, bound);
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
        searched.iter().for_each(|(token, price)| prices[*token as usize] = *price);
        let tokens: Vec<u32> = searched.iter().map(|(token, _)| *token).collect();
        Some((tokens, prices)).filter(|(tokens, _)| !tokens.is_empty())
    }

    /// Evaluates the dual at start prices; of a pair also at prices without arbitrage, if the first is far from `net`.
    /// Returns the lesser.
    fn judge_start(problem: &Problem<'_>, caps: &[f64], alive: &[bool], start: &[f64], net: f64) -> f64 {
        let is_pair = problem.is_pair();
        let mut dual_prices = DualPrices::new(start.len());
        if is_pair {
            let priced = start.iter().enumerate().filter(|(token, price)| alive[*token] && **price > 0.0);
            priced.for_each(|(token, price)| dual_prices.set(token, *price));
        } else {
            problem.terms.ends().into_iter().for_each(|end| dual_prices.set(end, start[end]));
        }
        dual_prices.fill(problem, alive, start);
        let dual =
            |dual_prices: &DualPrices| evaluate::evaluate(problem, alive, caps, dual_prices, f64::INFINITY).bound;
        let judged = dual(&dual_prices);
        let is_far = is_pair && judged - net > Tuning::DISTRUST_GAP * judged.abs();
        let standing = is_far.then(|| few::standing_prices(problem, alive)).flatten();
        standing.map_or(judged, |standing| judged.min(dual(&standing)))
    }

    /// Narrows the bound of a split, if it is not close to the incumbent. In a large market the last part of that, which
    /// takes longest, is returned as a task: what the solver tries next does not depend on it.
    pub(super) fn narrowed(&self, split: Split<'a>, best: Option<&Candidate>) -> (f64, Option<LayeredTask<'a>>) {
        let problem = &self.problem;
        let (mut bound, known) = (split.bound, best.map_or(0.0, |found| found.net));
        let Split { potentials, rest: Some(rest), .. } = split else { return (bound, None) };
        let Rest { alive, start, newton, tightest: (dual, dual_prices), relaxed, .. } = rest;
        let caps = &potentials.cap;
        let mut earning = Vec::new();
        if dual.is_finite() && bound - known > Tuning::CLOSE_GAP * bound.abs() {
            earning = evaluate::evaluate(problem, &alive, caps, &dual_prices, 0.0).earning;
            let passing = passing::passing(problem, &alive, caps, &dual_prices.price, &earning);
            bound = bound.min(dual - passing);
        }
        let is_pair = problem.is_pair();
        let is_off = |bound: f64, gap: f64| is_pair && dual.is_finite() && bound - known > gap * bound.abs();
        // Counting pools and branching close a gap of the gas of a few pools better; if more is open, prices disagree.
        let is_by_gas = |bound: f64| Tuning::COUNTING_GAS_UNITS * problem.gas_price > bound - known;
        let large = is_large(self.prepared);
        let [gap, gap_by_gas] = if large { [Tuning::LAYERED_GAP_OF_LARGE; 2] } else { Tuning::LAYERED_GAPS };
        let incumbent = self.flows_of(best);
        let layered = |bound| {
            let tokens = layered::tokens_of(&incumbent);
            layered::bound(problem, &alive, caps, &dual_prices.price, &tokens, [known, bound])
        };
        let is_apart = is_off(bound, gap) && !is_by_gas(bound);
        match relaxed {
            _ if is_apart && !large => bound = layered(bound),
            Some(mut relaxed) if !is_apart => {
                let search = self.search(problem, &potentials, &alive, &start, self.scale(bound));
                bound = FlowSearch { max_pools: 0, newton, ..search }.branch(&mut relaxed, known, bound);
            }
            _ => {}
        }
        if is_off(bound, Tuning::UNCLEAR_GAPS[usize::from(large)]) && is_by_gas(bound) {
            let worth = Worth::of_dual_prices(problem, dual, &dual_prices, caps);
            let price_sets = [Some(dual_prices.clone()), few::path_prices(problem, &alive, &incumbent)];
            let price_sets: Vec<DualPrices> = price_sets.into_iter().flatten().collect();
            let few = few::bound(problem, worth, &alive, &price_sets, known);
            bound = few.map_or(bound, |few| few.min(bound));
        }
        let is_still_off = !problem.is_small(bound) && is_off(bound, gap_by_gas);
        if large && (is_apart || is_still_off) {
            let tokens = layered::first_tokens(problem, &incumbent, earning);
            let (caps, price) = (potentials.cap, dual_prices.price);
            let problem = Problem { recorder: None, ..problem.clone() };
            let task = LayeredTask { problem, alive, caps, price, tokens, net: known, bound };
            return (bound, Some(task));
        }
        (if !is_apart && is_still_off { layered(bound) } else { bound }, None)
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
        let alive = reachable(problem);
        let start = potentials.start_prices(problem);
        for guess in [&start, &potentials.worth] {
            let mut dual_prices = DualPrices::new(guess.len());
            for (token, price) in guess.iter().enumerate().filter(|(token, price)| alive[*token] && **price > 0.0) {
                dual_prices.set(token, *price);
            }
            dual_prices.fill(problem, &alive, guess);
            evaluate::evaluate(problem, &alive, &potentials.cap, &dual_prices, f64::INFINITY);
        }
    }

    fn is_close(&self, bound: f64, best: &Option<Candidate>) -> bool {
        bound.is_finite() && best.as_ref().is_some_and(|found| bound - found.net <= Tuning::CLOSE_GAP * bound.abs())
    }
}
