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
            if !live.curve.settles_soon(&live.balances) {
                return None;
            }
            let all: f64 = live.balances.iter().map(|balance| f64::from(*balance)).sum();
            let most_in = all / f64::from(*live.balances.get(i)?) * held(i)? * STABLE_REACH;
            let most_out = held(j)?;
            if !(most_in.is_finite() && most_out.is_finite()) {
                return None;
            }
            // anyone can create a pool with rates so far apart that these exceed 256 bits
            let [most_in, most_out] = [most_in, most_out].map(U256::saturating_from);
            sampled(most_in, most_out, |amount| live.swap(coin_in, coin_out, amount).ok())
        }
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, uint};

    use super::*;
    use crate::{
        balancer::v3::{Amplification, Coin, Generation, PoolKind},
        maths::WAD,
    };

    /// Anyone can create a stable pool with rate providers of their own. The most that the curve asks for was then above
    /// 256 bits, and the conversion panicked for every market with such a pool.
    #[test]
    fn rates_that_are_far_apart_leave_a_pool_without_a_curve() {
        let coin = |rate: U256| Coin { balance: WAD, last_live: WAD, factor: U256::ONE, rate, pays_yield_fee: false };
        let amplification = Amplification { start_value: 200_000, end_value: 200_000, start_time: 0, end_time: 0 };
        let state = State {
            pool: Address::repeat_byte(7),
            coins: [U256::from(10).pow(uint!(59_U256)), U256::ONE].map(coin).into_iter().collect(),
            kind: PoolKind::Stable(amplification),
            generation: Generation::First,
            fee: Fee::Static(WAD / U256::from(1_000)),
            aggregate_swap_fee_wad: U256::ZERO,
            aggregate_yield_fee_wad: U256::ZERO,
            paused: false,
            recovery: false,
            rated: true,
            followed: std::sync::Arc::default(),
        };
        state.validate().unwrap();
        let curve = pair_curve(&state, [0, 1], &ExecutionBlock { number: 1, timestamp: 1 }).unwrap();
        assert_eq!(curve.directions, [None, None]);
    }
}
