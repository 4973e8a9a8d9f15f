//! Explains a route: values simpler routes, and routes that the request excludes. Each excluded protocol takes one more
//! solve.

mod words;

use braid_primitives::{PoolId, TokenId, U256};
use braid_protocols::Product;
use braid_routing::{PoolFilter, Request, Route, SimplePlan, Step, Witness, solve};

use crate::draft::Draft;
use crate::model::{
    Amount, ExcludedProtocol, Exclusions, Explanation, Gain, GasShare, MarginalPrice, PoolName, SingleRoute,
    SingleStep, StepPrice,
};
use crate::shown::Shown;
use crate::{costs, path, prices, resolve};

/// Most excluded protocols whose cost is told, those with the most pools: each takes one more solve.
const MOST_COSTS: usize = 6;

/// Explains a draft's route.
pub(crate) fn explain(draft: &Draft) -> Explanation {
    let (input, route) = (&draft.input, &draft.found.solution.route);
    let sold = input.tokens.inputs.iter().copied().zip(draft.found.sold.iter().copied());
    let gross = output_value(draft, route);
    let net = net_value(draft, route);
    let gain = |ether: f64| Some(gain(ether, gross?));
    let single = SimplePlan::SinglePath.route(&input.published.prepared, &draft.found.trade);
    let single_net = single.as_ref().and_then(|route| net_value(draft, route));
    let mut explanation = Explanation {
        words: Vec::new(),
        input_value_wei: value_in_ether(draft, sold).and_then(wei),
        output_value_wei: gross.and_then(wei),
        gas: gas_share(draft),
        best_single_route: single.map(|route| single_route(draft, &route)),
        splitting: net.zip(single_net).and_then(|(net, single)| gain(net - single)),
        exclusions: exclusions(draft, |best_net| gain(best_net? - net?)),
        marginal_prices: draft.found.witness.as_ref().map_or_else(Vec::new, |witness| marginal_prices(draft, witness)),
        step_prices: step_prices(draft),
    };
    explanation.words = words::of(draft, &explanation);
    explanation
}

/// Replaces modelled gas by measured gas in a draft and its explanation.
pub(crate) fn use_measured_gas(draft: &mut Draft, total_gas_units: u64, gas_limit: u64) {
    draft.gas.measure(total_gas_units, gas_limit);
    if let Some(mut explanation) = draft.explanation.take() {
        explanation.gas = gas_share(draft);
        explanation.words = words::of(draft, &explanation);
        draft.explanation = Some(explanation);
    }
}

fn gas_share(draft: &Draft) -> GasShare {
    let cost_wei = costs::cost_wei(&draft.gas, &draft.fees);
    let got = output_value(draft, &draft.found.solution.route);
    GasShare {
        gas_units: draft.gas.total_gas_units,
        cost_wei: cost_wei.into(),
        share_bps: got.and_then(|got| bps(f64::from(cost_wei) / 1e18, got)),
    }
}

/// Values amounts at the reference prices, in ether; `None` if a token has no price.
fn value_in_ether(draft: &Draft, amounts: impl Iterator<Item = (TokenId, U256)>) -> Option<f64> {
    amounts.map(|(id, amount)| prices::value_in_ether(&draft.input.published, id, amount)).sum()
}

/// Values a route's outputs before gas, in ether.
fn output_value(draft: &Draft, route: &Route) -> Option<f64> {
    value_in_ether(draft, draft.input.tokens.outputs.iter().copied().zip(route.amounts_out.iter().copied()))
}

/// Values a route's outputs less the gas of its steps, in ether.
fn net_value(draft: &Draft, route: &Route) -> Option<f64> {
    let gas_price_wei = draft.found.trade.gas_price_wei;
    Some(output_value(draft, route)? - route.gas_units() as f64 * gas_price_wei as f64 / 1e18)
}

fn wei(ether: f64) -> Option<Amount> {
    U256::try_from((ether * 1e18).max(0.0)).ok().map(Into::into)
}

/// Returns a part of a whole in basis points, rounded to two decimals.
fn bps(part: f64, whole: f64) -> Option<f64> {
    let share = part / whole * 10_000.0;
    share.is_finite().then(|| (share * 100.0).round() / 100.0)
}

/// Returns a difference in ether, with its share of the whole; a loss counts as zero.
fn gain(ether: f64, whole: f64) -> Gain {
    let ether = ether.max(0.0);
    Gain { value_wei: wei(ether).unwrap_or_default(), bps: bps(ether, whole).unwrap_or(0.0) }
}

fn single_route(draft: &Draft, route: &Route) -> SingleRoute {
    let market = &draft.input.published.head.market;
    let shown = Shown::by(&draft.input.request);
    let step = |step: &Step| {
        Some(SingleStep {
            protocol: market.pool(step.pool)?.product.id(),
            pool: PoolName(market.pool(step.pool)?.key),
            token_in: path::token(market, step.token_in, shown)?,
            token_out: path::token(market, step.token_out, shown)?,
        })
    };
    SingleRoute {
        steps: route.steps.iter().filter_map(step).collect(),
        expected_amount: route.amounts_out.first().copied().unwrap_or_default().into(),
        gas_units: route.gas_units(),
        net_value_wei: net_value(draft, route).and_then(wei),
    }
}

