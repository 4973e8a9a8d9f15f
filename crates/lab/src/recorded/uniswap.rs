//! Pairs and concentrated pools in recorded markets.

use std::sync::Arc;

use braid_protocols::PoolState;
use braid_protocols::{uniswap_v2, uniswap_v3};
use serde_json::Value;

use super::json::{Reason, TokensOf, list, number, parse};

/// Reads a pair.
pub(super) fn pair(entry: &Value, _tokens: TokensOf<'_>) -> Result<PoolState, Reason> {
    let (reserve0, reserve1) = reserves(entry)?;
    Ok(uniswap_v2::State { reserve0, reserve1, fee_bps: number(entry, "fee_bps")? }.into())
}

/// Brings a pair up to an update.
pub(super) fn update_pair(state: &mut uniswap_v2::State, entry: &Value) -> Result<(), Reason> {
    (state.reserve0, state.reserve1) = reserves(entry)?;
    Ok(())
}

fn reserves(entry: &Value) -> Result<(u128, u128), Reason> {
    match list(entry, "reserves")? {
        [first, second] => parse(first).zip(parse(second)).ok_or_else(|| "reserves out of range".into()),
        other => Err(format!("{} reserves", other.len())),
    }
}

/// Reads a concentrated pool.
pub(super) fn pool(entry: &Value, _tokens: TokensOf<'_>) -> Result<PoolState, Reason> {
    let state = uniswap_v3::State {
        sqrt_price_x96: number(entry, "sqrt_price_x96")?,
        tick: number(entry, "tick")?,
        liquidity: number(entry, "liquidity")?,
        fee_pips: number(entry, "fee_pips")?,
        tick_spacing: number(entry, "tick_spacing")?,
        ticks: ticks(entry)?,
    };
    Ok(state.into())
}

/// Brings a concentrated pool up to an update.
pub(super) fn update_pool(state: &mut uniswap_v3::State, entry: &Value) -> Result<(), Reason> {
    state.sqrt_price_x96 = number(entry, "sqrt_price_x96")?;
    state.tick = number(entry, "tick")?;
    state.liquidity = number(entry, "liquidity")?;
    if entry.get("ticks").is_some() {
        state.ticks = ticks(entry)?;
    }
    Ok(())
}

/// Reads ticks with their net liquidity, in ascending order. Recordings lack the gross liquidity, on which swaps do not depend;
/// the least that it can be is assumed.
fn ticks(entry: &Value) -> Result<Arc<[uniswap_v3::Tick]>, Reason> {
    let tick = |value: &Value| {
        let [index, net] = value.as_array()?.as_slice() else { return None };
        let (index, net) = (parse(index)?, parse::<i128>(net)?);
        uniswap_v3::Tick::new(index, net, net.unsigned_abs().max(1))
    };
    let read = |value| tick(value).ok_or_else(|| Reason::from("a tick out of range"));
    let mut ticks: Vec<_> = list(entry, "ticks")?.iter().map(read).collect::<Result<_, _>>()?;
    ticks.sort_by_key(|tick| tick.index);
    Ok(ticks.into())
}
