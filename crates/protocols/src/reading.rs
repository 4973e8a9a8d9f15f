//! Reads contracts with an ordinary function. It stops at the first missing answer and reruns from the beginning once
//! the answers have arrived.
//!
//! Calls that do not depend on each other share a round: make them all first, then take each answer with `?`.

use std::{collections::HashMap, sync::Arc};

use alloy_primitives::{Address, Bytes, U256, keccak256};
use alloy_sol_types::{SolCall, sol};

use crate::{
    Call, DecodeError, Discovered, PoolState, Product, ReadProgress, StateReader,
    answers::{MULTICALL3, Question, ask, impossible, narrow},
    storage::ask_word,
};

sol! {
    function getCurrentBlockTimestamp() external view returns (uint256);
}

/// Reason for which a reading stops.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// An answer of the next round is missing.
    Unanswered,
    /// The answers are not those of a pool of this product.
    Refused(DecodeError),
}

impl From<DecodeError> for Stop {
    fn from(error: DecodeError) -> Self {
        Self::Refused(error)
    }
}

/// Calls made about a pool so far, with their answers.
#[derive(Debug)]
pub(crate) struct Reading {
    pool: Address,
    asked: Vec<Call>,
    /// Answers to the first calls of `asked`; `None` is a call that reverted.
    answers: Vec<Option<Bytes>>,
    /// Position of each call in `asked`.
    places: HashMap<(Address, Bytes), usize>,
    product: Option<Product>,
}

impl Reading {
    /// Builds the refusal of a pool whose state is impossible.
    pub(crate) const fn impossible(&self, what: &'static str) -> Stop {
        Stop::Refused(impossible(self.pool, what))
    }

    /// Records the product that the answers revealed.
    pub(crate) const fn found(&mut self, product: Product) {
        self.product = Some(product);
    }

    /// Returns the raw answer to a call; `None` if it reverted. Equal calls are made once.
    pub(crate) fn call(&mut self, call: Call) -> Result<Option<Bytes>, Stop> {
        let place = *self.places.entry((call.to, call.data.clone())).or_insert(self.asked.len());
        if place == self.asked.len() {
            self.asked.push(call);
        }
        self.answers.get(place).cloned().ok_or(Stop::Unanswered)
    }

    /// Returns a decoded answer; `None` if the call reverted or the answer does not decode.
    pub(crate) fn try_ask<C: SolCall>(&mut self, to: Address, call: &C) -> Result<Option<C::Return>, Stop> {
        let answer = self.call(ask(to, call).call)?;
        Ok(answer.and_then(|answer| C::abi_decode_returns_validate(&answer).ok()))
    }

    /// Returns a decoded answer, and refuses the pool if the call reverted or the answer does not decode.
    pub(crate) fn ask<C: SolCall>(&mut self, to: Address, call: &C) -> Result<C::Return, Stop> {
        let Question { call, name } = ask(to, call);
        let answer = self.call(call)?;
        let decoded = answer.as_ref().and_then(|answer| C::abi_decode_returns_validate(answer).ok());
        decoded.ok_or_else(|| self.odd(name, answer.as_ref()))
    }

    /// Returns an answer that is one word.
    pub(crate) fn question(&mut self, question: Question) -> Result<U256, Stop> {
        let answer = self.call(question.call)?;
        let word = answer.as_ref().and_then(|answer| U256::try_from_be_slice(answer.get(..32)?));
        word.ok_or_else(|| self.odd(question.name, answer.as_ref()))
    }

    /// Returns the word that a view without arguments returns.
    pub(crate) fn word(&mut self, to: Address, view: &'static str) -> Result<U256, Stop> {
        self.question(ask_view(to, view))
    }

    /// Returns the word that a view without arguments returns; `None` if it reverts or returns less.
    pub(crate) fn try_word(&mut self, to: Address, view: &'static str) -> Result<Option<U256>, Stop> {
        let answer = self.call(ask_view(to, view).call)?;
        Ok(answer.and_then(|answer| U256::try_from_be_slice(answer.get(..32)?)))
    }

