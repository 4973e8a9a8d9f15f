//! Uniswap V2 pairs and every fork that runs the same code.

mod cold;
mod continuous;
pub mod gas;
mod step;
mod swap;

use serde::{Deserialize, Serialize};

pub(crate) use cold::{PAIR_CREATED, sorted_pool};
pub use cold::{PairProtocol, UNISWAP_V2};
pub use step::OPCODE;
pub use swap::MAX_RESERVE;

/// State of a pair, as far as swaps depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Reserve of coin 0 in atomic units, at most 112 bits.
    pub reserve0: u128,
    /// Reserve of coin 1 in atomic units, at most 112 bits.
    pub reserve1: u128,
    /// Fee on the amount in, in basis points (30 for Uniswap and SushiSwap).
    pub fee_bps: u16,
}

/// Reserves after a swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct After {
    /// Reserve of coin 0 in atomic units.
    pub reserve0: u128,
    /// Reserve of coin 1 in atomic units.
    pub reserve1: u128,
}
