//! What is done about a plan of which a pool refuses its amount.

use crate::problem::Flow;
use crate::tuning::Tuning;

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
