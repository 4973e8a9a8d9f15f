//! ERC-4626 vaults as another contract meets them: what their previews say, and what a deposit or a redemption does to them,
//! whichever product they are.
//!
//! Every such vault converts in proportion, so that its four previews are one [`Rate`], rounded down or up.

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

pub(crate) use crate::morpho::warm::{Does, Lender, Lends, Lent};
pub(crate) use kind::{Kind, ask_kind, kind};
pub(crate) use step::step_code;
pub use step::{DEPOSIT_OPCODE, REDEEM_OPCODE};

/// Position of the asset among a vault's coins; the share is the other.
pub const ASSET_COIN: u8 = 0;
/// Position of the share.
pub(crate) const SHARE_COIN: u8 = 1;

/// The most trades with one vault in one route.
const MAX_TRADES: usize = 4;

/// What a route did to one vault so far: its trades in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trades(ArrayVec<Trade, MAX_TRADES>);

/// A deposit or a redemption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trade {
    /// A deposit of assets; else a redemption of shares.
    pub deposits: bool,
    /// What came in.
    pub amount_in: U256,
}

impl Trades {
    pub(crate) fn list(&self) -> &[Trade] {
        &self.0
    }

    fn with(mut self, trade: Trade) -> Result<Self, SwapError> {
        // a route that comes by so often is refused, not priced wrongly
        self.0.try_push(trade).map_err(|_| SwapError::Overflow { amount_in: trade.amount_in })?;
        Ok(self)
    }
}

/// A trade of a route with a vault, directly or by way of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultTrade {
    /// The vault's address.
    pub address: Address,
    /// Its share, as a token of the market.
    pub share: Option<TokenId>,
    /// The vault before the route.
    pub vault: Vault,
    /// The trade.
    pub trade: Trade,
}

/// What a route did to vaults before it comes to one of them.
#[derive(Clone, Copy, Debug)]
pub struct Before<'a> {
    vault: Address,
    trades: &'a [VaultTrade],
}

impl<'a> Before<'a> {
    /// Nothing was traded with any vault.
    pub const NOTHING: Before<'static> = Before { vault: Address::ZERO, trades: &[] };

    /// What a route did before it comes to a vault.
    pub(crate) const fn new(vault: Address, trades: &'a [VaultTrade]) -> Self {
        Self { vault, trades }
    }

    /// The vault that it comes to.
    pub(crate) const fn vault(&self) -> Address {
        self.vault
    }

    /// Trades with any vault, in order.
    pub(crate) const fn all(&self) -> &'a [VaultTrade] {
        self.trades
    }

    /// Trades with the vault itself, in order.
    pub(crate) fn own(&self) -> impl Iterator<Item = Trade> + 'a {
        let vault = self.vault;
        self.trades.iter().filter(move |one| one.address == vault).map(|one| one.trade)
    }

    /// Trades with the vault itself and one more.
    ///
    /// # Errors
    /// [`SwapError::Overflow`] for more than a route may have with one vault.
    pub(crate) fn and(&self, trade: Trade) -> Result<Trades, SwapError> {
        self.own().chain([trade]).try_fold(Trades::default(), Trades::with)
    }

    /// Trades with the vault itself.
    ///
    /// # Errors
    /// As [`Self::and`].
    pub(crate) fn trades(&self) -> Result<Trades, SwapError> {
        self.own().try_fold(Trades::default(), Trades::with)
    }
}

/// Returns what a step through a vault pays, as [`Protocol::swap`].
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

/// So many assets for so many shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    assets: U256,
    shares: U256,
}

impl Rate {
    /// A rate, unless the contract's arithmetic reverts on the way to it or divides by zero.
    ///
    /// # Errors
    /// [`SwapError::Overflow`].
    pub(crate) fn new(assets: Option<U256>, shares: Option<U256>) -> Result<Self, SwapError> {
        match (assets, shares) {
            (Some(assets), Some(shares)) if !assets.is_zero() && !shares.is_zero() => Ok(Self { assets, shares }),
            _ => Err(SwapError::Overflow { amount_in: U256::ZERO }),
        }
    }

    /// For an amount of one coin, so much of the other, rounded down: `previewDeposit` of assets, `previewRedeem` of shares.
    pub fn down(&self, from_assets: bool, amount: U256) -> Option<U256> {
        let (per, gives) = self.way(from_assets);
        mul_div(amount, gives, per)
    }

