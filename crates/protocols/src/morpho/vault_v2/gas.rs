//! Gas units of a vault's step, as part of a route that the proxy runs: the vault's own work, that of its adapters and
//! markets, and the transfers of [`TRANSFERS_GAS_UNITS`](crate::step::TRANSFERS_GAS_UNITS).
//!
//! Measured on the local chain, where Morpho Blue and its rate model are Morpho's own code and the vaults are
//! stand-ins; `crates/execution/tests/it/vault_v2.rs` compares whole routes with their receipts.

use super::{super::gas as metamorpho, Adapter, VaultV2};

/// A deposit without adapters.
pub const DEPOSIT_GAS_UNITS: u64 = 74_100;
/// A redemption from the idle balance.
pub const REDEEM_GAS_UNITS: u64 = 59_000;
/// Reading an adapter's assets, without its markets.
pub const ADAPTER_GAS_UNITS: u64 = 12_000;
/// Additional cost of an adapter of a MetaMorpho vault, which reads that vault.
pub const INNER_VAULT_GAS_UNITS: u64 = 20_000;
/// Reading the assets in one market, with interest.
pub const MARKET_GAS_UNITS: u64 = 37_900;
/// Supplying to a market or withdrawing from it, with the caps that apply.
pub const ALLOCATE_GAS_UNITS: u64 = 96_000;

/// Returns the gas units of a trade: everything is read; if the idle balance is not enough, assets move to or from the
/// liquidity adapter.
pub(in crate::morpho) fn gas_units(vault: &VaultV2, deposits: bool, moved: bool) -> u64 {
    let own = if deposits { DEPOSIT_GAS_UNITS } else { REDEEM_GAS_UNITS };
    let place = vault.liquidity.as_ref().filter(|_| moved);
    let moved = match place.and_then(|place| vault.adapters.get(usize::from(place.adapter))) {
        Some(Adapter::Markets(_)) => ALLOCATE_GAS_UNITS,
        Some(Adapter::Vault { vault, .. }) => metamorpho::gas_units(vault, 1),
        None => 0,
    };
    own.saturating_add(asked(vault)).saturating_add(moved)
}

/// Tells whether a trade with these gas units moved assets to or from the liquidity adapter.
pub(in crate::morpho) fn moved(vault: &VaultV2, deposits: bool, gas_units: u64) -> bool {
    gas_units > self::gas_units(vault, deposits, false)
}

/// Returns the gas units of reading all adapters, some of which may lend on the same markets.
pub(in crate::morpho) fn asked(vault: &VaultV2) -> u64 {
    let each = vault.adapters.iter().enumerate().map(|(place, adapter)| {
        let before = vault.adapters.iter().take(place).flat_map(|adapter| adapter.holdings());
        let again = |id| before.clone().any(|holding| holding.id == id);
        let repeated = adapter.holdings().iter().filter(|holding| again(holding.id)).count();
        self::adapter(adapter).saturating_sub(metamorpho::times(repeated, metamorpho::MARKET_AGAIN_GAS_UNITS))
    });
    each.sum()
}

fn adapter(adapter: &Adapter) -> u64 {
    ADAPTER_GAS_UNITS.saturating_add(match adapter {
        Adapter::Markets(holdings) => metamorpho::times(holdings.len(), MARKET_GAS_UNITS),
        Adapter::Vault { vault, .. } => INNER_VAULT_GAS_UNITS.saturating_add(metamorpho::asked(vault)),
    })
}

/// A preview without the adapters, for any caller.
pub const PREVIEW_GAS_UNITS: u64 = 16_700;

/// Returns the gas units of a preview.
pub(crate) fn preview_gas_units(vault: &VaultV2) -> u64 {
    PREVIEW_GAS_UNITS.saturating_add(asked(vault))
}
