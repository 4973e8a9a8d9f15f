//! Vaults as other contracts see them, and the trades of a route with them.

use alloy_primitives::{Address, U256};
use arrayvec::ArrayVec;
use braid_primitives::TokenId;
use serde::{Deserialize, Serialize};

use crate::{
    PoolState, Product, SharedChange, SwapError,
    maths::{mul_div, mul_div_up},
};

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
    shared: &'a [SharedChange],
}

impl<'a> EarlierTrades<'a> {
    /// No trades with any vault.
    pub const NONE: EarlierTrades<'static> = EarlierTrades { vault: Address::ZERO, trades: &[], shared: &[] };

    /// Returns a route's trades, as seen by a vault, and the changes of words that pools share.
    pub(crate) const fn new(vault: Address, trades: &'a [VaultTrade], shared: &'a [SharedChange]) -> Self {
        Self { vault, trades, shared }
    }

    /// Returns the vault's address.
    pub(crate) const fn vault(&self) -> Address {
        self.vault
    }

    /// Returns the trades with all vaults, in order.
    pub(crate) const fn all(&self) -> &'a [VaultTrade] {
        self.trades
    }

    /// Returns the changes of words that pools share, in order.
    pub(crate) const fn shared(&self) -> &'a [SharedChange] {
        self.shared
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

/// Conversion rate between assets and shares.
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
