//! The route of a purchase: buys at least an amount for the least input.
//!
//! A purchase has one of two forms. Along one path of known pools the proxy buys exactly the amount, and sells what the
//! amount costs when the transaction runs. Any other route sells the maximum input. The transaction succeeds as long as
//! the price is within the slippage, and the surplus goes to the recipient.

use braid_execution::{MAX_AMOUNT, Order, Program, encode_program, encode_purchase, maximum_amount};
use braid_primitives::U256;
use braid_routing::purchase::{Bought, InputBound, InputCertificate, Purchase, along_one_path, buy as find, buy_along};
use braid_routing::{Route, Solution, SolveError, Step, Uncertified};

use crate::draft::{Found, Purchased};
use crate::search::{NoQuote, Search};

/// Factor by which an exact purchase may cost more than a sale that also buys the amount, and still be preferred: five
/// basis points. The surplus of a sale is in a token of which the taker wanted no more.
const EXACT_COST_FACTOR: f64 = 1.0005;

/// A purchase in one of its forms.
struct Form {
    order: Order,
    program: Program,
    /// The route with the amounts of the quote's market.
    route: Route,
    /// Input before fees, in atomic units.
    sold: U256,
    /// Input before fees that buys exactly the amount, in atomic units.
    needed_in: U256,
    /// Cost to the taker, see [`Purchase::cost`].
    cost: f64,
    certificate: Result<InputCertificate, Uncertified>,
}

/// Finds the cheapest route that buys an amount of the request's output.
///
/// # Errors
/// [`NoQuote`] if there is none.
pub(crate) fn buy(search: Search<'_>, amount: U256) -> Result<Found, NoQuote> {
    let prepared = &search.published.prepared;
    let is_enough = |route: &Route| search.arrives_alone(route) >= amount;
    let purchase = Purchase { trade: &search.trade, amount: before_fee(&search, amount), is_enough: &is_enough };
    let bought = find(prepared, &purchase)?;
    let path = along_one_path(prepared, &purchase, (bought.amount_in, &bought.route));
    let exact = exactly(&search, &purchase, &bought.bound, path, amount)?;
    let sale = at_least(&search, &purchase, &bought, amount);
    let form = match (exact, sale) {
        (Some(exact), Ok(sale)) if sale.cost * EXACT_COST_FACTOR < exact.cost => sale,
        (Some(exact), _) => exact,
        (None, sale) => sale?,
    };
    let found = found(&search, &purchase, form, amount, bought.pools_visited);
    Ok(Found { witness: bought.witness, ..found })
}

/// Buys along a known route, without a search and a bound. `needed_in` is the input before fees that buys exactly the
/// amount; `buys` tells whether the program buys exactly.
///
/// # Errors
/// [`NoQuote`] if the route does not buy the amount.
pub(crate) fn along(
    search: Search<'_>,
    amount: U256,
    buys: bool,
    (needed_in, route): (U256, &Route),
) -> Result<Found, NoQuote> {
    let prepared = &search.published.prepared;
    let is_enough = |route: &Route| search.arrives_alone(route) >= amount;
    let purchase = Purchase { trade: &search.trade, amount: before_fee(&search, amount), is_enough: &is_enough };
    let form = if buys {
        let path = buy_along(prepared.market(), &search.trade.at, route, purchase.amount);
        exactly(&search, &purchase, &Err(Uncertified::NoBound), path, amount)?
            .ok_or(SolveError::InsufficientLiquidity)?
    } else {
        let sold = search.request.fee().map_or(needed_in, |fee| fee.after_input(needed_in));
        let bought = Bought::along(prepared, &purchase, sold, route).ok_or(SolveError::InsufficientLiquidity)?;
        at_least(&search, &purchase, &bought, amount)?
    };
    Ok(found(&search, &purchase, form, amount, 0))
}

/// Returns the output before a fee that leaves `amount` after it.
fn before_fee(search: &Search<'_>, amount: U256) -> U256 {
    search.request.fee().map_or(amount, |fee| fee.before_output(amount))
}

