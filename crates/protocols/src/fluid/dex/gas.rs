//! Gas units of a step through a pool, as part of a route that the proxy runs.
//!
//! Measured on the local chain's stand-ins; `crates/execution/tests/it/fluid.rs` compares whole routes with their
//! receipts. The deployed code is in no package, so it was not measured.

/// Base cost of any pool: its slots, its price range, two calls of the liquidity layer.
pub const POOL_GAS_UNITS: u64 = 72_000;
/// A pool with collateral: reading both tokens' slots of it, and its curve.
pub const COLLATERAL_GAS_UNITS: u64 = 20_400;
/// A pool with debt: the same, and the quadratic equation of its reserves.
pub const DEBT_GAS_UNITS: u64 = 33_400;
/// Each side that takes part in the trade: writing both tokens' slots of it, with their limits. A small amount uses one
/// side.
pub const SIDE_GAS_UNITS: u64 = 32_600;
/// Requesting the centre price from another contract.
pub const CENTRE_GAS_UNITS: u64 = 5_400;
/// Additional cost of ether in instead of a token: two calls carry it.
pub const ETHER_IN_GAS_UNITS: u64 = 12_000;
/// Saving of ether out instead of a token: it passes through the proxy, where a token's balance would be written from
/// zero.
pub const ETHER_OUT_GAS_UNITS: u64 = 25_300;
