//! The shared vocabulary of Braid: tokens, pools, blocks, gas tiers. No I/O, no clock, no randomness.
//!
//! Every other crate speaks in these types, so that an amount, an address or a block means one thing everywhere.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

pub mod block;
pub mod gas;
pub mod id;
pub mod pool_key;
pub mod token;

pub use alloy_primitives::{Address, B256, Bytes, U256, address, b256};
pub use block::{Block, ExecutionBlock};
pub use gas::GasTier;
pub use id::{PoolId, TokenId};
pub use pool_key::{PoolKey, PoolKeyError};
pub use token::{NATIVE_ETHER, Token, WETH, is_native_ether};

/// Ethereum mainnet, the one chain that Braid serves.
pub const CHAIN_ID: u64 = 1;

/// Basis points in a whole.
pub const BPS: u64 = 10_000;
