//! Which pools a bound covers.

use super::Solver;
use crate::exact::candidate::Candidate;
use crate::problem::Problem;
use crate::tuning::Tuning;

impl Solver<'_> {
    /// The problem over the pools that the bound covers: without those out of line, but with those of the best route.
    pub(super) fn universe(&self, best: Option<&Candidate>) -> Problem<'_> {
        let standing = self.prepared.standing();
        let mut universe = self.problem.clone();
        let smallest = if self.problem.is_pair() {
            let net = best.map_or(0.0, |found| found.net.max(0.0));
            (Tuning::SET_ASIDE_TRADE_SHARE * net).max(self.tolerance_of_drain(net))
        } else {
            Tuning::SET_ASIDE_TRADE_SHARE * self.supplied_value()
        };
        let ends = self.problem.terms.ends();
        let mut aside = Vec::new();
        for &pair in standing.removed() {
            let gas = self.problem.curve(pair).map_or(0.0, |curve| curve.gas_units) * self.problem.gas_price;
            let out_of_line = standing.out_of_line(pair as usize) > (gas * Tuning::SET_ASIDE_GAS_SHARE).max(smallest);
            if out_of_line && self.problem.is_open(pair) && !self.matters_to(pair, &ends) {
                aside.push(pair);
            }
        }
        for flow in self.flows_of(best) {
            aside.retain(|pair| *pair != flow.pair);
        }
        if !aside.is_empty() && universe.closed.is_empty() {
            universe.closed = vec![false; self.prepared.pair_count()];
        }
        for pair in aside {
            universe.closed[pair as usize] = true;
        }
        universe
    }

    /// What being out of line matters to a trade that loses much of its value in the market anyway: it needs every pool there is.
    fn tolerance_of_drain(&self, net: f64) -> f64 {
        let standing = self.prepared.standing();
        let scale = self.problem.unit_price(standing.prices());
        let lost = self.problem.terms.supplied_value(standing.prices()) / scale - net;
        if lost.is_finite() && lost > Tuning::DRAIN_LOSS_SHARE * (lost + net) {
            Tuning::SET_ASIDE_LOSS_SHARE * lost
        } else {
            0.0
        }
    }

    /// Whether a pool is one of the deepest of one of some tokens.
    fn matters_to(&self, pool: u32, ends: &[usize]) -> bool {
        let Some(curve) = self.problem.curve(pool) else { return false };
        let tokens = self.prepared.graph().ends(pool).into_iter().enumerate();
        let mut tokens = tokens.map(|(side, token)| (side, token as usize));
        tokens.any(|(side, token)| ends.contains(&token) && self.prepared.standing().matters_to(curve, side, token))
    }

    /// The universe with all pools of the best route, and a bound over it: a bound over fewer pools says nothing of that route.
    pub(super) fn covered<'u>(
        &'u self,
        universe: Problem<'u>,
        bound: f64,
        best: &mut Option<Candidate>,
    ) -> (Problem<'u>, f64) {
        if self.covers(&universe, best.as_ref()) {
            return (universe, bound);
        }
        let wider = self.widened(universe, best.as_ref());
        if self.is_below_gas {
            let bound = self.below_gas(&wider, best.as_ref());
            return (wider, bound);
        }
        let mut split = self.split(&wider, best);
        let bound = self.narrowed(&wider, &mut split, best.as_ref());
        (wider, bound)
    }

    /// The universe with all pools of the best route; what was noted of bounds over fewer is forgotten.
    pub(super) fn widened<'u>(&self, universe: Problem<'u>, best: Option<&Candidate>) -> Problem<'u> {
        let mut wider = universe;
        for flow in self.flows_of(best) {
            wider.closed[flow.pair as usize] = false;
        }
        if let Some(recorder) = self.problem.recorder {
            recorder.replace(None);
        }
        wider
    }

    /// Whether a bound over the universe counts all pools of a route.
    pub(super) fn covers(&self, universe: &Problem<'_>, best: Option<&Candidate>) -> bool {
        self.flows_of(best).iter().all(|flow| universe.is_open(flow.pair))
    }
}
