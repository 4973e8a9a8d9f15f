//! A purchase along one path of pools: exactly the amount is bought, computed from the last pool backwards.

use braid_market::Market;
use braid_primitives::{ExecutionBlock, U256};
use braid_protocols::Product;

use super::wanted::Purchase;
use crate::machine::MAX_AMOUNT;
use crate::{Prepared, Route, SimplePlan, Step};

/// Finds the cheapest route that buys exactly the amount along one path of pools that the proxy can buy from, and
/// returns it with its input. `near` is the best route of any form, with its input.
pub fn along_one_path(
    prepared: &Prepared,
    purchase: &Purchase<'_>,
    (near_in, near): (U256, &Route),
) -> Option<(U256, Route)> {
    let mut sale = purchase.sale_of(near_in);
    Product::ALL
        .iter()
        .filter(|product| !product.is_bought_from())
        .for_each(|other| sale.filter.exclude_product(*other));
    let alone = SimplePlan::SinglePath.route(prepared, &sale);
    let routes = [Some(near), alone.as_ref()].into_iter().flatten();
    let exact = routes.filter_map(|route| buy_along(prepared.market(), &purchase.trade.at, route, purchase.amount));
    let cost = |(amount_in, route): &(U256, Route)| purchase.cost(prepared, *amount_in, route);
    exact.min_by(|a, b| cost(a).total_cmp(&cost(b)))
}

/// Computes the amounts and the gas of a path's steps for buying an exact amount. `None` for a route that splits or
/// uses a pool twice, and if the proxy cannot buy from a pool or carry an amount.
pub fn buy_along(market: &Market, at: &ExecutionBlock, route: &Route, amount: U256) -> Option<(U256, Route)> {
    let mut wanted = amount;
    let mut steps: Vec<Step> = Vec::with_capacity(route.steps.len());
    for step in route.steps.iter().rev() {
        let follows = steps.last().is_none_or(|later| later.token_in == step.token_out);
        if !follows || step.share != 0 || steps.iter().any(|later| later.pool == step.pool) {
            return None;
        }
        let pool = market.pool(step.pool)?;
        let amount_in = pool.amount_in_for(step.coin_in, step.coin_out, wanted).ok()?;
        if amount_in > MAX_AMOUNT {
            return None;
        }
        // Takes the gas of a sale of the computed input, which crosses the same ticks.
        let gas_units = pool.swap(at, step.coin_in, step.coin_out, amount_in).ok()?.gas_units;
        steps.push(Step { amount_in, amount_out: wanted, gas_units, ..step.clone() });
        wanted = amount_in;
    }
    steps.reverse();
    Some((wanted, Route { steps, amounts_out: vec![amount] }))
}
