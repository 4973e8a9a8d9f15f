//! An fToken's curve for the optimiser: a fixed rate in each direction, up to the withdrawal limit.

use braid_primitives::ExecutionBlock;

use super::{State, gas};
use crate::continuous::{PairCurve, Room, fixed_rate, likely_room};

/// Returns the curve of both directions in a block; `None` while nothing can be traded.
pub(crate) fn pair_curve(state: &State, at: &ExecutionBlock) -> Option<PairCurve> {
    let price = f64::from(state.price(at.timestamp).ok()?) / 1e12;
    if state.layer_paused || !price.is_finite() || price <= 0.0 {
        return None;
    }
    let supply = f64::from(state.total_shares);
    let redeemable = (f64::from(state.withdrawable(at.timestamp)) / price).min(supply);
    let depositable = Room { limit: f64::INFINITY, likely: likely_room(supply * price) };
    let gas_units = [gas::gas_units(state, true), gas::gas_units(state, false)];
    Some(fixed_rate(1.0 / price, [depositable, Room::limited(redeemable)], gas_units))
}
