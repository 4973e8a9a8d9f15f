//! The vault as the optimiser sees it: a rate each way, up to what the limits let through.

use alloy_primitives::U256;
use braid_primitives::ExecutionBlock;

use super::{Conversion, State};
use crate::continuous::{Direction, PairCurve};

/// Both directions in a block; `None` where the vault's arithmetic reverts.
pub(crate) fn pair_curve(state: &State, at: &ExecutionBlock) -> Option<PairCurve> {
    let now = state.accrual.apply(state.conversion, at.timestamp)?;
    let shares_per_asset = now.shares_per_asset()?;
    let payable = f64::from(state.max_withdraw_assets.min(now.holdings().unwrap_or(U256::MAX))) * shares_per_asset;
    let redeemable = f64::from(state.max_redeem_shares.min(now.in_circulation().unwrap_or(U256::MAX))).min(payable);
    let gas = |deposits| state.gas_units(deposits);
    let room = f64::from(state.room(&now, at.timestamp)?).min(now.likely_most());
    Some(fixed_rate(
        shares_per_asset,
        room,
        redeemable.min(now.likely_most() * shares_per_asset),
        [gas(true), gas(false)],
    ))
}

/// A pool that converts at a fixed rate: `rate` units out of coin 1 for each of coin 0, up to capacities in the coin in.
#[allow(clippy::cast_precision_loss, reason = "the optimiser works in floating point")]
pub(crate) fn fixed_rate(rate: f64, capacity_0: f64, capacity_1: f64, gas_units: [u64; 2]) -> PairCurve {
    let [forth, back] = gas_units;
    let one_way = |rate: f64, capacity: f64| {
        let capacity = capacity.min(MOST);
        if capacity < 1.0 { None } else { Direction::linear(rate, capacity) }
    };
    PairCurve {
        directions: [one_way(rate, capacity_0), one_way(1.0 / rate, capacity_1)],
        gas_units: forth.min(back) as f64,
    }
}

/// No route brings more than ten thousand million whole tokens of 18 decimals, in atomic units.
const MOST: f64 = 1.0e28;

/// How many times what a vault holds a deposit may be, as the optimiser sees it.
const TIMES_HELD: f64 = 4.0;

/// What a deposit may be however little the vault holds: a million whole tokens of 18 decimals, in atomic units.
const LEAST_ROOM: f64 = 1.0e24;

/// What the optimiser lets into a vault that holds so many assets and has no limit of its own.
pub(crate) fn likely_room(total_assets: f64) -> f64 {
    (TIMES_HELD * total_assets).max(LEAST_ROOM)
}

impl Conversion {
    fn shares_per_asset(&self) -> Option<f64> {
        let (assets, shares) = self.pair()?;
        let rate = f64::from(shares) / f64::from(assets);
        (rate.is_finite() && rate > 0.0).then_some(rate)
    }

    /// The most that the optimiser lets pass: the room of the curve is paid for in the bound (`Direction::linear`).
    fn likely_most(&self) -> f64 {
        self.holdings().map_or(MOST, |held| likely_room(f64::from(held)))
    }
}
