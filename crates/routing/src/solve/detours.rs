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
    /// Where the token of the route is in the list of its places.
    place: usize,
    /// The pool between the two; `None` if they are one.
    pool: Option<u32>,
    /// Value of the gas, and of what the pool's price takes.
    cost: f64,
}

/// A token of a route.
#[derive(Clone, Copy, Debug)]
struct Place {
    token: u32,
    /// The most pools of the route that lead to it, one after the other, and on from it.
    before: usize,
    after: usize,
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
        let start = |token: u32| price[token as usize];
        for _ in 0..Tuning::DETOUR_ROUNDS {
            let (before, flows) = (net_of(best.as_ref()), self.flows_of(best.as_ref()));
            let detours = self.detours(&flows, &earning, price, caps);
            // Tries all together first, and one by one if that is not better.
            for some in std::iter::once(&detours[..]).chain(detours.chunks(1).take(Tuning::DETOURS)) {
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
        let places = places(flows, index32(problem.source), index32(problem.target));
        let mut detours: Vec<Detour> = Vec::new();
        let unused = earning.iter().filter(|(_, pair)| flows.iter().all(|flow| flow.pair != *pair));
        for (earned, pair) in unused.take(Tuning::DETOUR_POOLS) {
            let Some((side, [from, to])) = earning_side(problem, price, *pair) else { continue };
            let Some((_, direction)) = problem.direction(*pair, side) else { continue };
            let [price_in, price_out] = [from, to].map(|token| price[token as usize]);
            let Some(trade) = direction.best_trade(price_in, price_out, caps[from as usize], 0.0) else { continue };
            let there = self.links(&places, from, price_in * trade.amount_in, price, false);
            let back = self.links(&places, to, price_out * trade.amount_out, price, true);
            let ways = there.iter().flat_map(|first| back.iter().map(move |last| (first, last)));
            let ways = ways.filter(|(first, last)| {
                let (start, end) = (&places[first.place], &places[last.place]);
                let pools = 1 + usize::from(first.pool.is_some()) + usize::from(last.pool.is_some());
                let is_short = start.before + pools + end.after <= problem.hops;
                is_short && start.token != end.token && !leads(flows, end.token, start.token)
            });
            let gain = |(first, last): &(&Link, &Link)| earned - first.cost - last.cost;
            let Some(best) = ways.max_by(|a, b| gain(a).total_cmp(&gain(b))).filter(|way| gain(way) > 0.0) else {
                continue;
            };
            let pools = [best.0.pool, Some(*pair), best.1.pool].into_iter().flatten().collect();
            detours.push(Detour { gain: gain(&best), pools });
        }
        detours.sort_by(|a, b| b.gain.total_cmp(&a.gain).then_with(|| a.pools.cmp(&b.pools)));
        detours
    }

    /// Returns the cheapest link of each token of a route to another token, or back from that if it `leads_back`, for an amount
    /// of the given value.
    fn links(&self, places: &[Place], token: u32, value: f64, price: &[f64], leads_back: bool) -> Vec<Link> {
        let problem = &self.problem;
        if let Some(place) = places.iter().position(|place| place.token == token) {
            return vec![Link { place, pool: None, cost: 0.0 }];
        }
        let mut links: Vec<Link> = Vec::new();
        for (other, arrow) in problem.neighbours(token as usize).filter(|(_, arrow)| problem.is_open(arrow.pair)) {
            let Some(place) = places.iter().position(|place| place.token as usize == other) else { continue };
            let here = token as usize;
            let (side, [from, to]) =
                if leads_back { (arrow.side, [here, other]) } else { (1 - arrow.side, [other, here]) };
            let Some((curve, direction)) = problem.direction(arrow.pair, side) else { continue };
            let (paid, tick_gas) = direction.quote(value / price[from]);
            let cost = value - paid * price[to] + (curve.gas_units + tick_gas) * problem.gas_price;
            match links.iter_mut().find(|link| link.place == place) {
                Some(link) if link.cost <= cost => {}
                Some(link) => *link = Link { pool: Some(arrow.pair), cost, ..*link },
                None => links.push(Link { place, pool: Some(arrow.pair), cost }),
            }
        }
        links
    }
}

/// Returns the tokens of a route, its ends included.
fn places(flows: &[Flow], source: u32, target: u32) -> Vec<Place> {
    let mut tokens = vec![source, target];
    for token in flows.iter().flat_map(|flow| [flow.from, flow.to]) {
        if !tokens.contains(&token) {
            tokens.push(token);
        }
    }
    let mut places: Vec<Place> = tokens.iter().map(|token| Place { token: *token, before: 0, after: 0 }).collect();
    let at = |token: u32| tokens.iter().position(|known| *known == token);
    let ends: Vec<(usize, usize)> = flows.iter().filter_map(|flow| at(flow.from).zip(at(flow.to))).collect();
    // Takes as many rounds as the longest chain can have pools: a route has no cycle.
    for _ in 1..tokens.len() {
        for (from, to) in &ends {
            places[*to].before = places[*to].before.max(places[*from].before + 1);
            places[*from].after = places[*from].after.max(places[*to].after + 1);
        }
    }
    places
}

/// Returns whether flows lead from one token to another.
fn leads(flows: &[Flow], from: u32, to: u32) -> bool {
    let mut reached = vec![from];
    let mut next = 0;
    while let Some(&here) = reached.get(next) {
        next += 1;
        for flow in flows.iter().filter(|flow| flow.from == here) {
            if !reached.contains(&flow.to) {
                reached.push(flow.to);
            }
        }
    }
    reached.contains(&to)
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
