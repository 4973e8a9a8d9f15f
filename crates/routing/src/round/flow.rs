//! The split flow: from the relaxed dual to a set of pools, and from that to amounts.

use super::branch::Relaxed;
use super::choose;
use crate::bound::dual_prices::DualPrices;
use crate::problem::Flow;
use crate::relax::{Evaluated, FlowSearch, Subproblem};
use crate::tuning::Tuning;

/// The best flow found, others that are nearly as good, and the least bound.
#[derive(Default)]
pub(crate) struct Found<'p> {
    pub(crate) flows: Vec<Flow>,
    pub(crate) runners_up: Vec<Vec<Flow>>,
    pub(crate) bound: f64,
    /// The least value of the dual over the whole market, and the prices of all tokens that give it.
    pub(crate) tightest: (f64, DualPrices),
    /// The relaxed problem to branch on; `None` if the number of pools is what limits the flow.
    pub(crate) relaxed: Option<Relaxed<'p>>,
    /// The tokens that the last round priced.
    pub(crate) tokens: Vec<u32>,
}

impl<'p> FlowSearch<'_, 'p> {
    /// Searches from the start prices, first among the most promising tokens. `path` is the best single path, whose
    /// value net of gas is `net`; `bound` is the least bound known.
    pub(crate) fn run(&mut self, path: &[Flow], net: f64, bound: f64) -> Found<'p> {
        let mut members = self.first_tokens(path, net, bound);
        let guess = self.guesses();
        let mut prices = self.start.to_vec();
        let mut least = bound;
        let mut tightest = (f64::INFINITY, DualPrices::default());
        let mut sub = Subproblem::default();
        let mut at = Evaluated { dual_prices: DualPrices::default(), dual: f64::INFINITY };
        for round in 0..Tuning::RELAX_ROUNDS {
            let pools = self.pools_among(&members);
            sub = Subproblem::new(self.problem, &pools, Some(&self.potentials.cap), &mut self.local);
            let known = |token: &u32| Some(prices[*token as usize]).filter(|price| *price > 0.0);
            let mut local: Vec<f64> =
                sub.tokens.iter().map(|token| known(token).unwrap_or_else(|| guess(*token))).collect();
            self.relax(&sub, &mut local, round == 0);
            for (token, price) in sub.tokens.iter().zip(&local) {
                prices[*token as usize] = *price;
            }
            let priced = sub.tokens.iter().copied().zip(local.iter().copied());
            let (found, dual_prices) = self.evaluate_at(self.problem, priced, Tuning::EARNING_LEAST_SHARE * self.scale);
            least = least.min(found.bound);
            if found.bound < tightest.0 {
                tightest = (found.bound, dual_prices.clone());
            }
            let is_last = round + 1 == Tuning::RELAX_ROUNDS || self.newton.is_spent(Tuning::RELAX_WORK);
            let fresh = if is_last { Vec::new() } else { self.add_tokens(&mut members, &found.earning) };
            for token in fresh.iter().filter(|token| dual_prices.price[**token] > 0.0) {
                prices[*token] = dual_prices.price[*token];
            }
            at = Evaluated { dual_prices, dual: found.bound };
            if fresh.is_empty() {
                break;
            }
        }
        let relaxed: Vec<f64> = sub.tokens.iter().map(|token| prices[*token as usize]).collect();
        self.ceiling = self.ceiling.min(least);
        let is_settled = |bound: f64| net > 0.0 && bound - net <= Tuning::SETTLED_GAP * bound;
        let mut branching = Relaxed::new(sub.clone(), relaxed.clone(), at);
        // Branches if the gas of a few pools may explain the whole gap: that is cheaper than choosing a new set of pools.
        if !is_settled(least) && Tuning::COUNTING_GAS_UNITS * self.problem.gas_price > least - net {
            least = self.branch(&mut branching, net, least);
        }
        let mut found = Found { bound: least, tightest, tokens: sub.tokens.clone(), ..Found::default() };
        if is_settled(least) {
            return Found { relaxed: Some(branching), ..found };
        }
        let dear = self.dearer(&sub, &relaxed);
        let rounded = choose::round(self, &sub, &relaxed, dear.as_ref(), path);
        let Some((fixed, runners_up)) = rounded else { return found };
        let priced = sub.tokens.iter().zip(&relaxed).chain(fixed.sub.tokens.iter().zip(&fixed.prices));
        let priced = priced.map(|(token, price)| (*token, *price));
        let (last, dual_prices) = self.evaluate_at(self.problem, priced, f64::INFINITY);
        found.bound = found.bound.min(last.bound);
        if last.bound < found.tightest.0 {
            found.tightest = (last.bound, dual_prices);
        }
        Found { flows: fixed.flows, runners_up, relaxed: dear.is_none().then_some(branching), ..found }
    }

    /// Returns the best flow found over the open pools among a few tokens and the ends, without a bound, and then others
    /// that are nearly as good; `start` has prices close to it.
    pub(crate) fn among(&mut self, tokens: impl Iterator<Item = u32>, incumbent: &[Flow]) -> Vec<Vec<Flow>> {
        let mut members = vec![false; self.local.len()];
        for token in tokens.map(|token| token as usize).chain(self.problem.terms.ends()) {
            members[token] = true;
        }
        let pools = self.pools_among(&members);
        let sub = Subproblem::new(self.problem, &pools, Some(&self.potentials.cap), &mut self.local);
        let guess = self.guesses();
        let mut relaxed: Vec<f64> = sub.tokens.iter().map(|token| guess(*token)).collect();
        self.relax(&sub, &mut relaxed, false);
        let dear = self.dearer(&sub, &relaxed);
        let rounded = choose::round(self, &sub, &relaxed, dear.as_ref(), incumbent);
        rounded.map_or_else(Vec::new, |(fixed, others)| [vec![fixed.flows], others].concat())
    }
}
