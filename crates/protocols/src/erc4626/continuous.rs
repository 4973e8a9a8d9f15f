//! A vault's curve for the optimiser: a fixed rate in each direction, up to its limits.

use alloy_primitives::U256;
use braid_primitives::ExecutionBlock;

use super::{Conversion, State};
use crate::continuous::{PairCurve, Room, fixed_rate, likely_room};

/// Returns the curve of both directions in a block; `None` if the vault's arithmetic reverts.
pub(crate) fn pair_curve(state: &State, at: &ExecutionBlock) -> Option<PairCurve> {
    let now = state.accrual.apply(state.conversion, at.timestamp)?;
    let shares_per_asset = now.shares_per_asset()?;
    let payable =
        f64::from(state.limits.max_withdraw_assets.min(now.holdings().unwrap_or(U256::MAX))) * shares_per_asset;
    let redeemable =
        f64::from(state.limits.max_redeem_shares.min(now.in_circulation().unwrap_or(U256::MAX))).min(payable);
    let gas = |deposits| state.gas_units(deposits);
    let likely = now.likely_most();
    let deposits = Room { limit: f64::from(state.limits.room(&now, at.timestamp)?), likely };
    let redemptions = Room { limit: redeemable, likely: likely * shares_per_asset };
    Some(fixed_rate(shares_per_asset, [deposits, redemptions], [gas(true), gas(false)]))
}

impl Conversion {
    fn shares_per_asset(&self) -> Option<f64> {
        let (assets, shares) = self.pair()?;
        let rate = f64::from(shares) / f64::from(assets);
        (rate.is_finite() && rate > 0.0).then_some(rate)
    }

    /// Returns the maximum trade that the optimiser assumes: a larger capacity would widen the bound
    /// (`Direction::linear`).
    fn likely_most(&self) -> f64 {
        self.holdings().map_or(f64::INFINITY, |held| likely_room(f64::from(held)))
    }
}
