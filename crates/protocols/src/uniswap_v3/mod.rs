//! Uniswap V3 pools and every fork that runs the same code.

use std::sync::Arc;

use alloy_primitives::U256;
use serde::{Deserialize, Serialize};

use crate::{Swap, SwapError};

/// What a pool's swap depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Square root of the price (coin 1 per coin 0, atomic units) in Q64.96.
    pub sqrt_price_x96: U256,
    /// Tick of the price, as the contract stores it.
    pub tick: i32,
    /// Liquidity in range.
    pub liquidity: u128,
    /// Fee on the amount in, in hundredths of a basis point.
    pub fee_pips: u32,
    /// Distance of usable ticks.
    pub tick_spacing: i32,
    /// Initialised ticks, ascending.
    pub ticks: Arc<[Tick]>,
}

/// An initialised tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tick {
    /// Tick index.
    pub index: i32,
    /// Liquidity added when the price rises across the tick.
    pub liquidity_net: i128,
    /// Liquidity of all positions that end here; the tick is initialised while it is above zero.
    pub liquidity_gross: u128,
}

/// Price, tick and liquidity after a swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct After {
    /// Square root of the price in Q64.96.
    pub sqrt_price_x96: U256,
    /// Tick of the price.
    pub tick: i32,
    /// Liquidity in range.
    pub liquidity: u128,
}
