//! A swap: its coins and input, its result, and what it changes for other pools.

use alloy_primitives::{Address, U256};

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

/// Storage words of one token that all pools at a contract share; the protocol says which. Swaps of one pool change what the next one meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedWords(pub(crate) [U256; 3]);

/// Change of such words by a step of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SharedChange {
    /// The token; ether is `0xEeee…`.
    pub(crate) token: Address,
    /// Its words after the step.
    pub(crate) words: SharedWords,
    /// Number of the route's trades with vaults before the step.
    pub(crate) vault_trades: usize,
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
