//! What is done about a plan that does not run as it is: a pool refuses its amount, or the steps use too much gas.

use crate::MAX_ROUTE_GAS_UNITS;
use crate::problem::{Flow, Problem};
use crate::tuning::Tuning;

/// The problem as if gas were dearer, by and by. Bounds on it say nothing of the problem itself, and are not noted.
pub(crate) fn dearer<'p>(problem: &Problem<'p>, bound: f64) -> impl Iterator<Item = Problem<'p>> {
    Tuning::DEARER_GAS_SHARES.into_iter().map(move |share| {
        #[allow(clippy::cast_precision_loss, reason = "a value, not an amount")]
        let dear = share * bound.max(0.0) / MAX_ROUTE_GAS_UNITS as f64;
        Problem { gas_price: problem.gas_price.max(dear), recorder: None, ..problem.clone() }
    })
}

/// Moves what a flow cannot take of what is there for it to the other flows out of the same token; `None` if there is no other. A plan
/// for an amount that swamps the market may speak of less than is there: all flows out of the token are taken up to that first.
pub(crate) fn shift(flows: &mut Vec<Flow>, refused: &Flow, offered: f64, at_most: Option<f64>) -> Option<()> {
    let keep = at_most.map_or(0.0, |most| (most * Tuning::CAPACITY_FILLED).min(offered * 0.999));
    let scale = offered / refused.amount_in;
    let others: f64 =
        flows.iter().filter(|f| f.from == refused.from && f.pair != refused.pair).map(|f| f.amount_in).sum();
    if others <= 0.0 || !scale.is_finite() {
        return None;
    }
    let factor = scale + (offered - keep) / others;
    for flow in flows.iter_mut().filter(|flow| flow.from == refused.from) {
        flow.amount_in = if flow.pair == refused.pair { keep } else { flow.amount_in * factor };
    }
    flows.retain(|flow| flow.amount_in > 0.0);
    Some(())
}
