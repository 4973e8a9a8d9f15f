//! Pools in recorded markets.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{State, Tick};
use crate::recorded::{Reason, list, number, parse};

/// Reads a pool.
pub(super) fn import(entry: &Value) -> Result<State, Reason> {
    Ok(State {
        sqrt_price_x96: number(entry, "sqrt_price_x96")?,
        tick: number(entry, "tick")?,
        liquidity: number(entry, "liquidity")?,
        fee_pips: number(entry, "fee_pips")?,
        tick_spacing: number(entry, "tick_spacing")?,
        ticks: ticks(entry)?,
    })
}

/// Brings a pool up to an update.
pub(super) fn update(state: &mut State, entry: &Value) -> Result<(), Reason> {
    state.sqrt_price_x96 = number(entry, "sqrt_price_x96")?;
    state.tick = number(entry, "tick")?;
    state.liquidity = number(entry, "liquidity")?;
    if entry.get("ticks").is_some() {
        state.ticks = ticks(entry)?;
    }
    Ok(())
}

/// Writes a pool.
pub(super) fn export(state: &State) -> Option<Map<String, Value>> {
    let ticks = state.ticks.iter().map(|tick| json!([tick.index, tick.liquidity_net.to_string()]));
    let written = json!({
        "kind": "uniswap_v3",
        "fee_pips": state.fee_pips,
        "tick_spacing": state.tick_spacing,
        "sqrt_price_x96": state.sqrt_price_x96.to_string(),
        "tick": state.tick,
        "liquidity": state.liquidity.to_string(),
        "ticks": ticks.collect::<Vec<_>>(),
    });
    written.as_object().cloned()
}

/// Reads ticks with their net liquidity, in ascending order. Recordings lack the gross liquidity, on which swaps do not depend;
/// the least that it can be is assumed.
fn ticks(entry: &Value) -> Result<Arc<[Tick]>, Reason> {
    let tick = |value: &Value| {
        let [index, net] = value.as_array()?.as_slice() else { return None };
        let (index, net) = (parse(index)?, parse::<i128>(net)?);
        Tick::new(index, net, net.unsigned_abs().max(1))
    };
    let read = |value| tick(value).ok_or_else(|| Reason::from("a tick out of range"));
    let mut ticks: Vec<_> = list(entry, "ticks")?.iter().map(read).collect::<Result<_, _>>()?;
    ticks.sort_by_key(|tick| tick.index);
    Ok(ticks.into())
}