    /// The same rounded up: `previewWithdraw` of assets, `previewMint` of shares.
    pub fn up(&self, from_assets: bool, amount: U256) -> Option<U256> {
        let (per, gives) = self.way(from_assets);
        mul_div_up(amount, gives, per)
    }

    const fn way(&self, from_assets: bool) -> (U256, U256) {
        if from_assets { (self.assets, self.shares) } else { (self.shares, self.assets) }
    }
}

/// How a vault rounds what is not a preview; previews round down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rounding {
    /// Down.
    Down,
    /// To the nearest, halves up.
    Nearest,
}

/// A vault, as the pool of its product would have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vault {
    /// Which product it is.
    pub product: Product,
    /// Its state.
    pub state: PoolState,
}

/// What a trade with a vault pays and costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traded {
    /// What comes out, in atomic units.
    pub amount_out: U256,
    /// What it costs as a step of its own, in gas units.
    pub gas_units: u64,
}

/// A product whose pools are vaults that other contracts ask: for their rate, or to deposit with and redeem from.
pub(crate) trait VaultProtocol: Protocol {
    /// Returns what a vault converts at in a block, after trades of the same transaction.
    ///
    /// # Errors
    /// - [`SwapError::Closed`] for a vault whose shares not everybody may have.
    /// - [`SwapError::Overflow`] where the contract's arithmetic reverts.
    fn rate(&self, state: &Self::State, at: &ExecutionBlock, before: Before<'_>) -> Result<Rate, SwapError>;

    /// Returns what a deposit or a redemption pays, after trades of the same transaction.
    ///
    /// # Errors
    /// As [`Protocol::swap`].
    fn trade(
        &self,
        state: &Self::State,
        at: &ExecutionBlock,
        before: Before<'_>,
        trade: Trade,
    ) -> Result<Traded, SwapError>;

    /// Returns what two of its previews cost whoever asks, in gas units.
    fn preview_gas_units(&self, state: &Self::State) -> u64;

    /// Returns what its rate costs a provider that asks for it once, in gas units.
    fn rate_gas_units(&self, state: &Self::State) -> u64 {
        self.preview_gas_units(state) / 2
    }

    /// Returns what a trade costs less, in gas units, after a preview in the same transaction.
    fn previewed_gas_units(&self, _state: &Self::State) -> u64 {
        0
    }

    /// Returns what it lends with others, so that steps share what they warm.
    fn lends<'a>(&self, _state: &'a Self::State) -> Option<Lends<'a>> {
        None
    }

    /// Asks one of the product's factories whether it made a vault of an asset.
    fn ask_maker(&self, factory: Address, vault: Address, asset: Address) -> Question;

    /// Tells whether it did.
    fn is_made(&self, vault: Address, answers: &mut Answers<'_>) -> bool;

    /// Tells whether it is known what moves the rate of a vault in this state.
    fn is_vouched(&self, _vault: Address, _state: &Self::State) -> bool {
        true
    }

    /// Tells whether a vault is on the product's list.
    fn is_listed(&self, _vault: Address) -> bool {
        false
    }

    /// Returns a reader of a vault that no factory made and no list has.
    fn unverified_reader(&self, _vault: Address, _asset: Address) -> Option<Box<dyn StateReader>> {
        None
    }
}

impl Vault {
    /// As [`VaultProtocol::rate`].
    ///
    /// # Errors
    /// As [`VaultProtocol::rate`], and [`SwapError::Closed`] for what is no vault.
    pub fn rate(&self, at: &ExecutionBlock, before: Before<'_>) -> Result<Rate, SwapError> {
        with_vault_record!(self.product, record => match own(record, &self.state) {
            Some(state) => VaultProtocol::rate(record, state, at, before),
            None => Err(SwapError::Closed),
        }, else Err(SwapError::Closed))
    }

    /// As [`VaultProtocol::trade`].
    ///
    /// # Errors
    /// As [`VaultProtocol::trade`], and [`SwapError::Closed`] for what is no vault.
    pub fn trade(&self, at: &ExecutionBlock, before: Before<'_>, trade: Trade) -> Result<Traded, SwapError> {
        if trade.amount_in.is_zero() {
            return Err(SwapError::ZeroAmount);
        }
        with_vault_record!(self.product, record => match own(record, &self.state) {
            Some(state) => VaultProtocol::trade(record, state, at, before, trade),
            None => Err(SwapError::Closed),
        }, else Err(SwapError::Closed))
    }

