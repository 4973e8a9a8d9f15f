//! Accounts of the test mnemonic `test test test test test test test test test test test junk`, which every local node
//! prints when it starts. Their private keys are public: never send them anything of value.

use alloy::primitives::{Address, B256, address, b256};

/// The first account, which is the taker of the demo. It is unlocked and holds ether and a large amount of every token.
pub const TAKER: Address = address!("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266");

/// The private key of [`TAKER`]. It is public.
pub const TAKER_KEY: B256 = b256!("0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80");

/// The second account. It is unlocked and holds ether but no tokens.
pub const OTHER: Address = address!("0x70997970C51812dc3A010C7d01b50e0d17dc79C8");

/// The tenth account. It builds the world, owns the factories and the positions of the pools, and holds the rest of
/// every token's supply.
pub const MAKER: Address = address!("0xa0Ee7A142d267C1f36714E4a8F75612F20a79720");