fn found(search: &Search<'_>, purchase: &Purchase<'_>, form: Form, amount: U256, pools_visited: u32) -> Found {
    let Form { order, program, route, sold, needed_in, certificate, .. } = form;
    let before_fee = |amount: U256| search.request.fee().map_or(amount, |fee| fee.before_input(amount));
    let least_in = certificate.as_ref().ok().map(|known| before_fee(known.least_amount_in));
    let expected = vec![if program.buys() { amount } else { search.arrives_alone(&route) }];
    let net_sold = search.request.fee().map_or(sold, |fee| fee.after_input(sold));
    let certificate = certificate.map(|known| known.certificate);
    Found {
        solution: Solution { route, certificate, pools_visited },
        trade: purchase.sale_of(net_sold),
        witness: None,
        sold: vec![sold],
        expected,
        order,
        program,
        purchase: Some(Purchased { amount, needed_in, least_in }),
    }
}

/// Makes the purchase along one path of known pools; `None` if a partner fee is due or transfers are not verified, since
/// a path pays no partner and does not measure what arrives.
fn exactly(
    search: &Search<'_>,
    purchase: &Purchase<'_>,
    bound: &Result<InputBound, Uncertified>,
    path: Option<(U256, Route)>,
    amount: U256,
) -> Result<Option<Form>, NoQuote> {
    if search.request.fee().is_some() || !search.verifies_transfers {
        return Ok(None);
    }
    let prepared = &search.published.prepared;
    let Some((sold, route)) = path else { return Ok(None) };
    let maximum = maximum_amount(sold, search.request.slippage_tolerance_bps).min(MAX_AMOUNT);
    let order = search.order(&[maximum], std::iter::once(amount));
    let Some(program) = encode_purchase(&search.published.head.market, &route, &order)? else { return Ok(None) };
    let cost = purchase.cost(prepared, sold, &route);
    let certificate = bound.clone().and_then(|bound| bound.certificate(sold, &route));
    Ok(Some(Form { order, program, route, sold, needed_in: sold, cost, certificate }))
}

/// Makes the purchase as a sale of the maximum input along the best route.
fn at_least(search: &Search<'_>, purchase: &Purchase<'_>, bought: &Bought, amount: U256) -> Result<Form, NoQuote> {
    let (prepared, fee) = (&search.published.prepared, search.request.fee());
    let needed_in = fee.map_or(bought.amount_in, |fee| fee.before_input(bought.amount_in));
    if needed_in > MAX_AMOUNT {
        return Err(SolveError::InsufficientLiquidity.into());
    }
    let market = &search.published.head.market;
    // wrapping ether is one to one at every block: it needs no slippage
    let is_fixed = |step: &Step| market.pool(step.pool).is_some_and(|pool| pool.product.wraps_ether());
    let maximum = match bought.route.steps.iter().all(is_fixed) {
        true => needed_in,
        false => maximum_amount(needed_in, search.request.slippage_tolerance_bps).min(MAX_AMOUNT),
    };
    let after_fee = fee.map_or(maximum, |fee| fee.after_input(maximum));
    let route = bought.sell(prepared, purchase, after_fee).filter(|route| purchase.is_met_by(route));
    let route = route.ok_or(NoQuote::BeyondSlippage)?;
    let order = search.order(&[maximum], std::iter::once(amount));
    let mut program = encode_program(market, &route, &order)?;
    if !search.verifies_transfers {
        program.path = None;
    }
    // a surplus that goes to another recipient is lost to the taker
    let is_own = search.request.recipient == search.request.taker;
    let spent = if is_own { bought.amount_in } else { after_fee };
    let cost = purchase.cost(prepared, spent, &bought.route);
    let certificate = bought.bound.clone().and_then(|bound| bound.certificate(bought.amount_in, &bought.route));
    Ok(Form { order, program, route, sold: maximum, needed_in, cost, certificate })
}
