//! The route of a sale: exactly so much is sold, for as much as possible.

use braid_execution::{encode_program, minimum_amount};
use braid_primitives::U256;
use braid_routing::{Route, Solution, SolveError, Uncertified, explain, solve};

use crate::draft::Found;
use crate::request::QuoteRequest;
use crate::way::{NoQuote, Way};

/// Finds the best route for the amounts of the request.
///
/// # Errors
/// [`NoQuote`] where there is none.
pub(crate) fn sell(mut way: Way<'_>) -> Result<Found, NoQuote> {
    let prepared = &way.published.prepared;
    ask(&mut way);
    let (solution, witness) =
        if way.request.explain { explain(prepared, &way.question)? } else { (solve(prepared, &way.question)?, None) };
    Ok(Found { witness, ..found(way, solution)? })
}

/// Takes a route that is known, without a search and a certificate.
///
/// # Errors
/// [`NoQuote`] where it pays nothing, or makes no program.
pub(crate) fn along(mut way: Way<'_>, route: Route) -> Result<Found, NoQuote> {
    ask(&mut way);
    found(way, Solution { route, certificate: Err(Uncertified::NoBound), pools_visited: 0 })
}

/// Gives the question what is left of the amounts after a fee.
fn ask(way: &mut Way<'_>) {
    let fee = way.request.fee();
    for ((_, amount), sold) in way.question.inputs.iter_mut().zip(sold(way.request)) {
        *amount = fee.map_or(sold, |fee| fee.after_input(sold));
    }
}

fn sold(request: &QuoteRequest) -> impl Iterator<Item = U256> + '_ {
    request.inputs.iter().map(|entry| entry.amount.unwrap_or_default())
}

fn found(way: Way<'_>, solution: Solution) -> Result<Found, NoQuote> {
    let request = way.request;
    let sold: Vec<U256> = sold(request).collect();
    let outputs = way.question.outputs.iter().zip(&solution.route.amounts_out);
    let expected: Vec<U256> = outputs.map(|((token, _), made)| way.arrives(&solution.route, *token, *made)).collect();
    if expected.iter().any(U256::is_zero) {
        return Err(SolveError::AmountTooSmall.into());
    }
    // the proxy refuses a minimum of zero, so that the least is one atomic unit
    let minimum = |amount: &U256| minimum_amount(*amount, request.slippage_tolerance_bps).max(U256::ONE);
    let order = way.order(&sold, expected.iter().map(minimum));
    let mut program = encode_program(&way.published.head.market, &solution.route, &order)?;
    if !way.verifies_transfers {
        // a path does not look at what arrives: a token that taxes transfers would arrive below the minimum
        program.path = None;
    }
    Ok(Found { solution, question: way.question, witness: None, sold, expected, order, program, purchase: None })
}
