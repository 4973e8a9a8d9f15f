//! Fluid's pools in recorded markets.

use braid_primitives::Address;
use braid_protocols::PoolState;
use braid_protocols::fluid::dex::{Fees, Limit, Reserves, Side, Snapshot, State};
use serde_json::Value;

use super::json::{Reason, TokensOf, list, number, parse};

/// Reads a pool.
pub(super) fn dex(entry: &Value, listed: TokensOf<'_>) -> Result<PoolState, Reason> {
    let (addresses, decimals) = tokens(entry, listed)?;
    Ok(State::Snapshot(Box::new(snapshot(entry, addresses, decimals)?)).into())
}

/// Brings a pool up to an update.
pub(super) fn update(state: &mut State, entry: &Value) -> Result<(), Reason> {
    let State::Snapshot(known) = state else { return Err("no recorded pool".into()) };
    **known = snapshot(entry, known.addresses, known.decimals)?;
    Ok(())
}

/// A pool's two tokens and their decimals.
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

/// A pool of Fluid as a resolver showed it: reserves and limits of one moment.
fn snapshot(entry: &Value, addresses: [Address; 2], decimals: [u8; 2]) -> Result<Snapshot, Reason> {
    let part = |key: &str| entry.get(key).ok_or_else(|| format!("{key} is missing"));
    let side = |key: &str| {
        let side = part(key)?;
        let pair = |kind: &str| {
            Ok::<_, Reason>([number(side, &format!("token0_{kind}"))?, number(side, &format!("token1_{kind}"))?])
        };
        Ok::<_, Reason>(Side::open(pair("real")?, pair("imaginary")?))
    };
    let limits = |kind: &str| {
        let limit = |token: u8| {
            let limit = part("dex_limits")?.get(format!("{kind}_token{token}")).unwrap_or(&Value::Null);
            Ok::<_, Reason>(Limit {
                available: number(limit, "available")?,
                expands_to: number(limit, "expands_to")?,
                expand_seconds: number(limit, "expand_duration")?,
            })
        };
        Ok::<_, Reason>(Some([limit(0)?, limit(1)?]))
    };
    Ok(Snapshot {
        addresses,
        reserves: Reserves {
            collateral: side("collateral_reserves")?,
            debt: side("debt_reserves")?,
            centre_price: number(entry, "center_price_1e27")?,
            fees: Fees { fee_pips: number(entry, "fee_1e6")?, revenue_cut_percent: 0 },
        },
        decimals,
        withdrawable: limits("withdrawable")?,
        borrowable: limits("borrowable")?,
        taken_at: number(entry, "sync_time")?,
    })
}
