//! Vaults in recorded markets.

use braid_primitives::{Address, U256};
use braid_protocols::PoolState;
use braid_protocols::erc4626::{Accrual, Conversion, Limits, State};
use serde_json::Value;

use super::json::{Reason, TokensOf, list, number, parse};

/// Reads a vault that is recorded by its price: the number of shares that one whole asset buys. The same rate applies
/// to redemptions.
pub(super) fn vault(entry: &Value, tokens: TokensOf<'_>) -> Result<PoolState, Reason> {
    let asset = list(entry, "tokens")?.first().and_then(parse::<Address>);
    let decimals = asset.and_then(tokens).ok_or("an asset that is no listed token")?;
    let whole = U256::from(10).checked_pow(U256::from(decimals)).ok_or("decimals out of range")?;
    let state = State {
        conversion: Conversion::Rate { rate: whole, one: number(entry, "shares_per_asset_unit")? },
        accrual: Accrual::None,
        limits: Limits {
            max_deposit_assets: number(entry, "max_deposit")?,
            max_redeem_shares: number(entry, "max_redeem")?,
            ..Limits::NONE
        },
        form: None,
    };
    Ok(Box::new(state).into())
}

/// Applies an update to a vault.
pub(super) fn update(state: &mut State, entry: &Value) -> Result<(), Reason> {
    let Conversion::Rate { one, .. } = &mut state.conversion else { return Err("no recorded vault".into()) };
    *one = number(entry, "shares_per_asset_unit")?;
    state.limits.max_deposit_assets = number(entry, "max_deposit")?;
    state.limits.max_redeem_shares = number(entry, "max_redeem")?;
    Ok(())
}
