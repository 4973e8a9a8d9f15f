//! Gas units of a step through a pool, as part of a route that the proxy runs.
//!
//! Measured on the local chain's stand-ins; `crates/execution/tests/it/fluid.rs` compares whole routes with their
//! receipts. The deployed code is in no package, so it was not measured.

use super::{Parts, State};
use crate::{fluid::reading::ETHER, step::TRANSFERS_GAS_UNITS};

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

/// Returns the gas units of a swap of the first token or the second, from its parts for each side.
pub(super) fn swap_gas_units(state: &State, zero_for_one: bool, parts: &Parts) -> u64 {
    let sides = [parts.collateral, parts.debt].iter().filter(|(amount_in, _)| !amount_in.is_zero()).count();
    one_sided_gas_units(state, zero_for_one) + if sides > 1 { SIDE_GAS_UNITS } else { 0 }
}

/// Returns the gas units of a swap with one side.
pub(super) fn one_sided_gas_units(state: &State, zero_for_one: bool) -> u64 {
    let part = |there: bool, gas_units: u64| if there { gas_units } else { 0 };
    let (collateral, debt) = state.sides();
    let is_ether = |coin: u8| state.token_at(coin) == Some(ETHER);
    let (coin_in, coin_out) = if zero_for_one { (0, 1) } else { (1, 0) };
    let own = POOL_GAS_UNITS
        + SIDE_GAS_UNITS
        + part(collateral, COLLATERAL_GAS_UNITS)
        + part(debt, DEBT_GAS_UNITS)
        + part(state.has_external_centre(), CENTRE_GAS_UNITS)
        + part(is_ether(coin_in), ETHER_IN_GAS_UNITS);
    TRANSFERS_GAS_UNITS + own - part(is_ether(coin_out), ETHER_OUT_GAS_UNITS)
}
