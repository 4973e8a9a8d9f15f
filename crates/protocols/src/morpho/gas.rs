//! What a vault's step costs, in gas units, as part of a route that the proxy runs: the vault's own work, that of the markets, and
//! the transfers of [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
//!
//! Measured on Morpho Blue's real code with a stand-in vault; `crates/execution/tests/it/vault_gas.rs` holds whole routes to their
//! receipts.

use super::MetaMorpho;

/// A deposit, apart from the markets.
pub const DEPOSIT_GAS_UNITS: u64 = 150_000;
/// A redemption, apart from the markets.
pub const REDEEM_GAS_UNITS: u64 = 145_000;
/// Asking what one market holds, with interest.
pub const MARKET_GAS_UNITS: u64 = 24_000;

/// What a deposit into a vault costs.
pub fn deposit_gas_units(vault: &MetaMorpho) -> u64 {
    DEPOSIT_GAS_UNITS + markets(vault) * MARKET_GAS_UNITS
}

/// What a redemption from a vault costs.
pub fn redeem_gas_units(vault: &MetaMorpho) -> u64 {
    REDEEM_GAS_UNITS + markets(vault) * MARKET_GAS_UNITS
}

fn markets(vault: &MetaMorpho) -> u64 {
    u64::try_from(vault.holdings.len()).unwrap_or(u64::MAX)
}
