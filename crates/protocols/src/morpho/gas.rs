//! What a vault's step costs, in gas units, as part of a route that the proxy runs: the vault's own work, that of the markets, and
//! the transfers of [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
//!
//! Measured on the local chain's stand-ins; `crates/execution/tests/it/vaults.rs` holds whole routes to their receipts.

use super::MetaMorpho;

/// A deposit or a redemption, apart from the markets.
pub const TRADE_GAS_UNITS: u64 = 131_000;
/// Asking what one market holds, with interest.
pub const MARKET_GAS_UNITS: u64 = 31_000;
/// Adding interest to one market of a queue on the way.
pub const VISIT_GAS_UNITS: u64 = 37_700;

/// What a trade with a vault costs that visits so many markets of its queue.
pub fn gas_units(vault: &MetaMorpho, visited: u64) -> u64 {
    let markets = u64::try_from(vault.holdings.len()).unwrap_or(u64::MAX);
    let asked = markets.saturating_mul(MARKET_GAS_UNITS);
    TRADE_GAS_UNITS.saturating_add(asked).saturating_add(visited.saturating_mul(VISIT_GAS_UNITS))
}

/// What a preview costs whoever asks, apart from the markets.
pub const PREVIEW_GAS_UNITS: u64 = 66_700;

/// What a preview costs whoever asks.
pub(crate) fn preview_gas_units(vault: &MetaMorpho) -> u64 {
    let markets = u64::try_from(vault.holdings.len()).unwrap_or(u64::MAX);
    PREVIEW_GAS_UNITS.saturating_add(markets.saturating_mul(MARKET_GAS_UNITS))
}
