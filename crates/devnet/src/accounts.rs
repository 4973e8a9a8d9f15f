//! The accounts of the test mnemonic `test test test test test test test test test test test junk`, which every local
//! node prints at its start. Their keys are public: never send them anything of worth.

use alloy::primitives::{Address, B256, address, b256};

/// The first account: the taker of the demo. Unlocked, holds ether and plenty of every token.
pub const TAKER: Address = address!("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266");

/// The private key of [`TAKER`], known to the whole world.
pub const TAKER_KEY: B256 = b256!("0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80");

/// The second account: unlocked, holds ether and no tokens.
pub const OTHER: Address = address!("0x70997970C51812dc3A010C7d01b50e0d17dc79C8");

/// The tenth account: builds the world, owns the factories and the pools' positions, and holds what is left of every token.
pub const MAKER: Address = address!("0xa0Ee7A142d267C1f36714E4a8F75612F20a79720");
