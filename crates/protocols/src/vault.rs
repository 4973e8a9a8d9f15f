//! ERC-4626 vaults as other contracts see them: previews, deposits and redemptions, for every vault product.
//!
//! Every such vault converts in proportion, so its four previews are one [`Rate`], rounded down or up.

mod kind;
mod step;
mod trades;

use alloy_primitives::Address;
use braid_primitives::ExecutionBlock;

use crate::{
    After, Discovered, Product, Protocol, StateReader, Step, Swap, SwapError,
    reading::{Reading, Stop},
};

pub(crate) use crate::morpho::warm::{Action, Lender, Lends, WarmMarkets};
pub(crate) use kind::{Kind, ask_kind};
pub(crate) use step::step_code;
pub use step::{DEPOSIT_OPCODE, REDEEM_OPCODE};
pub(crate) use trades::SHARE_COIN;
pub use trades::{ASSET_COIN, EarlierTrades, Rate, Rounding, Trade, Traded, Trades, Vault, VaultTrade};

/// A product whose pools are ERC-4626 vaults that other contracts use, for their rate or to deposit and redeem.
pub(crate) trait VaultProtocol: Protocol {
    /// Returns a vault's conversion rate in a block, after trades of the same transaction.
    ///
    /// # Errors
    /// - [`SwapError::Closed`] for a vault that restricts who may hold its shares.
    /// - [`SwapError::Overflow`] where the contract's arithmetic reverts.
    fn rate(&self, state: &Self::State, at: &ExecutionBlock, before: EarlierTrades<'_>) -> Result<Rate, SwapError>;

    /// Computes a deposit or a redemption, after trades of the same transaction.
    ///
    /// # Errors
    /// As [`Protocol::swap`].
    fn trade(
        &self,
        state: &Self::State,
        at: &ExecutionBlock,
        before: EarlierTrades<'_>,
        trade: Trade,
    ) -> Result<Traded, SwapError>;

    /// Returns the gas units of two previews, for the calling contract.
    fn preview_gas_units(&self, state: &Self::State) -> u64;

    /// Returns the gas units of the vault's rate, for a rate provider that asks once.
    fn rate_gas_units(&self, state: &Self::State) -> u64 {
        self.preview_gas_units(state) / 2
    }

    /// Returns the gas units that a trade saves after a preview in the same transaction.
    fn previewed_gas_units(&self, _state: &Self::State) -> u64 {
        0
    }

    /// Returns the vault's lending markets, which steps of one transaction may share and leave warm.
    fn lends<'a>(&self, _state: &'a Self::State) -> Option<Lends<'a>> {
        None
    }

    /// Asks one of the product's factories whether it created a vault, given by its coins: asset and share.
    fn is_created(&self, factory: Address, coins: [Address; 2], reading: &mut Reading) -> Result<bool, Stop>;

    /// Tells whether the model knows everything that changes the vault's rate in this state.
    fn is_verified(&self, _vault: Address, _state: &Self::State) -> bool {
        true
    }

    /// Tells whether a vault is on the product's list.
    fn is_listed(&self, _vault: Address) -> bool {
        false
    }

    /// Returns a reader of an unverified vault: one without a factory and on no list.
    fn unverified_reader(&self, _vault: Address, _asset: Address) -> Option<Box<dyn StateReader>> {
        None
    }
}

/// Returns the vault that a factory announces; `None` for impossible addresses.
pub(crate) fn announced(share: Address, asset: Address, product: Product) -> Option<Discovered> {
    let possible = !share.is_zero() && !asset.is_zero() && share != asset;
    possible.then(|| Discovered::new(share, product, vec![asset, share]))
}

/// Computes a step through a vault, for [`Protocol::swap`].
///
/// # Errors
/// As [`Protocol::swap`].
pub(crate) fn swap<P: VaultProtocol>(record: &P, state: &P::State, step: Step<'_>) -> Result<Swap, SwapError> {
    let before = step.route.before(step.pool.contract);
    let trade = Trade { deposits: step.sale.coin_in == ASSET_COIN, amount_in: step.sale.amount_in };
    let Traded { amount_out, gas_units } = record.trade(state, step.at, before, trade)?;
    Ok(Swap { amount_out, gas_units, after: After::Vault(before.and(trade)?) })
}
