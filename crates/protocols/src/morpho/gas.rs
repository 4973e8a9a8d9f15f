//! Gas units of a vault's step, as part of a route that the proxy runs: the vault's own work, that of the markets, and
//! the transfers of [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
//!
//! Measured on the local chain, where Morpho Blue and its rate model are Morpho's own code and the vault is a stand-in;
//! `crates/execution/tests/it/vaults.rs` compares whole routes with their receipts.

use super::MetaMorpho;

/// A deposit or a redemption, without the markets.
pub const TRADE_GAS_UNITS: u64 = 83_200;
/// Reading the vault's assets in one market, with interest.
pub const MARKET_GAS_UNITS: u64 = 38_000;
/// Accruing interest in one market of a queue during a trade.
pub const VISIT_GAS_UNITS: u64 = 32_000;

/// Saving of a market that was read before in the transaction: nine slots of it and of its rate model, and the
/// contracts.
pub const MARKET_AGAIN_GAS_UNITS: u64 = 21_500;
/// Additional saving of each read once the market has accrued this second's interest: the rate model is not called.
pub const ACCRUED_MARKET_GAS_UNITS: u64 = 6_400;
/// Saving at Morpho Blue and the rate model after any vault read a market.
pub const BLUE_AGAIN_GAS_UNITS: u64 = 5_000;
/// Saving of a trade at a market that has accrued this second's interest.
pub const ACCRUED_VISIT_GAS_UNITS: u64 = 19_500;
/// Saving of moving assets to or from Morpho Blue after another step did.
pub const MOVED_AGAIN_GAS_UNITS: u64 = 5_000;
/// Saving of a vault that was read before, without its markets.
pub const VAULT_AGAIN_GAS_UNITS: u64 = 10_000;
/// Saving per market of such a vault: its position and its place in the queue.
pub const POSITION_AGAIN_GAS_UNITS: u64 = 4_000;

/// Returns the gas units of a trade that visits this many markets of the queue.
pub fn gas_units(vault: &MetaMorpho, visited: u64) -> u64 {
    TRADE_GAS_UNITS.saturating_add(asked(vault)).saturating_add(visited.saturating_mul(VISIT_GAS_UNITS))
}

/// Returns the gas units of reading all the vault's markets.
pub(super) fn asked(vault: &MetaMorpho) -> u64 {
    times(vault.holdings.len(), MARKET_GAS_UNITS)
}

/// Multiplies gas units by a number.
pub(super) fn times(count: usize, gas_units: u64) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX).saturating_mul(gas_units)
}

/// Returns the number of visited markets of a trade with these gas units.
pub(super) fn visited(vault: &MetaMorpho, gas_units: u64) -> usize {
    let visits = gas_units.saturating_sub(self::gas_units(vault, 0)) / VISIT_GAS_UNITS;
    usize::try_from(visits).unwrap_or(usize::MAX)
}

/// A preview without the markets, for any caller.
pub const PREVIEW_GAS_UNITS: u64 = 21_700;

/// Returns the gas units of a preview.
pub(crate) fn preview_gas_units(vault: &MetaMorpho) -> u64 {
    PREVIEW_GAS_UNITS.saturating_add(asked(vault))
}

/// Saving of a trade after a preview in the same step, per market that both read.
pub const PREVIEWED_MARKET_GAS_UNITS: u64 = 8_000;

/// Returns the saving of a trade of this many markets after a preview in the same step.
pub(crate) fn previewed_gas_units(markets: usize) -> u64 {
    times(markets, PREVIEWED_MARKET_GAS_UNITS)
}

/// Cost of a share's rate from a rate provider, besides a preview.
pub const PROVIDED_GAS_UNITS: u64 = 4_000;
