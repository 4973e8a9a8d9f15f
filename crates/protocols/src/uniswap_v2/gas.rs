//! Gas units of a step through a pair, as part of a route that the proxy runs.

/// One swap: reading reserves, lock, writing reserves and price accumulators, reading two balances, and the transfers
/// of [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS), net of the refund for the lock.
///
/// Measured in call traces on the local chain. `crates/execution/tests/it/random_routes.rs` compares whole routes with
/// their receipts.
pub const SWAP_GAS_UNITS: u64 = 66_100;
