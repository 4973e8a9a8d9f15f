//! What a share's step costs, in gas units, as part of a route that the proxy runs, with the transfers of
//! [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
//!
//! Measured on the local chain's stand-ins; `crates/execution/tests/it/fluid.rs` holds whole routes to their receipts.

use super::State;
use crate::fluid::reading::ETHER;

/// A deposit: the layer's words of the token and of the share, the share's supply.
pub const DEPOSIT_GAS_UNITS: u64 = 80_000;
/// A redemption.
pub const REDEEM_GAS_UNITS: u64 = 87_200;
/// More for wrapped ether, which is unwrapped on the way in and wrapped on the way out.
pub const ETHER_GAS_UNITS: [u64; 2] = [11_000, 15_000];

/// What a trade costs.
pub(super) fn gas_units(state: &State, deposits: bool) -> u64 {
    let [on_the_way_in, on_the_way_out] = if state.stored == ETHER { ETHER_GAS_UNITS } else { [0, 0] };
    if deposits { DEPOSIT_GAS_UNITS + on_the_way_in } else { REDEEM_GAS_UNITS + on_the_way_out }
}
