//! The best flow over a given set of pools.

use crate::problem::support::{Paths, longest_path};
use crate::problem::{Flow, Problem};
use crate::relax::{FlowSearch, Member, Stage, Subproblem, Tolerance};
use crate::tuning::Tuning;

/// A flow over a set of pools at the prices that balance it.
#[derive(Clone, Debug)]
pub(crate) struct Fixed<'p> {
    pub(crate) sub: Subproblem<'p>,
    pub(crate) prices: Vec<f64>,
    pub(crate) flows: Vec<Flow>,
    /// Value of the output, net of the gas of the pools that carry something.
    pub(crate) net: f64,
    /// Largest imbalance of a token, in value.
    pub(crate) excess: f64,
}

impl Fixed<'_> {
    /// Returns the pools whose flows are dropped so that no path is longer than `hops`: always the least on such a path;
    /// on a cycle the least of all.
    fn overlong(&self, hops: usize, least: Least) -> Vec<u32> {
        let measures = match least {
            Least::Flow => self.values(),
            Least::Earning => self.earnings(),
        };
        let mut flows: Vec<(&Flow, f64)> = self.flows.iter().zip(measures).collect();
        flows.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.pair.cmp(&b.0.pair)));
        let mut flows: Vec<Flow> = flows.into_iter().map(|(flow, _)| *flow).collect();
        let mut paths = Paths::of(&flows);
        let mut dropped = Vec::new();
        loop {
            let Some(lengths) = paths.lengths() else {
                dropped.push(flows.remove(0).pair);
                paths.retain(|at| at > 0);
                continue;
            };
            // Drops several at once if there are many.
            let mut long: Vec<usize> = (0..lengths.len()).filter(|at| lengths[*at] > hops).collect();
            if long.is_empty() {
                return dropped;
            }
            long.truncate(long.len().div_ceil(Tuning::DROPPED_ONE_IN));
            dropped.extend(long.iter().map(|at| flows[*at].pair));
            paths.retain(|at| !long.contains(&at));
            let mut positions = 0..;
            flows.retain(|_| positions.next().is_some_and(|at| !long.contains(&at)));
        }
    }

    /// Returns the price of a token that the set trades.
    pub(super) fn price(&self, token: u32) -> Option<f64> {
        self.sub.tokens.iter().position(|known| *known == token).map(|at| self.prices[at])
    }

    /// Computes the value of each flow.
    fn values(&self) -> Vec<f64> {
        self.flows.iter().map(|flow| flow.amount_in * self.price(flow.from).unwrap_or(0.0)).collect()
    }

    /// Computes for each flow what it and those that depend on it earn net of gas, at the prices that balance the set:
    /// flows depend on it if nothing else leads to them, or if they lead to nothing else.
    fn earnings(&self) -> Vec<f64> {
        // Relies on members and flows being in the same order: each member has one flow.
        let gains: Vec<f64> = self.sub.members.iter().map(|member| member.gain(&self.prices)).collect();
        let mut ends = Vec::with_capacity(gains.len());
        let (mut arriving, mut leaving) = (vec![0_u32; self.prices.len()], vec![0_u32; self.prices.len()]);
        for (member, flow) in self.sub.members.iter().zip(&self.flows) {
            let side = usize::from(flow.side);
            let [from, to] = [side, 1 - side].map(|coin| member.ends[coin] as usize);
            leaving[from] += 1;
            arriving[to] += 1;
            ends.push((from, to));
        }
        let earned = |flow: usize| {
            let (from, to) = ends[flow];
            if leaving[from] > 1 && arriving[to] > 1 {
                return gains[flow];
            }
            let (mut arriving, mut leaving) = (arriving.clone(), leaving.clone());
            let (mut is_gone, mut next, mut earned) = (vec![false; gains.len()], vec![flow], 0.0);
            while let Some(here) = next.pop() {
                if std::mem::replace(&mut is_gone[here], true) {
                    continue;
                }
                earned += gains[here];
                let (from, to) = ends[here];
                leaving[from] -= 1;
                arriving[to] -= 1;
                let depends = |other: &(usize, usize)| {
                    (arriving[to] == 0 && other.0 == to) || (leaving[from] == 0 && other.1 == from)
                };
                next.extend((0..ends.len()).filter(|other| !is_gone[*other] && depends(&ends[*other])));
            }
            earned
        };
        (0..gains.len()).map(earned).collect()
    }
}

