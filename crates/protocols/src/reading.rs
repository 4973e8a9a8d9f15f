//! Reads contracts with an ordinary function. It stops at the first missing answer and reruns from the beginning once
//! the answers have arrived.
//!
//! Calls that do not depend on each other share a round: make them all first, then take each answer with `?`.

use std::{collections::HashMap, sync::Arc};

use alloy_primitives::{Address, Bytes, U256, address, keccak256};
use alloy_sol_types::SolCall;

use crate::{Call, DecodeError, Discovered, PoolState, Product, ReadProgress, StateReader, storage::read_word};

/// Multicall3, which returns the block's number and timestamp. Source: its deployment list.
pub(crate) const MULTICALL3: Address = address!("cA11bde05977b3631167028862bE2a173976CA11");

/// A call, and its name for error messages.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) call: Call,
    pub(crate) name: &'static str,
}

impl Question {
    /// Builds a call with its name.
    pub(crate) fn new<C: SolCall>(to: Address, call: &C) -> Self {
        Self { call: Call::new(to, call), name: C::SIGNATURE }
    }

    /// Builds the call of a view whose arguments are numbers.
    fn view(to: Address, view: &'static str, arguments: &[U256]) -> Self {
        let selector = keccak256(view).0.into_iter().take(4);
        let data = selector.chain(arguments.iter().flat_map(|argument| argument.to_be_bytes::<32>()));
        Self { call: Call { to, data: data.collect() }, name: view }
    }
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
    /// Position of each call of each attempt in `asked`.
    places: HashMap<(u8, Address, Bytes), usize>,
    /// Number of the attempt, see [`Reading::again`].
    attempt: u8,
    product: Option<Product>,
}

impl Reading {
    /// Builds the refusal of a pool whose state is impossible.
    pub(crate) const fn impossible(&self, what: &'static str) -> Stop {
        Stop::Refused(DecodeError::State { pool: self.pool, what })
    }

    /// Records the product that the answers revealed.
    pub(crate) const fn found(&mut self, product: Product) {
        self.product = Some(product);
    }

    /// Returns the raw answer to a call; `None` if it reverted. Equal calls are made once.
    pub(crate) fn call(&mut self, call: Call) -> Result<Option<Bytes>, Stop> {
        let place = *self.places.entry((self.attempt, call.to, call.data.clone())).or_insert(self.asked.len());
        if place == self.asked.len() {
            self.asked.push(call);
        }
        self.answers.get(place).cloned().ok_or(Stop::Unanswered)
    }

    /// Returns the raw answers to calls.
    pub(crate) fn calls(&mut self, calls: Vec<Call>) -> Result<Vec<Option<Bytes>>, Stop> {
        all(calls.into_iter().map(|call| self.call(call)))
    }

    /// Returns a decoded answer; `None` if the call reverted or the answer does not decode.
    pub(crate) fn try_ask<C: SolCall>(&mut self, to: Address, call: &C) -> Result<Option<C::Return>, Stop> {
        let answer = self.call(Call::new(to, call))?;
        Ok(answer.and_then(|answer| C::abi_decode_returns_validate(&answer).ok()))
    }

    /// Returns a decoded answer, and refuses the pool if the call reverted or the answer does not decode.
    pub(crate) fn ask<C: SolCall>(&mut self, to: Address, call: &C) -> Result<C::Return, Stop> {
        let answer = self.call(Call::new(to, call))?;
        let decoded = answer.as_ref().and_then(|answer| C::abi_decode_returns_validate(answer).ok());
        decoded.ok_or_else(|| self.odd(C::SIGNATURE, answer.as_ref()))
    }

    /// Returns the first word of an answer, and refuses the pool if there is none.
    pub(crate) fn question(&mut self, question: Question) -> Result<U256, Stop> {
        let answer = self.call(question.call)?;
        first_word(answer.as_ref()).ok_or_else(|| self.odd(question.name, answer.as_ref()))
    }

    /// Returns the word that a view without arguments returns.
    pub(crate) fn word(&mut self, to: Address, view: &'static str) -> Result<U256, Stop> {
        self.question(Question::view(to, view, &[]))
    }

