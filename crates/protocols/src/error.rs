//! Why a pool refuses a swap, and why bytes from a node could not be read.

use alloy_primitives::{Address, U256};

/// Why a pool would not execute a swap.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SwapError {
    /// The amount in is zero.
    #[error("the amount in is zero")]
    ZeroAmount,
    /// The trade rounds to nothing out, and the contract refuses or gives nothing for it.
    #[error("the amount out rounds to zero")]
    ZeroOutput,
    /// The pool has no such pair of coins.
    #[error("the pool has no coin {coin_in} to trade for coin {coin_out}")]
    UnknownCoin {
        /// Position asked for as coin in.
        coin_in: u8,
        /// Position asked for as coin out.
        coin_out: u8,
    },
    /// The pool cannot consume the whole amount.
    #[error("liquidity ends after {consumed} of {amount_in} in")]
    InsufficientLiquidity {
        /// What the pool would take.
        consumed: U256,
        /// What was offered.
        amount_in: U256,
    },
    /// The amount is larger than the contract's own integers carry.
    #[error("{amount_in} in overflows the pool's arithmetic")]
    Overflow {
        /// What was offered.
        amount_in: U256,
    },
    /// A limit of the pool (deposit cap, stake limit, withdrawal limit) is below the amount.
    #[error("the pool's limit is {limit}, got {amount}")]
    LimitExceeded {
        /// The limit, in the token that it limits.
        limit: U256,
        /// What was asked of it.
        amount: U256,
    },
    /// The pool is paused or was never initialised.
    #[error("the pool is closed")]
    Closed,
}

/// Why a log, or the answer to a call, is not what a contract of that protocol gives.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The log is not the event that it claims to be.
    #[error("malformed {event} log of {emitter}")]
    Log {
        /// Event name.
        event: &'static str,
        /// Contract that emitted it.
        emitter: Address,
    },
    /// A call that a pool of this protocol answers failed or answered something else.
    #[error("{pool} answered {call} with {got}")]
    Call {
        /// The pool asked.
        pool: Address,
        /// What was asked.
        call: &'static str,
        /// What came, in words.
        got: &'static str,
    },
    /// The number of answers differs from the number of calls.
    #[error("expected {expected} answers, got {got}")]
    AnswerCount {
        /// Calls made.
        expected: usize,
        /// Answers given.
        got: usize,
    },
    /// State that no contract of this protocol can be in.
    #[error("impossible state of {pool}: {what}")]
    State {
        /// The pool.
        pool: Address,
        /// What is impossible.
        what: &'static str,
    },
}
