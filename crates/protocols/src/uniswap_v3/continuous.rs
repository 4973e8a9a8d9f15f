//! A pool's curve for the optimiser: one stretch per range of constant liquidity.

use alloy_primitives::U256;

use super::{State, Tick, gas::Costs, tick_math};
use crate::continuous::{Direction, PairCurve, Stretch};

/// Returns the curve of both directions.
pub(super) fn pair_curve(state: &State, costs: &Costs) -> PairCurve {
    let gamma = 1.0 - f64::from(state.fee_pips) / 1_000_000.0;
    let start = from_x96(state.sqrt_price_x96);
    let falling = stretches(state, &stops(state, costs, true), |root| root.min(start), true);
    let rising = stretches(state, &stops(state, costs, false), |root| 1.0 / root.max(start), false);
    // the curve has one base cost: that of the cheaper direction, as a bound must not charge too much
    let protocol_fee = state.protocol_fee_gas_units(true).min(state.protocol_fee_gas_units(false));
    PairCurve {
        directions: [Direction::new(gamma, start, &falling), Direction::new(gamma, 1.0 / start, &rising)],
        gas_units: (costs.swap_gas_units + protocol_fee) as f64,
    }
}

/// A point where a swap pays extra gas: the tick, its gas, the change of liquidity, and its price if it is stored.
struct Stop {
    tick: i32,
    gas_units: u64,
    net: i128,
    sqrt_price_x96: Option<U256>,
}

/// Number of bitmap word edges that the curve charges gas for one by one. Later ones are charged together, half as many
/// again each time, where the last of them is: a swap through a range without ticks passes thousands.
const WORD_EDGES: i32 = 6;
/// Ticks in a bitmap word.
const WORD: i32 = 256;

/// Returns all such points below the price (`falling`) or above it, in the order of a swap.
fn stops(state: &State, costs: &Costs, falling: bool) -> Vec<Stop> {
    let split = state.ticks.partition_point(|tick| tick.index <= state.tick);
    let (below, above) = state.ticks.split_at(split);
    let at_tick = |tick: &Tick| Stop {
        tick: tick.index,
        gas_units: costs.tick_gas_units,
        net: tick.liquidity_net,
        sqrt_price_x96: Some(tick.sqrt_price_x96),
    };
    let mut stops: Vec<Stop> =
        if falling { below.iter().rev().map(at_tick).collect() } else { above.iter().map(at_tick).collect() };
    let bare = |tick: i32, gas_units: u64| Stop { tick, gas_units, net: 0, sqrt_price_x96: None };
    // leaving the current tick writes an oracle observation
    let moved = if falling { state.tick } else { state.tick.saturating_add(1) };
    stops.push(bare(moved, costs.tick_moved_gas_units));
    let last = if falling { below.first() } else { above.last() };
    let last = last.map_or(state.tick, |tick| tick.index);
    let is_within = |tick: i32| if falling { tick >= last } else { tick <= last };
    let words = Words::new(state, falling);
    // a word edge that is also an initialised tick is charged as that
    let at_edges: Vec<i32> =
        stops.iter().filter_map(|stop| words.edge_at(stop.tick).filter(|_| stop.sqrt_price_x96.is_some())).collect();
    let (mut passed, mut together) = (0, 1);
    while is_within(words.edge(passed + together - 1)) {
        let to = passed + together;
        let ticks = at_edges.partition_point(|edge| *edge < to) - at_edges.partition_point(|edge| *edge < passed);
        let edges = u64::from(together.unsigned_abs()).saturating_sub(ticks as u64);
        stops.extend((edges > 0).then(|| bare(words.edge(to - 1), edges * costs.word_gas_units)));
        passed = to;
        together = if passed < WORD_EDGES { 1 } else { passed / 2 };
    }
    stops.retain(|stop| is_within(stop.tick));
    stops.sort_by_key(|stop| (if falling { -stop.tick } else { stop.tick }, stop.sqrt_price_x96.is_none()));
    stops
}

/// The edges of bitmap words that a swap passes, numbered in its order from 0.
struct Words {
    /// The word that the swap starts in.
    first: i32,
    spacing: i32,
    falling: bool,
}

impl Words {
    fn new(state: &State, falling: bool) -> Self {
        let spacing = state.tick_spacing.max(1);
        let compressed = state.tick.div_euclid(spacing);
        Self { first: (if falling { compressed } else { compressed + 1 }).div_euclid(WORD), spacing, falling }
    }

    /// Returns the tick of an edge.
    fn edge(&self, number: i32) -> i32 {
        let compressed = match self.falling {
            true => (self.first - number) * WORD,
            false => (self.first + number) * WORD + WORD - 1,
        };
        compressed.saturating_mul(self.spacing)
    }

    /// Returns the number of the edge at a tick; `None` if there is none.
    fn edge_at(&self, tick: i32) -> Option<i32> {
        let word = tick.div_euclid(self.spacing).div_euclid(WORD);
        let number = if self.falling { self.first - word } else { word - self.first };
        (self.edge(number) == tick).then_some(number)
    }
}

fn stretches(state: &State, stops: &[Stop], end: impl Fn(f64) -> f64, falling: bool) -> Vec<Stretch> {
    let mut liquidity = state.liquidity as i128;
    let mut stretches = Vec::with_capacity(stops.len());
    for stop in stops {
        let sqrt_price = stop.sqrt_price_x96.or_else(|| tick_math::sqrt_price_at_tick(stop.tick));
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

/// Converts from Q64.96.
fn from_x96(value: U256) -> f64 {
    f64::from(value) / 79_228_162_514_264_337_593_543_950_336.0
}

/// Estimates the balance of one coin in all positions, in atomic units, without uncollected fees.
pub(super) fn holdings(state: &State, of_coin0: bool) -> f64 {
    let price = from_x96(state.sqrt_price_x96);
    let mut liquidity = 0.0;
    let mut held = 0.0;
    for (low, high) in state.ticks.iter().zip(state.ticks.iter().skip(1)) {
        liquidity += low.liquidity_net as f64;
        let (low, high) = (from_x96(low.sqrt_price_x96), from_x96(high.sqrt_price_x96));
        let at = price.clamp(low, high);
        held += liquidity * if of_coin0 { 1.0 / at - 1.0 / high } else { at - low };
    }
    held
}
