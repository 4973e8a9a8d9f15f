//! The methods that shared code calls on a vault of any product.

use alloy_primitives::{Address, B256, Log};
use braid_primitives::ExecutionBlock;

use crate::{
    DecodeError, Freshness, Product, StateReader, SwapError,
    continuous::{Direction, Room},
    reading::{Reading, Stop},
    registry::{own, with_vault_record},
    vault::{Action, EarlierTrades, Lender, Lends, Rate, Trade, Traded, Vault, VaultProtocol},
};

impl Product {
    /// Tells whether the pools of the product are vaults, whose share is a token at the pool's own address.
    pub fn is_vault(self) -> bool {
        with_vault_record!(self, _record => true, else false)
    }

    /// Returns the vault products.
    pub(crate) fn vaults() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|product| product.is_vault())
    }

    /// Dispatches to [`VaultProtocol::is_created`]; `false` for a product that is not a vault.
    ///
    /// # Errors
    /// As [`VaultProtocol::is_created`].
    pub(crate) fn is_created(self, factory: Address, coins: [Address; 2], reading: &mut Reading) -> Result<bool, Stop> {
        with_vault_record!(self, record => record.is_created(factory, coins, reading), else Ok(false))
    }

    /// Dispatches to [`VaultProtocol::is_listed`].
    pub(crate) fn lists_vault(self, vault: Address) -> bool {
        with_vault_record!(self, record => record.is_listed(vault), else false)
    }

    /// Dispatches to [`VaultProtocol::unverified_reader`].
    pub(crate) fn unverified_reader(self, vault: Address, asset: Address) -> Option<Box<dyn StateReader>> {
        with_vault_record!(self, record => record.unverified_reader(vault, asset), else None)
    }
}

impl Vault {
    /// Dispatches to [`VaultProtocol::is_verified`].
    pub(crate) fn is_verified(&self, vault: Address) -> bool {
        with_vault_record!(self.product, record => {
            own(record, &self.state).is_some_and(|state| record.is_verified(vault, state))
        }, else false)
    }

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

    /// Estimates the room for deposits and for redemptions, from the optimiser's curve.
    pub(crate) fn rooms(&self, at: &ExecutionBlock) -> [Room; 2] {
        let curve = self.product.curve(&self.state, [0, 1], at);
        [0, 1].map(|side| {
            let direction = curve.as_ref().and_then(|curve| curve.direction(side));
            let likely = direction.map_or(0.0, Direction::capacity_in);
            let is_assumed = direction.is_some_and(Direction::is_continued);
            Room { limit: if is_assumed { f64::INFINITY } else { likely }, likely }
        })
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

    /// Dispatches to [`crate::Protocol::depends_on_time`].
    pub(crate) fn depends_on_time(&self) -> bool {
        self.product.depends_on_time(&self.state)
    }

    /// Validates the state as [`crate::Protocol::validate`], and refuses a product that is not a vault.
    pub(crate) fn validate(&self) -> Result<(), &'static str> {
        if self.product.is_vault() {
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
        Product::vaults().flat_map(|product| product.freshness_topics().iter().copied())
    }

    /// Dispatches to [`crate::Protocol::apply`].
    ///
    /// # Errors
    /// As [`crate::Protocol::apply`].
    pub(crate) fn apply(&mut self, log: &Log) -> Result<Freshness, DecodeError> {
        self.product.apply(&mut self.state, log)
    }

    /// Dispatches to [`crate::Protocol::reads_each_block`].
    pub(crate) fn reads_each_block(&self) -> bool {
        self.product.reads_each_block(&self.state)
    }
}