/// A measure by which the least flow is dropped. Neither is always better: a deep pool between two hubs earns little
/// although much depends on it, and a flow of little value may be the only way to a pool that earns a lot.
#[derive(Clone, Copy, Debug)]
enum Least {
    /// The value of the flow.
    Flow,
    /// The profit of the flow and of those that depend on it, net of gas.
    Earning,
}

/// Returns the flow that is worth more; of equals the first.
pub(super) fn better_of<'p>(best: Option<Fixed<'p>>, found: Option<Fixed<'p>>) -> Option<Fixed<'p>> {
    match (best, found) {
        (Some(best), Some(found)) if found.net > best.net => Some(found),
        (Some(best), _) => Some(best),
        (None, found) => found,
    }
}

/// A member's flow, its output, and its value: that of the input or of the output, whichever is more. A token in excess
/// is worth nothing, and still has to go somewhere.
#[derive(Clone, Copy)]
struct Carried {
    flow: Flow,
    /// Local numbers of the token that it takes and of the one that it pays.
    ends: [usize; 2],
    paid: f64,
    value: f64,
}

/// Returns the flow of each member that carries something, judged by its value or by the share of the outputs that
/// passes through it. If more comes in than the market can take, tokens on the way are worth next to nothing, although
/// the whole output passes through them.
fn carried(sub: &Subproblem<'_>, prices: &[f64], scale: f64, hops: usize) -> Vec<Option<Flow>> {
    let carried = |member: &Member<'_>| {
        let flow = member.flow(&sub.tokens, prices)?;
        let side = usize::from(flow.side);
        let ends = [side, 1 - side].map(|coin| member.ends[coin] as usize);
        let paid = member.curve.direction(flow.side).map_or(0.0, |direction| direction.quote(flow.amount_in).0);
        let value = (flow.amount_in * prices[ends[0]]).max(paid * prices[ends[1]]);
        Some(Carried { flow, ends, paid, value })
    };
    let all: Vec<Option<Carried>> = sub.members.iter().map(carried).collect();
    let least = Tuning::NO_FLOW_SHARE * scale;
    let is_cheap = |carried: &Carried| carried.value <= least;
    let reached = if all.iter().flatten().any(is_cheap) { shares_of_outputs(sub, &all, hops) } else { Vec::new() };
    let carries = |carried: &Carried| {
        !is_cheap(carried)
            || reached[carried.ends[1]].1 * carried.paid > Tuning::NO_FLOW_SHARE * reached[carried.ends[1]].0
    };
    all.iter().map(|carried| carried.as_ref().filter(|carried| carries(carried)).map(|carried| carried.flow)).collect()
}

/// Computes for each token, by local number, what arrives, and the largest share of an output that passes through it.
fn shares_of_outputs(sub: &Subproblem<'_>, all: &[Option<Carried>], hops: usize) -> Vec<(f64, f64)> {
    let first = sub.tokens.len() - sub.outputs;
    let mut reached: Vec<(f64, f64)> =
        (0..sub.tokens.len()).map(|at| (0.0, f64::from(u8::from(at >= first)))).collect();
    for carried in all.iter().flatten() {
        reached[carried.ends[1]].0 += carried.paid;
    }
    for _ in 0..hops {
        let before = reached.clone();
        for (token, (_, share)) in reached.iter_mut().enumerate().take(first) {
            let onward = all.iter().flatten().filter(|carried| carried.ends[0] == token && carried.paid > 0.0);
            *share = onward.map(|next| before[next.ends[1]].1 * next.paid / before[next.ends[1]].0).sum();
        }
    }
    reached
}

