//! Balancer's pools in recorded markets.

use std::sync::Arc;

use braid_primitives::{Address, B256, U256};
use braid_protocols::balancer::v2::{Model, StableModel, State};
use braid_protocols::balancer::{Invariant, Power, StablePool, WeightedPool};
use braid_protocols::{PoolState, pool::MAX_COINS};
use serde_json::Value;

use super::json::{Reason, TokensOf, each, number, parse};

/// Returns 10³⁶, the product of a coin's scaling factor and its scaling rate.
fn scale() -> U256 {
    U256::from(10).pow(U256::from(36))
}

/// Reads a number with a decimal point, in units of 10⁻¹⁸, exact.
fn wad(value: &Value) -> Option<U256> {
    let text = value.as_str()?;
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = part.len();
    let padding = 18_usize.checked_sub(digits)?;
    format!("{whole}{part}{}", "0".repeat(padding)).parse().ok()
}

/// Creates a state. On chain, a pool id is the pool's address followed by a number from the vault. Recordings lack the
/// number, so such a pool cannot be executed.
fn state(entry: &Value, model: Model) -> Result<PoolState, Reason> {
    let address: Address = number(entry, "address")?;
    let mut pool_id = B256::ZERO;
    pool_id.0.iter_mut().zip(address).for_each(|(byte, of_address)| *byte = of_address);
    Ok(Arc::new(State { pool_id, model }).into())
}

/// Reads `{balances, weights, swap_fee}`. The decimals are those of the tokens.
pub(super) fn weighted(entry: &Value, tokens: TokensOf<'_>) -> Result<PoolState, Reason> {
    let factor = |coin: &Value| {
        let power = 36_u8.checked_sub(tokens(parse(coin)?)?)?;
        U256::from(10).checked_pow(U256::from(power))
    };
    let (balances, weights) = (each(entry, "balances", parse)?, each(entry, "weights", wad)?);
    let scaling_factors = each(entry, "tokens", factor)?;
    if balances.len() > MAX_COINS || weights.len() != balances.len() {
        return Err(format!("{} coins", balances.len()));
    }
    let model = Model::Weighted(WeightedPool {
        balances: balances.into_iter().collect(),
        scaling_factors: scaling_factors.into_iter().take(weights.len()).collect(),
        weights: weights.into_iter().collect(),
        fee_wad: entry.get("swap_fee").and_then(wad).ok_or("swap_fee is missing or out of range")?,
        power: Power::Shortcuts,
    });
    state(entry, model)
}

/// Reads `{balances, scaling_rates, amp, swap_fee}`. A scaling rate is the number of atomic units that corresponds to
/// one unit with 18 decimals.
pub(super) fn stable(entry: &Value, _tokens: TokensOf<'_>) -> Result<PoolState, Reason> {
    let factor = |rate: &Value| scale().checked_div(parse(rate)?);
    let (balances, factors) = (each(entry, "balances", parse)?, each(entry, "scaling_rates", factor)?);
    if balances.len() > MAX_COINS || factors.len() != balances.len() {
        return Err(format!("{} coins", balances.len()));
    }
    let amp: U256 = number(entry, "amp")?;
    let pool = StablePool {
        balances: balances.into_iter().collect(),
        scaling_factors: factors.into_iter().collect(),
        amp_times_1000: amp.checked_mul(U256::from(1_000)).ok_or("amp out of range")?,
        fee_wad: entry.get("swap_fee").and_then(wad).ok_or("swap_fee is missing or out of range")?,
        invariant: Invariant::Down,
    };
    let model = Model::Stable(Box::new(StableModel { pool, own: None, rates: Default::default() }));
    state(entry, model)
}
