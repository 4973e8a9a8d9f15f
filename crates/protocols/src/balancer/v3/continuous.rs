//! Curves of V3 pools for the optimiser: weighted pools in closed form, stable pools sampled.

use alloy_primitives::U256;
use braid_primitives::ExecutionBlock;

use super::{Curve, Fee, Live, State};
use crate::{
    balancer::power::PowerCurve,
    continuous::{Direction, PairCurve, sampled},
};

/// Maximum amount in that a stable pool's curve covers, as a multiple of its balances; the first releases never refuse.
const STABLE_REACH: f64 = 64.0;

/// Returns the curve of both directions of two coins in a block.
pub(crate) fn pair_curve(state: &State, coins: [u8; 2], at: &ExecutionBlock) -> Option<PairCurve> {
    let live = state.now(at)?;
    let [low, high] = coins;
    let directions = [one_way(&live, low, high), one_way(&live, high, low)];
    Some(PairCurve { directions, gas_units: state.gas_units() as f64 })
}

fn one_way(live: &Live, coin_in: u8, coin_out: u8) -> Option<Direction> {
    let (i, j) = (usize::from(coin_in), usize::from(coin_out));
    // in atomic units at the current rates
    let held = |coin: usize| {
        let unit = f64::from(*live.factors.get(coin)?) * f64::from(*live.rates.get(coin)?) / 1e18;
        Some(f64::from(*live.balances.get(coin)?) / unit)
    };
    match (&live.curve, &live.fee) {
        (Curve::Weighted { weights, .. }, Fee::Static(fee_wad)) => {
            let side = PowerCurve {
                gamma: 1.0 - f64::from(*fee_wad) / 1e18,
                balance_in: held(i)?,
                balance_out: held(j)?,
                ratio: f64::from(*weights.get(i)?) / f64::from(*weights.get(j)?),
            };
            side.direction()
        }
        _ => {
            let all: f64 = live.balances.iter().map(|balance| f64::from(*balance)).sum();
            let most_in = all / f64::from(*live.balances.get(i)?) * held(i)? * STABLE_REACH;
            if !most_in.is_finite() {
                return None;
            }
            let most_in = U256::from(most_in);
            sampled(most_in, U256::from(held(j)?), |amount| live.swap(coin_in, coin_out, amount).ok())
        }
    }
}