/// Drops pools with a token that no other pool touches and that is not an end, until there are none.
fn drop_dangling(problem: &Problem<'_>, pools: &mut Vec<u32>) {
    let graph = problem.prepared.graph();
    let ends = problem.terms.ends();
    loop {
        let before = pools.len();
        let touched: Vec<u32> = pools.iter().flat_map(|pair| graph.ends(*pair)).collect();
        let carries =
            |token: u32| ends.contains(&(token as usize)) || touched.iter().filter(|t| **t == token).count() > 1;
        pools.retain(|pair| graph.ends(*pair).into_iter().all(carries));
        if pools.len() == before {
            return;
        }
    }
}

impl<'p> FlowSearch<'_, 'p> {
    /// Computes the best flow over exactly these pools, from start prices of their tokens, up to an imbalance of
    /// `excess`. Drops pools that carry nothing. If paths are too long, drops pools by either measure, and returns the
    /// better flow. `None` if the pools cannot carry the amount.
    pub(crate) fn fixed(&mut self, pools: &[u32], start: &dyn Fn(u32) -> f64, excess: f64) -> Option<Fixed<'p>> {
        let (whole, hops) = (self.balanced(pools, start, excess)?, self.problem.hops);
        let found = if longest_path(&whole.flows) <= hops {
            whole
        } else {
            let near = |token: u32| whole.price(token).unwrap_or_else(|| start(token));
            let [by_earning, by_flow] = [Least::Earning, Least::Flow].map(|least| whole.overlong(hops, least));
            let is_same = by_earning == by_flow;
            let found = self.shortened(pools, by_earning, Least::Earning, &near, excess);
            let other = || self.shortened(pools, by_flow, Least::Flow, &near, excess);
            let better = if is_same { found } else { better_of(found, other()) };
            better?
        };
        // Rejects prices that diverge towards zero: everything then seems balanced, and worth more than anything can be.
        (found.net <= self.ceiling * (1.0 + Tuning::FLOW_VALUE_ROUNDING)).then_some(found)
    }

    /// Drops pools, at first `dropped`, until no path is too long.
    fn shortened(
        &mut self,
        pools: &[u32],
        mut dropped: Vec<u32>,
        least: Least,
        start: &dyn Fn(u32) -> f64,
        excess: f64,
    ) -> Option<Fixed<'p>> {
        let (mut left, hops) = (pools.to_vec(), self.problem.hops);
        for _ in 0..hops {
            left.retain(|pair| !dropped.contains(pair));
            let fixed = self.balanced(&left, start, excess)?;
            if longest_path(&fixed.flows) <= hops {
                return Some(fixed);
            }
            dropped = fixed.overlong(hops, least);
        }
        None
    }

    /// Computes the prices at which the trades of these pools balance, and the flow there.
    fn balanced(&mut self, pools: &[u32], start: &dyn Fn(u32) -> f64, excess: f64) -> Option<Fixed<'p>> {
        let (problem, scale) = (self.problem, self.scale);
        let mut pools = pools.to_vec();
        drop_dangling(problem, &mut pools);
        if pools.is_empty() {
            return None;
        }
        let mut sub = Subproblem::new(problem, &pools, None, &mut self.local);
        let mut prices: Vec<f64> = sub.tokens.iter().map(|token| start(*token)).collect();
        sub.normalise(&mut prices);
        self.newton.damping = Tuning::NEARBY_DAMPING;
        let (decrease, steps, work) = (Tuning::FIXED_DECREASE * scale, Tuning::FIXED_STEPS, Tuning::WORK);
        let tolerance = Tolerance { excess, decrease, steps, work };
        let outcome = self.newton.minimise(&sub, &mut prices, Stage::Fixed, scale, tolerance);
        if outcome.excess.is_nan() || outcome.excess > Tuning::UNBALANCED_SHARE * scale {
            return None;
        }
        let carried = carried(&sub, &prices, scale, problem.hops);
        let mut gas = 0.0;
        let mut flows = Vec::with_capacity(sub.members.len());
        let mut all = carried.into_iter();
        sub.members.retain(|member| {
            let flow = all.next().flatten();
            gas += flow.map_or(0.0, |_| member.gas);
            flows.extend(flow);
            flow.is_some()
        });
        Some(Fixed { sub, prices, flows, net: outcome.value - gas, excess: outcome.excess })
    }
}

