//! Curves of pools that convert at a fixed rate.

use super::{Direction, PairCurve};

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
pub(crate) const MOST: f64 = 1.0e28;

/// How many times what a vault holds a deposit may be, as the optimiser sees it.
const TIMES_HELD: f64 = 4.0;

/// What a deposit may be however little the vault holds: a million whole tokens of 18 decimals, in atomic units.
const LEAST_ROOM: f64 = 1.0e24;

/// What the optimiser lets into a vault that holds so many assets and has no limit of its own.
pub(crate) fn likely_room(total_assets: f64) -> f64 {
    (TIMES_HELD * total_assets).max(LEAST_ROOM)
}
