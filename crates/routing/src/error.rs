//! Errors of the router.

use braid_primitives::TokenId;

/// Reasons why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SolveError {
    /// No short enough path of allowed pools leads from the inputs to this output.
    #[error("no route reaches token {0:?}")]
    NoRoute(TokenId),
    /// There are routes, but none can take the whole amount.
    #[error("the market cannot take the whole amount")]
    InsufficientLiquidity,
    /// The amount is so small that an output would round to zero.
    #[error("an output would round to zero")]
    AmountTooSmall,
    /// One of several outputs has no reference price, and each needs one.
    #[error("token {0:?} has no reference price")]
    NoReferencePrice(TokenId),
}
