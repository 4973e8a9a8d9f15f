//! Makes the program of a route.

use braid_market::Market;
use braid_primitives::Address;
use braid_routing::Route;

use super::error::EncodeError;
use super::leg::Leg;
use super::steps::{Program, ProgramStep};
use super::{check, order_of_steps, path};
use crate::Order;
use crate::order::MAX_TOKENS;

/// Returns the program of a route for an order.
///
/// `route` is what was solved on `market` for the order's inputs after a partner fee on inputs; its `amounts_out` are
/// before a partner fee on outputs. The proxy's ledger is replayed with the route's amounts: a program is only returned
/// if it spends and leaves exactly what the route says.
///
/// # Errors
/// [`EncodeError`] when the order would be refused or the route is not one that the proxy runs as stated.
pub fn encode_program(market: &Market, route: &Route, order: &Order) -> Result<Program, EncodeError> {
    order.validate()?;
    if route.steps.is_empty() {
        return Err(EncodeError::EmptyRoute);
    }
    let legs = Leg::of_route(market, route)?;
    check::require_topological(&legs)?;
    let steps = order_of_steps::arrange(order, &legs);
    check::check(order, route, &legs, &steps)?;
    let tokens = token_list(order, &legs, &steps)?;
    let mut bytes = Vec::with_capacity(1 + 20 * tokens.len() + legs.len() * 40);
    let listed = tokens.get(order.inputs.len() + order.outputs.len()..).unwrap_or(&[]);
    bytes.push(u8::try_from(listed.len()).map_err(|_| EncodeError::TooManyTokens { got: tokens.len() })?);
    listed.iter().for_each(|token| bytes.extend_from_slice(token.as_slice()));
    for step in &steps {
        if let Some(leg) = legs.get(step.route_step) {
            let spends = step.wraps.and_then(|wrap| legs.get(wrap)).unwrap_or(leg);
            leg.write(step.destination, spends, &tokens, &mut bytes)?;
        }
    }
    let path = path::encode(order, &legs, &steps);
    Ok(Program { bytes: bytes.into(), steps, path })
}

/// Returns the program that buys exactly the order's output along a route's chain of pools, for at most the order's
/// input.
///
/// `route` has the amounts of that purchase. `None` where it is no chain of pools that their factories vouch for.
///
/// # Errors
/// As [`encode_program`].
pub fn encode_purchase(market: &Market, route: &Route, order: &Order) -> Result<Option<Program>, EncodeError> {
    let mut program = encode_program(market, route, &order.sold_along(route))?;
    program.path = program.path.as_ref().map(path::buying);
    Ok(program.path.is_some().then_some(program))
}

/// Inputs, outputs, then the other tokens in the order in which the route meets them.
fn token_list(order: &Order, legs: &[Leg], steps: &[ProgramStep]) -> Result<Vec<Address>, EncodeError> {
    let mut tokens: Vec<Address> = order.tokens().collect();
    // what a step wraps by itself is met by no other
    let unmet = |at: usize| steps.iter().any(|step| step.wraps == Some(at));
    let wrapped: Vec<Address> =
        legs.iter().enumerate().filter(|(at, _)| unmet(*at)).map(|(_, leg)| leg.token_out).collect();
    for token in legs.iter().flat_map(|leg| [leg.token_in, leg.token_out]) {
        if !tokens.contains(&token) && !wrapped.contains(&token) {
            tokens.push(token);
        }
    }
    if tokens.len() > MAX_TOKENS { Err(EncodeError::TooManyTokens { got: tokens.len() }) } else { Ok(tokens) }
}
