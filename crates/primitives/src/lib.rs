//! Shared types of Braid: tokens, pools, blocks, gas tiers. No I/O, no clock, no randomness.
//!
//! Every other crate uses these types, so that an amount, an address or a block means the same everywhere.
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

/// Chain id of Ethereum mainnet, the only supported chain.
pub const CHAIN_ID: u64 = 1;

/// One hundred percent, in basis points.
pub const BPS: u64 = 10_000;
