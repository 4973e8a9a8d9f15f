//! ERC-4626 vaults as other contracts see them: previews, deposits and redemptions, for every vault product.
//!
//! Every such vault converts in proportion, so its four previews are one [`Rate`], rounded down or up.

mod kind;
mod step;
mod trades;

use alloy_primitives::{Address, B256, Log};
use braid_primitives::ExecutionBlock;

use crate::{
    After, DecodeError, Discovered, Freshness, Product, Protocol, StateReader, Step, Swap, SwapError,
    reading::{Reading, Stop},
    registry::{own, with_vault_record},
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

impl Vault {
    /// Dispatches to [`VaultProtocol::rate`].
    ///
    /// # Errors
    /// As [`VaultProtocol::rate`], and [`SwapError::Closed`] if the product is not a vault.
    pub fn rate(&self, at: &ExecutionBlock, before: EarlierTrades<'_>) -> Result<Rate, SwapError> {
        with_vault_record!(self.product, record => match own(record, &self.state) {
            Some(state) => VaultProtocol::rate(record, state, at, before),
            None => Err(SwapError::Closed),
        }, else Err(SwapError::Closed))
    }

    /// Dispatches to [`VaultProtocol::trade`].
    ///
    /// # Errors
    /// As [`VaultProtocol::trade`], and [`SwapError::Closed`] if the product is not a vault.
    pub fn trade(&self, at: &ExecutionBlock, before: EarlierTrades<'_>, trade: Trade) -> Result<Traded, SwapError> {
        if trade.amount_in.is_zero() {
            return Err(SwapError::ZeroAmount);
        }
        with_vault_record!(self.product, record => match own(record, &self.state) {
            Some(state) => VaultProtocol::trade(record, state, at, before, trade),
            None => Err(SwapError::Closed),
        }, else Err(SwapError::Closed))
    }

    /// Estimates the maximum input of a deposit and of a redemption, from the optimiser's curve.
    pub(crate) fn room(&self, at: &ExecutionBlock) -> [f64; 2] {
        let curve = self.product.curve(&self.state, [0, 1], at);
        let most = |side: u8| {
            let direction = curve.as_ref().and_then(|curve| curve.direction(side));
            direction.map_or(0.0, crate::continuous::Direction::capacity_in)
        };
        [most(0), most(1)]
    }

    /// Dispatches to [`VaultProtocol::preview_gas_units`].
    pub(crate) fn preview_gas_units(&self) -> u64 {
        with_vault_record!(self.product, record => {
            own(record, &self.state).map_or(0, |state| record.preview_gas_units(state))
        }, else 0)
    }

    /// Dispatches to [`VaultProtocol::rate_gas_units`].
    pub(crate) fn rate_gas_units(&self) -> u64 {
        with_vault_record!(self.product, record => {
            own(record, &self.state).map_or(0, |state| record.rate_gas_units(state))
        }, else 0)
    }

    /// Dispatches to [`VaultProtocol::previewed_gas_units`].
    pub(crate) fn previewed_gas_units(&self) -> u64 {
        with_vault_record!(self.product, record => {
            own(record, &self.state).map_or(0, |state| record.previewed_gas_units(state))
        }, else 0)
    }

    /// Returns the vault and its lending markets with a step's action, if it lends.
    pub(crate) fn lender(&self, vault: Address, action: Action) -> Option<Lender<'_>> {
        Some(Lender { vault, lends: self.lends()?, action })
    }

    /// Dispatches to [`VaultProtocol::lends`].
    pub(crate) fn lends(&self) -> Option<Lends<'_>> {
        with_vault_record!(self.product, record => record.lends(own(record, &self.state)?), else None)
    }

    /// Dispatches to [`Protocol::depends_on_time`].
    pub(crate) fn depends_on_time(&self) -> bool {
        self.product.depends_on_time(&self.state)
    }

    /// Validates the state as [`Protocol::validate`], and refuses a product that is not a vault.
    pub(crate) fn validate(&self) -> Result<(), &'static str> {
        if is_vault(self.product) {
            self.product.validate(&self.state, 2)
        } else {
            Err("a buffer of something that is not a vault")
        }
    }

    /// Returns the contracts whose logs may change the vault, including itself.
    pub(crate) fn emitters(&self, vault: Address) -> Vec<Address> {
        let mut emitters = self.product.listens_to(&self.state);
        emitters.push(vault);
        emitters
    }

    /// Returns `topic0` of the events that may change a vault of any product.
    pub(crate) fn topics() -> impl Iterator<Item = B256> {
        vaults().flat_map(|product| product.freshness_topics().iter().copied())
    }

    /// Dispatches to [`Protocol::apply`].
    ///
    /// # Errors
    /// As [`Protocol::apply`].
    pub(crate) fn apply(&mut self, log: &Log) -> Result<Freshness, DecodeError> {
        self.product.apply(&mut self.state, log)
    }

    /// Dispatches to [`Protocol::reads_each_block`].
    pub(crate) fn reads_each_block(&self) -> bool {
        self.product.reads_each_block(&self.state)
    }
}

/// Tells whether the pools of a product are vaults, whose share is a token at the pool's own address.
pub fn is_vault(product: Product) -> bool {
    with_vault_record!(product, _record => true, else false)
}

/// Returns the vault products.
pub(crate) fn vaults() -> impl Iterator<Item = Product> {
    Product::ALL.iter().copied().filter(|product| is_vault(*product))
}
