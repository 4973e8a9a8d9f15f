//! From a pool's exact state to the curve of two of its coins.

use alloy_primitives::U256;
use braid_primitives::ExecutionBlock;

use super::{Direction, Stretch};
use crate::{Pool, PoolState, Product, balancer, curve, erc4626, fluid, lido, morpho, uniswap_v2, uniswap_v3};

/// The largest reserve that a V2 pair keeps: it reverts above 112 bits.
const MAX_RESERVE: f64 = 5_192_296_858_534_827_628_530_496_329_220_095.0;

/// Both directions of trading two coins of a pool, and what a swap costs.
#[derive(Clone, Debug, PartialEq)]
pub struct PairCurve {
    /// Selling the first coin for the second, and the second for the first; `None` for a side that pays nothing.
    pub directions: [Option<Direction>; 2],
    /// The least gas that any swap through this pool costs as a step of a route; a direction's own gas comes on top.
    pub gas_units: f64,
}

impl PairCurve {
    /// The curve of two coins of a pool, given by their positions, lower first, in the given block; `None` for coins that
    /// do not trade, and for wrapping, which is no curve.
    pub fn of(pool: &Pool, coins: [u8; 2], at: &ExecutionBlock) -> Option<Self> {
        let [low, high] = coins;
        if low >= high || usize::from(high) >= pool.coins.len() {
            return None;
        }
        Self::of_state(&pool.state, pool.product, coins, at)
    }

    /// The same of a state by itself.
    pub(crate) fn of_state(state: &PoolState, product: Product, coins: [u8; 2], at: &ExecutionBlock) -> Option<Self> {
        let curve = match state {
            PoolState::WrappedEther => return None,
            PoolState::UniswapV2(state) => constant_product(state),
            PoolState::UniswapV3(state) => concentrated(state),
            PoolState::BalancerV2(state) => balancer::v2::pair_curve(state, coins, at),
            PoolState::BalancerV3(state) => balancer::v3::pair_curve(state, coins, at)?,
            PoolState::BalancerV3Buffer(state) => balancer::v3::buffer::pair_curve(state, at)?,
            PoolState::Curve(state) => curve::pair_curve(state, coins, at)?,
            PoolState::Erc4626(state) => erc4626::pair_curve(state, at)?,
            PoolState::Lido(state) => lido::pair_curve(state, product == Product::LidoSteth, at)?,
            PoolState::Metamorpho(vault) => morpho::pair_curve(vault, at)?,
            PoolState::FluidDexT1(state) => fluid::dex::pair_curve(state, at)?,
            PoolState::FluidFToken(state) => fluid::ftoken::pair_curve(state, at)?,
            PoolState::VaultV2(vault) => morpho::vault_v2::pair_curve(vault, at)?,
        };
        curve.directions.iter().any(Option::is_some).then_some(curve)
    }

    /// The direction that sells the first coin (side 0) or the second (side 1).
    #[inline]
    pub fn direction(&self, side: u8) -> Option<&Direction> {
        self.directions.get(usize::from(side)).and_then(Option::as_ref)
    }
}

#[allow(clippy::cast_precision_loss, reason = "the optimiser works in floating point")]
fn constant_product(state: &uniswap_v2::State) -> PairCurve {
    let gamma = 1.0 - f64::from(state.fee_bps) / 10_000.0;
    let reserves = [state.reserve0 as f64, state.reserve1 as f64];
    let liquidity = (reserves[0] * reserves[1]).sqrt();
    let one_way = |reserve_in: f64, reserve_out: f64| {
        let end = liquidity / (reserve_in + gamma * (MAX_RESERVE - reserve_in));
        Direction::new(gamma, (reserve_out / reserve_in).sqrt(), &[Stretch { end, liquidity, gas_units: 0.0 }])
    };
    PairCurve {
        directions: [one_way(reserves[0], reserves[1]), one_way(reserves[1], reserves[0])],
        gas_units: uniswap_v2::gas::SWAP_GAS_UNITS as f64,
    }
}

