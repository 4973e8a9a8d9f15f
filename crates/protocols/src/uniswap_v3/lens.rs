//! Reads a pool's whole state through the lens: in one call, or in several if gas runs short.

use alloy_primitives::U256;

use super::{
    State, Tick,
    reader::{fee_protocol, words},
};
use crate::{
    Discovered, StateReader, lens,
    reading::{self, Reading, Stop},
};

/// Bytes of the answer before the ticks: price, tick, protocol fee, lock, liquidity, next word.
const HEADER_BYTES: usize = 48;

/// Bytes of a tick: index, net liquidity, gross liquidity.
const TICK_BYTES: usize = 35;

/// Returns a reader, or `None` for an impossible tick spacing; the plain reader then reports it.
pub(super) fn reader(pool: &Discovered) -> Option<Box<dyn StateReader>> {
    let words = words(pool.tick_spacing)?;
    let (first, last) = (i32::from(*words.start()), i32::from(*words.end()));
    let pool = pool.clone();
    Some(reading::reader(pool.key.contract, move |reading| read(&pool, first, last, reading)))
}

fn read(pool: &Discovered, first: i32, last: i32, reading: &mut Reading) -> Result<State, Stop> {
    let mut state = State::uninitialised(pool.fee_pips, pool.tick_spacing);
    let (mut ticks, mut word) = (Vec::new(), first);
    while word <= last {
        let answer = reading.call(lens::read(pool.key.contract, pool.tick_spacing, word, last))?;
        let answer = answer.ok_or(reading.impossible("a lens call that reverted"))?;
        let next_word = take(&answer, &mut state, &mut ticks).map_err(|what| reading.impossible(what))?;
        if next_word <= word || next_word > last.saturating_add(1) {
            return Err(reading.impossible("a lens that makes no progress"));
        }
        word = next_word;
    }
    state.ticks = ticks.into();
    state.validate().map_err(|what| reading.impossible(what))?;
    Ok(state)
}

/// Decodes an answer, and returns the first bitmap word after those that it covers.
fn take(answer: &[u8], state: &mut State, ticks: &mut Vec<Tick>) -> Result<i32, &'static str> {
    const SHORT: &str = "a truncated answer of the lens";
    let (header, records) = answer.split_at_checked(HEADER_BYTES).ok_or(SHORT)?;
    let number = |from: usize, to: usize| U256::from_be_slice(header.get(from..to).unwrap_or_default());
    state.sqrt_price_x96 = number(0, 20);
    state.tick = signed_24(header.get(20..23).unwrap_or_default());
    state.fee_protocol = fee_protocol(number(23, 27).saturating_to());
    let unlocked = !number(27, 28).is_zero();
    state.liquidity = number(28, 44).saturating_to();
    if !unlocked && !state.sqrt_price_x96.is_zero() {
        return Err("locked between transactions");
    }
    if records.len() % TICK_BYTES != 0 {
        return Err(SHORT);
    }
    for record in records.chunks_exact(TICK_BYTES) {
        ticks.push(tick(record).ok_or("a tick out of range")?);
    }
    let next_word = header.get(44..48).and_then(|bytes| bytes.try_into().ok());
    Ok(next_word.map_or(0, i32::from_be_bytes))
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
    use alloy_primitives::{Address, Bytes};

    use super::*;
    use crate::{Product, ReadProgress};

    fn pool(tick_spacing: i32) -> Discovered {
        let coins = vec![Address::with_last_byte(1), Address::with_last_byte(2)];
        let pool = Discovered::new(Address::repeat_byte(7), Product::UniswapV3, coins);
        Discovered { fee_pips: 500, tick_spacing, ..pool }
    }

    fn answer(price: U256, next_word: i32, ticks: &[(i32, i128, u128)]) -> Option<Bytes> {
        let mut bytes = price.to_be_bytes::<32>()[12..].to_vec();
        bytes.extend([0, 0, 0, 0, 0, 0, 0, 1]);
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
        let mut reader = reader(&pool(10)).unwrap();
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
        let cut = answer(one, 347, &[]).map(|bytes| bytes.slice(..47));
        let odd = answer(one, 347, &[]).map(|bytes| [&bytes[..], &[0]].concat().into());
        for wrong in [None, Some(Bytes::new()), endless, beyond, cut, odd] {
            let mut reader = reader(&pool(10)).unwrap();
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
