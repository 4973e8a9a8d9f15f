//! Curves of pools that convert at a fixed rate.

use super::{Direction, PairCurve};

/// The most that a pool of a fixed rate takes of a coin, in atomic units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// What the contract takes; infinite if it sets no limit.
    pub limit: f64,
    /// What trades are assumed to need at most.
    pub likely: f64,
}

impl Room {
    /// Returns a room that only the contract limits.
    pub(crate) fn limited(limit: f64) -> Self {
        Self { limit, likely: f64::INFINITY }
    }
}

/// Builds the curve of a pool with a fixed rate: `rate` units of coin 1 for each of coin 0, with the room for each coin.
/// A bound goes on beyond a room that is only assumed.
pub(crate) fn fixed_rate(rate: f64, rooms: [Room; 2], gas_units: [u64; 2]) -> PairCurve {
    let [forth, back] = gas_units;
    let one_way = |rate: f64, room: Room| {
        let capacity = room.limit.min(room.likely).min(MOST);
        let direction = if capacity < 1.0 { None } else { Direction::linear(rate, capacity) };
        direction.map(|direction| {
            let rate = direction.spot();
            if room.limit > capacity { direction.continued_at(rate) } else { direction }
        })
    };
    let [room_0, room_1] = rooms;
    PairCurve { directions: [one_way(rate, room_0), one_way(1.0 / rate, room_1)], gas_units: forth.min(back) as f64 }
}

/// Maximum amount that the optimiser plans with, in atomic units: 10¹⁰ whole tokens of 18 decimals.
const MOST: f64 = 1.0e28;

/// Assumed maximum deposit, as a multiple of the vault's holdings.
const TIMES_HELD: f64 = 4.0;

/// Assumed minimum room for deposits however little the vault holds, in atomic units: 10⁶ whole tokens of 18 decimals.
const LEAST_ROOM: f64 = 1.0e24;

/// Returns the room for deposits that the optimiser assumes for a vault with such assets and no limit of its own.
pub(crate) fn likely_room(total_assets: f64) -> f64 {
    (TIMES_HELD * total_assets).max(LEAST_ROOM)
}