#[allow(clippy::cast_precision_loss, reason = "the optimiser works in floating point")]
fn concentrated(state: &uniswap_v3::State) -> PairCurve {
    let gamma = 1.0 - f64::from(state.fee_pips) / 1_000_000.0;
    let start = from_x96(state.sqrt_price_x96);
    let falling = stretches(state, &stops(state, true), |root| root.min(start), true);
    let rising = stretches(state, &stops(state, false), |root| 1.0 / root.max(start), false);
    PairCurve {
        directions: [Direction::new(gamma, start, &falling), Direction::new(gamma, 1.0 / start, &rising)],
        gas_units: f64::from(state.costs.swap_gas_units),
    }
}

/// Where a swap pays gas on its way: a tick, the gas of passing it, the liquidity that comes or goes, its price if known.
struct Stop {
    tick: i32,
    gas_units: u64,
    net: i128,
    sqrt_price_x96: Option<U256>,
}

/// Edges of bitmap words taken into account; later ones count as free.
const WORD_EDGES: i32 = 6;
/// Ticks in a bitmap word.
const WORD: i32 = 256;

/// Every stop on the way down (`falling`) or up, in the order of the way.
fn stops(state: &uniswap_v3::State, falling: bool) -> Vec<Stop> {
    let split = state.ticks.partition_point(|tick| tick.index <= state.tick);
    let (below, above) = state.ticks.split_at(split);
    let at_tick = |tick: &uniswap_v3::Tick| Stop {
        tick: tick.index,
        gas_units: u64::from(state.costs.tick_gas_units),
        net: tick.liquidity_net,
        sqrt_price_x96: Some(tick.sqrt_price_x96),
    };
    let mut stops: Vec<Stop> =
        if falling { below.iter().rev().map(at_tick).collect() } else { above.iter().map(at_tick).collect() };
    let bare = |tick: i32, gas_units: u64| Stop { tick, gas_units, net: 0, sqrt_price_x96: None };
    // Leaving the tick that the price is in writes the oracle.
    let moved = if falling { state.tick } else { state.tick.saturating_add(1) };
    stops.push(bare(moved, u64::from(state.costs.tick_moved_gas_units)));
    let word_edge = u64::from(state.costs.word_gas_units);
    let spacing = state.tick_spacing.max(1);
    let compressed = state.tick.div_euclid(spacing);
    let word = (if falling { compressed } else { compressed + 1 }).div_euclid(WORD);
    for k in 0..WORD_EDGES {
        let edge = if falling { (word - k) * WORD } else { (word + k) * WORD + WORD - 1 };
        stops.push(bare(edge.saturating_mul(spacing), word_edge));
    }
    let last = if falling { below.first() } else { above.last() };
    let last = last.map_or(state.tick, |tick| tick.index);
    stops.retain(|stop| if falling { stop.tick >= last } else { stop.tick <= last });
    // A word's edge on an initialised tick is that tick.
    stops.sort_by_key(|stop| (if falling { -stop.tick } else { stop.tick }, stop.sqrt_price_x96.is_none()));
    stops.dedup_by(|later, first| {
        later.tick == first.tick && later.gas_units == word_edge && first.sqrt_price_x96.is_some()
    });
    stops
}

#[allow(clippy::cast_precision_loss, reason = "the optimiser works in floating point")]
fn stretches(state: &uniswap_v3::State, stops: &[Stop], end: impl Fn(f64) -> f64, falling: bool) -> Vec<Stretch> {
    let mut liquidity = state.liquidity as i128;
    let mut stretches = Vec::with_capacity(stops.len());
    for stop in stops {
        let sqrt_price = stop.sqrt_price_x96.or_else(|| uniswap_v3::tick_math::sqrt_price_at_tick(stop.tick));
        let Some(root) = sqrt_price.map(from_x96) else { break };
        stretches.push(Stretch {
            end: end(root),
            liquidity: liquidity.max(0) as f64,
            gas_units: stop.gas_units as f64,
        });
        liquidity = if falling { liquidity.saturating_sub(stop.net) } else { liquidity.saturating_add(stop.net) };
    }
    stretches
}

/// From Q64.96.
fn from_x96(value: U256) -> f64 {
    f64::from(value) / 79_228_162_514_264_337_593_543_950_336.0
}
