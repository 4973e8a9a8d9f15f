//! Which pools a bound covers, and what is found outside of them.

use super::{Candidate, Single};
use crate::bound::evaluate;
use crate::candidates::simple::SimplePlan;
use crate::path;
use crate::problem::Problem;
use crate::problem::potentials::Potentials;
use crate::tuning::Tuning;

impl Single<'_> {
    /// The problem over the pools that the bound covers: without those out of line, but with those of the best chain.
    pub(super) fn universe(&self, best: Option<&Candidate>) -> Problem<'_> {
        let standing = self.prepared.standing();
        let mut universe = self.problem.clone();
        let net = best.map_or(0.0, |found| found.net.max(0.0));
        let smallest = (Tuning::SET_ASIDE_TRADE_SHARE * net).max(self.tolerance_of_drain(net));
        let mut aside = Vec::new();
        for &pair in standing.removed() {
            let gas = self.problem.curve(pair).map_or(0.0, |curve| curve.gas_units) * self.problem.gas_price;
            let out_of_line = standing.out_of_line(pair as usize) > (gas * Tuning::SET_ASIDE_GAS_SHARE).max(smallest);
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

    /// What being out of line matters to a trade that loses much of its value in the market anyway: it needs every pool there is.
    fn tolerance_of_drain(&self, net: f64) -> f64 {
        let standing = self.prepared.standing();
        let scale = self.problem.price_out / standing.price(self.problem.target);
        let lost = standing.price(self.problem.source) * scale * self.problem.amount - net;
        if lost.is_finite() && lost > Tuning::DRAIN_LOSS_SHARE * (lost + net) {
            Tuning::SET_ASIDE_LOSS_SHARE * lost
        } else {
            0.0
        }
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

    /// The pools that were set aside and would earn a route something that goes on from them, with what they would earn. Where
    /// nothing else that would pay leads to or from a token, that is bought or sold at its market's price, for the gas of another swap.
    pub(super) fn reopened(
        &self,
        universe: &Problem<'_>,
        prices: &[f64],
        caps: &[f64],
        best: Option<&Candidate>,
    ) -> Vec<(f64, u32)> {
        let (problem, graph) = (&self.problem, self.prepared.graph());
        let mut earning = evaluate::earning_outside(problem, universe, caps, prices);
        let mut busy: Vec<u32> = earning.iter().flat_map(|(_, pair)| graph.ends(*pair)).collect();
        busy.sort_unstable();
        let twice: Vec<u32> = busy.windows(2).filter(|two| two[0] == two[1]).map(|two| two[0]).collect();
        let mut touched: Vec<usize> = vec![problem.source, problem.target];
        for flow in best.iter().flat_map(|found| self.flows_of(&found.route)) {
            touched.extend([flow.from as usize, flow.to as usize]);
        }
        let is_apart = |token: u32| !twice.contains(&token) && !touched.contains(&(token as usize));
        let earned = |pair: u32| {
            let (ends, curve) = (graph.ends(pair), problem.curve(pair)?);
            let open = problem.open_ways(ends);
            let side = |side: usize| {
                let (from, to) = (ends[side], ends[1 - side]);
                let direction = curve.directions[side].as_ref().filter(|_| open[side])?;
                let mut gas = curve.gas_units * problem.gas_price;
                let (mut price_in, mut price_out) = (prices[from as usize], prices[to as usize]);
                if is_apart(from) {
                    gas += Tuning::LEAD_ON_GAS_UNITS * problem.gas_price;
                    price_in = price_in.max(market_prices(universe, prices, from as usize)[1]);
                }
                if is_apart(to) {
                    gas += Tuning::LEAD_ON_GAS_UNITS * problem.gas_price;
                    price_out = price_out.min(market_prices(universe, prices, to as usize)[0]);
                }
                let cap = caps[from as usize];
                let is_priced = price_in > 0.0 && price_out > 0.0;
                is_priced.then(|| direction.most_earned(price_in, price_out, cap, gas, problem.gas_price))
            };
            Some([side(0), side(1)].into_iter().flatten().fold(0.0, f64::max))
        };
        earning.retain_mut(|(gain, pair)| {
            *gain = earned(*pair).unwrap_or(0.0);
            *gain > 0.0
        });
        earning
    }

    /// The pools that were set aside between tokens of the best route, and what each lacks to earn its gas, nothing where it does, at
    /// prices at which the dual has a value: that much less bounds a route with one of them. Those of which it is less than the best route's
    /// are left out.
    pub(super) fn near(
        &self,
        universe: &Problem<'_>,
        prices: &[f64],
        caps: &[f64],
        dual: f64,
        best: Option<&Candidate>,
    ) -> Vec<(f64, u32)> {
        let (problem, graph) = (&self.problem, self.prepared.graph());
        let flows = best.map_or_else(Vec::new, |found| self.flows_of(&found.route));
        let is_met = |token: u32| {
            self.prepared.core().tokens()[token as usize]
                || flows.iter().any(|flow| flow.from == token || flow.to == token)
        };
        let lacks = |pair: u32| {
            let (ends, curve) = (graph.ends(pair), problem.curve(pair)?);
            let open = problem.open_ways(ends);
            let earned = (0..2_usize).filter(|side| open[*side]).filter_map(|side| {
                let (from, to) = (ends[side] as usize, ends[1 - side] as usize);
                let direction = curve.directions[side].as_ref()?;
                let is_priced = prices[from] > 0.0 && prices[to] > 0.0;
                is_priced.then(|| direction.most_earned(prices[from], prices[to], caps[from], 0.0, problem.gas_price))
            });
            let gas = curve.gas_units * problem.gas_price;
            Some((gas - earned.fold(0.0, f64::max)).max(0.0))
        };
        let set_aside = self.prepared.standing().removed().iter().copied();
        let outside = set_aside.filter(|pair| !universe.is_open(*pair) && problem.is_open(*pair));
        let between = outside.filter(|pair| graph.ends(*pair).iter().all(|end| *end != u32::MAX && is_met(*end)));
        let known = best.map_or(0.0, |found| found.net);
        let within = |pair: u32| Some((lacks(pair).filter(|lacking| dual - lacking > known)?, pair));
        between.filter_map(within).collect()
    }

    /// Looks again for a single chain better than the best flow where the first search may have been cut short: most are out
    /// of the question now. It may be better than a flow of many pools too, by one that was set aside in the place of several.
    pub(super) fn missed_chain(&self, potentials: &Potentials, best: &mut Option<Candidate>) {
        let known = best.as_ref().filter(|_| self.problem.active.is_some());
        let Some(floor) = known.map(|found| found.net + Tuning::MISSED_CHAIN_GAIN * found.net.abs()) else { return };
        let chain = path::better_path(&self.problem, potentials, floor, Tuning::MISSED_CHAIN_QUOTES);
        self.offer(best, &chain.map_or_else(Vec::new, |chain| chain.flows));
    }

    /// What simpler routers find over all open pools: a floor under the answer where the bound is far, or where pools that
    /// were set aside earn more than the gap.
    pub(super) fn simpler_routers(&self, potentials: &Potentials, best: &mut Option<Candidate>) {
        // Where searches were not cut short, the best chains were asked already.
        let searched = self.problem.active.is_none();
        for plan in SimplePlan::ALL.into_iter().filter(|plan| !searched || *plan != SimplePlan::SinglePath) {
            let flows = plan.flows(&self.problem, potentials).unwrap_or_default();
            self.offer(best, &flows);
        }
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
        let mut split = self.split(&wider, best);
        let bound = self.narrowed(&wider, &mut split, best.as_ref());
        (wider, bound)
    }

    /// The universe with all pools of the best route; what was noted of bounds over fewer is forgotten.
    pub(super) fn widened<'u>(&self, universe: Problem<'u>, best: Option<&Candidate>) -> Problem<'u> {
        let mut wider = universe;
        for flow in best.iter().flat_map(|found| self.flows_of(&found.route)) {
            wider.closed[flow.pair as usize] = false;
        }
        if let Some(recorder) = self.problem.recorder {
            recorder.replace(None);
        }
        wider
    }

    /// Whether a bound over the universe counts all pools of a route.
    pub(super) fn covers(&self, universe: &Problem<'_>, best: Option<&Candidate>) -> bool {
        best.is_none_or(|found| self.flows_of(&found.route).iter().all(|flow| universe.is_open(flow.pair)))
    }
}

