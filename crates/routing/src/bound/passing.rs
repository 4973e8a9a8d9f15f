//! Gas that every route pays at a token that it passes: one pool leads to the token, and another leads on.
//!
//! The dual lets a pool that earns more than its gas earn by itself. But a route gets its profit only if another pool
//! leads to the token that it takes, and a third leads on from the token that it pays, unless these are ends of the
//! trade. If all that may do so earn less than their gas, a route that uses the pool loses at least what the best of them
//! loses. That is deducted, at most the profit of the pools that need it: a route either uses one of these and pays the
//! loss, or gets none of their profit. A pool that may lead on from one such token to another counts half for each. If
//! there are several inputs or outputs, pools that touch one count there, in `forced`.

use super::profit::profit_after_gas;
use crate::prepare::index32;
use crate::problem::Problem;

/// What pools that earn more than their gas need at one of their tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Need {
    pub(super) token: u32,
    /// Whether a pool has to lead on from the token, or else to it.
    pub(super) leads_on: bool,
}

impl Need {
    /// Returns the side that a pool sells to serve the need, with the tokens in and out. `side` sells the need's token for
    /// `other`.
    pub(super) fn served(self, side: u8, other: usize) -> (u8, [usize; 2]) {
        let here = self.token as usize;
        if self.leads_on { (side, [here, other]) } else { (1 - side, [other, here]) }
    }
}

/// Returns the side of a pair that earns something at these prices, and the tokens in and out.
pub(crate) fn earning_side(problem: &Problem<'_>, price: &[f64], pair: u32) -> Option<(u8, [u32; 2])> {
    let ends = problem.prepared.graph().ends(pair);
    let open = problem.open_directions(ends);
    (0..2_u8).find_map(|side| {
        let at = usize::from(side);
        let (from, to) = (ends[at], ends[1 - at]);
        let spot = problem.direction(pair, side).map_or(0.0, |(_, direction)| direction.spot());
        (open[at] && price[from as usize] < spot * price[to as usize]).then_some((side, [from, to]))
    })
}

/// A pool that earns more than its gas, and one of its needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Needed {
    pub(super) need: Need,
    /// The pool's other token.
    other: u32,
    /// The position of the pool in the list.
    at: usize,
}

/// Returns the needs of the pools in a list, in order. All earn more than their gas at the prices given.
pub(super) fn needs(problem: &Problem<'_>, price: &[f64], earning: &[(f64, u32)]) -> Vec<Needed> {
    let ends = problem.terms.ends();
    let mut needs: Vec<Needed> = Vec::new();
    for (at, (_, pair)) in earning.iter().enumerate() {
        let Some((_, [from, to])) = earning_side(problem, price, *pair) else { continue };
        let to_first = Needed { need: Need { token: from, leads_on: false }, other: to, at };
        let from_last = Needed { need: Need { token: to, leads_on: true }, other: from, at };
        needs.extend([to_first, from_last].into_iter().filter(|needed| !ends.contains(&(needed.need.token as usize))));
    }
    needs.sort_unstable();
    needs
}

/// Returns the other token of all pools with a need, if it is one: no pool with that serves the need, because no path visits
/// a token twice.
pub(super) fn only_other(same: &[Needed]) -> Option<usize> {
    let other = same[0].other;
    same.iter().all(|needed| needed.other == other).then_some(other as usize)
}

/// Computes the deduction from the dual at the prices of all tokens, where `earning` lists the pools that earn more
/// than their gas.
pub(crate) fn passing(
    problem: &Problem<'_>,
    is_reachable: &[bool],
    caps: &[f64],
    price: &[f64],
    earning: &[(f64, u32)],
) -> f64 {
    let needs = needs(problem, price, earning);
    let is_needed = |need: Need| needs.binary_search_by_key(&need, |needed| needed.need).is_ok();
    let mut profits: Vec<f64> = earning.iter().map(|(earned, _)| *earned).collect();
    let mut sum = 0.0;
    for same in needs.chunk_by(|a, b| a.need == b.need) {
        let mut lacking = least_loss(problem, is_reachable, caps, price, same, is_needed);
        for Needed { at, .. } in same {
            let deducted = lacking.min(profits[*at]);
            profits[*at] -= deducted;
            lacking -= deducted;
            sum += deducted;
        }
    }
    sum
}

