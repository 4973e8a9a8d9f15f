//! The route of a sale: sells exactly the inputs for the most output.

use braid_execution::{encode_program, minimum_amount};
use braid_primitives::U256;
use braid_routing::{Route, Solution, SolveError, Uncertified, explain};

use crate::draft::Found;
use crate::feed::Published;
use crate::request::QuoteRequest;
use crate::search::{NoQuote, Search};

/// Finds the best route for the amounts of the request.
///
/// # Errors
/// [`NoQuote`] if there is none.
pub(crate) fn sell(mut search: Search<'_>) -> Result<Found, NoQuote> {
    let Published { prepared, solutions, .. } = search.published;
    set_amounts(&mut search);
    let (solution, witness) = if search.request.explain {
        explain(prepared, &search.trade)?
    } else {
        (solutions.solve(prepared, &search.trade)?, None)
    };
    Ok(Found { witness, ..found(search, solution)? })
}

/// Completes a known route, without a search and a certificate.
///
/// # Errors
/// [`NoQuote`] if an output is zero, or the route cannot be encoded.
pub(crate) fn along(mut search: Search<'_>, route: Route) -> Result<Found, NoQuote> {
    set_amounts(&mut search);
    found(search, Solution { route, certificate: Err(Uncertified::NoBound), pools_visited: 0 })
}

/// Sets the router's input amounts: those of the request, less a partner fee on them.
fn set_amounts(search: &mut Search<'_>) {
    let fee = search.request.fee();
    for ((_, amount), sold) in search.trade.inputs.iter_mut().zip(sold(search.request)) {
        *amount = fee.map_or(sold, |fee| fee.after_input(sold));
    }
}

fn sold(request: &QuoteRequest) -> impl Iterator<Item = U256> + '_ {
    request.inputs.iter().map(|entry| entry.amount.unwrap_or_default())
}

fn found(search: Search<'_>, solution: Solution) -> Result<Found, NoQuote> {
    let request = search.request;
    let sold: Vec<U256> = sold(request).collect();
    let outputs = search.trade.outputs.iter().zip(&solution.route.amounts_out);
    let expected: Vec<U256> =
        outputs.map(|((token, _), made)| search.arrives(&solution.route, *token, *made)).collect();
    if expected.iter().any(U256::is_zero) {
        return Err(SolveError::AmountTooSmall.into());
    }
    // the proxy refuses a minimum of zero: the least is one atomic unit
    let minimum = |amount: &U256| minimum_amount(*amount, request.slippage_tolerance_bps).max(U256::ONE);
    let order = search.order(&sold, expected.iter().map(minimum));
    let mut program = encode_program(&search.published.head.market, &solution.route, &order)?;
    if !search.verifies_transfers {
        // a path does not measure what arrives: a token with a transfer fee would arrive below the minimum
        program.path = None;
    }
    Ok(Found { solution, trade: search.trade, witness: None, sold, expected, order, program, purchase: None })
}