/// The best prices at which a universe's pools buy and sell a token.
fn market_prices(universe: &Problem<'_>, prices: &[f64], token: usize) -> [f64; 2] {
    let (mut bid, mut ask) = (0.0_f64, f64::INFINITY);
    for arrow in universe.prepared.graph().arrows(token).iter().filter(|arrow| universe.is_open(arrow.pair)) {
        let other = prices[arrow.to as usize];
        if other > 0.0 {
            bid = bid.max(other * arrow.spot);
            ask = ask.min(if arrow.back > 0.0 { other / arrow.back } else { f64::INFINITY });
        }
    }
    [bid, ask]
}

#[cfg(test)]
mod tests {
    use braid_primitives::U256;

    use super::*;
    use crate::Request;
    use crate::testing::{prepared, problem, token};

    #[test]
    fn a_pool_set_aside_that_would_pay_for_its_gas_is_not_overlooked() {
        const ETHER: u128 = 10_u128.pow(18);
        // Hubs 0 and 1 trade one for one, but for a last pool that is a percent off; 2 and 3 hang on one each.
        let deep = [10_000 * ETHER; 2];
        let off = [100 * ETHER, 101 * ETHER];
        let market = prepared(&[((2, 1), deep), ((1, 0), deep), ((1, 0), deep), ((0, 3), deep), ((1, 0), off)]);
        let amount = U256::from(10 * ETHER);
        let problem = problem(&market, token(2), amount, token(3));
        let request = Request {
            inputs: vec![(token(2), amount)],
            outputs: vec![(token(3), 10_000)],
            max_hops: 4,
            filter: crate::PoolFilter::default(),
            gas_price_wei: 15_000_000_000,
            max_steps: 40,
            at: market.market().block().next(),
        };
        let prices: Vec<f64> = (0..market.graph().token_count()).map(|token| market.standing().price(token)).collect();
        let caps = vec![1e20; prices.len()];
        let single = Single::new(&market, &request, problem);
        let mut best = None;
        for chain in single.chains(&Potentials::new(&single.problem, 1.0)) {
            single.offer(&mut best, &chain.flows);
        }
        let universe = single.universe(best.as_ref());
        let aside: Vec<u32> = market.standing().removed().to_vec();
        assert!(!aside.is_empty() && aside.iter().all(|pair| !universe.is_open(*pair)), "{aside:?}");
        let near = single.near(&universe, &prices, &caps, 1e19, best.as_ref());
        assert_eq!(near, [(0.0, aside[0])]);
    }
}
