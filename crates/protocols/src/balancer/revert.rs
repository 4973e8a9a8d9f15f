//! Reverts of Balancer's contracts.

use alloy_primitives::U256;

use crate::SwapError;

/// Reason for which the contract's computation reverts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Revert {
    /// Integer overflow, or division by zero.
    Arithmetic,
    /// The trade exceeds the share of a balance that a weighted pool allows.
    Ratio(U256),
    /// An iteration did not converge.
    Unconverged,
    /// The trade is below the vault's minimum.
    TooSmall,
}

impl Revert {
    /// Converts to a swap error; `unscaled` converts the pool's own scale back to atomic units.
    pub(super) fn into_error(self, amount: U256, unscaled: impl FnOnce(U256) -> U256) -> SwapError {
        match self {
            Self::Arithmetic => SwapError::Overflow { amount_in: amount },
            Self::Ratio(limit) => SwapError::LimitExceeded { limit: unscaled(limit), amount },
            Self::Unconverged => SwapError::Closed,
            Self::TooSmall => SwapError::ZeroOutput,
        }
    }
}