#[cfg(test)]
mod tests {
    use braid_primitives::U256;

    use super::*;
    use crate::problem::potentials::Potentials;
    use crate::relax::Newton;
    use crate::testing::{prepared, problem, token};

    const ETHER: u128 = 10_u128.pow(18);

    fn search<'a, 'p>(problem: &'a Problem<'p>, potentials: &'a Potentials, bound: f64) -> FlowSearch<'a, 'p> {
        FlowSearch {
            problem,
            potentials,
            is_reachable: &[],
            start: &[],
            scale: bound,
            ceiling: bound,
            max_steps: 40,
            newton: Newton::default(),
            local: vec![u32::MAX; problem.token_count],
        }
    }

    #[test]
    fn a_path_that_is_too_long_loses_the_pool_that_earns_least_and_not_the_least_flow() {
        // Token 3 is bought with token 1 directly, or for a little more with token 2; it leads to token 0 directly, and
        // at far better prices by way of tokens 4 and 5, which are not deep. From token 1 over 2 and on over 4 and 5 that
        // is one pool too many.
        let pools = [
            ((1, 2), [20_000, 20_000]),
            ((1, 3), [20_000, 20_000]),
            ((2, 3), [20_000, 20_200]),
            ((3, 4), [60, 72]),
            ((4, 5), [60, 72]),
            ((5, 0), [60, 72]),
            ((2, 0), [2_000, 2_000]),
            ((3, 0), [2_000, 2_000]),
        ];
        let market = prepared(&pools.map(|(tokens, depths)| (tokens, depths.map(|depth| depth * ETHER))));
        let problem = problem(&market, token(1), U256::from(400 * ETHER), token(0));
        let potentials = Potentials::new(&problem, 1.0);
        let mut search = search(&problem, &potentials, potentials.bound(&problem));
        let scale = search.scale;
        let fixed = search.fixed(&[1, 2, 3, 4, 5, 6, 7, 8], &|_| 1.0, 1e-9 * scale).unwrap();
        let mut used: Vec<u32> = fixed.flows.iter().map(|flow| flow.pair).collect();
        used.sort_unstable();
        assert_eq!(used, [1, 2, 4, 5, 6, 7, 8]);
        let without = search.fixed(&[1, 2, 3, 7, 8], &|_| 1.0, 1e-9 * scale).unwrap();
        assert!(fixed.net > 1.005 * without.net, "{} and {}", fixed.net, without.net);
    }

    #[test]
    fn a_set_of_pools_whose_prices_ran_off_is_worth_nothing() {
        let market = prepared(&[((1, 2), [1_000 * ETHER; 2]), ((2, 0), [1_000 * ETHER; 2])]);
        let problem = problem(&market, token(1), U256::from(10 * ETHER), token(0));
        let potentials = Potentials::new(&problem, 1.0);
        let bound = potentials.bound(&problem);
        let mut search = search(&problem, &potentials, bound);
        // The wrapper of ether is pair 0.
        let sane = search.fixed(&[1, 2], &|_| 1.0, 1e-9 * bound).map(|found| found.net / bound);
        assert!(sane.is_some_and(|share| (0.9..1.0).contains(&share)), "{sane:?}");
        // At prices next to nothing, all that the last pool holds seems to cost next to nothing.
        let start = |place: u32| if place as usize == token(0).index() { 1.0 } else { 1e-30 };
        assert!(search.fixed(&[1, 2], &start, 1e-9 * bound).is_none());
    }
}
