//! A state built from logs must equal the state that is read.

use alloy_primitives::{Bytes, U256};
use braid_protocols::{DecodeError, ReadProgress};

use crate::support::{random::Random, v3::Venue};

#[test]
fn a_pool_followed_by_its_logs_is_the_pool_that_its_views_show() {
    let mut random = Random::new(31);
    for (fee_pips, tick_spacing) in [(500, 10), (3_000, 60), (10_000, 200), (3_000, 60), (10_000, 200), (500, 10)] {
        let mut venue = Venue::new(fee_pips, tick_spacing);
        assert_eq!(venue.read(), venue.state, "before it is initialised");
        venue.populate(&mut random, 25);
        for _ in 0..40 {
            let position = random.below(venue.positions.len() as u64) as usize;
            match random.below(5) {
                0 => {
                    let (lower, upper, liquidity) = venue.positions[position];
                    venue.mint(lower, upper, (liquidity / 3).max(1));
                }
                1 => venue.burn(position, venue.positions[position].2),
                2 => venue.burn(position, venue.positions[position].2 / 2),
                3 => venue.set_fee_protocol([(); 2].map(|()| [0, 4, 10][random.below(3) as usize])),
                _ => drop(venue.swap(random.coin(), random.log_uniform(80))),
            }
        }
        assert_eq!(venue.read(), venue.state, "{fee_pips} pips");
        assert_eq!(venue.read_by_lens(), venue.state, "{fee_pips} pips");
        venue.state().validate().unwrap();
    }
}

#[test]
fn a_pool_of_spacing_one_is_read_to_its_last_tick() {
    let mut venue = Venue::new(100, 1);
    venue.initialise(U256::ONE << 96);
    for (lower, upper) in
        [(-887_272, 887_272), (-887_272, -887_271), (887_271, 887_272), (-257, -256), (-1, 0), (255, 256)]
    {
        venue.mint(lower, upper, 1_000_000);
    }
    assert_eq!(venue.read(), venue.state);
    assert_eq!(venue.state().ticks.len(), 10);
}

/// Reads a pool with answers that `lie` may replace, by round and position.
fn read_lied_to(
    venue: &mut Venue,
    lie: impl Fn(usize, usize, Option<Bytes>) -> Option<Bytes>,
) -> Result<(), DecodeError> {
    let mut reader = venue.record.reader(&venue.pool);
    let mut progress = reader.start();
    for round in 0.. {
        let ReadProgress::Calls(calls) = progress else { break };
        let answers = calls.into_iter().enumerate().map(|(position, call)| {
            let truth = venue.chain.try_data(call.to, call.data).ok().map(|done| done.output);
            lie(round, position, truth)
        });
        progress = reader.feed(&answers.collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Replaces a 32-byte word of an answer.
fn with_word(answer: Option<Bytes>, word: usize, value: U256) -> Option<Bytes> {
    let mut bytes = answer?.to_vec();
    bytes[word * 32..][..32].copy_from_slice(&value.to_be_bytes::<32>());
    Some(bytes.into())
}

#[test]
fn a_pool_that_lies_is_left_out() {
    let mut venue = Venue::new(3_000, 60);
    venue.initialise(U256::ONE << 96);
    venue.mint(-600, 600, 1_000_000);
    venue.mint(600, 1_200, 1_000_000);
    assert_eq!(read_lied_to(&mut venue, |_, _, truth| truth), Ok(()), "the truth is believed");

    let huge = U256::MAX;
    let impossible = |result| matches!(result, Err(DecodeError::State { .. }));
    let undecodable = |result| matches!(result, Err(DecodeError::Call { .. }));
    let on = |round, position| move |r: usize, p: usize| (r, p) == (round, position);
    let mut change = |at: &dyn Fn(usize, usize) -> bool, word, value| {
        read_lied_to(&mut venue, |r, p, truth| if at(r, p) { with_word(truth, word, value) } else { truth })
    };
    assert!(impossible(change(&on(0, 0), 1, U256::from(5))), "a tick that is not that of the price");
    assert!(impossible(change(&on(0, 0), 0, U256::ONE)), "a price below all prices");
    assert!(impossible(change(&on(0, 0), 6, U256::ZERO)), "locked");
    assert!(impossible(change(&on(0, 1), 0, U256::from(999_999))), "liquidity that the ticks do not add up to");
    assert!(impossible(change(&on(1, 0), 0, U256::ONE)), "a tick out of range");
    assert!(impossible(change(&on(1, 58), 0, huge)), "ticks that were never initialised");
    assert!(impossible(change(&on(2, 0), 0, U256::ZERO)), "an initialised tick without liquidity");
    assert!(impossible(change(&on(2, 0), 7, U256::ZERO)), "a tick that says that it is not initialised");
    assert!(impossible(change(&on(2, 0), 1, U256::from(1_000_001))), "more net than gross");
    assert!(undecodable(change(&on(0, 0), 0, huge)), "a price of more than 160 bits");
    assert!(undecodable(change(&on(2, 0), 0, huge)), "liquidity of more than 128 bits");

    let silent = read_lied_to(&mut venue, |round, _, truth| if round == 1 { None } else { truth });
    assert!(undecodable(silent), "reverts");
    let empty = read_lied_to(&mut venue, |_, _, _| Some(Bytes::new()));
    assert!(undecodable(empty), "no code");
}

#[test]
fn answers_are_counted() {
    let venue = Venue::new(3_000, 60);
    let mut reader = venue.record.reader(&venue.pool);
    drop(reader.start());
    assert_eq!(reader.feed(&[]).unwrap_err(), DecodeError::AnswerCount { expected: 2, got: 0 });
}
