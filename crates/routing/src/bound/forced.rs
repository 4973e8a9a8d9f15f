//! Gas that every basket pays: at least one pool pays each output, and at least one takes each input.
//!
//! The dual lets a pool that earns less than its gas stay unused. If at some prices all pools that pay an output are
//! such pools, one of them is used all the same, and the smallest of their losses is deducted from the bound. The same
//! holds for the pools that take an input. An input that some pool exchanges directly for an output is skipped, because
//! that pool would count for both.

use super::noise::noise;
use crate::prepare::Arrow;
use crate::problem::Problem;

/// Computes the deduction from the bound at these prices; never above zero. A token that is both input and output need
/// not move, and counts for nothing.
pub(crate) fn forced(problem: &Problem<'_>, alive: &[bool], caps: &[f64], price: &[f64]) -> f64 {
    let terms = &problem.terms;
    let is_input = |token: u32| terms.supplies.iter().any(|(input, _)| *input == token);
    let is_output = |token: u32| terms.weights.iter().any(|(output, _)| *output == token);
    let is_open = |(to, arrow): &(usize, &Arrow)| alive[*to] && problem.is_open(arrow.pair);
    let mut sum = 0.0;
    for (token, _) in terms.weights.iter().filter(|(token, _)| !is_input(*token)) {
        let arrows = problem.neighbours(*token as usize).filter(is_open).map(|(_, arrow)| arrow);
        let terms = arrows.map(|arrow| term(problem, caps, price, (arrow.pair, 1 - arrow.side), [arrow.to, *token]));
        sum += least_loss(terms);
    }
    for (token, _) in terms.supplies.iter().filter(|(token, _)| !is_output(*token)) {
        let arrows = problem.neighbours(*token as usize).filter(is_open).map(|(_, arrow)| arrow);
        if arrows.clone().any(|arrow| is_output(arrow.to)) {
            continue;
        }
        let terms = arrows.map(|arrow| term(problem, caps, price, (arrow.pair, arrow.side), [*token, arrow.to]));
        sum += least_loss(terms);
    }
    sum
}

/// Returns the largest of the terms if all are below zero, otherwise zero.
fn least_loss(terms: impl Iterator<Item = f64>) -> f64 {
    let mut most = f64::NEG_INFINITY;
    for term in terms {
        most = most.max(term);
        if most >= 0.0 {
            return 0.0;
        }
    }
    if most.is_finite() { most } else { 0.0 }
}

/// Computes the most that a pool earns in one direction, less its gas; rounded up.
fn term(problem: &Problem<'_>, caps: &[f64], price: &[f64], (pair, side): (u32, u8), ends: [u32; 2]) -> f64 {
    let Some((curve, direction)) = problem.direction(pair, side) else { return f64::NEG_INFINITY };
    let [from, to] = ends.map(|end| end as usize);
    let gas = curve.gas_units * problem.gas_price;
    if price[from] >= direction.spot() * price[to] {
        return -gas;
    }
    let earned = direction.most_earned(price[from], price[to], caps[from], 0.0, 0.0);
    earned + noise(direction, price[from], price[to], caps[from]) - gas
}
