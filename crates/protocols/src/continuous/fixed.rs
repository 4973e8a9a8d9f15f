//! Curves of pools that convert at a fixed rate.

use super::{Direction, PairCurve};

/// Builds the curve of a pool with a fixed rate: `rate` units of coin 1 for each of coin 0, up to capacities in the
/// coin in.
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

/// Maximum amount of any route, in atomic units: 10¹⁰ whole tokens of 18 decimals.
pub(crate) const MOST: f64 = 1.0e28;

/// Assumed maximum deposit, as a multiple of the vault's holdings.
const TIMES_HELD: f64 = 4.0;

/// Assumed minimum room for deposits however little the vault holds, in atomic units: 10⁶ whole tokens of 18 decimals.
const LEAST_ROOM: f64 = 1.0e24;

/// Returns the room for deposits that the optimiser assumes for a vault with such assets and no limit of its own.
pub(crate) fn likely_room(total_assets: f64) -> f64 {
    (TIMES_HELD * total_assets).max(LEAST_ROOM)
}
