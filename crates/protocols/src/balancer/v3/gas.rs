//! What a swap through the vault costs, in gas units, as part of a route that the proxy runs: the session, the vault's and the
//! pool's own work, and the transfers of [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
//!
//! Fitted to receipts (`crates/execution/tests/it/balancer.rs`), in pools whose protocol's fees are already something.

use crate::step::TRANSFERS_GAS_UNITS;

/// A weighted pool of two coins.
pub const WEIGHTED_SWAP_GAS_UNITS: u64 = 126_500;
/// A stable pool of two coins.
pub const STABLE_SWAP_GAS_UNITS: u64 = 140_500;
/// Each further coin: three slots that the vault reads, and what a stable pool computes.
pub const MORE_COINS_GAS_UNITS: u64 = 12_000;
/// Asking for the rate of a coin.
pub const RATE_GAS_UNITS: u64 = 13_700;
/// Asking a hook for the fee. An estimate: the hook's code is in no package.
pub const SURGE_GAS_UNITS: u64 = 30_000;
/// What a further step through the vault saves in one transaction, besides the balances of tokens: from
/// random routes, roughly.
pub const AGAIN_GAS_UNITS: u64 = 21_000;
/// What a further step through the same pool saves besides, for each of its coins: three slots that the vault reads.
pub const COIN_AGAIN_GAS_UNITS: u64 = 6_000;

/// A trade that a buffer serves by itself, apart from what it asks the share (`crates/execution/tests/it/buffers.rs`).
pub const BUFFER_GAS_UNITS: u64 = 68_500;
/// More where the vault behind takes or gives, for wrapping and for unwrapping: an allowance there and back, and what is counted anew.
pub const BEYOND_GAS_UNITS: [u64; 2] = [25_000, 17_400];

/// What a trade costs besides, for which the buffer trades with the vault behind it, which costs so much as a step of its own.
pub(super) const fn beyond(wraps: bool, traded_gas_units: u64) -> u64 {
    let [wrapping, unwrapping] = BEYOND_GAS_UNITS;
    let own = traded_gas_units.saturating_sub(TRANSFERS_GAS_UNITS);
    own.saturating_add(if wraps { wrapping } else { unwrapping })
}

/// What such a trade with the vault behind costs as a step of its own.
pub(super) const fn traded(wraps: bool, beyond_gas_units: u64) -> u64 {
    let [wrapping, unwrapping] = BEYOND_GAS_UNITS;
    beyond_gas_units.saturating_sub(if wraps { wrapping } else { unwrapping }).saturating_add(TRANSFERS_GAS_UNITS)
}
