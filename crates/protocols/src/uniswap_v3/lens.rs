//! Reads a pool's whole state through the lens: in one call, or in several if gas runs short.

use std::sync::Arc;

use alloy_primitives::{Address, Bytes, U256};

use super::{State, Tick, reader::PoolReader};
use crate::{DecodeError, Discovered, PoolState, ReadProgress, StateReader, lens};

/// Bytes of the answer before the ticks: price, tick, lock, liquidity, next word.
const HEADER_BYTES: usize = 44;

/// Bytes of a tick: index, net liquidity, gross liquidity.
const TICK_BYTES: usize = 35;

/// Reader of one pool.
#[derive(Clone, Debug)]
pub(super) struct LensReader {
    pool: Address,
    state: State,
    next_word: i32,
    last_word: i32,
    ticks: Vec<Tick>,
}

impl LensReader {
    /// Returns a reader, or `None` for an impossible tick spacing; the plain reader then reports it.
    pub(super) fn new(pool: &Discovered) -> Option<Self> {
        let plain = PoolReader::new(pool);
        let (first, last) = plain.words().ok()?;
        let state = State::uninitialised(pool.fee_pips, pool.tick_spacing);
        let (next_word, last_word) = (i32::from(first), i32::from(last));
        Some(Self { pool: pool.key.contract, state, next_word, last_word, ticks: Vec::new() })
    }

    fn ask(&self) -> ReadProgress {
        ReadProgress::Calls(vec![lens::read(self.pool, self.state.tick_spacing, self.next_word, self.last_word)])
    }

    fn impossible(&self, what: &'static str) -> DecodeError {
        DecodeError::State { pool: self.pool, what }
    }

    fn take(&mut self, answer: &[u8]) -> Result<(), DecodeError> {
        let short = || DecodeError::State { pool: self.pool, what: "a truncated answer of the lens" };
        let (header, ticks) = answer.split_at_checked(HEADER_BYTES).ok_or_else(short)?;
        let number = |from: usize, to: usize| U256::from_be_slice(header.get(from..to).unwrap_or_default());
        self.state.sqrt_price_x96 = number(0, 20);
        self.state.tick = signed_24(header.get(20..23).unwrap_or_default());
        let unlocked = !number(23, 24).is_zero();
        self.state.liquidity = number(24, 40).saturating_to();
        if !unlocked && !self.state.sqrt_price_x96.is_zero() {
            return Err(self.impossible("locked between transactions"));
        }
        let next_word = header.get(40..44).and_then(|bytes| bytes.try_into().ok()).map_or(0, i32::from_be_bytes);
        if next_word <= self.next_word || next_word > self.last_word.saturating_add(1) {
            return Err(self.impossible("a lens that makes no progress"));
        }
        if ticks.len() % TICK_BYTES != 0 {
            return Err(short());
        }
        for record in ticks.chunks_exact(TICK_BYTES) {
            self.ticks.push(tick(record).ok_or_else(|| self.impossible("a tick out of range"))?);
        }
        self.next_word = next_word;
        Ok(())
    }
}

impl StateReader for LensReader {
    fn start(&mut self) -> ReadProgress {
        self.ask()
    }

    fn feed(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        let [answer] = answers else { return Err(DecodeError::AnswerCount { expected: 1, got: answers.len() }) };
        let answer = answer.as_ref().ok_or_else(|| self.impossible("a lens call that reverted"))?;
        self.take(answer)?;
        if self.next_word <= self.last_word {
            return Ok(self.ask());
        }
        let state = State { ticks: Arc::from(std::mem::take(&mut self.ticks)), ..self.state.clone() };
        state.validate().map_err(|what| self.impossible(what))?;
        Ok(ReadProgress::Done(PoolState::UniswapV3(state)))
    }
}

fn tick(record: &[u8]) -> Option<Tick> {
    let word = |from: usize| record.get(from..from + 16)?.try_into().ok();
    let (net, gross) = (i128::from_be_bytes(word(3)?), u128::from_be_bytes(word(19)?));
    Tick::new(signed_24(record.get(..3)?), net, gross)
}

fn signed_24(bytes: &[u8]) -> i32 {
    let raw = bytes.iter().fold(0i32, |number, byte| (number << 8) | i32::from(*byte));
    (raw << 8) >> 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Product;

    fn pool(tick_spacing: i32) -> Discovered {
        let coins = vec![Address::with_last_byte(1), Address::with_last_byte(2)];
        Discovered {
            key: Address::repeat_byte(7).into(),
            product: Product::UniswapV3,
            coins,
            fee_pips: 500,
            tick_spacing,
        }
    }

    fn answer(price: U256, next_word: i32, ticks: &[(i32, i128, u128)]) -> Option<Bytes> {
        let mut bytes = price.to_be_bytes::<32>()[12..].to_vec();
        bytes.extend([0, 0, 0, 1]);
        bytes.extend(0u128.to_be_bytes());
        bytes.extend(next_word.to_be_bytes());
        for (index, net, gross) in ticks {
            bytes.extend(&index.to_be_bytes()[1..]);
            bytes.extend(net.to_be_bytes());
            bytes.extend(gross.to_be_bytes());
        }
        Some(bytes.into())
    }

    #[test]
    fn a_lens_that_stops_early_is_asked_for_the_rest() {
        let one = U256::ONE << 96;
        let mut reader = LensReader::new(&pool(10)).unwrap();
        reader.start();
        let first = reader.feed(&[answer(one, 0, &[(-50, 9, 9)])]).unwrap();
        let ReadProgress::Calls(calls) = first else { panic!("more is to be read") };
        assert_eq!(calls, [lens::read(Address::repeat_byte(7), 10, 0, 346)]);
        let done = reader.feed(&[answer(one, 347, &[(70, -9, 9)])]);
        // The liquidity in range is zero, but the ticks sum to nine. No pool has such a state.
        assert!(done.is_err());
    }

    #[test]
    fn an_answer_that_is_no_answer_is_an_error() {
        let one = U256::ONE << 96;
        let endless = answer(one, -347, &[]);
        let beyond = answer(one, 400, &[]);
        let cut = answer(one, 347, &[]).map(|bytes| bytes.slice(..43));
        let odd = answer(one, 347, &[]).map(|bytes| [&bytes[..], &[0]].concat().into());
        for wrong in [None, Some(Bytes::new()), endless, beyond, cut, odd] {
            let mut reader = LensReader::new(&pool(10)).unwrap();
            reader.start();
            assert!(reader.feed(std::slice::from_ref(&wrong)).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn numbers_of_three_bytes_keep_their_sign() {
        for number in [-887_272, -1, 0, 1, 887_272i32] {
            assert_eq!(signed_24(&number.to_be_bytes()[1..]), number);
        }
    }
}
