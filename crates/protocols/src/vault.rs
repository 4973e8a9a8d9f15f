//! ERC-4626 vaults as another contract meets them: what their previews say, and what a deposit or a redemption does to them,
//! whichever product they are.
//!
//! Every such vault converts in proportion, so that its four previews are one [`Rate`], rounded down or up.

mod kind;

use alloy_primitives::{Address, B256, Log, U256};
use arrayvec::ArrayVec;
use braid_primitives::ExecutionBlock;
use serde::{Deserialize, Serialize};

use crate::{
    After, DecodeError, Freshness, PoolState, Product, Swap, SwapError,
    continuous::PairCurve,
    erc4626::{ASSET_COIN, mul_div},
    fluid, morpho,
};

pub(crate) use kind::{KINDS, Kind, ask_kind, kind};

/// The most trades with one vault in one route.
const MAX_TRADES: usize = 4;

/// What a route did to a vault so far: its trades in order. A further one is computed after them.
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

    pub(crate) fn with(&self, deposits: bool, amount_in: U256) -> Result<Self, SwapError> {
        let mut trades = self.clone();
        // a route that comes by so often is refused, not priced wrongly
        trades.0.try_push(Trade { deposits, amount_in }).map_err(|_| SwapError::Overflow { amount_in })?;
        Ok(trades)
    }
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
        let down = mul_div(amount, gives, per)?;
        if amount.mul_mod(gives, per).is_zero() { Some(down) } else { down.checked_add(U256::ONE) }
    }

    const fn way(&self, from_assets: bool) -> (U256, U256) {
        if from_assets { (self.assets, self.shares) } else { (self.shares, self.assets) }
    }
}

/// A vault, as the pool of its product would have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vault {
    /// Which product it is.
    pub product: Product,
    /// Its state.
    pub state: PoolState,
}

impl Vault {
    /// What it converts at in a block, after trades of the same transaction.
    ///
    /// # Errors
    /// - [`SwapError::Closed`] for a vault whose shares not everybody may have, and for what is no vault.
    /// - [`SwapError::Overflow`] where the contract's arithmetic reverts.
    pub fn rate(&self, at: &ExecutionBlock, before: &Trades) -> Result<Rate, SwapError> {
        match &self.state {
            PoolState::Erc4626(state) => match self.after(at, before)? {
                After::Erc4626(after) => after.rate(at),
                _ => state.rate(at),
            },
            PoolState::FluidFToken(share) => match self.after(at, before)? {
                After::FluidFToken(after) => share.with(&after).rate(at),
                _ => share.rate(at),
            },
            PoolState::Metamorpho(vault) => vault.rate(at, before),
            PoolState::VaultV2(vault) if vault.deposits_gated || vault.redemptions_gated => Err(SwapError::Closed),
            PoolState::VaultV2(vault) => vault.rate(at, before),
            _ => Err(SwapError::Closed),
        }
    }

    /// A deposit of assets or a redemption of shares, after trades of the same transaction.
    ///
    /// # Errors
    /// As the product's own.
    pub fn trade(
        &self,
        at: &ExecutionBlock,
        before: &Trades,
        deposits: bool,
        amount_in: U256,
    ) -> Result<Swap, SwapError> {
        if amount_in.is_zero() {
            return Err(SwapError::ZeroAmount);
        }
        let after = self.after(at, before)?;
        self.once(at, &after, Trade { deposits, amount_in })
    }

    fn after(&self, at: &ExecutionBlock, before: &Trades) -> Result<After, SwapError> {
        let mut after = After::Unchanged;
        for trade in before.list() {
            after = self.once(at, &after, *trade)?.after;
        }
        Ok(after)
    }

    fn once(&self, at: &ExecutionBlock, before: &After, trade: Trade) -> Result<Swap, SwapError> {
        let (coin_in, coin_out) = if trade.deposits { (ASSET_COIN, 1) } else { (1, ASSET_COIN) };
        self.state.swap_after((Address::ZERO, self.product), at, before, coin_in, coin_out, trade.amount_in)
    }

    /// The most that a deposit and a redemption bring, in the coin in, as the optimiser sees it.
    pub(crate) fn room(&self, at: &ExecutionBlock) -> [f64; 2] {
        let curve = PairCurve::of_state(&self.state, self.product, [0, 1], at);
        let most = |side: u8| {
            let direction = curve.as_ref().and_then(|curve| curve.direction(side));
            direction.map_or(0.0, crate::continuous::Direction::capacity_in)
        };
        [most(0), most(1)]
    }

    /// What two of its previews cost whoever asks, in gas units.
    pub(crate) fn preview_gas_units(&self) -> u64 {
        match &self.state {
            PoolState::Metamorpho(vault) => morpho::gas::preview_gas_units(vault),
            PoolState::VaultV2(vault) => morpho::vault_v2::gas::preview_gas_units(vault),
            PoolState::Erc4626(state) => state.preview_gas_units(),
            PoolState::FluidFToken(_) => fluid::ftoken::gas::PREVIEW_GAS_UNITS,
            _ => 0,
        }
    }

    /// What its rate costs a provider that asks for it once, in gas units. Of Morpho's vaults nearly all is the first question's.
    pub(crate) fn rate_gas_units(&self) -> u64 {
        match &self.state {
            PoolState::Metamorpho(_) | PoolState::VaultV2(_) => {
                self.preview_gas_units().saturating_add(morpho::gas::PROVIDED_GAS_UNITS)
            }
            _ => self.preview_gas_units() / 2,
        }
    }

    /// What a trade with it costs less, in gas units, after a preview in the same transaction.
    pub(crate) fn previewed_gas_units(&self) -> u64 {
        match &self.state {
            PoolState::Metamorpho(vault) => morpho::gas::previewed_gas_units(vault.holdings.len()),
            PoolState::VaultV2(vault) => {
                let markets = vault.adapters.iter().map(|adapter| adapter.holdings().len()).sum();
                morpho::gas::previewed_gas_units(markets)
            }
            PoolState::Erc4626(state) => state.previewed_gas_units(),
            _ => 0,
        }
    }

    /// The contracts whose logs may change it, itself among them.
    pub(crate) fn emitters(&self, vault: Address) -> Vec<Address> {
        let mut emitters = self.product.protocol().listens_to(&self.state);
        emitters.push(vault);
        emitters
    }

    /// Events that may change a vault of any product.
    pub(crate) fn topics() -> impl Iterator<Item = B256> {
        KINDS.iter().flat_map(|product| product.protocol().freshness_topics().iter().copied())
    }

    /// What a log of one of its emitters does to it.
    ///
    /// # Errors
    /// As the product's own.
    pub(crate) fn apply(&mut self, log: &Log) -> Result<Freshness, DecodeError> {
        self.product.protocol().apply(&mut self.state, log)
    }

    /// Whether it has to be read again at every block.
    pub(crate) fn reads_each_block(&self) -> bool {
        self.product.protocol().reads_each_block(&self.state)
    }
}
