//! Gas units of a swap through the V3 vault, as part of a route that the proxy runs: the session, the vault's and the
//! pool's own work, and the transfers of [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
//!
//! Fitted to receipts (`crates/execution/tests/it/balancer.rs`), in pools that already owe fees to the protocol.

use crate::step::TRANSFERS_GAS_UNITS;

/// A swap of a weighted pool of two coins.
pub const WEIGHTED_SWAP_GAS_UNITS: u64 = 126_500;
/// A swap of a stable pool of two coins.
pub const STABLE_SWAP_GAS_UNITS: u64 = 140_500;
/// Each further coin: three slots that the vault reads, and a stable pool's computation.
pub const MORE_COINS_GAS_UNITS: u64 = 12_000;
/// Requesting the rate of a coin.
pub const RATE_GAS_UNITS: u64 = 13_700;
/// Requesting the fee from a hook. An estimate: the hook's code is in no package.
pub const SURGE_GAS_UNITS: u64 = 30_000;
/// Saving of a further step through the vault in one transaction, excluding the tokens' balances; a rough value from
/// random routes.
pub const AGAIN_GAS_UNITS: u64 = 21_000;
/// Additional saving of a further step through the same pool, per coin: three slots that the vault reads.
pub const COIN_AGAIN_GAS_UNITS: u64 = 6_000;

/// A trade that a buffer serves from its own balances, excluding the calls to the share
/// (`crates/execution/tests/it/buffers.rs`).
pub const BUFFER_GAS_UNITS: u64 = 68_500;
/// Additional cost if the buffer trades with its vault, for wrapping and for unwrapping: setting and clearing an
/// allowance, and accounting.
pub const BEYOND_GAS_UNITS: [u64; 2] = [25_000, 17_400];

/// Returns the additional cost of a trade for which the buffer trades with its vault, from the cost of that vault trade
/// as a step of its own.
pub(super) const fn beyond(wraps: bool, traded_gas_units: u64) -> u64 {
    let [wrapping, unwrapping] = BEYOND_GAS_UNITS;
    let own = traded_gas_units.saturating_sub(TRANSFERS_GAS_UNITS);
    own.saturating_add(if wraps { wrapping } else { unwrapping })
}

/// Returns the inverse: the cost of the vault trade as a step of its own.
pub(super) const fn traded(wraps: bool, beyond_gas_units: u64) -> u64 {
    let [wrapping, unwrapping] = BEYOND_GAS_UNITS;
    beyond_gas_units.saturating_sub(if wraps { wrapping } else { unwrapping }).saturating_add(TRANSFERS_GAS_UNITS)
}
