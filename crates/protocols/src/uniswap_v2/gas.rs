//! What a step through a pair costs, in gas units, as part of a route that the proxy runs.

/// One swap: reserves read, lock, reserves and price accumulators written, two balances read, and the transfers of
/// [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS); net of the refund for the lock.
///
/// Measured in call traces on the local chain; `crates/execution/tests/it/random_routes.rs` holds whole routes to their receipts.
pub const SWAP_GAS_UNITS: u64 = 66_100;
