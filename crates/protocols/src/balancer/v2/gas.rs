//! What a swap through the vault costs, in gas units, as part of a route that the proxy runs: the vault's and the pool's own work
//! and the transfers of [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
//!
//! Fitted to receipts (`crates/execution/tests/it/balancer.rs`). How often the loops of a stable pool run moves it by some thousands.

/// A weighted pool of any number of coins: balances of two coins read and written, one power.
pub const WEIGHTED_SWAP_GAS_UNITS: u64 = 74_400;
/// A stable or meta-stable pool of two coins: the vault hands over all balances, two Newton loops.
pub const STABLE_SWAP_GAS_UNITS: u64 = 96_000;
/// A composable pool of two coins, which leaves its own token out first.
pub const COMPOSABLE_SWAP_GAS_UNITS: u64 = 113_500;
/// What buying or selling the own token of a pool of two coins costs more: finding out what is due to the protocol, and more invariants.
pub const OWN_TOKEN_GAS_UNITS: u64 = 29_800;
/// Minting to the protocol what is due, besides.
pub const MINT_DUE_GAS_UNITS: u64 = 9_200;
/// Each further coin of it, besides.
pub const OWN_TOKEN_MORE_COINS_GAS_UNITS: u64 = 8_500;
/// Each further coin of a stable pool.
pub const MORE_COINS_GAS_UNITS: u64 = 9_000;
/// Each rate that a stable pool remembers.
pub const RATE_GAS_UNITS: u64 = 1_700;
/// Each rate that is asked for anew and remembered.
pub const NEW_RATE_GAS_UNITS: u64 = 11_500;
/// What a further step through the vault saves in one transaction, besides the balances of tokens.
pub const AGAIN_GAS_UNITS: u64 = 9_500;
/// What a further step through the same weighted pool saves besides.
pub const WEIGHTED_AGAIN_GAS_UNITS: u64 = 5_000;
/// What a further step through the same stable pool saves besides, for each of its coins, its own token among them.
pub const COIN_AGAIN_GAS_UNITS: u64 = 5_500;
/// The same for each rate that the pool remembers.
pub const RATE_AGAIN_GAS_UNITS: u64 = 8_000;