/// Lists the request's exclusions. `cost` turns the net value of the best route without an exclusion into the cost of
/// that exclusion.
fn exclusions(draft: &Draft, cost: impl Fn(Option<f64>) -> Option<Gain>) -> Option<Exclusions> {
    let (market, trade) = (&draft.input.published.head.market, &draft.found.trade);
    let service = &draft.exclusions.filter;
    if trade.filter == *service {
        return None;
    }
    let all = (0..).map(PoolId).zip(market.pools().iter().map(|pool| pool.product));
    // pools that the service excludes are no exclusion of the request
    let excluded = all.filter(|(id, product)| !trade.filter.allows(*id, *product) && service.allows(*id, *product));
    let (whole, single): (Vec<_>, Vec<_>) =
        excluded.map(|(_, product)| product).partition(|product| trade.filter.excludes_product(*product));
    let without = |filter: PoolFilter| {
        let wider = Request { filter, ..trade.clone() };
        let best = solve(&draft.input.published.prepared, &wider).ok()?;
        cost(net_value(draft, &best.route))
    };
    let all = without(service.clone());
    let count = |product: &Product| (*product, whole.iter().filter(|other| *other == product).count());
    let protocols: Vec<(Product, usize)> = Product::ALL.iter().map(count).filter(|(_, count)| *count > 0).collect();
    let pools = single.len();
    let valued = with_most_pools(&protocols);
    // a single exclusion costs as much as all of them: no further solve
    let is_only = protocols.len() + usize::from(pools > 0) == 1;
    let part = |allowed: Option<Product>| if is_only { all.clone() } else { without(filter_allowing(draft, allowed)) };
    let cost_of = |product: Product| if valued.contains(&product) { part(Some(product)) } else { None };
    let protocols = protocols
        .iter()
        .map(|(product, pools)| ExcludedProtocol { protocol: product.id(), pools: *pools, cost: cost_of(*product) })
        .collect();
    let pools_cost = (pools > 0).then(|| part(None)).flatten();
    Some(Exclusions { protocols, pools, pools_cost, cost: all })
}

/// Returns the excluded protocols whose cost is told, those with the most pools.
fn with_most_pools(protocols: &[(Product, usize)]) -> Vec<Product> {
    let mut ordered = protocols.to_vec();
    ordered.sort_by_key(|(_, pools)| std::cmp::Reverse(*pools));
    ordered.into_iter().map(|(product, _)| product).take(MOST_COSTS).collect()
}

/// Returns the request's filter with one product allowed again or, for `None`, with all single pools allowed again.
fn filter_allowing(draft: &Draft, allowed: Option<Product>) -> PoolFilter {
    let mut filter = draft.exclusions.filter.clone();
    let excluded = Product::ALL.iter().filter(|product| draft.found.trade.filter.excludes_product(**product));
    excluded.filter(|product| allowed != Some(**product)).for_each(|product| filter.exclude_product(*product));
    if allowed.is_some() {
        let market = &draft.input.published.head.market;
        let (pools, _) = resolve::excluded_pools(market, &draft.input.request);
        pools.into_iter().for_each(|pool| filter.exclude_pool(pool));
    }
    filter
}

/// Lists the marginal price of each of the route's tokens: the certificate's dual prices.
fn marginal_prices(draft: &Draft, witness: &Witness) -> Vec<MarginalPrice> {
    let published = &draft.input.published;
    let shown = Shown::by(&draft.input.request);
    let price = |id: TokenId| {
        let token = published.head.market.tokens().get(id)?;
        let value = witness.of(id)?.price_wei * 10f64.powi(i32::from(token.decimals)) / 1e18;
        let reference = prices::ether_per_token(&published.prepared, id).map(|price| price.to_string());
        let token = shown.token(token.address);
        value.is_finite().then(|| MarginalPrice { token, value: value.to_string(), reference })
    };
    path::token_ids(&draft.found.solution.route).into_iter().filter_map(price).collect()
}

/// Lists each step's average price, and its price for a thousandth more input, in whole tokens.
fn step_prices(draft: &Draft) -> Vec<StepPrice> {
    let market = &draft.input.published.head.market;
    let whole = |id: TokenId, amount: U256| {
        market.tokens().get(id).map(|token| f64::from(amount) / 10f64.powi(i32::from(token.decimals)))
    };
    let rate = |step: &Step, amount_in: U256, amount_out: U256| {
        let rate = whole(step.token_out, amount_out)? / whole(step.token_in, amount_in)?;
        rate.is_finite().then_some(rate)
    };
    let marginal = |step: &Step| {
        let more = step.amount_in.checked_div(U256::from(1_000))?.max(U256::ONE);
        let (pool, amount_in) = (market.pool(step.pool)?, step.amount_in.checked_add(more)?);
        let swap = pool.swap(&draft.found.trade.at, step.coin_in, step.coin_out, amount_in).ok()?;
        rate(step, more, swap.amount_out.checked_sub(step.amount_out)?)
    };
    let price = |(index, step): (usize, &Step)| {
        let average = rate(step, step.amount_in, step.amount_out)?;
        Some(StepPrice { step: path::step_id(index), average, marginal: marginal(step) })
    };
    draft.found.solution.route.steps.iter().enumerate().filter_map(price).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request can exclude every protocol but one, and each cost takes one more solve.
    #[test]
    fn the_cost_of_few_protocols_is_told() {
        let all: Vec<(Product, usize)> = Product::ALL.iter().copied().zip(1..).collect();
        let most: Vec<Product> = all.iter().rev().take(MOST_COSTS).map(|(product, _)| *product).collect();
        assert_eq!(with_most_pools(&all), most);
        assert_eq!(with_most_pools(&all[..2]), [all[1].0, all[0].0]);
    }
}
