//! What staking, wrapping and unwrapping cost, in gas units, as part of a route that the proxy runs: the contracts' own work and the
//! transfers of [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
//!
//! Measured on the local chain's contracts; `crates/execution/tests/it/vaults.rs` holds whole routes to their receipts.

/// `submit`: limit, totals and shares written, two logs, and what the shares are worth asked.
pub const STAKE_GAS_UNITS: u64 = 66_000;
/// `wrap`: wrapped tokens minted, shares moved.
pub const WRAP_GAS_UNITS: u64 = 44_000;
/// `unwrap`: wrapped tokens burnt, shares moved.
pub const UNWRAP_GAS_UNITS: u64 = 42_000;
