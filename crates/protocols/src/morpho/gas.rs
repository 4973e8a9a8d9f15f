//! What a vault's step costs, in gas units, as part of a route that the proxy runs: the vault's own work, that of the markets, and
//! the transfers of [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
//!
//! Measured on the local chain, where Morpho Blue and its curve are Morpho's own code and the vault is a stand-in; `crates/execution/tests/it/vaults.rs` holds whole routes to their receipts.

use super::MetaMorpho;

/// A deposit or a redemption, apart from the markets.
pub const TRADE_GAS_UNITS: u64 = 83_200;
/// Asking what one market holds, with interest.
pub const MARKET_GAS_UNITS: u64 = 38_000;
/// Adding interest to one market of a queue on the way.
pub const VISIT_GAS_UNITS: u64 = 32_000;

/// What asking costs less for a market that was asked before in the transaction: nine words of it and of its interest rate model, and the
/// contracts.
pub const MARKET_AGAIN_GAS_UNITS: u64 = 21_500;
/// What each time that it is asked costs less besides once it has this second's interest: the model is not asked.
pub const ACCRUED_MARKET_GAS_UNITS: u64 = 6_400;
/// What Morpho Blue and the model cost less after a market of any vault was asked.
pub const BLUE_AGAIN_GAS_UNITS: u64 = 5_000;
/// What a visit costs less to a market that has this second's interest.
pub const ACCRUED_VISIT_GAS_UNITS: u64 = 19_500;
/// What it costs less to move assets to or from Morpho Blue after others did.
pub const MOVED_AGAIN_GAS_UNITS: u64 = 5_000;
/// What a vault that was asked before costs less to ask, apart from its markets.
pub const VAULT_AGAIN_GAS_UNITS: u64 = 10_000;
/// What each market of such a vault costs less: its position there, its place in the queue.
pub const POSITION_AGAIN_GAS_UNITS: u64 = 4_000;

/// What a trade with a vault costs that visits so many markets of its queue.
pub fn gas_units(vault: &MetaMorpho, visited: u64) -> u64 {
    TRADE_GAS_UNITS.saturating_add(asked(vault)).saturating_add(visited.saturating_mul(VISIT_GAS_UNITS))
}

/// What asking all its markets costs.
pub(super) fn asked(vault: &MetaMorpho) -> u64 {
    u64::try_from(vault.holdings.len()).unwrap_or(u64::MAX).saturating_mul(MARKET_GAS_UNITS)
}

/// How many markets of its queue a trade visits that costs so much.
pub(super) fn visited(vault: &MetaMorpho, gas_units: u64) -> usize {
    let visits = gas_units.saturating_sub(self::gas_units(vault, 0)) / VISIT_GAS_UNITS;
    usize::try_from(visits).unwrap_or(usize::MAX)
}

/// What a preview costs whoever asks, apart from the markets.
pub const PREVIEW_GAS_UNITS: u64 = 21_700;

/// What a preview costs whoever asks.
pub(crate) fn preview_gas_units(vault: &MetaMorpho) -> u64 {
    PREVIEW_GAS_UNITS.saturating_add(asked(vault))
}

/// What a trade costs less after a preview in the same step, for each market that both ask.
pub const PREVIEWED_MARKET_GAS_UNITS: u64 = 8_000;

/// What a trade of so many markets costs less after a preview in the same step.
pub(crate) fn previewed_gas_units(markets: usize) -> u64 {
    u64::try_from(markets).unwrap_or(u64::MAX).saturating_mul(PREVIEWED_MARKET_GAS_UNITS)
}

/// What a rate of a share costs whoever asks a provider for it, besides a preview.
pub const PROVIDED_GAS_UNITS: u64 = 4_000;
