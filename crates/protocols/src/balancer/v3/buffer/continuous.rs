//! A buffer's curve for the optimiser: a fixed rate in each direction, up to its balances and the limits of the vault
//! behind it.

use alloy_primitives::U256;
use braid_primitives::ExecutionBlock;

use super::State;
use crate::{
    continuous::{PairCurve, Room, fixed_rate},
    vault::EarlierTrades,
};

/// Amount whose conversion uses all digits of floating point.
const PROBE: U256 = U256::from_limbs([0, 0x0100_0000_0000_0000, 0, 0]);

/// Returns the curve of both directions in a block; `None` while nothing can be traded.
pub(crate) fn pair_curve(state: &State, at: &ExecutionBlock) -> Option<PairCurve> {
    if state.paused {
        return None;
    }
    let rate = state.vault.rate(at, EarlierTrades::NONE).ok()?;
    let shares_per_asset = f64::from(rate.down(true, PROBE)?) / f64::from(PROBE);
    let [assets, shares] = state.held.map(f64::from);
    let and_behind = |held: f64, room: Room| Room { limit: held + room.limit, likely: held + room.likely };
    let [deposits, redemptions] = state.vault.rooms(at);
    let rooms = [and_behind(shares / shares_per_asset, deposits), and_behind(assets * shares_per_asset, redemptions)];
    (shares_per_asset > 0.0).then(|| fixed_rate(shares_per_asset, rooms, [state.gas_units(); 2]))
}
