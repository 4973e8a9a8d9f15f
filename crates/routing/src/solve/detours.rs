//! Detours from the best route of a pair: pools whose price stands out by more than their gas costs, with the pools that
//! lead there and back.
//!
//! The relaxation spreads the gas of a pool over the most that it could carry. So it uses a small pool that stands out, and
//! of the deep pools that lead there, which would carry next to nothing, hardly a part: rounding drops them, and then the
//! small pool. Here the gas of all counts in full.

use super::split::{Rest, Split};
use super::{Solver, net_of};
use crate::bound::passing::earning_side;
use crate::exact::candidate::Candidate;
use crate::prepare::index32;
use crate::problem::Flow;
use crate::problem::support::Support;
use crate::tuning::Tuning;

/// A pool that stands out, and what leads there and back.
#[derive(Debug)]
struct Detour {
    /// What it earns net of gas.
    gain: f64,
    pools: Vec<u32>,
}

/// A way between a route and a token.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// The token of the route.
    token: u32,
    /// What flows between the two; `None` if they are one.
    flow: Option<Flow>,
    /// Value of the gas, and of what the pool's price takes.
    cost: f64,
}

impl Solver<'_> {
    /// Tries detours from the best route of a pair, as long as they make it better.
    pub(super) fn offer_detours(&self, split: &Split<'_>, best: &mut Option<Candidate>) {
        let (problem, bound) = (&self.problem, split.bound);
        let Some(Rest { tightest: (dual, dual_prices), earning, .. }) = &split.rest else { return };
        let least = (Tuning::SWAP_GAS_UNITS * problem.gas_price).max(Tuning::DETOUR_GAP * bound.abs());
        if !problem.is_pair() || !dual.is_finite() || net_of(best.as_ref()).is_none_or(|net| bound - net <= least) {
            return;
        }
        let (caps, price) = (&split.potentials.cap, &dual_prices.price);
        let mut earning = earning.clone();
        earning.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut search = self.search(problem, &self.potentials, &[], price, bound);
        let start = search.guesses();
        for _ in 0..Tuning::DETOUR_ROUNDS {
            let (before, flows) = (net_of(best.as_ref()), self.flows_of(best.as_ref()));
            let detours = self.detours(&flows, &earning, price, caps);
            // Tries all together first, and if that is not better one by one.
            let one_by_one = detours.chunks(1).take(if detours.len() > 1 { Tuning::DETOURS } else { 0 });
            for some in std::iter::once(&detours[..]).chain(one_by_one) {
                let mut pools: Vec<u32> = flows.iter().map(|flow| flow.pair).collect();
                for pool in some.iter().flat_map(|detour| &detour.pools) {
                    if !pools.contains(pool) && pools.len() < problem.max_steps {
                        pools.push(*pool);
                    }
                }
                if pools.len() == flows.len() || net_of(best.as_ref()) > before {
                    break;
                }
                if let Some(found) = search.fixed(&pools, &start, Tuning::BALANCED_SHARE * bound) {
                    self.offer(best, &found.flows);
                }
            }
            if net_of(best.as_ref()) <= before {
                return;
            }
        }
    }

    /// Returns the detours from a route that earn more than their gas at given prices, best first. `earning` lists the pools
    /// that earn more than their own, best first.
    fn detours(&self, flows: &[Flow], earning: &[(f64, u32)], price: &[f64], caps: &[f64]) -> Vec<Detour> {
        let problem = &self.problem;
        // Takes any length: the incumbent's own may be that of a simple plan.
        let Some(support) = Support::default().with(flows, usize::MAX) else { return Vec::new() };
        let mut detours: Vec<Detour> = Vec::new();
        let unused = earning.iter().filter(|(_, pair)| support.amount_in(*pair).is_none());
        for (earned, pair) in unused.take(Tuning::DETOUR_POOLS) {
            let Some((side, [from, to])) = earning_side(problem, price, *pair) else { continue };
            let Some((_, direction)) = problem.direction(*pair, side) else { continue };
            let [price_in, price_out] = [from, to].map(|token| price[token as usize]);
            let Some(trade) = direction.best_trade(price_in, price_out, caps[from as usize], 0.0) else { continue };
            let flow = Flow { pair: *pair, side, from, to, amount_in: trade.amount_in };
            let there = self.links(&support, from, price_in * trade.amount_in, price, false);
            let back = self.links(&support, to, price_out * trade.amount_out, price, true);
            let ways = there.iter().flat_map(|first| back.iter().map(move |last| (first, last)));
            let mut ways: Vec<(f64, Vec<Flow>)> = ways
                .filter(|(first, last)| first.token != last.token)
                .map(|(first, last)| (earned - first.cost - last.cost, [first.flow, Some(flow), last.flow]))
                .filter(|(gain, _)| *gain > 0.0)
                .map(|(gain, flows)| (gain, flows.into_iter().flatten().collect()))
                .collect();
            ways.sort_by(|a, b| b.0.total_cmp(&a.0));
            let best = ways.into_iter().find(|(_, way)| support.with(way, problem.hops).is_some());
            detours.extend(best.map(|(gain, way)| Detour { gain, pools: way.iter().map(|flow| flow.pair).collect() }));
        }
        detours.sort_by(|a, b| b.gain.total_cmp(&a.gain).then_with(|| a.pools.cmp(&b.pools)));
        detours
    }

    /// Returns the cheapest link of each token of a route to another token, or back from that if it `leads_back`, for an amount
    /// of the given value.
    fn links(&self, route: &Support, token: u32, value: f64, price: &[f64], leads_back: bool) -> Vec<Link> {
        let problem = &self.problem;
        if route.tokens().contains(&token) {
            return vec![Link { token, flow: None, cost: 0.0 }];
        }
        let mut links: Vec<Link> = Vec::new();
        for (other, arrow) in problem.neighbours(token as usize).filter(|(_, arrow)| problem.is_open(arrow.pair)) {
            let other = index32(other);
            if !route.tokens().contains(&other) {
                continue;
            }
            let (side, [from, to]) =
                if leads_back { (arrow.side, [token, other]) } else { (1 - arrow.side, [other, token]) };
            let Some((curve, direction)) = problem.direction(arrow.pair, side) else { continue };
            let amount_in = value / price[from as usize];
            let (paid, tick_gas) = direction.quote(amount_in);
            let cost = value - paid * price[to as usize] + (curve.gas_units + tick_gas) * problem.gas_price;
            let flow = Some(Flow { pair: arrow.pair, side, from, to, amount_in });
            match links.iter_mut().find(|link| link.token == other) {
                Some(link) if link.cost <= cost => {}
                Some(link) => *link = Link { token: other, flow, cost },
                None => links.push(Link { token: other, flow, cost }),
            }
        }
        links
    }
}

#[cfg(test)]
mod tests {
    use braid_primitives::U256;

    use crate::testing::{prepared, request, token};
    use crate::{Request, solve};

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "amounts of small markets")]
    fn units(ether: f64) -> u128 {
        (ether * 1e18) as u128
    }

    #[test]
    fn a_small_pool_that_stands_out_is_used_if_it_pays_for_the_pools_that_lead_there_and_back() {
        let deep = [units(10_000.0); 2];
        // 1 – 0 is the trade. 2 – 3 pays half as much again as the market, and 1 – 2 and 3 – 0 lead there and back.
        let market = prepared(&[((1, 0), deep), ((1, 2), deep), ((2, 3), [units(0.03), units(0.045)]), ((3, 0), deep)]);
        let steps = |gas_price_wei| {
            let request = request(&market, token(1), U256::from(units(30.0)), token(0));
            solve(&market, &Request { gas_price_wei, ..request }).unwrap().route.steps.len()
        };
        for gwei in 1..=11 {
            // From 6 gwei on the three pools cost more than the small one brings.
            assert_eq!(steps(gwei * 1_000_000_000), if gwei < 6 { 4 } else { 1 }, "at {gwei} gwei");
        }
    }
}
