//! Fluid's pools in recorded markets.

use braid_primitives::Address;
use braid_protocols::PoolState;
use braid_protocols::fluid::dex::{Snapshot, State};
use serde_json::Value;

use super::json::{Reason, TokensOf, list, parse, require};
use crate::states::{Fields, fluid};

/// Reads a pool.
pub(super) fn dex(entry: &Value, listed: TokensOf<'_>) -> Result<PoolState, Reason> {
    let (addresses, decimals) = tokens(entry, listed)?;
    Ok(State::Snapshot(Box::new(snapshot(entry, addresses, decimals)?)).into())
}

/// Applies an update to a pool.
pub(super) fn update(state: &mut State, entry: &Value) -> Result<(), Reason> {
    let State::Snapshot(known) = state else { return Err("no recorded pool".into()) };
    **known = snapshot(entry, known.addresses, known.decimals)?;
    Ok(())
}

/// Returns a pool's two tokens and their decimals.
fn tokens(entry: &Value, tokens: TokensOf<'_>) -> Result<([Address; 2], [u8; 2]), Reason> {
    let token = |coin| {
        let known = parse::<Address>(coin).and_then(|address| Some((address, tokens(address)?)));
        known.ok_or_else(|| Reason::from("a coin that is no listed token"))
    };
    match list(entry, "tokens")? {
        [first, second] => {
            let (first, second) = (token(first)?, token(second)?);
            Ok(([first.0, second.0], [first.1, second.1]))
        }
        other => Err(format!("{} coins", other.len())),
    }
}

fn snapshot(entry: &Value, addresses: [Address; 2], decimals: [u8; 2]) -> Result<Snapshot, Reason> {
    require(entry, &["collateral_reserves", "debt_reserves", "dex_limits", "fee_1e6", "sync_time"])?;
    Ok(fluid::snapshot(&Fields::of(entry), addresses, decimals)?)
}
