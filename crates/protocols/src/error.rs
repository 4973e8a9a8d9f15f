//! Errors of swaps, and of decoding logs and answers from a node.

use alloy_primitives::{Address, U256};

/// Reason for which a pool does not execute a swap.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SwapError {
    /// The amount in is zero.
    #[error("the amount in is zero")]
    ZeroAmount,
    /// The output rounds to zero, and the contract reverts or pays nothing.
    #[error("the amount out rounds to zero")]
    ZeroOutput,
    /// The pool does not trade this pair of coins.
    #[error("the pool has no coin {coin_in} to trade for coin {coin_out}")]
    UnknownCoin {
        /// Requested position of the coin in.
        coin_in: u8,
        /// Requested position of the coin out.
        coin_out: u8,
    },
    /// The pool cannot consume the whole input.
    #[error("liquidity ends after {consumed} of {amount_in} in")]
    InsufficientLiquidity {
        /// Amount that the pool would consume.
        consumed: U256,
        /// Requested amount in.
        amount_in: U256,
    },
    /// The amount exceeds the range of the contract's integers.
    #[error("{amount_in} in overflows the pool's arithmetic")]
    Overflow {
        /// Requested amount in.
        amount_in: U256,
    },
    /// The amount exceeds a limit of the pool (deposit cap, stake limit, withdrawal limit).
    #[error("the pool's limit is {limit}, got {amount}")]
    LimitExceeded {
        /// The limit, in the token that it limits.
        limit: U256,
        /// Requested amount.
        amount: U256,
    },
    /// The pool is paused or was never initialised.
    #[error("the pool is closed")]
    Closed,
}

/// Returns the positions of two coins of a pool with `coins` coins, for a swap of an amount.
///
/// # Errors
/// [`SwapError::UnknownCoin`] for equal positions or one beyond the last, then [`SwapError::ZeroAmount`].
pub(crate) fn positions(coins: usize, coin_in: u8, coin_out: u8, amount: U256) -> Result<(usize, usize), SwapError> {
    let (i, j) = (usize::from(coin_in), usize::from(coin_out));
    match amount.is_zero() {
        _ if i == j || i >= coins || j >= coins => Err(SwapError::UnknownCoin { coin_in, coin_out }),
        true => Err(SwapError::ZeroAmount),
        false => Ok((i, j)),
    }
}

/// Reason for which a log or an answer could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The log is not the event that its topic claims.
    #[error("malformed {event} log of {emitter}")]
    Log {
        /// Event name.
        event: &'static str,
        /// Contract that emitted it.
        emitter: Address,
    },
    /// A call reverted, or returned something else than this protocol's contracts do.
    #[error("{pool} answered {call} with {got}")]
    Call {
        /// The pool being read.
        pool: Address,
        /// Signature of the call.
        call: &'static str,
        /// Description of the answer.
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
    /// The state is impossible for a contract of this protocol.
    #[error("impossible state of {pool}: {what}")]
    State {
        /// The pool.
        pool: Address,
        /// Description of the violation.
        what: &'static str,
    },
}
