//! What a step through a pool costs, in gas units, as part of a route that the proxy runs.
//!
//! Measured on the local chain's stand-ins: `crates/execution/tests/it/fluid.rs` holds whole routes to their receipts. Of the deployed
//! code nothing is measured: no package has it.

use super::{Parts, State};
use crate::{fluid::reading::ETHER, step::TRANSFERS_GAS_UNITS};

/// Whatever the pool is of: its words, its price range, two calls of the liquidity layer.
pub const POOL_GAS_UNITS: u64 = 72_000;
/// A pool with collateral: both tokens' words of it read, and its curve.
pub const COLLATERAL_GAS_UNITS: u64 = 20_400;
/// A pool with debt: the same, and the quadratic equation that gives its reserves.
pub const DEBT_GAS_UNITS: u64 = 33_400;
/// Each side that takes part in the trade: both tokens' words of it written, with their limits. Of a small amount one takes all.
pub const SIDE_GAS_UNITS: u64 = 32_600;
/// Asking the contract that tells the centre.
pub const CENTRE_GAS_UNITS: u64 = 5_400;
/// More for ether in, which goes along with two calls, than for a token.
pub const ETHER_IN_GAS_UNITS: u64 = 12_000;
/// Less for ether out than for a token: it comes by the proxy, where a token's balance would be written from zero.
pub const ETHER_OUT_GAS_UNITS: u64 = 25_300;

/// A swap that sells the first token or the second, of which these parts went to the sides.
pub(super) fn swap_gas_units(state: &State, zero_for_one: bool, parts: &Parts) -> u64 {
    let sides = [parts.collateral, parts.debt].iter().filter(|(amount_in, _)| !amount_in.is_zero()).count();
    one_sided_gas_units(state, zero_for_one) + if sides > 1 { SIDE_GAS_UNITS } else { 0 }
}

/// A swap in which one side takes part.
pub(super) fn one_sided_gas_units(state: &State, zero_for_one: bool) -> u64 {
    let part = |there: bool, gas_units: u64| if there { gas_units } else { 0 };
    let (collateral, debt) = state.sides();
    let is_ether = |coin: u8| state.token_at(coin) == Some(ETHER);
    let (coin_in, coin_out) = if zero_for_one { (0, 1) } else { (1, 0) };
    let own = POOL_GAS_UNITS
        + SIDE_GAS_UNITS
        + part(collateral, COLLATERAL_GAS_UNITS)
        + part(debt, DEBT_GAS_UNITS)
        + part(state.is_told_its_centre(), CENTRE_GAS_UNITS)
        + part(is_ether(coin_in), ETHER_IN_GAS_UNITS);
    TRANSFERS_GAS_UNITS + own - part(is_ether(coin_out), ETHER_OUT_GAS_UNITS)
}
