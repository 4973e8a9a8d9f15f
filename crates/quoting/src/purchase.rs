//! The route of a purchase: at least so much is bought, for as little as possible.
//!
//! A purchase has one of two forms. Along one chain of known pools the proxy buys exactly the amount, and sells what
//! that costs when it runs. Any other route is run as a sale of the maximum: the amount is bought as long as the price
//! is within the slippage, and the surplus goes to the recipient.

use braid_execution::{MAX_AMOUNT, Order, Program, encode_program, encode_purchase, maximum_amount};
use braid_primitives::U256;
use braid_routing::purchase::{Bought, InputBound, InputCertificate, Purchase, along_one_path, buy as find, buy_along};
use braid_routing::{Route, Solution, SolveError, Step, Uncertified};

use crate::draft::{Found, Purchased};
use crate::way::{NoQuote, Way};

/// What buying exactly is worth: five basis points. The surplus of a sale is of a token that nobody asked more of.
const EXACTNESS: f64 = 1.0005;

/// A purchase in one of its forms.
struct Form {
    order: Order,
    program: Program,
    /// As the quote's market runs it, and what it sells before fees.
    route: Route,
    sold: U256,
    /// What it would sell for exactly the amount, before fees.
    needed_in: U256,
    /// What it costs the taker, see [`Purchase::cost`].
    cost: f64,
    certificate: Result<InputCertificate, Uncertified>,
}

/// Finds the cheapest route that buys an amount of the request's output.
///
/// # Errors
/// [`NoQuote`] where there is none.
pub(crate) fn buy(way: Way<'_>, amount: U256) -> Result<Found, NoQuote> {
    let prepared = &way.published.prepared;
    let is_enough = |route: &Route| way.arrives_alone(route) >= amount;
    let purchase = Purchase { trade: &way.question, amount: gross(&way, amount), is_enough: &is_enough };
    let bought = find(prepared, &purchase)?;
    let chain = along_one_path(prepared, &purchase, (bought.amount_in, &bought.route));
    let exact = exactly(&way, &purchase, &bought.bound, chain, amount)?;
    let sale = at_least(&way, &purchase, &bought, amount);
    let form = match (exact, sale) {
        (Some(exact), Ok(sale)) if sale.cost * EXACTNESS < exact.cost => sale,
        (Some(exact), _) => exact,
        (None, sale) => sale?,
    };
    let found = found(&way, &purchase, form, amount, bought.pools_visited);
    Ok(Found { witness: bought.witness, ..found })
}

/// Does the same along a route that is known, without a search and a bound; `needed_in` is what it sells for exactly
/// the amount, before fees.
///
/// # Errors
/// [`NoQuote`] where the route does not buy the amount.
pub(crate) fn again(
    way: Way<'_>,
    amount: U256,
    buys: bool,
    (needed_in, route): (U256, &Route),
) -> Result<Found, NoQuote> {
    let prepared = &way.published.prepared;
    let is_enough = |route: &Route| way.arrives_alone(route) >= amount;
    let purchase = Purchase { trade: &way.question, amount: gross(&way, amount), is_enough: &is_enough };
    let form = if buys {
        let chain = buy_along(prepared.market(), &way.question.at, route, purchase.amount);
        exactly(&way, &purchase, &Err(Uncertified::NoBound), chain, amount)?.ok_or(SolveError::InsufficientLiquidity)?
    } else {
        let sold = way.request.fee().map_or(needed_in, |fee| fee.after_input(needed_in));
        let bought = Bought::along(prepared, &purchase, sold, route).ok_or(SolveError::InsufficientLiquidity)?;
        at_least(&way, &purchase, &bought, amount)?
    };
    Ok(found(&way, &purchase, form, amount, 0))
}

/// Returns what a route must make of the output for the amount to be left after a fee.
fn gross(way: &Way<'_>, amount: U256) -> U256 {
    way.request.fee().map_or(amount, |fee| fee.before_output(amount))
}

