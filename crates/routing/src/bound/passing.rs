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

/// Returns the needs of pools that earn more than their gas, in order, each with the position of a pool in `earning`.
pub(super) fn needs(problem: &Problem<'_>, price: &[f64], earning: &[(f64, u32)]) -> Vec<(Need, usize)> {
    let ends = problem.terms.ends();
    let mut needs: Vec<(Need, usize)> = Vec::new();
    for (at, (_, pair)) in earning.iter().enumerate() {
        let Some((_, [from, to])) = earning_side(problem, price, *pair) else { continue };
        let both = [Need { token: from, leads_on: false }, Need { token: to, leads_on: true }];
        let inner = both.into_iter().filter(|need| !ends.contains(&(need.token as usize)));
        needs.extend(inner.map(|need| (need, at)));
    }
    needs.sort_unstable();
    needs
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
    let is_needed = |need: Need| needs.binary_search_by_key(&need, |(need, _)| *need).is_ok();
    let mut profits: Vec<f64> = earning.iter().map(|(earned, _)| *earned).collect();
    let mut sum = 0.0;
    for same in needs.chunk_by(|(a, _), (b, _)| a == b) {
        let mut lacking = least_loss(problem, is_reachable, caps, price, same[0].0, is_needed);
        for (_, at) in same {
            let deducted = lacking.min(profits[*at]);
            profits[*at] -= deducted;
            lacking -= deducted;
            sum += deducted;
        }
    }
    sum
}

/// Computes the least that a route loses in a pool that serves a need; zero if one earns its gas, or if none does.
fn least_loss(
    problem: &Problem<'_>,
    is_reachable: &[bool],
    caps: &[f64],
    price: &[f64],
    need: Need,
    is_needed: impl Fn(Need) -> bool,
) -> f64 {
    let graph = problem.prepared.graph();
    let mut least = f64::INFINITY;
    for (other, arrow) in problem.neighbours(need.token as usize) {
        let (side, ends) = need.served(arrow.side, other);
        let is_open = is_reachable[other] && problem.is_open(arrow.pair);
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
