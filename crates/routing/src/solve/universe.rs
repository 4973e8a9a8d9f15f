//! Which pools a bound covers, and what simpler routers find outside of them.

use super::{Candidate, Single};
use crate::baseline::Baseline;
use crate::potentials::Potentials;
use crate::problem::Problem;

/// Share of a swap's gas, and of the trade's value, above which a pool's standing arbitrage sets it aside.
const OUT_OF_LINE: f64 = 0.02;
const OUT_OF_LINE_OF_TRADE: f64 = 3e-6;

impl Single<'_> {
    /// The problem over the pools that the bound covers: without those out of line, but with those of the best chain.
    pub(super) fn universe(&self, best: Option<&Candidate>) -> Problem<'_> {
        let standing = self.prepared.standing();
        let mut universe = self.problem.clone();
        let smallest = OUT_OF_LINE_OF_TRADE * best.map_or(0.0, |found| found.net.max(0.0));
        let mut aside = Vec::new();
        for &pair in standing.removed() {
            let gas = self.problem.curve(pair).map_or(0.0, |curve| curve.gas_units) * self.problem.gas_price;
            let out_of_line = standing.out_of_line(pair as usize) > (gas * OUT_OF_LINE).max(smallest);
            if out_of_line && self.problem.is_open(pair) && !self.matters_to_an_end(pair) {
                aside.push(pair);
            }
        }
        for flow in best.iter().flat_map(|found| self.flows_of(&found.route)) {
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

    /// Whether a pool is one of the deepest of the input or the output.
    fn matters_to_an_end(&self, pool: u32) -> bool {
        let Some(curve) = self.problem.curve(pool) else { return false };
        let ends = self.prepared.graph().ends(pool).into_iter().enumerate();
        let mut ends = ends.map(|(side, end)| (side, end as usize));
        ends.any(|(side, end)| {
            let is_end = end == self.problem.source || end == self.problem.target;
            is_end && self.prepared.standing().matters_to(curve, side, end)
        })
    }

    /// What simpler routers find over all open pools: a floor under the answer where the bound is far, or where pools that
    /// were set aside earn more than the gap. Where the best route then uses such pools, the bound is worked out with them.
    pub(super) fn simpler_routers<'u>(
        &'u self,
        potentials: &Potentials,
        universe: Problem<'u>,
        bound: f64,
        best: &mut Option<Candidate>,
    ) -> (Problem<'u>, f64) {
        // Where searches were not cut short, the best chains were asked already.
        let searched = self.problem.awake.is_empty();
        for baseline in Baseline::ALL.into_iter().filter(|baseline| !searched || *baseline != Baseline::SingleChain) {
            let flows = baseline.plan(&self.problem, potentials).unwrap_or_default();
            self.offer(best, &flows);
        }
        let flows = best.as_ref().map_or_else(Vec::new, |found| self.flows_of(&found.route));
        if flows.iter().all(|flow| universe.is_open(flow.pair)) {
            return (universe, bound);
        }
        let mut wider = universe;
        for flow in flows {
            wider.closed[flow.pair as usize] = false;
        }
        if let Some(recorder) = self.problem.recorder {
            recorder.replace(None);
        }
        let bound = self.split(&wider, best).bound;
        (wider, bound)
    }
}
