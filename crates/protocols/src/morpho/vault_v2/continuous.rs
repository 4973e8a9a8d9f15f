//! A vault's curve for the optimiser: a fixed rate in each direction, up to caps and liquidity.

use braid_primitives::ExecutionBlock;

use super::{VaultV2, gas};
use crate::continuous::{PairCurve, fixed_rate};

/// Returns the curve of both directions in a block; `None` if the contracts' arithmetic reverts.
pub(crate) fn pair_curve(vault: &VaultV2, at: &ExecutionBlock) -> Option<PairCurve> {
    let now = vault.at(at.timestamp)?;
    let shares = f64::from(now.total_shares) + f64::from(vault.virtual_shares);
    let shares_per_asset = shares / (f64::from(now.total_assets) + 1.0);
    if !shares_per_asset.is_finite() || shares_per_asset <= 0.0 {
        return None;
    }
    let redeemable = (f64::from(now.withdrawable()?) * shares_per_asset).min(f64::from(now.total_shares));
    let gas_units = [gas::gas_units(vault, true, true), gas::gas_units(vault, false, false)];
    Some(fixed_rate(shares_per_asset, f64::from(now.suppliable()?), redeemable, gas_units))
}
