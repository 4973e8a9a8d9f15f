//! The pools that a route better than the incumbent can use (reduced-cost fixing).
//!
//! At given prices the dual is the value of the inputs and the profits of pools. A route falls short of it by what its
//! pools lose at these prices, gas included. So a path of a route better than `net` loses at most `dual − net`. Each pool
//! of it loses at least its gas, and what its marginal rate loses on the smallest amount that moves along the path; a
//! pool that would earn loses nothing. Two sweeps, one from the input and one from the output, add these losses up.

use crate::prepare::{Arrow, Arrows, RoughArrow};
use crate::problem::Problem;
use crate::tuning::Tuning;

/// Prices of all tokens, the dual at them, and what a route is to exceed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shortfall<'a> {
    pub(crate) price: &'a [f64],
    /// The dual at these prices.
    pub(crate) dual: f64,
    /// Value of the incumbent.
    pub(crate) net: f64,
    /// The smallest share of the amount that moves along one path.
    pub(crate) share: f64,
}

/// Lists both arrows of every pool that lies on a path of a pair's route better than the incumbent, each after the token
/// that it leaves, in the order of these tokens and of pairs. Over no other pool can a route be better, if at least the
/// share moves along each of its paths.
pub(crate) fn useful_arrows(problem: &Problem<'_>, shortfall: Shortfall<'_>) -> Vec<(u32, Arrow)> {
    let Shortfall { price, dual, net, share } = shortfall;
    // Allows for the rounding of floating point.
    let most = (dual - net).max(0.0) + Tuning::BOUND_ROUNDING * dual.abs();
    let least_value = (price[problem.source] * problem.amount * share - most).max(0.0);
    let losses = Losses { problem, price, most, least_value };
    let from_input = losses.behind();
    let to_output = losses.ahead(&from_input);
    let mut useful = Vec::new();
    for (token, lost) in (0_u32..).zip(&from_input).filter(|(_, lost)| lost.is_finite()) {
        for (to, arrow) in problem.neighbours(token as usize) {
            let Some(rest) = to_output.get(to).filter(|rest| lost + *rest <= most) else { continue };
            if losses.of(token as usize, arrow).is_some_and(|loss| lost + loss + rest <= most) {
                useful.extend([(token, *arrow), (arrow.to, arrow.reversed(token as usize))]);
            }
        }
    }
    useful.sort_unstable_by_key(|(from, arrow)| (*from, arrow.pair));
    useful.dedup_by_key(|(from, arrow)| (*from, arrow.pair));
    useful
}

/// What paths lose at given prices.
struct Losses<'a, 'p> {
    problem: &'a Problem<'p>,
    price: &'a [f64],
    /// The most that a path may lose.
    most: f64,
    /// The least value that moves along a path.
    least_value: f64,
}

impl Losses<'_, '_> {
    /// Computes the least that a pool loses on a path; `None` if no path may use it.
    fn of(&self, from: usize, arrow: &Arrow) -> Option<f64> {
        let (problem, to) = (self.problem, arrow.to as usize);
        let (price_in, price_out) = (self.price[from], self.price.get(to).copied().unwrap_or(0.0));
        let is_open = price_in > 0.0 && price_out > 0.0 && arrow.spot > 0.0 && problem.is_open(arrow.pair);
        if !is_open || from == problem.target || to == problem.source {
            return None;
        }
        let lost_share = 1.0 - arrow.spot * price_out / price_in;
        Some(if lost_share <= 0.0 {
            0.0
        } else {
            self.least_value * lost_share + arrow.least_gas() * problem.gas_price
        })
    }

    /// Returns whether a pool between two tokens possibly loses no more than `left`, by its rough rate.
    fn may_lose(&self, rate: f64, price_in: f64, price_out: f64, left: f64) -> bool {
        self.least_value * (1.0 - rate * price_out / price_in) <= left
    }

    /// Computes the least that paths from the input to each token lose; infinite for a token that none of those reaches
    /// that lose no more than they may.
    fn behind(&self) -> Vec<f64> {
        let may_lose = |from: usize, rough: RoughArrow, left: f64| {
            self.may_lose(rough.most_spot(), self.price[from], self.price[rough.to as usize], left)
        };
        self.sweep(self.problem.source, may_lose, |from, arrow| self.of(from, arrow))
    }

    /// Computes the least that paths from each token to the output lose, over tokens that paths from the input reach.
    fn ahead(&self, from_input: &[f64]) -> Vec<f64> {
        let may_lose = |to: usize, rough: RoughArrow, left: f64| {
            let from = rough.to as usize;
            from_input[from] <= left
                && self.may_lose(rough.most_back(), self.price[from], self.price[to], left - from_input[from])
        };
        self.sweep(self.problem.target, may_lose, |to, arrow| self.of(arrow.to as usize, &arrow.reversed(to)))
    }

