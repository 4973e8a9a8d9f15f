//! A swap: its coins and input, and its result.

use alloy_primitives::U256;

use crate::After;

/// Coins and input amount of a swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sale {
    /// Position of the sold coin.
    pub coin_in: u8,
    /// Position of the bought coin.
    pub coin_out: u8,
    /// Amount sold in atomic units; not zero.
    pub amount_in: U256,
}

/// Result of a swap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swap {
    /// Amount out in atomic units, with the contract's rounding.
    pub amount_out: U256,
    /// Gas units of the step as part of a route that the proxy runs.
    pub gas_units: u64,
    /// State change of the pool.
    pub after: After,
}

/// How many shares a swap pays, if its output token counts balances in shares (stETH).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharesPaid {
    /// The shares of the input amount, as when staking mints shares for ether.
    OfAmountIn,
    /// The shares of the output amount, rounded as a transfer of that amount.
    OfAmountOut,
    /// The shares whose worth is the output amount.
    BehindAmountOut,
}
