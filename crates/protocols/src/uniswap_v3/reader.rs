//! Reads a pool's whole state: price and liquidity, then every word of the tick bitmap, then every initialised tick.

use std::sync::Arc;

use alloy_primitives::{Address, Bytes, U256, aliases::I24};
use alloy_sol_types::{SolCall, sol};

use super::{MAX_TICK_SPACING, State, Tick, tick_math::MAX_TICK};
use crate::{Call, DecodeError, Discovered, PoolState, ReadProgress, StateReader};

sol! {
    // `feeProtocol` is 8 bits wide at Uniswap, 32 at PancakeSwap
    function slot0() external view returns (uint160 sqrtPriceX96, int24 tick, uint16 observationIndex, uint16 observationCardinality, uint16 observationCardinalityNext, uint32 feeProtocol, bool unlocked);
    function liquidity() external view returns (uint128 inRange);
    function tickBitmap(int16 word) external view returns (uint256 bits);
    function ticks(int24 tick) external view returns (uint128 liquidityGross, int128 liquidityNet, uint256 feeGrowthOutside0X128, uint256 feeGrowthOutside1X128, int56 tickCumulativeOutside, uint160 secondsPerLiquidityOutsideX128, uint32 secondsOutside, bool initialized);
}

/// Progress of the reading.
#[derive(Clone, Debug)]
enum Round {
    Price,
    Bitmap,
    Ticks(Vec<i32>),
}

/// Reader of one pool.
#[derive(Clone, Debug)]
pub(super) struct PoolReader {
    pool: Address,
    state: State,
    round: Round,
}

impl PoolReader {
    pub(super) fn new(pool: &Discovered) -> Self {
        let state = State::uninitialised(pool.fee_pips, pool.tick_spacing);
        Self { pool: pool.key.contract, state, round: Round::Price }
    }

    fn call(&self, call: &impl SolCall) -> Call {
        Call { to: self.pool, data: call.abi_encode().into() }
    }

    fn impossible(&self, what: &'static str) -> DecodeError {
        DecodeError::State { pool: self.pool, what }
    }

    /// Decodes one answer.
    fn answer<C: SolCall>(&self, answer: Option<&Bytes>) -> Result<C::Return, DecodeError> {
        let failed = |got| DecodeError::Call { pool: self.pool, call: C::SIGNATURE, got };
        let bytes = answer.ok_or_else(|| failed("a revert"))?;
        C::abi_decode_returns_validate(bytes).map_err(|_| failed("something that does not decode"))
    }

    /// Returns the first and last bitmap word that can hold ticks.
    pub(super) fn words(&self) -> Result<(i16, i16), DecodeError> {
        let spacing = self.state.tick_spacing;
        if spacing <= 0 || spacing >= MAX_TICK_SPACING {
            return Err(self.impossible("a tick spacing out of range"));
        }
        let highest = MAX_TICK / spacing;
        let word = |compressed: i32| i16::try_from(compressed >> 8).map_err(|_| self.impossible("a word out of range"));
        Ok((word(-highest)?, word(highest)?))
    }

    fn take_price(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        let [slot0, liquidity] = answers else {
            return Err(DecodeError::AnswerCount { expected: 2, got: answers.len() });
        };
        let slot0 = self.answer::<slot0Call>(slot0.as_ref())?;
        self.state.liquidity = self.answer::<liquidityCall>(liquidity.as_ref())?;
        self.state.sqrt_price_x96 = U256::from(slot0.sqrtPriceX96);
        self.state.tick = slot0.tick.as_i32();
        if self.state.sqrt_price_x96.is_zero() {
            return self.finish();
        }
        if !slot0.unlocked {
            return Err(self.impossible("locked between transactions"));
        }
        let (first, last) = self.words()?;
        self.round = Round::Bitmap;
        let words = (first..=last).map(|word| self.call(&tickBitmapCall { word }));
        Ok(ReadProgress::Calls(words.collect()))
    }

    fn take_bitmap(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        let (first, last) = self.words()?;
        let expected = usize::try_from(i32::from(last) - i32::from(first) + 1).unwrap_or_default();
        if answers.len() != expected {
            return Err(DecodeError::AnswerCount { expected, got: answers.len() });
        }
        let mut indices = Vec::new();
        for (word, answer) in (first..=last).zip(answers) {
            let bits = self.answer::<tickBitmapCall>(answer.as_ref())?;
            push_indices(&mut indices, word, bits, self.state.tick_spacing);
        }
        if indices.iter().any(|index| index.abs() > MAX_TICK) {
            return Err(self.impossible("a tick out of range"));
        }
        if indices.is_empty() {
            return self.finish();
        }
        let calls =
            indices.iter().filter_map(|index| I24::try_from(*index).ok()).map(|tick| self.call(&ticksCall { tick }));
        let calls = calls.collect();
        self.round = Round::Ticks(indices);
        Ok(ReadProgress::Calls(calls))
    }

    fn take_ticks(&mut self, indices: &[i32], answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        if answers.len() != indices.len() {
            return Err(DecodeError::AnswerCount { expected: indices.len(), got: answers.len() });
        }
        let mut ticks = Vec::with_capacity(indices.len());
        for (index, answer) in indices.iter().zip(answers) {
            let tick = self.answer::<ticksCall>(answer.as_ref())?;
            if !tick.initialized {
                return Err(self.impossible("a tick set in the bitmap and not initialised"));
            }
            let tick = Tick::new(*index, tick.liquidityNet, tick.liquidityGross);
            ticks.push(tick.ok_or_else(|| self.impossible("a tick out of range"))?);
        }
        self.state.ticks = Arc::from(ticks);
        self.finish()
    }

    fn finish(&self) -> Result<ReadProgress, DecodeError> {
        self.state.validate().map_err(|what| self.impossible(what))?;
        Ok(ReadProgress::Done(PoolState::UniswapV3(self.state.clone())))
    }
}

impl StateReader for PoolReader {
    fn start(&mut self) -> ReadProgress {
        self.round = Round::Price;
        ReadProgress::Calls(vec![self.call(&slot0Call {}), self.call(&liquidityCall {})])
    }

    fn feed(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        match core::mem::replace(&mut self.round, Round::Price) {
            Round::Price => self.take_price(answers),
            Round::Bitmap => self.take_bitmap(answers),
            Round::Ticks(indices) => self.take_ticks(&indices, answers),
        }
    }
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
