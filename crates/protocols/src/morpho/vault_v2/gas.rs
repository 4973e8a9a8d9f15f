//! What a vault's step costs, in gas units, as part of a route that the proxy runs: the vault's own work, that of its adapters and
//! markets, and the transfers of [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
//!
//! Measured on the local chain's stand-ins; `crates/execution/tests/it/vault_v2.rs` holds whole routes to their receipts.

use super::{super::gas as metamorpho, Adapter, VaultV2};

/// A deposit without adapters.
pub const DEPOSIT_GAS_UNITS: u64 = 119_300;
/// A redemption of what is idle.
pub const REDEEM_GAS_UNITS: u64 = 104_200;
/// Asking an adapter what it has.
pub const ADAPTER_GAS_UNITS: u64 = 12_000;
/// Asking what one market holds, with interest.
pub const MARKET_GAS_UNITS: u64 = 31_000;
/// Supplying to a market, or withdrawing from it, with the caps that count.
pub const ALLOCATE_GAS_UNITS: u64 = 124_200;

/// What a trade costs: everything is asked; where what is idle is not enough, one place of liquidity is moved to or from.
pub(super) fn gas_units(vault: &VaultV2, deposits: bool, moved: bool) -> u64 {
    let own = if deposits { DEPOSIT_GAS_UNITS } else { REDEEM_GAS_UNITS };
    let asked: u64 = vault.adapters.iter().map(adapter).sum();
    let place = vault.liquidity.as_ref().filter(|_| moved);
    let moved = match place.and_then(|place| vault.adapters.get(usize::from(place.adapter))) {
        Some(Adapter::Markets(_)) => ALLOCATE_GAS_UNITS,
        Some(Adapter::Vault { vault, .. }) => metamorpho::gas_units(vault, 1),
        None => 0,
    };
    own.saturating_add(asked).saturating_add(moved)
}

fn adapter(adapter: &Adapter) -> u64 {
    let markets = match adapter {
        Adapter::Markets(holdings) => holdings.len(),
        Adapter::Vault { vault, .. } => vault.holdings.len(),
    };
    ADAPTER_GAS_UNITS.saturating_add(u64::try_from(markets).unwrap_or(u64::MAX).saturating_mul(MARKET_GAS_UNITS))
}

/// What a preview costs whoever asks, apart from the adapters.
pub const PREVIEW_GAS_UNITS: u64 = 61_900;

/// What a preview costs whoever asks.
pub(crate) fn preview_gas_units(vault: &VaultV2) -> u64 {
    PREVIEW_GAS_UNITS.saturating_add(vault.adapters.iter().map(adapter).sum())
}