    /// Returns the most that a deposit and a redemption bring, in the coin in, as the optimiser sees it.
    pub(crate) fn room(&self, at: &ExecutionBlock) -> [f64; 2] {
        let curve = self.product.curve(&self.state, [0, 1], at);
        let most = |side: u8| {
            let direction = curve.as_ref().and_then(|curve| curve.direction(side));
            direction.map_or(0.0, crate::continuous::Direction::capacity_in)
        };
        [most(0), most(1)]
    }

    /// As [`VaultProtocol::preview_gas_units`].
    pub(crate) fn preview_gas_units(&self) -> u64 {
        with_vault_record!(self.product, record => {
            own(record, &self.state).map_or(0, |state| record.preview_gas_units(state))
        }, else 0)
    }

    /// As [`VaultProtocol::rate_gas_units`].
    pub(crate) fn rate_gas_units(&self) -> u64 {
        with_vault_record!(self.product, record => {
            own(record, &self.state).map_or(0, |state| record.rate_gas_units(state))
        }, else 0)
    }

    /// As [`VaultProtocol::previewed_gas_units`].
    pub(crate) fn previewed_gas_units(&self) -> u64 {
        with_vault_record!(self.product, record => {
            own(record, &self.state).map_or(0, |state| record.previewed_gas_units(state))
        }, else 0)
    }

    /// Returns the vault as one that a step goes by, if it lends with others.
    pub(crate) fn lender(&self, vault: Address, does: Does) -> Option<Lender<'_>> {
        Some(Lender { vault, lends: self.lends()?, does })
    }

    /// As [`VaultProtocol::lends`].
    pub(crate) fn lends(&self) -> Option<Lends<'_>> {
        with_vault_record!(self.product, record => record.lends(own(record, &self.state)?), else None)
    }

    /// As [`Protocol::depends_on_time`].
    pub(crate) fn depends_on_time(&self) -> bool {
        self.product.depends_on_time(&self.state)
    }

    /// As [`Protocol::validate`], and refuses what is no vault.
    pub(crate) fn validate(&self) -> Result<(), &'static str> {
        if is_vault(self.product) { self.product.validate(&self.state, 2) } else { Err("a buffer of what is no vault") }
    }

    /// Returns the contracts whose logs may change it, itself among them.
    pub(crate) fn emitters(&self, vault: Address) -> Vec<Address> {
        let mut emitters = self.product.listens_to(&self.state);
        emitters.push(vault);
        emitters
    }

    /// Returns events that may change a vault of any product.
    pub(crate) fn topics() -> impl Iterator<Item = B256> {
        vaults().flat_map(|product| product.freshness_topics().iter().copied())
    }

    /// As [`Protocol::apply`].
    ///
    /// # Errors
    /// As [`Protocol::apply`].
    pub(crate) fn apply(&mut self, log: &Log) -> Result<Freshness, DecodeError> {
        self.product.apply(&mut self.state, log)
    }

    /// As [`Protocol::reads_each_block`].
    pub(crate) fn reads_each_block(&self) -> bool {
        self.product.reads_each_block(&self.state)
    }
}

/// Whether the pools of a product are vaults, whose shares are tokens of the pool's own contract.
pub fn is_vault(product: Product) -> bool {
    with_vault_record!(product, _record => true, else false)
}

/// Returns the products that vaults can be of.
pub(crate) fn vaults() -> impl Iterator<Item = Product> {
    Product::ALL.iter().copied().filter(|product| is_vault(*product))
}

/// `a · b / denominator` over 512 bits, rounded down; `None` above 256 bits or for a zero denominator.
pub(crate) fn mul_div(a: U256, b: U256, denominator: U256) -> Option<U256> {
    let product: U512 = a.widening_mul(b);
    U256::checked_from_limbs_slice(product.checked_div(U512::from(denominator))?.as_limbs())
}

/// The same rounded up.
pub(crate) fn mul_div_up(a: U256, b: U256, denominator: U256) -> Option<U256> {
    let down = mul_div(a, b, denominator)?;
    if a.mul_mod(b, denominator).is_zero() { Some(down) } else { down.checked_add(U256::ONE) }
}
