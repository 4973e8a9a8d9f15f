//! Gas that every basket pays: at least one pool pays each output, and at least one takes each input.
//!
//! The dual lets a pool that earns less than its gas stay unused. If at some prices all pools that pay an output are
//! such pools, one of them is used all the same, and the smallest of their losses is deducted from the bound. The same
//! holds for the pools that take an input. An input that some pool exchanges directly for an output is skipped, because
//! that pool would count for both.

use super::profit::profit_after_gas;
use crate::prepare::Arrow;
use crate::problem::Problem;

/// Computes the change of the bound at these prices; never above zero. A token that is both input and output need
/// not move, and counts for nothing.
pub(crate) fn forced(problem: &Problem<'_>, is_reachable: &[bool], caps: &[f64], price: &[f64]) -> f64 {
    let terms = &problem.terms;
    let is_input = |token: u32| terms.supplies.iter().any(|(input, _)| *input == token);
    let is_output = |token: u32| terms.weights.iter().any(|(output, _)| *output == token);
    let is_open = |(to, arrow): &(usize, &Arrow)| is_reachable[*to] && problem.is_open(arrow.pair);
    let mut sum = 0.0;
    for (token, _) in terms.weights.iter().filter(|(token, _)| !is_input(*token)) {
        let here = *token as usize;
        let arriving = problem.neighbours(here).filter(is_open);
        let profits = arriving
            .map(|(to, arrow)| profit_after_gas(problem, caps, price, (arrow.pair, 1 - arrow.side), [to, here]));
        sum += least_loss(profits);
    }
    for (token, _) in terms.supplies.iter().filter(|(token, _)| !is_output(*token)) {
        let here = *token as usize;
        let leaving = problem.neighbours(here).filter(is_open);
        if leaving.clone().any(|(_, arrow)| is_output(arrow.to)) {
            continue;
        }
        let profits =
            leaving.map(|(to, arrow)| profit_after_gas(problem, caps, price, (arrow.pair, arrow.side), [here, to]));
        sum += least_loss(profits);
    }
    sum
}

/// Returns the largest of the profits if all are below zero, otherwise zero.
fn least_loss(profits: impl Iterator<Item = f64>) -> f64 {
    let mut most = f64::NEG_INFINITY;
    for profit in profits {
        most = most.max(profit);
        if most >= 0.0 {
            return 0.0;
        }
    }
    if most.is_finite() { most } else { 0.0 }
}
