//! One line of JSON a request: all that `scripts/bound.py` needs to work its certificate out again.

use braid_market::Market;
use braid_primitives::{ExecutionBlock, U256};
use braid_protocols::continuous::PairCurve;
use braid_protocols::{Pool, PoolState, uniswap_v2, uniswap_v3};
use braid_routing::{Certificate, Witness};
use serde_json::{Value, json};

use super::requests::Asked;

/// Points of a curve that has no formula in the script.
const POINTS: i32 = 40;

/// The line of one solved request; none for a basket, which the script does not read.
pub(super) fn line(
    market: &Market,
    asked: &Asked,
    gas_price_wei: u64,
    certificate: &Certificate,
    witness: &Witness,
) -> Option<Value> {
    let ([(input, amount)], [(output, _)]) = (asked.inputs.as_slice(), asked.outputs.as_slice()) else { return None };
    let address = |token| market.tokens().get(token).map(|token| token.address.to_checksum(None));
    // A cap that nothing limits is null: JSON has no infinity.
    let tokens = witness.tokens.iter().filter_map(|known| {
        let cap = known.cap.is_finite().then_some(known.cap);
        Some(json!([address(known.token)?, known.price_wei, cap]))
    });
    let pools = witness.left_out.iter().filter_map(|pool| Some(market.pool(*pool)?.address.to_checksum(None)));
    Some(json!({
        "id": asked.id,
        "token_in": address(wrapped(*input)),
        "token_out": address(wrapped(*output)),
        "amount_in": amount.to_string(),
        "gas_price_wei": gas_price_wei,
        "gas_units": {
            "uniswap_v2": uniswap_v2::gas::SWAP_GAS_UNITS,
            "uniswap_v3": uniswap_v3::gas::SWAP_GAS_UNITS,
            "tick": uniswap_v3::gas::TICK_GAS_UNITS,
            "tick_moved": uniswap_v3::gas::TICK_MOVED_GAS_UNITS,
            "word": uniswap_v3::gas::WORD_GAS_UNITS,
        },
        "upper_bound_value_wei": certificate.upper_bound_value_wei.to_string(),
        "dual_bound_value_wei": witness.bound_value_wei,
        "achieved_value_wei": certificate.achieved_value_wei.to_string(),
        "tokens": tokens.collect::<Vec<_>>(),
        "left_out": pools.collect::<Vec<_>>(),
        "sampled": sampled(market, witness),
    }))
}

fn wrapped(token: braid_primitives::TokenId) -> braid_primitives::TokenId {
    if token == braid_market::Tokens::ETHER { braid_market::Tokens::WETH } else { token }
}

/// Exact points of every pair of coins for which the script has no formula.
fn sampled(market: &Market, witness: &Witness) -> Vec<Value> {
    let at = market.block().next();
    let mut curves = Vec::new();
    for (pool, id) in market.pools().iter().zip(0_u32..) {
        let formula = matches!(pool.state, PoolState::WrappedEther | PoolState::UniswapV2(_) | PoolState::UniswapV3(_));
        if formula || witness.left_out.contains(&braid_primitives::PoolId(id)) {
            continue;
        }
        for (coin_out, to) in (0_u8..).zip(&pool.coins) {
            for (coin_in, from) in (0_u8..).zip(&pool.coins) {
                let known = witness.of(*from).is_some() && witness.of(*to).is_some();
                let Some(points) = (known && coin_in != coin_out).then(|| points(pool, &at, coin_in, coin_out)) else {
                    continue;
                };
                let tokens = [*from, *to].map(wrapped).map(|token| market.tokens().get(token).map(|t| t.address));
                let [low, high] = [coin_in.min(coin_out), coin_in.max(coin_out)];
                let gas = PairCurve::of(pool, [low, high], &at).map_or(0.0, |curve| curve.gas_units);
                if !points.is_empty() {
                    curves.push(json!({ "pool": pool.address, "tokens": tokens, "gas_units": gas, "points": points }));
                }
            }
        }
    }
    curves
}

/// Exact quotes over twelve orders of magnitude, up to the most that the pool takes.
fn points(pool: &Pool, at: &ExecutionBlock, coin_in: u8, coin_out: u8) -> Vec<(f64, f64)> {
    let quote = |amount: U256| pool.swap(at, coin_in, coin_out, amount).ok().map(|swap| swap.amount_out);
    let most = (0..112).rev().map(|bits| U256::from(1) << bits).find(|amount| quote(*amount).is_some());
    let Some(most) = most else { return Vec::new() };
    let amounts = (0..=POINTS).rev().filter_map(|k| U256::try_from(f64::from(most) / 2_f64.powi(k)).ok());
    let points = amounts.filter_map(|amount| Some((f64::from(amount), f64::from(quote(amount)?))));
    let mut points: Vec<(f64, f64)> = points.filter(|(x, y)| *x > 0.0 && *y > 0.0).collect();
    points.dedup_by(|later, first| later.0 <= first.0);
    points
}
