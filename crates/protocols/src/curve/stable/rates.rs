//! Rates of coins in a pool's common unit.

use alloy_primitives::{Address, U256};
use arrayvec::ArrayVec;
use braid_primitives::ExecutionBlock;
use serde::{Deserialize, Serialize};

use super::Balances;
use crate::curve::arith::{Fault, Maths, WAD, add, int, mul, mul_div, sub};
use crate::pool::MAX_COINS;
use crate::{RouteState, SwapError, erc4626};

/// Rates of all coins of a pool, in the pool's order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates(pub ArrayVec<Rate, MAX_COINS>);

/// Rate of one coin: the worth of one atomic unit, in units of 10⁻³⁶ of the common unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rate {
    /// Constant within the block of the reading: a plain coin, or an oracle's answer.
    Fixed(U256),
    /// Share of a Compound market, whose worth grows with each block.
    Compound(Box<CompoundRate>),
    /// Share of a vault, whose worth the pool requests.
    Vault(Box<VaultRate>),
}

/// Rate of a vault's share in a pool of the next generation.
///
/// Source: `_stored_rates` of StableSwap-NG, asset type 3.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VaultRate {
    /// Rate of an atomic unit if one share were worth one asset: `10^(36 − decimals)`.
    pub multiplier: U256,
    /// One whole share, in atomic units: the amount in the pool's request.
    pub whole_share: U256,
    /// Factor that scales the vault's answer to 18 decimals.
    pub asset_scale: U256,
    /// The vault's address.
    pub address: Address,
    /// State of the vault.
    pub vault: erc4626::State,
}

/// State of a Compound market as of its last accrual.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompoundRate {
    /// Factor from the exchange rate to the pool's common unit.
    pub multiplier: U256,
    /// `exchangeRateStored()`.
    pub exchange_rate_stored: U256,
    /// `supplyRatePerBlock()`, 18 decimals.
    pub supply_rate_per_block: U256,
    /// `accrualBlockNumber()`.
    pub accrual_block: u64,
    /// Values for the accrual. Without them a swap uses the rate of the pool's view.
    pub accrual: Option<CompoundAccrual>,
}

/// Values that `accrueInterest()` of a Compound market uses, in atomic units of the lent coin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompoundAccrual {
    /// `getCash()`.
    pub cash: U256,
    /// `totalBorrows()`, as stored.
    pub borrows: U256,
    /// `totalReserves()`, as stored.
    pub reserves: U256,
    /// `reserveFactorMantissa()`, 18 decimals.
    pub reserve_factor: U256,
    /// `borrowRatePerBlock()`, 18 decimals.
    pub borrow_rate_per_block: U256,
    /// `totalSupply()` of shares.
    pub shares: U256,
}

impl Rates {
    /// Returns rates that do not change.
    pub fn fixed(rates: impl IntoIterator<Item = U256>) -> Self {
        Self(rates.into_iter().take(MAX_COINS).map(Rate::Fixed).collect())
    }

    /// Computes the rates that `exchange` uses in a block.
    pub(crate) fn at(&self, at: &ExecutionBlock) -> Maths<Balances> {
        self.0.iter().map(|rate| rate.at(at)).collect()
    }

    /// Computes the rates that `get_dy` uses in a block.
    pub(crate) fn at_view(&self, at: &ExecutionBlock) -> Maths<Balances> {
        self.0.iter().map(|rate| rate.at_view(at)).collect()
    }
}

impl Rate {
    /// Tells whether the rate can change with time alone.
    pub(crate) fn depends_on_time(&self) -> bool {
        match self {
            Self::Fixed(_) => false,
            Self::Compound(_) => true,
            Self::Vault(share) => share.vault.accrual != erc4626::Accrual::None,
        }
    }

    /// Tells whether the rate is another contract's answer that was read once.
    pub(crate) fn is_oracles(&self) -> bool {
        matches!(self, Self::Fixed(_)) && self.is_asked_for()
    }

