//! One line of JSON per request, with everything that `scripts/bound.py` needs to recompute its certificate.

use braid_market::Market;
use braid_primitives::{ExecutionBlock, U256};
use braid_protocols::{Pool, PoolState, uniswap_v2, uniswap_v3};
use braid_routing::{Certificate, Witness};
use serde_json::{Value, json};

use super::requests::Asked;

/// The number of halvings of the largest amount, and the number of points within each of the first ones.
const HALVINGS: u32 = 30;
const PARTS_OF_HALVING: u32 = 4;
/// The share of a pool's maximum output that counts as all of it.
const ALL_OF_IT: f64 = 0.999;

/// Returns the line of one solved request; `None` for a basket, which the script does not support.
pub(super) fn line(
    market: &Market,
    asked: &Asked,
    gas_price_wei: u64,
    certificate: &Certificate,
    witness: &Witness,
) -> Option<Value> {
    let ([(input, amount)], [(output, _)]) = (asked.inputs.as_slice(), asked.outputs.as_slice()) else { return None };
    let address = |token| market.tokens().get(token).map(|token| token.address.to_checksum(None));
    // An unlimited cap is written as null, because JSON has no infinity.
    let tokens = witness.tokens.iter().filter_map(|known| {
        let cap = known.cap.is_finite().then_some(known.cap);
        Some(json!([address(known.token)?, known.price_wei, cap]))
    });
    let pools = witness.left_out.iter().filter_map(|pool| Some(market.pool(*pool)?.key.to_string()));
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

/// Returns exact points of the curves for which the script has no formula.
fn sampled(market: &Market, witness: &Witness) -> Vec<Value> {
    let at = market.block().next();
    let mut curves = Vec::new();
    for (pool, id) in market.pools().iter().zip(0_u32..) {
        let formula =
            pool.product.wraps_ether() || matches!(pool.state, PoolState::UniswapV2(_) | PoolState::UniswapV3(_));
        if formula || witness.left_out.contains(&braid_primitives::PoolId(id)) {
            continue;
        }
        for (coin_out, to) in (0_u8..).zip(&pool.coins) {
            for (coin_in, from) in (0_u8..).zip(&pool.coins) {
                let (Some(sold), Some(_)) = (witness.of(*from), witness.of(*to)) else { continue };
                if coin_in == coin_out {
                    continue;
                }
                let points = points(pool, &at, coin_in, coin_out, sold.cap);
                let tokens = [*from, *to].map(wrapped).map(|token| market.tokens().get(token).map(|t| t.address));
                if !points.is_empty() {
                    curves.push(json!({ "pool": pool.key, "tokens": tokens, "points": points }));
                }
            }
        }
    }
    curves
}

/// Returns exact quotes (amount in, amount out and gas) up to the most that the pool takes or a route can bring. Over
/// the last ten doublings below the amount from which the output hardly grows, there are four points per doubling, and
/// below that one per doubling.
fn points(pool: &Pool, at: &ExecutionBlock, coin_in: u8, coin_out: u8, cap: f64) -> Vec<(f64, f64, u64)> {
    let quote = |amount: f64| {
        let amount = U256::try_from(amount.floor()).ok()?;
        let swap = pool.swap(at, coin_in, coin_out, amount).ok()?;
        Some((f64::from(amount), f64::from(swap.amount_out), swap.gas_units))
    };
    let paid = |amount: f64| quote(amount).map_or(0.0, |(_, paid, _)| paid);
    let Some(taken) = (0..112).rev().map(|bits| f64::from(bits).exp2()).find(|amount| quote(*amount).is_some()) else {
        return Vec::new();
    };
    let all = taken.min(cap * 1.01);
    let mut most = all;
    while most > 2.0 && paid(most / 2.0) > ALL_OF_IT * paid(most) {
        most /= 2.0;
    }
    let halvings = (10..HALVINGS).rev().map(f64::from);
    let close = (0..=10 * PARTS_OF_HALVING).rev().map(|k| f64::from(k) / f64::from(PARTS_OF_HALVING));
    let amounts = halvings.chain(close).map(|k| most / k.exp2()).chain([all]);
    let mut points: Vec<(f64, f64, u64)> = amounts.filter_map(quote).filter(|(x, y, _)| *x > 0.0 && *y > 0.0).collect();
    points.dedup_by(|later, first| later.0 <= first.0);
    points
}
