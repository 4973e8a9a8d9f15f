//! ERC-4626 vaults as other contracts see them: previews, deposits and redemptions, for every vault product.
//!
//! Every such vault converts in proportion, so its four previews are one [`Rate`], rounded down or up.

mod kind;
mod step;

use alloy_primitives::{Address, B256, Log, U256, U512};
use arrayvec::ArrayVec;
use braid_primitives::{ExecutionBlock, TokenId};
use serde::{Deserialize, Serialize};

use crate::{
    After, DecodeError, Freshness, PoolState, Product, Protocol, RouteState, Sale, StateReader, Swap, SwapError,
    answers::{Answers, Question},
    product::own,
    registry::with_vault_record,
};

pub(crate) use crate::morpho::warm::{Action, Lender, Lends, WarmMarkets};
pub(crate) use kind::{Kind, ask_kind, kind};
pub(crate) use step::step_code;
pub use step::{DEPOSIT_OPCODE, REDEEM_OPCODE};

/// Position of the asset among a vault's coins.
pub const ASSET_COIN: u8 = 0;
/// Position of the share among a vault's coins.
pub(crate) const SHARE_COIN: u8 = 1;

/// Maximum number of trades with one vault in one route.
const MAX_TRADES: usize = 4;

/// Trades of a route with one vault so far, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trades(ArrayVec<Trade, MAX_TRADES>);

/// A deposit or a redemption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trade {
    /// Whether this is a deposit of assets; otherwise a redemption of shares.
    pub deposits: bool,
    /// Amount in: assets of a deposit, shares of a redemption, in atomic units.
    pub amount_in: U256,
}

impl Trades {
    pub(crate) fn list(&self) -> &[Trade] {
        &self.0
    }

    fn with(mut self, trade: Trade) -> Result<Self, SwapError> {
        // refuse a route with too many trades, rather than compute it wrongly
        self.0.try_push(trade).map_err(|_| SwapError::Overflow { amount_in: trade.amount_in })?;
        Ok(self)
    }
}

/// A trade of a route with a vault, directly or through a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultTrade {
    /// The vault's address.
    pub address: Address,
    /// The vault's share, as a token of the market.
    pub share: Option<TokenId>,
    /// State of the vault before the route.
    pub vault: Vault,
    /// The trade.
    pub trade: Trade,
}

/// Trades of a route with vaults, as seen by one of them.
#[derive(Clone, Copy, Debug)]
pub struct EarlierTrades<'a> {
    vault: Address,
    trades: &'a [VaultTrade],
}

impl<'a> EarlierTrades<'a> {
    /// No trades with any vault.
    pub const NONE: EarlierTrades<'static> = EarlierTrades { vault: Address::ZERO, trades: &[] };

    /// Returns a route's trades, as seen by a vault.
    pub(crate) const fn new(vault: Address, trades: &'a [VaultTrade]) -> Self {
        Self { vault, trades }
    }

    /// Returns the vault's address.
    pub(crate) const fn vault(&self) -> Address {
        self.vault
    }

    /// Returns the trades with all vaults, in order.
    pub(crate) const fn all(&self) -> &'a [VaultTrade] {
        self.trades
    }

    /// Returns the trades with this vault, in order.
    pub(crate) fn own(&self) -> impl Iterator<Item = Trade> + 'a {
        let vault = self.vault;
        self.trades.iter().filter(move |one| one.address == vault).map(|one| one.trade)
    }

    /// Returns the trades with this vault and one more.
    ///
    /// # Errors
    /// [`SwapError::Overflow`] beyond [`MAX_TRADES`].
    pub(crate) fn and(&self, trade: Trade) -> Result<Trades, SwapError> {
        self.own().chain([trade]).try_fold(Trades::default(), Trades::with)
    }

    /// Returns the trades with this vault.
    ///
    /// # Errors
    /// As [`Self::and`].
    pub(crate) fn trades(&self) -> Result<Trades, SwapError> {
        self.own().try_fold(Trades::default(), Trades::with)
    }
}

