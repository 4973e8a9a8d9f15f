//! States of Uniswap's pairs and concentrated pools, and of their forks.

use std::sync::Arc;

use braid_primitives::U256;
use braid_protocols::{uniswap_v2, uniswap_v3};
use serde_json::Value;

use super::{Fields, StateError};

fn impossible(what: &str) -> StateError {
    StateError::Impossible(what.to_owned())
}

/// Reads a pair: `reserves`, and `fee_bps` (30 if missing).
pub(crate) fn pair(pool: &Fields<'_>) -> Result<uniswap_v2::State, StateError> {
    let (reserve0, reserve1) = reserves(pool)?;
    let fee_bps = u16::try_from(pool.u64_or("fee_bps", 30)?).map_err(|_| impossible("a fee above 100%"))?;
    Ok(uniswap_v2::State { reserve0, reserve1, fee_bps })
}

/// Reads a pair's reserves.
pub(crate) fn reserves(pool: &Fields<'_>) -> Result<(u128, u128), StateError> {
    let reserves = pool.list("reserves")?;
    let [reserve0, reserve1] = reserves[..] else { return Err(impossible("not two reserves")) };
    let reserve = |value: U256| u128::try_from(value).map_err(|_| impossible("a reserve above 128 bits"));
    Ok((reserve(reserve0)?, reserve(reserve1)?))
}

/// Reads a concentrated pool: `fee_pips` (3,000 if missing), `tick_spacing`, `sqrt_price_x96`, `liquidity`, `tick`, and
/// `ticks: [[index, net], …]`.
pub(crate) fn pool(pool: &Fields<'_>) -> Result<uniswap_v3::State, StateError> {
    let fee_pips = u32::try_from(pool.u64_or("fee_pips", 3_000)?).map_err(|_| impossible("a fee above 100%"))?;
    Ok(uniswap_v3::State {
        sqrt_price_x96: pool.u256("sqrt_price_x96")?,
        tick: signed(pool, "tick")?,
        liquidity: liquidity(pool)?,
        fee_pips,
        fee_protocol: 0,
        tick_spacing: signed(pool, "tick_spacing")?,
        ticks: ticks(pool)?,
    })
}

/// Updates a concentrated pool from newer fields. Its ticks are kept if the file has none.
pub(crate) fn update(state: &mut uniswap_v3::State, pool: &Fields<'_>) -> Result<(), StateError> {
    state.sqrt_price_x96 = pool.u256("sqrt_price_x96")?;
    state.tick = signed(pool, "tick")?;
    state.liquidity = liquidity(pool)?;
    if pool.get("ticks").is_some() {
        state.ticks = ticks(pool)?;
    }
    Ok(())
}

fn liquidity(pool: &Fields<'_>) -> Result<u128, StateError> {
    u128::try_from(pool.u256("liquidity")?).map_err(|_| impossible("liquidity above 128 bits"))
}

fn signed(pool: &Fields<'_>, field: &str) -> Result<i32, StateError> {
    let value = pool.get(field).and_then(whole).and_then(|value| i32::try_from(value).ok());
    value.ok_or_else(|| pool.wrong(field, "an integer of 32 bits"))
}

/// Reads ticks with their net liquidity, in ascending order. Files do not contain the gross liquidity, which swaps do
/// not depend on. The smallest value that the net liquidity allows is assumed.
fn ticks(pool: &Fields<'_>) -> Result<Arc<[uniswap_v3::Tick]>, StateError> {
    let list = pool.get("ticks").and_then(Value::as_array).ok_or_else(|| impossible("no ticks"))?;
    let tick = |value: &Value| {
        let [index, net] = value.as_array()?.as_slice() else { return None };
        let net = whole(net)?;
        uniswap_v3::Tick::new(i32::try_from(whole(index)?).ok()?, net, net.unsigned_abs().max(1))
    };
    let ticks = list.iter().map(tick).collect::<Option<Vec<_>>>();
    let mut ticks = ticks.ok_or_else(|| impossible("a tick of no form"))?;
    ticks.sort_by_key(|tick| tick.index);
    Ok(ticks.into())
}

/// Reads a signed integer, written as a JSON integer or as a decimal string.
fn whole(value: &Value) -> Option<i128> {
    match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_i64().map(i128::from),
    }
}
