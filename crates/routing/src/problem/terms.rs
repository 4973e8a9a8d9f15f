//! From a request to a problem with several ends.

use crate::prepare::{index32, node};
use crate::problem::{NOWHERE, Problem, Terms, closed_pairs};
use crate::{Prepared, Request, SolveError};

/// The problem of a basket. Ether and wrapped ether are one node: what is asked of both is asked of it.
///
/// # Errors
/// [`SolveError::NoReferencePrice`] where several outputs are asked for and one has no price to share values by.
pub(crate) fn problem<'a>(prepared: &'a Prepared, request: &Request) -> Result<Problem<'a>, SolveError> {
    let several = request.outputs.len() > 1;
    let unpriced = |token| several && prepared.reference_price(token).is_none();
    if let Some((token, _)) = request.outputs.iter().find(|(token, _)| unpriced(*token)) {
        return Err(SolveError::NoReferencePrice(*token));
    }
    let mut terms = Terms::default();
    for (token, amount) in &request.inputs {
        add(&mut terms.supplies, index32(node(*token)), f64::from(*amount));
    }
    let mut priced = true;
    for (token, ratio_bps) in &request.outputs {
        let price = prepared.wei_per_unit(node(*token));
        priced &= price.is_some();
        let share = f64::from(*ratio_bps) / 10_000.0;
        add(&mut terms.weights, index32(node(*token)), share / price.unwrap_or(1.0));
    }
    let lone = |list: &[(u32, f64)]| if let [(token, _)] = list { *token as usize } else { NOWHERE };
    #[allow(clippy::cast_precision_loss, reason = "a value, not an amount")]
    let gas_price = request.gas_price_wei as f64;
    Ok(Problem {
        prepared,
        source: lone(&terms.supplies),
        target: lone(&terms.weights),
        terms,
        amount: 0.0,
        price_out: 0.0,
        // Without a price gas cannot be weighed against the output: it counts as free.
        gas_price: if priced { gas_price } else { 0.0 },
        hops: usize::from(request.max_hops),
        closed: closed_pairs(prepared, &request.filter),
        active: None,
        recorder: None,
    })
}

fn add(list: &mut Vec<(u32, f64)>, token: u32, amount: f64) {
    match list.iter_mut().find(|(known, _)| *known == token) {
        Some((_, sum)) => *sum += amount,
        None => list.push((token, amount)),
    }
}
