//! Writes the route of an answer.

use braid_market::Market;
use braid_primitives::{TokenId, U256};
use braid_routing::{Route, Step};

use crate::feed::Published;
use crate::model::{Eip55, Path, PathStep, PathToken, PoolName};
use crate::prices;
use crate::shown::Shown;

/// Returns the id of a step within its quote.
pub(crate) fn step_id(index: usize) -> String {
    format!("s{}", index + 1)
}

/// Writes the route of an answer.
pub(crate) fn path(published: &Published, route: &Route, step_gas_units: &[u64], shown: Shown) -> Path {
    let known = step_gas_units.iter().copied().chain(std::iter::repeat(0));
    let steps = route.steps.iter().zip(known).enumerate();
    Path {
        tokens: tokens(published, route, shown),
        steps: steps
            .filter_map(|(index, (step, gas_units))| path_step(published, route, index, step, gas_units, shown))
            .collect(),
    }
}

/// Lists the ids of the route's protocols, in the order of first use.
pub(crate) fn protocols_used(published: &Published, route: &Route) -> Vec<&'static str> {
    let pools = route.steps.iter().filter_map(|step| published.head.market.pool(step.pool));
    distinct(pools.map(|pool| pool.product.id()))
}

/// Lists the tokens that a route's steps move, in the order of first use.
pub(crate) fn token_ids(route: &Route) -> Vec<TokenId> {
    distinct(route.steps.iter().flat_map(|step| [step.token_in, step.token_out]))
}

/// Drops repeated items.
fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for item in items {
        if !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen
}

/// Writes a token's address in the client's form.
pub(crate) fn token(market: &Market, id: TokenId, shown: Shown) -> Option<Eip55> {
    market.tokens().get(id).map(|token| shown.token(token.address))
}

fn tokens(published: &Published, route: &Route, shown: Shown) -> Vec<PathToken> {
    let known = token_ids(route).into_iter().filter_map(|id| published.head.market.tokens().get(id));
    known
        .map(|token| PathToken {
            address: shown.token(token.address),
            symbol: token.symbol.clone(),
            name: token.name.clone(),
            decimals: token.decimals,
            warnings: Vec::new(),
        })
        .collect()
}

fn path_step(
    published: &Published,
    route: &Route,
    index: usize,
    step: &Step,
    gas_units: u64,
    shown: Shown,
) -> Option<PathStep> {
    let market = &published.head.market;
    let pool = market.pool(step.pool)?;
    let earlier = route.steps.iter().take(index).enumerate();
    let after = earlier.filter(|(_, other)| other.token_out == step.token_in).map(|(at, _)| step_id(at)).collect();
    Some(PathStep {
        id: step_id(index),
        after,
        protocol: pool.product.id(),
        pool: PoolName(pool.key),
        token_in: token(market, step.token_in, shown)?,
        token_out: token(market, step.token_out, shown)?,
        amount_in: step.amount_in.into(),
        amount_out: step.amount_out.into(),
        share_bps: share_bps(route, step),
        fee_bps: pool.fee_pips().map(|pips| u64::from(pips).div_ceil(100)),
        gas_units,
        price_impact_bps: step_impact(published, step),
    })
}

/// Returns a step's share of everything that the route spends of its input token, rounded to the nearest basis point.
fn share_bps(route: &Route, step: &Step) -> u64 {
    let same = route.steps.iter().filter(|other| other.token_in == step.token_in);
    let total = same.fold(U256::ZERO, |sum, other| sum.saturating_add(other.amount_in));
    let scaled = step.amount_in.saturating_mul(U256::from(10_000u64)).saturating_add(total >> 1);
    scaled.checked_div(total).map_or(0, |share| share.saturating_to())
}

fn step_impact(published: &Published, step: &Step) -> Option<i64> {
    let given = prices::value_in_ether(published, step.token_in, step.amount_in)?;
    let got = prices::value_in_ether(published, step.token_out, step.amount_out)?;
    prices::impact_bps(given, got)
}
