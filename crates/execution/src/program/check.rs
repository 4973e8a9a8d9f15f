//! Holds a program to its route: what the proxy would spend and leave, by its own ledger, is what the route says.

use braid_primitives::Address;
use braid_routing::Route;
use braid_routing::machine::SpentFrom;

use super::error::EncodeError;
use super::leg::Leg;
use super::run::{Observer, Payee, Ran, Run};
use super::steps::ProgramStep;
use crate::Order;
use crate::order::MAX_AMOUNT;

/// Checks that the proxy would spend on every step what the route says, would have of every output what the route says,
/// and nothing else besides unspent inputs.
///
/// # Errors
/// [`EncodeError`] with the first difference.
pub(super) fn check(order: &Order, route: &Route, legs: &[Leg], steps: &[ProgramStep]) -> Result<(), EncodeError> {
    let mut run = Run::new(order);
    run.pay_input_fees(&mut Amounts);
    run.steps(legs, steps, &mut Amounts)?;
    for (index, output) in order.outputs.iter().enumerate() {
        let got = run.output(output.token);
        let expected = route.amounts_out.get(index).copied().unwrap_or_default();
        if got != expected || got.is_zero() {
            return Err(EncodeError::AmountOutDiffers { index, got, expected });
        }
    }
    let unspent = run.ledger.unspent().find(|(token, _)| order.tokens().all(|listed| listed != *token));
    unspent.map_or(Ok(()), |(token, amount)| Err(EncodeError::LeftOver { token, amount }))
}

/// Checks that every step that makes a token comes before every step that spends it.
///
/// # Errors
/// [`EncodeError::NotTopological`] with the first step that does not.
pub(super) fn require_topological(legs: &[Leg]) -> Result<(), EncodeError> {
    for (at, leg) in legs.iter().enumerate() {
        if legs.iter().skip(at).any(|later| later.token_out == leg.token_in) {
            return Err(EncodeError::NotTopological { step: at });
        }
    }
    Ok(())
}

/// Compares each step's amount with the route's.
struct Amounts;

impl Observer for Amounts {
    type Error = EncodeError;

    fn step(&mut self, ran: &Ran<'_>, run: &Run<'_>) -> Result<(), EncodeError> {
        let (step, got, expected) = (ran.route_step, ran.amount_in, ran.leg.step.amount_in);
        if got != expected || got.is_zero() {
            return Err(EncodeError::AmountInDiffers { step, got, expected });
        }
        let token_out = ran.leg.token_out;
        if !ran.is_carried || run.output(token_out) > MAX_AMOUNT || ran.leg.step.amount_out > MAX_AMOUNT {
            return Err(EncodeError::AmountTooLarge { step });
        }
        Ok(())
    }

    fn payment(&mut self, _token: Address, _to: Payee, _spent_from: SpentFrom, _run: &Run<'_>) {}
}
