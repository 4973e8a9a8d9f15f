//! Gas units of an fToken's step, as part of a route that the proxy runs, with the transfers of
//! [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
//!
//! Measured on the local chain's stand-ins; `crates/execution/tests/it/fluid.rs` compares whole routes with their
//! receipts.

use super::State;
use crate::fluid::reading::ETHER;

/// A deposit: the layer's slots of the token and of the fToken, and the fToken's supply.
pub const DEPOSIT_GAS_UNITS: u64 = 87_400;
/// A redemption.
pub const REDEEM_GAS_UNITS: u64 = 90_400;
/// Additional cost of WETH, which is unwrapped on deposit and wrapped on redemption.
pub const ETHER_GAS_UNITS: [u64; 2] = [11_500, 20_500];
/// Gas of WETH that is used and refunded in addition: the fToken's own WETH balance is set from zero and cleared again
/// (EIP-3529).
pub const ETHER_REFUNDED_GAS_UNITS: u64 = 19_900;

/// A preview, for any caller: the fToken's slots and the layer's slots of its token.
pub const PREVIEW_GAS_UNITS: u64 = 19_000;

/// Returns the gas refunded at the end of the transaction.
pub(crate) fn refunded_gas_units(state: &State) -> u64 {
    if state.stored == ETHER { ETHER_REFUNDED_GAS_UNITS } else { 0 }
}

/// Returns the gas units of a trade, net of refunds.
pub(super) fn gas_units(state: &State, deposits: bool) -> u64 {
    let [on_the_way_in, on_the_way_out] = if state.stored == ETHER { ETHER_GAS_UNITS } else { [0, 0] };
    if deposits { DEPOSIT_GAS_UNITS + on_the_way_in } else { REDEEM_GAS_UNITS + on_the_way_out }
}
