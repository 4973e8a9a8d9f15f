//! Reads a pool's whole state: price and liquidity, then every word of the tick bitmap, then every initialised tick.

use std::ops::RangeInclusive;

use alloy_primitives::{Address, U256, aliases::I24};
use alloy_sol_types::sol;

use super::{MAX_TICK_SPACING, State, Tick, tick_math::MAX_TICK};
use crate::{
    Call, Discovered, Prediction, StateReader,
    reading::{self, Reading, Stop, all},
};

sol! {
    // `feeProtocol` is 8 bits wide at Uniswap, 32 at PancakeSwap, where it is 0 or at least 1,000
    function slot0() external view returns (uint160 sqrtPriceX96, int24 tick, uint16 observationIndex, uint16 observationCardinality, uint16 observationCardinalityNext, uint32 feeProtocol, bool unlocked);
    function liquidity() external view returns (uint128 inRange);
    function tickBitmap(int16 word) external view returns (uint256 bits);
    function ticks(int24 tick) external view returns (uint128 liquidityGross, int128 liquidityNet, uint256 feeGrowthOutside0X128, uint256 feeGrowthOutside1X128, int56 tickCumulativeOutside, uint160 secondsPerLiquidityOutsideX128, uint32 secondsOutside, bool initialized);
}

/// Returns a reader of a pool.
pub(super) fn reader(pool: &Discovered) -> Box<dyn StateReader> {
    let pool = pool.clone();
    reading::reader(pool.key.contract, move |reading| read(&pool, reading))
}

fn read(pool: &Discovered, reading: &mut Reading) -> Result<State, Stop> {
    let address = pool.key.contract;
    let (slot0, liquidity) = (reading.ask(address, &slot0Call {}), reading.ask(address, &liquidityCall {}));
    let (slot0, liquidity) = (slot0?, liquidity?);
    let mut state = State::uninitialised(pool.fee_pips, pool.tick_spacing);
    (state.sqrt_price_x96, state.tick, state.liquidity) =
        (U256::from(slot0.sqrtPriceX96), slot0.tick.as_i32(), liquidity);
    state.fee_protocol = fee_protocol(slot0.feeProtocol);
    if !state.sqrt_price_x96.is_zero() {
        if !slot0.unlocked {
            return Err(reading.impossible("locked between transactions"));
        }
        state.ticks = ticks(address, pool.tick_spacing, reading)?.into();
    }
    state.validate().map_err(|what| reading.impossible(what))?;
    Ok(state)
}

/// Returns `feeProtocol` as the state holds it: zero if it is PancakeSwap's, which takes more than 8 bits.
pub(super) fn fee_protocol(in_slot0: u32) -> u8 {
    u8::try_from(in_slot0).unwrap_or_default()
}

/// Returns the calls for price and liquidity in range, with the answers that a state leads to.
pub(super) fn spot_checks(pool: Address, state: &State) -> Vec<Prediction> {
    let price = Prediction { call: Call::new(pool, &slot0Call {}), answer: state.sqrt_price_x96 };
    vec![price, Prediction { call: Call::new(pool, &liquidityCall {}), answer: U256::from(state.liquidity) }]
}

/// Reads all initialised ticks.
fn ticks(pool: Address, spacing: i32, reading: &mut Reading) -> Result<Vec<Tick>, Stop> {
    let words = words(spacing).ok_or(reading.impossible("a tick spacing out of range"))?;
    let bitmap = all(words.clone().map(|word| reading.ask(pool, &tickBitmapCall { word })))?;
    let mut indices = Vec::new();
    for (word, bits) in words.zip(bitmap) {
        push_indices(&mut indices, word, bits, spacing);
    }
    if indices.iter().any(|index| index.abs() > MAX_TICK) {
        return Err(reading.impossible("a tick out of range"));
    }
    all(indices.into_iter().map(|index| {
        let tick = I24::try_from(index).map_err(|_| reading.impossible("a tick out of range"))?;
        let tick = reading.ask(pool, &ticksCall { tick })?;
        if !tick.initialized {
            return Err(reading.impossible("a tick set in the bitmap and not initialised"));
        }
        let tick = Tick::new(index, tick.liquidityNet, tick.liquidityGross);
        tick.ok_or(reading.impossible("a tick out of range"))
    }))
}

/// Returns the bitmap words that can hold ticks; `None` for an impossible spacing.
pub(super) fn words(spacing: i32) -> Option<RangeInclusive<i16>> {
    if spacing <= 0 || spacing >= MAX_TICK_SPACING {
        return None;
    }
    let highest = MAX_TICK / spacing;
    let word = |compressed: i32| i16::try_from(compressed >> 8).ok();
    Some(word(-highest)?..=word(highest)?)
}

/// Appends the ticks whose bits are set, in ascending order.
fn push_indices(indices: &mut Vec<i32>, word: i16, bits: U256, spacing: i32) {
    for (limb, base) in bits.as_limbs().iter().zip((0..).step_by(64)) {
        let mut rest = *limb;
        while rest != 0 {
            let bit = base + rest.trailing_zeros().cast_signed();
            indices.push((i32::from(word) * 256 + bit) * spacing);
            rest &= rest - 1;
        }
    }
}
