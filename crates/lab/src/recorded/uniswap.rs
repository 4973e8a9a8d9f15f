//! Uniswap pairs and concentrated pools in recorded markets.

use braid_protocols::{PoolState, uniswap_v2, uniswap_v3};
use serde_json::Value;

use super::json::{Reason, TokensOf, require};
use crate::states::{Fields, uniswap};

/// Reads a pair.
pub(super) fn pair(entry: &Value, _tokens: TokensOf<'_>) -> Result<PoolState, Reason> {
    require(entry, &["fee_bps"])?;
    Ok(uniswap::pair(&Fields::of(entry))?.into())
}

/// Applies an update to a pair.
pub(super) fn update_pair(state: &mut uniswap_v2::State, entry: &Value) -> Result<(), Reason> {
    (state.reserve0, state.reserve1) = uniswap::reserves(&Fields::of(entry))?;
    Ok(())
}

/// Reads a concentrated pool.
pub(super) fn pool(entry: &Value, _tokens: TokensOf<'_>) -> Result<PoolState, Reason> {
    require(entry, &["fee_pips"])?;
    Ok(uniswap::pool(&Fields::of(entry))?.into())
}

/// Applies an update to a concentrated pool.
pub(super) fn update_pool(state: &mut uniswap_v3::State, entry: &Value) -> Result<(), Reason> {
    Ok(uniswap::update(state, &Fields::of(entry))?)
}
