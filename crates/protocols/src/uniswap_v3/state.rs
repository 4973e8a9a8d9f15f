//! State of a pool, and its validation.

use std::sync::Arc;

use alloy_primitives::U256;
use serde::{Deserialize, Serialize};

use super::{
    MAX_FEE_PIPS, MAX_TICK_SPACING,
    tick_math::{self, MAX_SQRT_PRICE_X96, MAX_TICK, MIN_SQRT_PRICE_X96, MIN_TICK},
};

/// State of a pool, as far as swaps depend on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Square root of the price (coin 1 per coin 0, in atomic units) in Q64.96; zero until the pool is initialised.
    pub sqrt_price_x96: U256,
    /// Current tick, as the contract stores it: one below the tick of the price if a falling price ended exactly on an
    /// initialised tick.
    pub tick: i32,
    /// Liquidity in range.
    pub liquidity: u128,
    /// Fee on the amount in, in hundredths of a basis point.
    pub fee_pips: u32,
    /// The protocol's share of the fee, as the contract stores it: one part in the low four bits of the fee on coin 0,
    /// one part in the high four bits of that on coin 1, nothing where they are zero. Changes the gas of a swap and no
    /// amount. Zero for PancakeSwap, whose gas always includes it.
    #[serde(default)]
    pub fee_protocol: u8,
    /// Spacing of usable ticks.
    pub tick_spacing: i32,
    /// Initialised ticks, in ascending order.
    pub ticks: Arc<[Tick]>,
}

/// An initialised tick. [`Tick::new`] computes its price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "TickRecord", into = "TickRecord")]
#[non_exhaustive]
pub struct Tick {
    /// Tick index.
    pub index: i32,
    /// Liquidity added when the price rises across the tick.
    pub liquidity_net: i128,
    /// Total liquidity of positions with an end at this tick; above zero while the tick is initialised.
    pub liquidity_gross: u128,
    /// Square root of the price at the tick, in Q64.96; cached.
    pub sqrt_price_x96: U256,
}

impl Tick {
    /// Returns a tick; `None` outside ±887,272.
    pub fn new(index: i32, liquidity_net: i128, liquidity_gross: u128) -> Option<Self> {
        let sqrt_price_x96 = tick_math::sqrt_price_at_tick(index)?;
        Some(Self { index, liquidity_net, liquidity_gross, sqrt_price_x96 })
    }
}

/// Serialised form of a tick: index, net, gross.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct TickRecord(i32, i128, u128);

impl From<Tick> for TickRecord {
    fn from(tick: Tick) -> Self {
        Self(tick.index, tick.liquidity_net, tick.liquidity_gross)
    }
}

impl TryFrom<TickRecord> for Tick {
    type Error = &'static str;

    fn try_from(TickRecord(index, net, gross): TickRecord) -> Result<Self, Self::Error> {
        Self::new(index, net, gross).ok_or("tick index outside ±887272")
    }
}

/// Price, tick and liquidity after a swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct After {
    /// Square root of the price in Q64.96.
    pub sqrt_price_x96: U256,
    /// Current tick.
    pub tick: i32,
    /// Liquidity in range.
    pub liquidity: u128,
}

impl State {
    /// Returns a pool that was created but not initialised: it refuses every swap.
    pub fn uninitialised(fee_pips: u32, tick_spacing: i32) -> Self {
        let (sqrt_price_x96, ticks) = (U256::ZERO, Arc::from([]));
        Self { sqrt_price_x96, tick: 0, liquidity: 0, fee_pips, fee_protocol: 0, tick_spacing, ticks }
    }

    /// Checks that the state is possible: parameters in range, price and tick consistent, ticks ascending and on the
    /// spacing, and the liquidity in range equal to the sum of net liquidity at or below the current tick.
    ///
    /// # Errors
    /// Describes the violation.
    pub fn validate(&self) -> Result<(), &'static str> {
        self.validate_parameters()?;
        self.validate_ticks()?;
        if self.sqrt_price_x96.is_zero() {
            let untouched = self.liquidity == 0 && self.tick == 0 && self.ticks.is_empty();
            return if untouched { Ok(()) } else { Err("an uninitialised pool with liquidity") };
        }
        self.validate_price()?;
        self.validate_liquidity()
    }

    pub(super) fn validate_parameters(&self) -> Result<(), &'static str> {
        if self.fee_pips >= MAX_FEE_PIPS {
            return Err("a fee of 100% or more");
        }
        if self.tick_spacing <= 0 || self.tick_spacing >= MAX_TICK_SPACING {
            return Err("a tick spacing out of range");
        }
        Ok(())
    }

    fn validate_ticks(&self) -> Result<(), &'static str> {
        if !self.ticks.is_sorted_by(|a, b| a.index < b.index) {
            return Err("ticks out of order");
        }
        if self.ticks.iter().any(|tick| tick.index % self.tick_spacing != 0) {
            return Err("a tick off its spacing");
        }
        if self.ticks.iter().any(|tick| tick.liquidity_gross == 0) {
            return Err("an initialised tick without liquidity");
        }
        if self.ticks.iter().any(|tick| tick.liquidity_net.unsigned_abs() > tick.liquidity_gross) {
            return Err("a tick with more net than gross liquidity");
        }
        Ok(())
    }

    /// Checks that the tick is that of the price, or one below it if the price is exactly that of the tick above.
    pub(super) fn validate_price(&self) -> Result<(), &'static str> {
        if self.sqrt_price_x96 < MIN_SQRT_PRICE_X96 || self.sqrt_price_x96 >= MAX_SQRT_PRICE_X96 {
            return Err("a price out of range");
        }
        if self.tick < MIN_TICK || self.tick >= MAX_TICK {
            return Err("a tick out of range");
        }
        let low = tick_math::sqrt_price_at_tick(self.tick).ok_or("a tick out of range")?;
        let high = tick_math::sqrt_price_at_tick(self.tick + 1).ok_or("a tick out of range")?;
        if low <= self.sqrt_price_x96 && self.sqrt_price_x96 <= high { Ok(()) } else { Err("a price outside its tick") }
    }

    /// Checks that the liquidity in range is the sum of net liquidity at or below the current tick.
    pub(super) fn validate_liquidity(&self) -> Result<(), &'static str> {
        let mut sum = 0_i128;
        for tick in self.ticks.iter().take_while(|tick| tick.index <= self.tick) {
            sum = sum.checked_add(tick.liquidity_net).ok_or("ticks whose liquidity overflows")?;
        }
        if u128::try_from(sum) == Ok(self.liquidity) {
            Ok(())
        } else {
            Err("liquidity that differs from the sum of its ticks")
        }
    }

    /// Returns price, tick and liquidity, without the ticks.
    pub const fn now(&self) -> After {
        After { sqrt_price_x96: self.sqrt_price_x96, tick: self.tick, liquidity: self.liquidity }
    }
}
