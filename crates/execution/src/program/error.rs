//! Why a route cannot be made into a program.

use braid_primitives::{Address, TokenId, U256};

use crate::OrderError;
use crate::order::MAX_TOKENS;

/// Why a route cannot be made into a program for an order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The proxy would refuse the order.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// The route has no steps.
    #[error("the route is empty")]
    EmptyRoute,
    /// A step names a pool that the market does not have, or coins that the pool does not have.
    #[error("step {step} does not fit the market's pools")]
    UnknownPool {
        /// Position in the route.
        step: usize,
    },
    /// A token that the market does not have.
    #[error("token {0:?} is not in the market")]
    UnknownToken(TokenId),
    /// More tokens than an index of one byte can name.
    #[error("{got} tokens in one program, at most {MAX_TOKENS}")]
    TooManyTokens {
        /// How many.
        got: usize,
    },
    /// What the proxy would spend on a step is not what the route says.
    #[error("step {step} would spend {got}, the route says {expected}")]
    AmountInDiffers {
        /// Position in the route.
        step: usize,
        /// By the proxy's ledger.
        got: U256,
        /// By the route.
        expected: U256,
    },
    /// What the proxy would have of an output is not what the route says.
    #[error("output {index} would be {got}, the route says {expected}")]
    AmountOutDiffers {
        /// Position among the outputs.
        index: usize,
        /// By the proxy's ledger.
        got: U256,
        /// By the route.
        expected: U256,
    },
    /// Something of a token that is neither input nor output would be left over.
    #[error("{amount} of token {token} would be left over")]
    LeftOver {
        /// The token.
        token: Address,
        /// How much.
        amount: U256,
    },
    /// A step spends a token before it was made.
    #[error("step {step} spends a token that a later step makes")]
    NotTopological {
        /// Position in the route.
        step: usize,
    },
    /// An amount that the ledger cannot carry.
    #[error("step {step} has an amount of 2^128 or more")]
    AmountTooLarge {
        /// Position in the route.
        step: usize,
    },
}
