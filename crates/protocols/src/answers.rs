//! Answers to calls, in order, each with its question, so that errors can name the call.

use alloy_primitives::{Address, Bytes, U256, address};
use alloy_sol_types::SolCall;

use crate::{Call, DecodeError};

/// Multicall3, which returns the block's timestamp. Source: its deployment list.
pub(crate) const MULTICALL3: Address = address!("cA11bde05977b3631167028862bE2a173976CA11");

/// A call, and its name for error messages.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) call: Call,
    pub(crate) name: &'static str,
}

/// Builds a call with its name.
pub(crate) fn ask<C: SolCall>(to: Address, call: &C) -> Question {
    Question { call: Call { to, data: Bytes::from(call.abi_encode()) }, name: C::SIGNATURE }
}

/// Returns the calls of a round of questions.
pub(crate) fn calls(questions: &[Question]) -> Vec<Call> {
    questions.iter().map(|question| question.call.clone()).collect()
}

/// Answers of one round, in the order of its questions.
#[derive(Debug)]
pub(crate) struct Answers<'a> {
    pool: Address,
    questions: &'a [Question],
    answers: &'a [Option<Bytes>],
    next: usize,
}

impl<'a> Answers<'a> {
    /// Pairs answers with their questions.
    ///
    /// # Errors
    /// [`DecodeError::AnswerCount`] if their numbers differ.
    pub(crate) fn new(
        pool: Address,
        questions: &'a [Question],
        answers: &'a [Option<Bytes>],
    ) -> Result<Self, DecodeError> {
        if questions.len() != answers.len() {
            return Err(DecodeError::AnswerCount { expected: questions.len(), got: answers.len() });
        }
        Ok(Self { pool, questions, answers, next: 0 })
    }

    /// Returns the next answer, decoded; `None` if the call reverted or the answer does not decode.
    pub(crate) fn try_next<C: SolCall>(&mut self) -> Option<C::Return> {
        let answer = self.answers.get(self.next).and_then(Option::as_ref);
        self.next += 1;
        answer.and_then(|answer| C::abi_decode_returns_validate(answer).ok())
    }

    /// Returns the next answer, decoded.
    ///
    /// # Errors
    /// [`DecodeError::Call`] if the call reverted or the answer does not decode.
    pub(crate) fn next<C: SolCall>(&mut self) -> Result<C::Return, DecodeError> {
        let at = self.next;
        let got = match self.answers.get(at).and_then(Option::as_ref) {
            None => "a revert",
            Some(answer) if answer.is_empty() => "nothing: there is no such contract",
            Some(_) => "something else",
        };
        let call = self.questions.get(at).map_or("a question", |question| question.name);
        self.try_next::<C>().ok_or(DecodeError::Call { pool: self.pool, call, got })
    }
}

/// Builds the error for an impossible state.
pub(crate) const fn impossible(pool: Address, what: &'static str) -> DecodeError {
    DecodeError::State { pool, what }
}

/// Narrows an answer.
///
/// # Errors
/// [`DecodeError::State`] if it does not fit.
pub(crate) fn narrow<T: TryFrom<U256>>(pool: Address, value: U256, what: &'static str) -> Result<T, DecodeError> {
    T::try_from(value).map_err(|_| impossible(pool, what))
}
