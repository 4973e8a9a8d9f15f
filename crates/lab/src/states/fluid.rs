//! States of Fluid's DEX T1 pools, as Fluid's resolvers return them.

use braid_primitives::Address;
use braid_protocols::fluid::dex::{Fees, Limit, Reserves, Side, Snapshot};

use super::{Fields, StateError};

/// Reads `collateral_reserves`, `debt_reserves`, `center_price_1e27`, `fee_1e6`, `dex_limits`, `sync_time`.
pub(crate) fn snapshot(pool: &Fields<'_>, addresses: [Address; 2], decimals: [u8; 2]) -> Result<Snapshot, StateError> {
    let side = |name: &str| {
        let Ok(side) = pool.object(name) else { return Ok(None) };
        let pair = |kind: &str| Ok([side.u256(&format!("token0_{kind}"))?, side.u256(&format!("token1_{kind}"))?]);
        Ok::<_, StateError>(Side::open(pair("real")?, pair("imaginary")?))
    };
    let (collateral, debt) = (side("collateral_reserves")?, side("debt_reserves")?);
    if collateral.is_none() && debt.is_none() {
        return Err(pool.wrong("collateral_reserves", "reserves that are not zero"));
    }
    let fee_pips = u32::try_from(pool.u64_or("fee_1e6", 0)?).ok().filter(|fee| *fee < 1_000_000);
    let fee_pips = fee_pips.ok_or_else(|| StateError::Impossible("a fee above 100%".to_owned()))?;
    let revenue_cut_percent = u8::try_from(pool.u64_or("revenue_cut_percent", 0)?.min(100)).unwrap_or(100);
    let limits = |kind: &str| {
        let Ok(limits) = pool.object("dex_limits") else { return Ok(None) };
        let one = |token: u8| limit(&limits, &format!("{kind}_token{token}"));
        Ok::<_, StateError>(Some([one(0)?, one(1)?]))
    };
    Ok(Snapshot {
        addresses,
        reserves: Reserves {
            collateral,
            debt,
            centre_price: pool.u256("center_price_1e27")?,
            fees: Fees { fee_pips, revenue_cut_percent },
        },
        decimals,
        withdrawable: limits("withdrawable")?,
        borrowable: limits("borrowable")?,
        taken_at: pool.u64_or("sync_time", 0)?,
    })
}

fn limit(limits: &Fields<'_>, name: &str) -> Result<Limit, StateError> {
    let limit = limits.object(name)?;
    Ok(Limit {
        available: limit.u256("available")?,
        expands_to: limit.u256("expands_to")?,
        expand_seconds: limit.u64_or("expand_duration", 0)?,
    })
}
