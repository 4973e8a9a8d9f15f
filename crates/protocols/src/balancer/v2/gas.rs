//! Gas units of a swap through the V2 vault, as part of a route that the proxy runs: the vault's and the pool's own
//! work and the transfers of [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
//!
//! Fitted to receipts (`crates/execution/tests/it/balancer.rs`). The number of loop iterations of a stable pool changes
//! it by a few thousand.

/// A swap of a weighted pool with any number of coins: two balances read and written, one power.
pub const WEIGHTED_SWAP_GAS_UNITS: u64 = 74_400;
/// A swap of a stable or meta-stable pool of two coins: the vault passes all balances; two Newton loops.
pub const STABLE_SWAP_GAS_UNITS: u64 = 96_000;
/// A swap of a composable pool of two coins, which first removes its own token.
pub const COMPOSABLE_SWAP_GAS_UNITS: u64 = 113_500;
/// Additional cost of trading the own token of a pool of two coins: computing the protocol's due fees, and more
/// invariants.
pub const OWN_TOKEN_GAS_UNITS: u64 = 29_800;
/// Minting the due fees to the protocol, in addition.
pub const MINT_DUE_GAS_UNITS: u64 = 9_200;
/// Each further coin of such a trade, in addition.
pub const OWN_TOKEN_MORE_COINS_GAS_UNITS: u64 = 8_500;
/// Each further coin of a stable pool.
pub const MORE_COINS_GAS_UNITS: u64 = 9_000;
/// Each rate that a stable pool caches.
pub const RATE_GAS_UNITS: u64 = 1_700;
/// Each rate that is requested and cached again.
pub const NEW_RATE_GAS_UNITS: u64 = 11_500;
/// Saving of a further step through the vault in one transaction, excluding the tokens' balances.
pub const AGAIN_GAS_UNITS: u64 = 9_500;
/// Additional saving of a further step through the same weighted pool.
pub const WEIGHTED_AGAIN_GAS_UNITS: u64 = 5_000;
/// Additional saving of a further step through the same stable pool, per coin including its own token.
pub const COIN_AGAIN_GAS_UNITS: u64 = 5_500;
/// The same per cached rate.
pub const RATE_AGAIN_GAS_UNITS: u64 = 8_000;