/// Computes a step through a vault, for [`Protocol::swap`].
///
/// # Errors
/// As [`Protocol::swap`].
pub(crate) fn swap<P: VaultProtocol>(
    record: &P,
    vault: Address,
    state: &P::State,
    at: &ExecutionBlock,
    route: &RouteState,
    sale: Sale,
) -> Result<Swap, SwapError> {
    let before = route.before(vault);
    let trade = Trade { deposits: sale.coin_in == ASSET_COIN, amount_in: sale.amount_in };
    let Traded { amount_out, gas_units } = record.trade(state, at, before, trade)?;
    Ok(Swap { amount_out, gas_units, after: After::Vault(before.and(trade)?) })
}

/// Conversion rate: so many assets for so many shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    assets: U256,
    shares: U256,
}

impl Rate {
    /// Returns a rate, unless the contract's arithmetic reverts or divides by zero.
    ///
    /// # Errors
    /// [`SwapError::Overflow`].
    pub(crate) fn new(assets: Option<U256>, shares: Option<U256>) -> Result<Self, SwapError> {
        match (assets, shares) {
            (Some(assets), Some(shares)) if !assets.is_zero() && !shares.is_zero() => Ok(Self { assets, shares }),
            _ => Err(SwapError::Overflow { amount_in: U256::ZERO }),
        }
    }

    /// Converts an amount of one coin to the other, rounded down: `previewDeposit` of assets, `previewRedeem` of
    /// shares.
    pub fn down(&self, from_assets: bool, amount: U256) -> Option<U256> {
        let (per, gives) = self.way(from_assets);
        mul_div(amount, gives, per)
    }

    /// Converts an amount of one coin to the other, rounded up: `previewWithdraw` of assets, `previewMint` of shares.
    pub fn up(&self, from_assets: bool, amount: U256) -> Option<U256> {
        let (per, gives) = self.way(from_assets);
        mul_div_up(amount, gives, per)
    }

    const fn way(&self, from_assets: bool) -> (U256, U256) {
        if from_assets { (self.assets, self.shares) } else { (self.shares, self.assets) }
    }
}

/// Rounding of a vault's deposits and redemptions; previews always round down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rounding {
    /// Down.
    Down,
    /// To the nearest, halves up.
    Nearest,
}

/// A vault that another contract uses: its product and state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vault {
    /// Product of the vault.
    pub product: Product,
    /// State of the vault.
    pub state: PoolState,
}

/// Result of a trade with a vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traded {
    /// Amount out in atomic units.
    pub amount_out: U256,
    /// Gas units of the trade as a step of its own.
    pub gas_units: u64,
}

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

    /// Builds the call that asks one of the product's factories whether it created a vault of an asset.
    fn ask_factory(&self, factory: Address, vault: Address, asset: Address) -> Question;

    /// Decodes the answer to [`ask_factory`](Self::ask_factory): tells whether the factory created the vault.
    fn is_created(&self, vault: Address, answers: &mut Answers<'_>) -> bool;

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

/// Computes `a · b / denominator` over 512 bits, rounded down; `None` above 256 bits or for a zero denominator.
pub(crate) fn mul_div(a: U256, b: U256, denominator: U256) -> Option<U256> {
    let product: U512 = a.widening_mul(b);
    U256::checked_from_limbs_slice(product.checked_div(U512::from(denominator))?.as_limbs())
}

/// Computes `a · b / denominator` over 512 bits, rounded up; `None` above 256 bits or for a zero denominator.
pub(crate) fn mul_div_up(a: U256, b: U256, denominator: U256) -> Option<U256> {
    let down = mul_div(a, b, denominator)?;
    if a.mul_mod(b, denominator).is_zero() { Some(down) } else { down.checked_add(U256::ONE) }
}
