//! Lido's curve for the optimiser: fixed rates within a block.

use braid_primitives::ExecutionBlock;

use super::{State, gas};
use crate::continuous::{PairCurve, Room, fixed_rate};

/// Returns the curve of both directions in a block; a closed direction has none.
pub(crate) fn pair_curve(state: &State, stakes: bool, at: &ExecutionBlock) -> Option<PairCurve> {
    let shares_per_ether = f64::from(state.total_shares) / f64::from(state.total_pooled_ether_wei);
    if state.stopped || !shares_per_ether.is_finite() || shares_per_ether <= 0.0 {
        return None;
    }
    Some(if stakes {
        let limit = f64::from(state.stake_limit.current_wei(at));
        fixed_rate(1.0, [limit, 0.0].map(Room::limited), [gas::STAKE_GAS_UNITS; 2])
    } else {
        let all = f64::from(state.total_pooled_ether_wei);
        let gas_units = [gas::WRAP_GAS_UNITS, gas::UNWRAP_GAS_UNITS];
        let room = |likely| Room { limit: f64::INFINITY, likely };
        fixed_rate(shares_per_ether, [all, all * shares_per_ether].map(room), gas_units)
    })
}