fn found(way: &Way<'_>, purchase: &Purchase<'_>, form: Form, amount: U256, pools_visited: u32) -> Found {
    let Form { order, program, route, sold, needed_in, certificate, .. } = form;
    let before_fee = |amount: U256| way.request.fee().map_or(amount, |fee| fee.before_input(amount));
    let least_in = certificate.as_ref().ok().map(|known| before_fee(known.least_amount_in));
    let expected = vec![if program.buys() { amount } else { way.arrives_alone(&route) }];
    let net_sold = way.request.fee().map_or(sold, |fee| fee.after_input(sold));
    let certificate = certificate.map(|known| known.certificate);
    Found {
        solution: Solution { route, certificate, pools_visited },
        question: purchase.sale_of(net_sold),
        witness: None,
        sold: vec![sold],
        expected,
        order,
        program,
        purchase: Some(Purchased { amount, needed_in, least_in }),
    }
}

/// Makes the purchase along one chain of known pools; no partner is paid there, and tokens must move as amounts say.
fn exactly(
    way: &Way<'_>,
    purchase: &Purchase<'_>,
    bound: &Result<InputBound, Uncertified>,
    chain: Option<(U256, Route)>,
    amount: U256,
) -> Result<Option<Form>, NoQuote> {
    if way.request.fee().is_some() || !way.verifies_transfers {
        return Ok(None);
    }
    let prepared = &way.published.prepared;
    let Some((sold, route)) = chain.filter(|(sold, _)| *sold <= MAX_AMOUNT) else { return Ok(None) };
    let maximum = maximum_amount(sold, way.request.slippage_tolerance_bps).min(MAX_AMOUNT);
    let order = way.order(&[maximum], std::iter::once(amount));
    let Some(program) = encode_purchase(&way.published.head.market, &route, &order)? else { return Ok(None) };
    let cost = purchase.cost(prepared, sold, &route);
    let certificate = bound.clone().and_then(|bound| bound.certificate(sold, &route));
    Ok(Some(Form { order, program, route, sold, needed_in: sold, cost, certificate }))
}

/// Makes the sale of the maximum along the best route of any form.
fn at_least(way: &Way<'_>, purchase: &Purchase<'_>, bought: &Bought, amount: U256) -> Result<Form, NoQuote> {
    let (prepared, fee) = (&way.published.prepared, way.request.fee());
    let needed_in = fee.map_or(bought.amount_in, |fee| fee.before_input(bought.amount_in));
    if needed_in > MAX_AMOUNT {
        return Err(SolveError::InsufficientLiquidity.into());
    }
    let market = &way.published.head.market;
    // ether is wrapped one to one, whatever the market does
    let is_fixed = |step: &Step| market.pool(step.pool).is_some_and(|pool| pool.product.wraps_ether());
    let maximum = match bought.route.steps.iter().all(is_fixed) {
        true => needed_in,
        false => maximum_amount(needed_in, way.request.slippage_tolerance_bps).min(MAX_AMOUNT),
    };
    let after_fee = fee.map_or(maximum, |fee| fee.after_input(maximum));
    let route = bought.sell(prepared, purchase, after_fee).filter(|route| purchase.is_met_by(route));
    let route = route.ok_or(NoQuote::BeyondSlippage)?;
    let order = way.order(&[maximum], std::iter::once(amount));
    let mut program = encode_program(market, &route, &order)?;
    if !way.verifies_transfers {
        program.path = None;
    }
    // what goes to somebody else is lost to the taker
    let is_own = way.request.recipient == way.request.taker;
    let spent = if is_own { bought.amount_in } else { after_fee };
    let cost = purchase.cost(prepared, spent, &bought.route);
    let certificate = bought.bound.clone().and_then(|bound| bound.certificate(bought.amount_in, &bought.route));
    Ok(Form { order, program, route, sold: maximum, needed_in, cost, certificate })
}
