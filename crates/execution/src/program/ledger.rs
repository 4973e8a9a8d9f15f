//! The proxy's ledger, replayed with a route's amounts (`docs/program.md`, section 3).

use std::collections::BTreeMap;

use braid_primitives::{Address, U256};
use braid_routing::Route;

use super::{EncodeError, Leg};
use crate::Order;
use crate::order::MAX_AMOUNT;

/// Checks that the proxy would spend on every step what the route says, in the route's order, would have of every output what the
/// route says, and nothing else besides unspent inputs.
///
/// # Errors
/// [`EncodeError`] with the first difference.
pub(super) fn check(order: &Order, route: &Route, legs: &[Leg]) -> Result<(), EncodeError> {
    require_topological(legs)?;
    let mut at_hand: BTreeMap<Address, U256> =
        order.inputs.iter().map(|input| (input.token, order.input_after_fee(input))).collect();
    for (at, leg) in legs.iter().enumerate() {
        let from = at_hand.entry(leg.token_in).or_default();
        let spent = spend(*from, leg.step.share);
        if spent != leg.step.amount_in || spent.is_zero() {
            return Err(EncodeError::AmountInDiffers { step: at, got: spent, expected: leg.step.amount_in });
        }
        *from -= spent;
        let into = at_hand.entry(leg.token_out).or_default();
        *into = into.saturating_add(leg.step.amount_out);
        if *into > MAX_AMOUNT {
            return Err(EncodeError::AmountTooLarge { step: at });
        }
    }
    require_outputs(order, route, &mut at_hand)?;
    let unspent = at_hand
        .into_iter()
        .find(|(token, amount)| !amount.is_zero() && order.inputs.iter().all(|input| input.token != *token));
    unspent.map_or(Ok(()), |(token, amount)| Err(EncodeError::LeftOver { token, amount }))
}

/// What a share of 2⁻³² units takes of what is at hand; 0 takes everything.
///
/// `at_hand` is below 2¹²⁸, so that the product fits.
fn spend(at_hand: U256, share: u32) -> U256 {
    if share == 0 { at_hand } else { (at_hand * U256::from(share)) >> 32 }
}

/// Every step that makes a token comes before every step that spends it.
fn require_topological(legs: &[Leg]) -> Result<(), EncodeError> {
    for (at, leg) in legs.iter().enumerate() {
        if legs.iter().skip(at).any(|later| later.token_out == leg.token_in) {
            return Err(EncodeError::NotTopological { step: at });
        }
    }
    Ok(())
}

/// Takes the outputs out of what is at hand and compares them with the route's.
fn require_outputs(order: &Order, route: &Route, at_hand: &mut BTreeMap<Address, U256>) -> Result<(), EncodeError> {
    for (index, output) in order.outputs.iter().enumerate() {
        let got = at_hand.remove(&output.token).unwrap_or_default();
        let expected = route.amounts_out.get(index).copied().unwrap_or_default();
        if got != expected || got.is_zero() {
            return Err(EncodeError::AmountOutDiffers { index, got, expected });
        }
    }
    Ok(())
}
