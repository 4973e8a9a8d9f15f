//! Curves of vaults for the optimiser: a fixed rate in each direction, up to caps and liquidity.

use alloy_primitives::U256;
use braid_primitives::ExecutionBlock;

use super::{MetaMorpho, VaultV2, gas, vault_v2};
use crate::continuous::{PairCurve, Room, fixed_rate};

/// Returns a MetaMorpho vault's curve of both directions in a block; `None` if the contracts' arithmetic reverts.
pub(super) fn metamorpho(vault: &MetaMorpho, at: &ExecutionBlock) -> Option<PairCurve> {
    let now = vault.at(at.timestamp)?;
    let gas_units = [gas::gas_units(vault, 1); 2];
    let most_assets = [now.suppliable()?, now.withdrawable()?];
    pair_curve([now.total_assets, now.total_shares], vault.virtual_shares, most_assets, gas_units)
}

/// Returns a Vault V2's curve of both directions in a block; `None` if the contracts' arithmetic reverts.
pub(super) fn vault_v2(vault: &VaultV2, at: &ExecutionBlock) -> Option<PairCurve> {
    let now = vault.at(at.timestamp)?;
    let gas_units = [vault_v2::gas::gas_units(vault, true, true), vault_v2::gas::gas_units(vault, false, false)];
    let most_assets = [now.suppliable()?, now.withdrawable()?];
    pair_curve([now.total_assets, now.total_shares], vault.virtual_shares, most_assets, gas_units)
}

/// Returns the curve of a vault with these totals and virtual shares, up to the maximum deposit and withdrawal.
fn pair_curve(
    [total_assets, total_shares]: [U256; 2],
    virtual_shares: U256,
    [suppliable, withdrawable]: [U256; 2],
    gas_units: [u64; 2],
) -> Option<PairCurve> {
    let shares = f64::from(total_shares) + f64::from(virtual_shares);
    let shares_per_asset = shares / (f64::from(total_assets) + 1.0);
    if !shares_per_asset.is_finite() || shares_per_asset <= 0.0 {
        return None;
    }
    let redeemable = (f64::from(withdrawable) * shares_per_asset).min(f64::from(total_shares));
    Some(fixed_rate(shares_per_asset, [f64::from(suppliable), redeemable].map(Room::limited), gas_units))
}