    /// Tells whether a view without arguments returns at least one word.
    pub(crate) fn has(&mut self, to: Address, view: &'static str) -> Result<bool, Stop> {
        Ok(self.call(ask_view(to, view).call)?.is_some_and(|answer| answer.len() >= 32))
    }

    /// Returns the words of several views without arguments of one contract.
    pub(crate) fn words<const N: usize>(&mut self, to: Address, views: [&'static str; N]) -> Result<[U256; N], Stop> {
        let answers = views.map(|view| self.word(to, view));
        let mut words = [U256::ZERO; N];
        for (word, answer) in words.iter_mut().zip(answers) {
            *word = answer?;
        }
        Ok(words)
    }

    fn odd(&self, call: &'static str, answer: Option<&Bytes>) -> Stop {
        let got = match answer {
            None => "a revert",
            Some(answer) if answer.is_empty() => "nothing: there is no such contract",
            Some(_) => "something else",
        };
        Stop::Refused(DecodeError::Call { pool: self.pool, call, got })
    }

    /// Returns a word of a contract's storage.
    pub(crate) fn storage(&mut self, contract: Address, slot: U256) -> Result<U256, Stop> {
        self.question(ask_word(contract, slot))
    }

    /// Returns the block's timestamp, in unix seconds.
    pub(crate) fn timestamp(&mut self) -> Result<u64, Stop> {
        let seconds = self.ask(MULTICALL3, &getCurrentBlockTimestampCall {})?;
        self.narrow(seconds)
    }

    /// Narrows a time or another number of at most 64 bits.
    pub(crate) fn narrow(&self, number: U256) -> Result<u64, Stop> {
        Ok(narrow(self.pool, number, "a number beyond 64 bits")?)
    }

    /// Runs another reader inside this reading.
    pub(crate) fn read_by(&mut self, mut reader: Box<dyn StateReader>) -> Result<PoolState, Stop> {
        let mut progress = reader.start();
        loop {
            progress = match progress {
                ReadProgress::Done(state) => return Ok(state),
                ReadProgress::Calls(calls) => {
                    let answers = all(calls.into_iter().map(|call| self.call(call)))?;
                    reader.feed(&answers)?
                }
            };
        }
    }
}

/// Tells whether a word holds an address.
pub(crate) fn is(word: U256, address: Address) -> bool {
    word == U256::from_be_bytes(address.into_word().0)
}

/// Builds the call of a view without arguments.
fn ask_view(to: Address, view: &'static str) -> Question {
    let selector = keccak256(view).0.into_iter().take(4).collect();
    Question { call: Call { to, data: selector }, name: view }
}

/// Collects several readings. All their calls are made before the first is waited for.
pub(crate) fn all<T>(readings: impl IntoIterator<Item = Result<T, Stop>>) -> Result<Vec<T>, Stop> {
    readings.into_iter().collect::<Vec<_>>().into_iter().collect()
}

/// A reader that reruns a function until all its answers are there.
struct Rerun<F> {
    reading: Reading,
    read: F,
}

/// Returns the reader of a pool from a function that depends only on the answers.
pub(crate) fn reader<S, F>(pool: Address, read: F) -> Box<dyn StateReader>
where
    S: Into<PoolState>,
    F: Fn(&mut Reading) -> Result<S, Stop> + Send + 'static,
{
    let reading = Reading { pool, asked: Vec::new(), answers: Vec::new(), places: HashMap::new(), product: None };
    Box::new(Rerun { reading, read: move |reading: &mut Reading| read(reading).map(Into::into) })
}

/// Returns the reader of a vault. The first coin of its announcement is the asset.
pub(crate) fn reader_of<S: 'static>(
    pool: &Discovered,
    read: fn(Address, Address, &mut Reading) -> Result<S, Stop>,
) -> Box<dyn StateReader>
where
    PoolState: From<Arc<S>>,
{
    let (vault, asset) = (pool.key.contract, pool.coins.first().copied().unwrap_or_default());
    reader(vault, move |reading| read(vault, asset, reading).map(Arc::new))
}

