//! A swap to check, and the result of its check.

use braid_primitives::{PoolKey, U256};
use braid_store::quarantine::TokenAtFault;

/// A swap to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The pool.
    pub pool: PoolKey,
    /// Position of the input coin.
    pub coin_in: u8,
    /// Position of the output coin.
    pub coin_out: u8,
    /// Amount sold, in atomic units.
    pub amount_in: U256,
}

impl Probe {
    /// Returns the pool and the coins, without the amount.
    pub(crate) const fn direction(&self) -> (PoolKey, u8, u8) {
        (self.pool, self.coin_in, self.coin_out)
    }
}

/// Result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The EVM paid what the model says, to the wei.
    Agrees,
    /// It did not.
    Differs(Difference),
    /// The check could not be made, for this reason.
    Unknown(String),
}

/// How the EVM differed from the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Description.
    pub why: String,
    /// The token that causes it, if one does.
    pub token: Option<TokenAtFault>,
}

impl Difference {
    /// A difference that a token's transfers cause.
    pub(crate) fn of_token(fault: TokenAtFault) -> Self {
        Self { why: format!("{} {}", fault.token, fault.does), token: Some(fault) }
    }
}
