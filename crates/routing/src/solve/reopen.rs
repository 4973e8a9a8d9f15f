//! Pools that the bound does not cover and that may pay their way all the same.

use super::Solver;
use super::split::Split;
use crate::bound::evaluate;
use crate::exact::candidate::Candidate;
use crate::prepare::active::is_large;
use crate::problem::Problem;
use crate::round::Among;
use crate::tuning::Tuning;

impl Solver<'_> {
    /// Splits over the universe; then, if pools that were set aside would earn their gas at the prices found, looks for a
    /// better flow with those. Gives the universe that the best flow needs, and a bound over it.
    pub(super) fn split_and_reopen<'u>(
        &'u self,
        universe: Problem<'u>,
        best: &mut Option<Candidate>,
    ) -> (Problem<'u>, f64) {
        let mut first = self.split(&universe, best);
        let mut reopened = self.reopened(&universe, &first.prices, &first.potentials.cap, best.as_ref());
        let sum: f64 = reopened.iter().map(|(earned, _)| earned).sum();
        let small = !is_large(self.prepared);
        let whole = first.bound;
        let promises = |gap: f64| sum > (Tuning::REOPEN_TRADE_SHARE * whole).max(Tuning::REOPEN_GAP_SHARE * gap);
        let would_pay = |gap: f64| small && sum > gap.max(Tuning::REOPEN_SIMPLE_SHARE * whole);
        let gap = whole - best.as_ref().map_or(0.0, |found| found.net);
        // Those that come near to earning their gas may do so in a route of few pools: they are tried too, and say how little
        // the bound may promise.
        let tightest = first.rest.as_ref().map(|rest| &rest.tightest).filter(|(dual, _)| dual.is_finite());
        let (dual, prices) = tightest.map_or((whole, &first.prices), |(dual, board)| (*dual, &board.price));
        let near = self.near(&universe, prices, &first.potentials.cap, dual, best.as_ref());
        let with_near = near.iter().map(|(lacking, _)| dual - lacking).fold(f64::NEG_INFINITY, f64::max).min(whole);
        let after = self.near(&universe, &first.prices, &first.potentials.cap, whole, best.as_ref());
        reopened.extend(near.iter().chain(&after).map(|(_, pair)| (0.0, *pair)));
        let at_once = promises(gap) || !near.is_empty() || !after.is_empty();
        if at_once {
            let through = self.flow_through(&universe, &first, &reopened, best.as_ref());
            self.offer(best, &through.flows);
            if !self.covers(&universe, best.as_ref()) {
                self.excluded_would_pay.set(would_pay(gap));
                return self.covered_through(universe, &first, through, best);
            }
        }
        let known = best.as_ref().map_or(0.0, |found| found.net);
        let least = with_near.min(known + Tuning::UNCLEAR_GAP * whole);
        let bound = self.narrowed(&universe, &mut first, best.as_ref()).max(least);
        let gap = bound - known;
        self.excluded_would_pay.set(would_pay(gap));
        if at_once || !promises(gap) {
            return (universe, bound);
        }
        let through = self.flow_through(&universe, &first, &reopened, best.as_ref());
        self.offer(best, &through.flows);
        if self.covers(&universe, best.as_ref()) {
            return (universe, bound);
        }
        self.covered_through(universe, &first, through, best)
    }

    /// As [`Solver::covered`] for a universe that lacks pools of a flow through few tokens, after a split over it.
    fn covered_through<'u>(
        &'u self,
        universe: Problem<'u>,
        first: &Split<'u>,
        through: Among<'u>,
        best: &mut Option<Candidate>,
    ) -> (Problem<'u>, f64) {
        let wider = self.widened(universe, best.as_ref());
        // With several ends a flow through few tokens leaves more to be found.
        let mut split =
            if wider.is_pair() { self.split_again(&wider, first, through, best) } else { self.split(&wider, best) };
        let bound = self.narrowed(&wider, &mut split, best.as_ref());
        (wider, bound)
    }

    /// A flow over the tokens of the best route and of excluded pools that would pay, with these open.
    fn flow_through<'u>(
        &self,
        universe: &Problem<'u>,
        first: &Split<'_>,
        reopened: &[(f64, u32)],
        best: Option<&Candidate>,
    ) -> Among<'u> {
        let mut wider = universe.clone();
        for (_, pair) in reopened {
            wider.closed[*pair as usize] = false;
        }
        let chain = self.flows_of(best);
        let ends = reopened.iter().flat_map(|(_, pair)| self.prepared.graph().ends(*pair));
        let tokens = chain.iter().flat_map(|flow| [flow.from, flow.to]).chain(ends);
        self.search(&wider, &first.potentials, &[], &first.prices, self.scale(first.bound)).among(tokens, &chain)
    }

    /// The pools that were set aside and would earn a route something that goes on from them, with what they would earn. Where
    /// nothing else that would pay leads to or from a token, that is bought or sold at its market's price, for the gas of another swap.
    fn reopened(
        &self,
        universe: &Problem<'_>,
        prices: &[f64],
        caps: &[f64],
        best: Option<&Candidate>,
    ) -> Vec<(f64, u32)> {
        let (problem, graph) = (&self.problem, self.prepared.graph());
        let mut earning = evaluate::earning_outside(problem, universe, caps, prices);
        if !problem.is_pair() {
            // What is bought or sold on the way differs by output.
            earning.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            earning.truncate(Tuning::REOPENED_OF_SEVERAL);
            return earning;
        }
        let mut busy: Vec<u32> = earning.iter().flat_map(|(_, pair)| graph.ends(*pair)).collect();
        busy.sort_unstable();
        let twice: Vec<u32> = busy.windows(2).filter(|two| two[0] == two[1]).map(|two| two[0]).collect();
        let mut touched = problem.terms.ends();
        for flow in self.flows_of(best) {
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
    fn near(
        &self,
        universe: &Problem<'_>,
        prices: &[f64],
        caps: &[f64],
        dual: f64,
        best: Option<&Candidate>,
    ) -> Vec<(f64, u32)> {
        let (problem, graph) = (&self.problem, self.prepared.graph());
        let flows = self.flows_of(best);
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
        let mut solver = Solver::new(&market, &request, problem);
        let mut best = None;
        solver.first(&mut best).unwrap();
        let universe = solver.universe(best.as_ref());
        let aside: Vec<u32> = market.standing().removed().to_vec();
        assert!(!aside.is_empty() && aside.iter().all(|pair| !universe.is_open(*pair)), "{aside:?}");
        let near = solver.near(&universe, &prices, &caps, 1e19, best.as_ref());
        assert_eq!(near, [(0.0, aside[0])]);
    }
}