impl<F: Fn(&mut Reading) -> Result<PoolState, Stop>> Rerun<F> {
    fn proceed(&mut self) -> Result<ReadProgress, DecodeError> {
        match (self.read)(&mut self.reading) {
            Ok(state) => Ok(ReadProgress::Done(state)),
            Err(Stop::Unanswered) => Ok(ReadProgress::Calls(self.unanswered().to_vec())),
            Err(Stop::Refused(error)) => Err(error),
        }
    }

    fn unanswered(&self) -> &[Call] {
        self.reading.asked.get(self.reading.answers.len()..).unwrap_or_default()
    }
}

impl<F: Fn(&mut Reading) -> Result<PoolState, Stop> + Send> StateReader for Rerun<F> {
    fn start(&mut self) -> ReadProgress {
        self.reading.asked.clear();
        self.reading.answers.clear();
        self.reading.places.clear();
        // a refusal before the first call is reported when the caller answers this empty round
        self.proceed().unwrap_or(ReadProgress::Calls(Vec::new()))
    }

    fn feed(&mut self, answers: &[Option<Bytes>]) -> Result<ReadProgress, DecodeError> {
        let (expected, got) = (self.unanswered().len(), answers.len());
        if expected != got {
            return Err(DecodeError::AnswerCount { expected, got });
        }
        self.reading.answers.extend_from_slice(answers);
        self.proceed()
    }

    fn product(&self) -> Option<Product> {
        self.reading.product
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POOL: Address = Address::repeat_byte(1);
    const OTHER: Address = Address::repeat_byte(2);

    fn word(number: u64) -> Option<Bytes> {
        Some(U256::from(number).to_be_bytes_vec().into())
    }

    /// Returns the calls of a round.
    fn asked(progress: ReadProgress) -> Vec<Call> {
        let ReadProgress::Calls(calls) = progress else { panic!("a state") };
        calls
    }

    fn lido(reading: &mut Reading) -> Result<crate::lido::State, Stop> {
        let (first, again) = (reading.word(POOL, "first()"), reading.word(POOL, "first()"));
        let second = reading.try_word(OTHER, "second()");
        let (ether, shares) = (first?.saturating_add(again?), second?.ok_or(reading.impossible("no second"))?);
        if ether > shares {
            reading.word(OTHER, "third()")?;
        }
        let stake_limit = crate::lido::StakeLimit::Unlimited;
        Ok(crate::lido::State { total_pooled_ether_wei: ether, total_shares: shares, stake_limit, stopped: false })
    }

    #[test]
    fn what_is_not_waited_for_is_one_round_and_a_question_is_put_once() {
        let mut reader = reader(POOL, lido);
        assert_eq!(asked(reader.start()).iter().map(|call| call.to).collect::<Vec<_>>(), [POOL, OTHER]);
        assert_eq!(asked(reader.feed(&[word(5), word(7)]).unwrap()).len(), 1, "only what is new");
        let ReadProgress::Done(PoolState::Lido(state)) = reader.feed(&[word(1)]).unwrap() else { panic!("a round") };
        assert_eq!([state.total_pooled_ether_wei, state.total_shares], [10, 7].map(U256::from));
        assert_eq!(asked(reader.start()).len(), 2, "from the beginning");
    }

    #[test]
    fn what_is_odd_refuses_the_pool_and_says_which_question() {
        let mut odd = reader(POOL, lido);
        drop(odd.start());
        let refused = odd.feed(&[None, word(1)]).unwrap_err();
        assert_eq!(refused, DecodeError::Call { pool: POOL, call: "first()", got: "a revert" });
        let mut short = reader(POOL, lido);
        drop(short.start());
        assert_eq!(short.feed(&[word(1)]).unwrap_err(), DecodeError::AnswerCount { expected: 2, got: 1 });
        let mut nested = reader(POOL, |reading| reading.read_by(reader(OTHER, lido)));
        drop(nested.start());
        let refused = nested.feed(&[word(1), None]).unwrap_err();
        assert_eq!(refused, DecodeError::State { pool: OTHER, what: "no second" });
    }
}
