//! What a share's step costs, in gas units, as part of a route that the proxy runs, with the transfers of
//! [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
//!
//! Measured on the local chain's stand-ins; `crates/execution/tests/it/fluid.rs` holds whole routes to their receipts.

use super::State;
use crate::fluid::reading::ETHER;

/// A deposit: the layer's words of the token and of the share, the share's supply.
pub const DEPOSIT_GAS_UNITS: u64 = 87_400;
/// A redemption.
pub const REDEEM_GAS_UNITS: u64 = 90_400;
/// More for wrapped ether, which is unwrapped on the way in and wrapped on the way out.
pub const ETHER_GAS_UNITS: [u64; 2] = [11_500, 20_500];
/// What of wrapped ether is used and refunded besides: the share's own balance of it is written from zero and back (EIP-3529).
pub const ETHER_REFUNDED_GAS_UNITS: u64 = 19_900;

/// What a preview costs whoever asks: the share's words and the layer's of its token.
pub const PREVIEW_GAS_UNITS: u64 = 19_000;

/// What a trade uses, and the transaction gets back at its end.
pub(crate) fn refunded_gas_units(state: &State) -> u64 {
    if state.stored == ETHER { ETHER_REFUNDED_GAS_UNITS } else { 0 }
}

/// What a trade costs, after what is refunded.
pub(super) fn gas_units(state: &State, deposits: bool) -> u64 {
    let [on_the_way_in, on_the_way_out] = if state.stored == ETHER { ETHER_GAS_UNITS } else { [0, 0] };
    if deposits { DEPOSIT_GAS_UNITS + on_the_way_in } else { REDEEM_GAS_UNITS + on_the_way_out }
}
