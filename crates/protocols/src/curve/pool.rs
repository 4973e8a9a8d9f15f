//! From a pool's exact state to its curve.

use alloy_primitives::U256;

use super::{Direction, Stretch};
use crate::{Pool, PoolState, uniswap_v2, uniswap_v3};

/// The largest reserve that a V2 pair keeps: it reverts above 112 bits.
const MAX_RESERVE: f64 = 5_192_296_858_534_827_628_530_496_329_220_095.0;

/// Both directions of a two-coin pool, and what a swap costs.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolCurve {
    /// Selling coin 0 for coin 1, and coin 1 for coin 0; `None` for a side that pays nothing.
    pub directions: [Option<Direction>; 2],
    /// The least gas that any swap through this pool costs as a step of a route.
    pub gas_units: f64,
    /// What each initialised tick crossed adds at least.
    pub tick_gas_units: f64,
}

impl PoolCurve {
    /// The curve of a pool; `None` for a pool that is no curve (wrapping) or cannot trade at all.
    pub fn of(pool: &Pool) -> Option<Self> {
        let curve = match &pool.state {
            PoolState::WrappedEther => return None,
            PoolState::UniswapV2(state) => constant_product(state),
            PoolState::UniswapV3(state) => concentrated(state),
        };
        curve.directions.iter().any(Option::is_some).then_some(curve)
    }

    /// One direction.
    #[inline]
    pub fn direction(&self, coin_in: u8) -> Option<&Direction> {
        self.directions.get(usize::from(coin_in)).and_then(Option::as_ref)
    }
}

#[allow(clippy::cast_precision_loss, reason = "the optimiser works in floating point")]
fn constant_product(state: &uniswap_v2::State) -> PoolCurve {
    let gamma = 1.0 - f64::from(state.fee_bps) / 10_000.0;
    let reserves = [state.reserve0 as f64, state.reserve1 as f64];
    let liquidity = (reserves[0] * reserves[1]).sqrt();
    let one_way = |reserve_in: f64, reserve_out: f64| {
        let end = liquidity / (reserve_in + gamma * (MAX_RESERVE - reserve_in));
        Direction::new(gamma, (reserve_out / reserve_in).sqrt(), &[Stretch { end, liquidity }])
    };
    PoolCurve {
        directions: [one_way(reserves[0], reserves[1]), one_way(reserves[1], reserves[0])],
        gas_units: uniswap_v2::gas::SWAP_GAS_UNITS as f64,
        tick_gas_units: 0.0,
    }
}

#[allow(clippy::cast_precision_loss, reason = "the optimiser works in floating point")]
fn concentrated(state: &uniswap_v3::State) -> PoolCurve {
    let gamma = 1.0 - f64::from(state.fee_pips) / 1_000_000.0;
    let start = from_x96(state.sqrt_price_x96);
    let split = state.ticks.partition_point(|tick| tick.index <= state.tick);
    let mut falling = Vec::with_capacity(split);
    let mut liquidity = state.liquidity as i128;
    for tick in state.ticks[..split].iter().rev() {
        falling.push(Stretch { end: from_x96(tick.sqrt_price_x96).min(start), liquidity: liquidity.max(0) as f64 });
        liquidity = liquidity.saturating_sub(tick.liquidity_net);
    }
    let mut rising = Vec::with_capacity(state.ticks.len() - split);
    let mut liquidity = state.liquidity as i128;
    for tick in &state.ticks[split..] {
        rising
            .push(Stretch { end: 1.0 / from_x96(tick.sqrt_price_x96).max(start), liquidity: liquidity.max(0) as f64 });
        liquidity = liquidity.saturating_add(tick.liquidity_net);
    }
    PoolCurve {
        directions: [Direction::new(gamma, start, &falling), Direction::new(gamma, 1.0 / start, &rising)],
        gas_units: uniswap_v3::gas::SWAP_GAS_UNITS as f64,
        tick_gas_units: uniswap_v3::gas::TICK_GAS_UNITS as f64,
    }
}

/// From Q64.96.
fn from_x96(value: U256) -> f64 {
    f64::from(value) / 79_228_162_514_264_337_593_543_950_336.0
}
