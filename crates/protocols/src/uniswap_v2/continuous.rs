//! A pair's curve for the optimiser: one stretch of constant liquidity in each direction.

use super::{State, gas};
use crate::continuous::{Direction, PairCurve, Stretch};

/// Largest reserve of a pair, in atomic units: it reverts above 112 bits.
const MAX_RESERVE: f64 = 5_192_296_858_534_827_628_530_496_329_220_095.0;

/// Returns the curve of both directions.
pub(super) fn pair_curve(state: &State) -> PairCurve {
    let gamma = 1.0 - f64::from(state.fee_bps) / 10_000.0;
    let reserves = [state.reserve0 as f64, state.reserve1 as f64];
    let liquidity = (reserves[0] * reserves[1]).sqrt();
    let one_way = |reserve_in: f64, reserve_out: f64| {
        let end = liquidity / (reserve_in + gamma * (MAX_RESERVE - reserve_in));
        Direction::new(gamma, (reserve_out / reserve_in).sqrt(), &[Stretch { end, liquidity, gas_units: 0.0 }])
    };
    PairCurve {
        directions: [one_way(reserves[0], reserves[1]), one_way(reserves[1], reserves[0])],
        gas_units: gas::SWAP_GAS_UNITS as f64,
    }
}