/// Computes the least that a route loses in a pool that serves the need of some pools; zero if one earns its gas, or if none
/// serves it.
fn least_loss(
    problem: &Problem<'_>,
    is_reachable: &[bool],
    caps: &[f64],
    price: &[f64],
    same: &[Needed],
    is_needed: impl Fn(Need) -> bool,
) -> f64 {
    let graph = problem.prepared.graph();
    let (need, not_with) = (same[0].need, only_other(same));
    let mut least = f64::INFINITY;
    for (other, arrow) in problem.neighbours(need.token as usize) {
        let (side, ends) = need.served(arrow.side, other);
        let is_open = is_reachable[other] && problem.is_open(arrow.pair) && Some(other) != not_with;
        if !is_open || !problem.open_directions(graph.ends(arrow.pair))[usize::from(side)] {
            continue;
        }
        if !problem.is_pair() && touches_end(problem, arrow.pair) {
            return 0.0;
        }
        let loss = -profit_after_gas(problem, caps, price, (arrow.pair, side), ends);
        let serves_two = is_needed(Need { token: index32(other), leads_on: !need.leads_on });
        least = least.min(if serves_two { loss / 2.0 } else { loss });
        if least <= 0.0 {
            return 0.0;
        }
    }
    if least.is_finite() { least } else { 0.0 }
}

/// Returns whether a pair has an input or an output as one of its tokens.
fn touches_end(problem: &Problem<'_>, pair: u32) -> bool {
    let (terms, touches) = (&problem.terms, |token: u32| problem.prepared.graph().ends(pair).contains(&token));
    terms.supplies.iter().any(|(token, _)| touches(*token)) || terms.weights.iter().any(|(token, _)| touches(*token))
}

#[cfg(test)]
mod tests {
    use braid_primitives::U256;

    use super::*;
    use crate::problem::reachable::reachable;
    use crate::testing::{prepared, problem, token};

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "amounts of small markets")]
    fn units(ether: f64) -> u128 {
        (ether * 1e18) as u128
    }

    /// Computes the deduction if pools trade at par, except one of 2 and 3, and what that one earns, both in swaps' gas.
    fn deducted(between: &[(u32, u32)], gas_price: f64) -> (f64, f64) {
        let deep = [units(10_000.0); 2];
        let small = ((2, 3), [units(0.03), units(0.045)]);
        let pools = between.iter().map(|ends| (*ends, deep)).chain([small]);
        let market = prepared(&pools.collect::<Vec<_>>());
        let problem = Problem { gas_price, ..problem(&market, token(1), U256::from(units(30.0)), token(0)) };
        let (price, caps) = (vec![1.0; problem.token_count], vec![1e20; problem.token_count]);
        let priced = (0..index32(market.pair_count())).filter(|pair| problem.curve(*pair).is_some());
        let mut earning = priced.filter_map(|pair| Some((pair, earning_side(&problem, &price, pair)?)));
        let (pair, (side, ends)) = earning.next().unwrap();
        let ends = ends.map(|end| end as usize);
        let earned = profit_after_gas(&problem, &caps, &price, (pair, side), ends);
        let gas = problem.curve(pair).unwrap().gas_units * gas_price;
        let sum = passing(&problem, &reachable(&problem), &caps, &price, &[(earned, pair)]);
        (sum / gas, earned / gas)
    }

    #[test]
    fn a_pool_that_stands_out_pays_for_one_that_leads_there_and_one_that_leads_on() {
        // 1 – 0 is the trade.
        let (sum, earned) = deducted(&[(1, 0), (1, 2), (3, 0)], 1e9);
        assert!((sum - 2.0).abs() < 1e-9 && earned > 2.0, "{sum} of {earned} swaps");
        // Where it earns less than both, all of it is deducted.
        let (sum, earned) = deducted(&[(1, 0), (1, 2), (3, 0)], 8e9);
        assert!((sum - earned).abs() < 1e-9 && earned < 2.0, "{sum} of {earned} swaps");
    }
}