    /// Adds up losses from one end, over as many pools as a path may have, through tokens that searches pass through.
    fn sweep(
        &self,
        start: usize,
        may_lose: impl Fn(usize, RoughArrow, f64) -> bool,
        loss: impl Fn(usize, &Arrow) -> Option<f64>,
    ) -> Vec<f64> {
        let mut lost = vec![f64::INFINITY; self.problem.token_count];
        lost[start] = 0.0;
        let (mut frontier, mut next) = (vec![start], Vec::new());
        for _ in 1..self.problem.hops {
            for &here in &frontier {
                let so_far = lost[here];
                for (rough, arrow) in self.problem.search_arrows(here).into_iter().flat_map(Arrows::iter) {
                    let to = rough.to as usize;
                    if so_far >= lost[to] || !may_lose(here, *rough, self.most - so_far) {
                        continue;
                    }
                    let Some(sum) = loss(here, arrow).map(|loss| so_far + loss) else { continue };
                    if sum <= self.most && sum < lost[to] {
                        lost[to] = sum;
                        next.push(to);
                    }
                }
            }
            frontier.clear();
            std::mem::swap(&mut frontier, &mut next);
        }
        lost
    }
}

#[cfg(test)]
mod tests {
    use braid_primitives::U256;
    use proptest::prelude::*;

    use super::*;
    use crate::Prepared;
    use crate::bound::dual_prices::DualPrices;
    use crate::bound::evaluate::evaluate;
    use crate::candidates::chunks::{Cut, PartSearch, chunked};
    use crate::problem::Flow;
    use crate::problem::potentials::Potentials;
    use crate::problem::reachable::reachable;
    use crate::testing::{prepared, problem, token};

    const ETHER: u128 = 10_u128.pow(18);

    /// Returns prices of all tokens, and the dual at them.
    fn dual(problem: &Problem<'_>) -> (Vec<f64>, f64) {
        let (potentials, is_reachable) = (Potentials::new(problem, 1.0), reachable(problem));
        let dual_prices = DualPrices::of_all(problem, &is_reachable, &potentials.start_prices(problem));
        let bound = evaluate(problem, &is_reachable, &potentials.cap, &dual_prices, f64::INFINITY).bound;
        (dual_prices.price, bound)
    }

    /// Returns the ids of the pairs that are useful.
    fn useful(problem: &Problem<'_>, net: f64, share: f64) -> Vec<u32> {
        let (price, dual) = dual(problem);
        let arrows = useful_arrows(problem, Shortfall { price: &price, dual, net, share });
        let mut pairs: Vec<u32> = arrows.iter().map(|(_, arrow)| arrow.pair).collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    /// Returns the pair between two tokens, given by position.
    fn pair(market: &Prepared, from: u32, to: u32) -> u32 {
        let [from, to] = [from, to].map(|position| market.node(token(position)));
        market.graph().between(from, to).next().unwrap().pair
    }

    #[test]
    fn a_pool_is_useful_if_a_path_through_it_loses_no_more_than_the_route_may_still_gain() {
        // Two good pools in a row, and a third token whose pools cost 10% more on one side.
        let deep = [1_000_000 * ETHER; 2];
        let dear = [1_000_000 * ETHER, 900_000 * ETHER];
        let market = prepared(&[((1, 2), deep), ((2, 0), deep), ((1, 3), dear), ((3, 0), deep)]);
        let problem = problem(&market, token(1), U256::from(100 * ETHER), token(0));
        let (_, dual) = dual(&problem);
        let good = {
            let mut good = vec![pair(&market, 1, 2), pair(&market, 2, 0)];
            good.sort_unstable();
            good
        };
        // A path through the third token loses a tenth of what it takes.
        assert_eq!(useful(&problem, dual * 0.95, 1.0), good);
        assert_eq!(useful(&problem, dual * 0.85, 1.0).len(), 4);
        // A hundredth of the amount loses a hundredth of that.
        assert_eq!(useful(&problem, dual * 0.995, 0.01).len(), 4);
        assert_eq!(useful(&problem, dual * 0.9995, 0.01), good);
    }

    /// Computes the value of a flow, net of gas.
    fn net(problem: &Problem<'_>, flows: &[Flow]) -> f64 {
        let value = flows.iter().map(|flow| {
            let (curve, direction) = problem.direction(flow.pair, flow.side).unwrap();
            let (paid, on_the_way) = direction.quote(flow.amount_in);
            let arrives = if flow.to as usize == problem.target { paid * problem.price_out } else { 0.0 };
            arrives - (curve.gas_units + on_the_way) * problem.gas_price
        });
        value.sum()
    }

    proptest! {
        #[test]
        fn every_pool_of_a_split_is_useful_to_a_route_as_good_as_the_split(
            pools in prop::collection::vec(((0_u32..5, 0_u32..5), (1_u128..2_000, 900_u128..1_100)), 6..20),
            ether in 1_u128..300,
        ) {
            let pools = pools.into_iter().filter(|((a, b), _)| a != b).map(|(ends, (depth, price))| {
                (ends, [depth * ETHER, depth * ETHER / 1_000 * price])
            });
            let ends = [((1, 2), [50 * ETHER; 2]), ((2, 0), [50 * ETHER; 2]), ((1, 0), [10 * ETHER; 2])];
            let market = prepared(&pools.chain(ends).collect::<Vec<_>>());
            let problem = problem(&market, token(1), U256::from(ether * ETHER), token(0));
            let potentials = Potentials::new(&problem, 1.0);
            let cut = Cut { chunks: 20, paths: usize::MAX, search: PartSearch::EXHAUSTIVE };
            let flows = chunked(&problem, &potentials, cut);
            let net = net(&problem, &flows);
            // The split's parts may be rounded by a unit each.
            let useful = useful(&problem, net - 1e-9 * net.abs(), 1.0 / 20.0);
            for flow in &flows {
                prop_assert!(useful.contains(&flow.pair), "{flow:?} of {flows:?}");
            }
        }
    }
}
