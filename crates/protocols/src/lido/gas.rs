//! Gas units of staking, wrapping and unwrapping, as part of a route that the proxy runs: the contracts' own work and
//! the transfers of [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
//!
//! Measured on the local chain's contracts. `crates/execution/tests/it/vaults.rs` compares whole routes with their
//! receipts.

/// `submit`: limit, totals and shares written, two logs, and a read of the shares' worth.
pub const STAKE_GAS_UNITS: u64 = 66_000;
/// `wrap`: mints wstETH, moves shares.
pub const WRAP_GAS_UNITS: u64 = 44_000;
/// `unwrap`: burns wstETH, moves shares.
pub const UNWRAP_GAS_UNITS: u64 = 42_000;