    /// Returns the word that a view without arguments returns; `None` if it reverts or returns less.
    pub(crate) fn try_word(&mut self, to: Address, view: &'static str) -> Result<Option<U256>, Stop> {
        Ok(first_word(self.call(Question::view(to, view, &[]).call)?.as_ref()))
    }

    /// Returns the word that a view returns for a position in a list.
    pub(crate) fn word_at(&mut self, to: Address, view: &'static str, place: usize) -> Result<U256, Stop> {
        self.question(Question::view(to, view, &[U256::from(place)]))
    }

    /// Tells whether a view without arguments returns at least one word.
    pub(crate) fn has(&mut self, to: Address, view: &'static str) -> Result<bool, Stop> {
        Ok(self.try_word(to, view)?.is_some())
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
        self.question(Question { call: read_word(contract, slot), name: "a storage word" })
    }

    /// Returns the block's timestamp, in unix seconds.
    pub(crate) fn timestamp(&mut self) -> Result<u64, Stop> {
        let seconds = self.word(MULTICALL3, "getCurrentBlockTimestamp()")?;
        self.narrow(seconds)
    }

    /// Returns the block's number.
    pub(crate) fn block_number(&mut self) -> Result<u64, Stop> {
        let number = self.word(MULTICALL3, "getBlockNumber()")?;
        self.narrow(number)
    }

    /// Narrows a time or another number of at most 64 bits.
    pub(crate) fn narrow(&self, number: U256) -> Result<u64, Stop> {
        u64::try_from(number).map_err(|_| self.impossible("a number beyond 64 bits"))
    }

    /// Runs a function that makes its calls anew, even those that were answered before: answers of several rounds may be
    /// from two blocks.
    pub(crate) fn again<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        self.attempt += 1;
        let result = read(self);
        self.attempt -= 1;
        result
    }

    /// Runs another reader inside this reading.
    pub(crate) fn read_by(&mut self, mut reader: Box<dyn StateReader>) -> Result<PoolState, Stop> {
        let mut progress = reader.start();
        loop {
            progress = match progress {
                ReadProgress::Done(state) => return Ok(state),
                ReadProgress::Calls(calls) => reader.feed(&self.calls(calls)?)?,
            };
        }
    }
}

impl Reading {
    fn new(pool: Address, answers: Vec<Option<Bytes>>) -> Self {
        Self { pool, asked: Vec::new(), answers, places: HashMap::new(), attempt: 0, product: None }
    }

    /// Returns the first calls of a function.
    pub(crate) fn calls_of<S>(pool: Address, read: impl Fn(&mut Self) -> Result<S, Stop>) -> Vec<Call> {
        let mut reading = Self::new(pool, Vec::new());
        let _ = read(&mut reading);
        reading.asked
    }

    /// Runs a function with the answers to its calls.
    ///
    /// # Errors
    /// [`DecodeError::AnswerCount`] if there are not as many, otherwise the function's refusal.
    pub(crate) fn decode<S>(
        pool: Address,
        answers: &[Option<Bytes>],
        read: impl Fn(&mut Self) -> Result<S, Stop>,
    ) -> Result<S, DecodeError> {
        let mut reading = Self::new(pool, answers.to_vec());
        match read(&mut reading) {
            Err(Stop::Refused(error)) => Err(error),
            Ok(state) if reading.asked.len() == answers.len() => Ok(state),
            _ => Err(DecodeError::AnswerCount { expected: reading.asked.len(), got: answers.len() }),
        }
    }
}

/// Tells whether a word holds an address.
pub(crate) fn is(word: U256, address: Address) -> bool {
    word == U256::from_be_bytes(address.into_word().0)
}

/// Returns the first word of an answer; `None` if the call reverted or returned less.
pub(crate) fn first_word(answer: Option<&Bytes>) -> Option<U256> {
    U256::try_from_be_slice(answer?.get(..32)?)
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
    Box::new(Rerun {
        reading: Reading::new(pool, Vec::new()),
        read: move |reading: &mut Reading| read(reading).map(Into::into),
    })
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
        self.reading = Reading::new(self.reading.pool, Vec::new());
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
