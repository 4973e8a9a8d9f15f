//! A check and what it found.

use braid_primitives::{PoolKey, U256};
use braid_store::quarantine::TokenAtFault;

/// A swap to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The pool.
    pub pool: PoolKey,
    /// Position of the coin in.
    pub coin_in: u8,
    /// Position of the coin out.
    pub coin_out: u8,
    /// What is sold, in atomic units.
    pub amount_in: U256,
}

impl Probe {
    /// Whether another swap is of the same pool and coins.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (self.pool, self.coin_in, self.coin_out) == (other.pool, other.coin_in, other.coin_out)
    }
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The EVM paid what the model says, to the wei.
    Agrees,
    /// It did not.
    Differs(Difference),
    /// It could not be told, for this reason.
    Unknown(String),
}

/// What was different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// In words.
    pub why: String,
    /// The token that is at fault, if one is.
    pub token: Option<TokenAtFault>,
}