    /// Tells whether the pool requests the rate from another contract. A rate that follows from decimals is a power of
    /// ten.
    pub(crate) fn is_asked_for(&self) -> bool {
        match self {
            Self::Fixed(rate) => (18..=36_u64).all(|power| *rate != int(10).wrapping_pow(int(power))),
            Self::Compound(_) | Self::Vault(_) => true,
        }
    }

    /// Computes the rate after a route's trades with its vault; `None` if there were none.
    ///
    /// # Errors
    /// [`SwapError`] if the vault refuses those trades.
    pub(crate) fn after(&self, at: &ExecutionBlock, route: &RouteState) -> Result<Option<Self>, SwapError> {
        let Self::Vault(share) = self else { return Ok(None) };
        let before = route.before(share.address);
        if before.own().next().is_none() {
            return Ok(None);
        }
        let moved = share.of(&share.vault.after_trades(at, before)?, at);
        moved.map(|rate| Some(Self::Fixed(rate))).map_err(|fault| fault.refusal(U256::ZERO))
    }

    pub(crate) fn at(&self, at: &ExecutionBlock) -> Maths<U256> {
        match self {
            Self::Fixed(rate) => Ok(*rate),
            Self::Vault(share) => share.at(at),
            Self::Compound(market) => mul(market.multiplier, market.current(at)?),
        }
    }

    fn at_view(&self, at: &ExecutionBlock) -> Maths<U256> {
        match self {
            Self::Fixed(rate) => Ok(*rate),
            Self::Vault(share) => share.at(at),
            Self::Compound(market) => mul(market.multiplier, market.projected(at)?),
        }
    }
}

impl VaultRate {
    fn at(&self, at: &ExecutionBlock) -> Maths<U256> {
        self.of(&self.vault, at)
    }

    fn of(&self, vault: &erc4626::State, at: &ExecutionBlock) -> Maths<U256> {
        // `convertToAssets` and `previewRedeem` agree if a vault takes no fee
        let assets = vault.preview_redeem(at, self.whole_share).map_err(|_| Fault::Arithmetic)?;
        mul_div(self.multiplier, mul(assets, self.asset_scale)?, WAD)
    }
}

impl CompoundRate {
    /// Tells whether the stored rate follows from the market's numbers: `exchangeRateStored`.
    pub(crate) fn follows(&self) -> bool {
        let Some(market) = &self.accrual else { return false };
        let worth = || mul_div(sub(add(market.cash, market.borrows)?, market.reserves)?, WAD, market.shares);
        worth() == Ok(self.exchange_rate_stored)
    }

    fn blocks_since(&self, at: &ExecutionBlock) -> U256 {
        int(at.number.saturating_sub(self.accrual_block))
    }

    /// Computes `exchangeRateCurrent()`: simple interest over the blocks since the last accrual, each product rounded
    /// down.
    ///
    /// Source: `CToken.accrueInterest`, `exchangeRateStoredInternal`.
    fn current(&self, at: &ExecutionBlock) -> Maths<U256> {
        let blocks = self.blocks_since(at);
        let Some(market) = &self.accrual else { return self.projected(at) };
        if blocks.is_zero() || market.shares.is_zero() {
            return Ok(self.exchange_rate_stored);
        }
        let factor = mul(market.borrow_rate_per_block, blocks)?;
        let interest = mul_div(factor, market.borrows, WAD)?;
        let borrows = add(market.borrows, interest)?;
        let reserves = add(market.reserves, mul_div(market.reserve_factor, interest, WAD)?)?;
        mul_div(sub(add(market.cash, borrows)?, reserves)?, WAD, market.shares)
    }

    /// Computes the pool's own projection from the stored rate, which its views use.
    ///
    /// Source: `_stored_rates` of Curve's Compound, USDT and Iron Bank pools.
    fn projected(&self, at: &ExecutionBlock) -> Maths<U256> {
        let stored = self.exchange_rate_stored;
        let growth = mul(mul(stored, self.supply_rate_per_block)?, self.blocks_since(at))?;
        add(stored, growth.wrapping_div(WAD))
    }
}
