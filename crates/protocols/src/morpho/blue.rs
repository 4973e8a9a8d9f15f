//! Markets of Morpho Blue: suppliers' assets, and interest.
//!
//! Source: `Morpho.sol`, `MathLib.sol`, `SharesMathLib.sol` (npm `@morpho-org/morpho-blue` 1.0.0, deployed at
//! [`MORPHO_BLUE`]).

use alloy_primitives::{Address, B256, U256, address};
use serde::{Deserialize, Serialize};

use super::Irm;
use crate::maths::WAD;

/// Contract of all markets. Source: Morpho's deployment list.
pub const MORPHO_BLUE: Address = address!("BBBBBbbBBb9cC5e90e3b3Af64bdAF62C37EEFFCb");

const VIRTUAL_SHARES: U256 = U256::from_limbs([1_000_000, 0, 0, 0]);
const VIRTUAL_ASSETS: U256 = U256::ONE;

/// Stored state of a market, as far as suppliers depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Market {
    /// Supplied assets, including interest.
    pub supply_assets: u128,
    /// Supply shares.
    pub supply_shares: u128,
    /// Borrowed assets, including interest.
    pub borrow_assets: u128,
    /// Last accrual of interest, in unix seconds.
    pub last_update: u64,
    /// Protocol's part of the interest, in wad.
    pub fee_wad: u64,
    /// Interest rate model.
    pub irm: Irm,
}

impl Market {
    /// Returns the market with interest up to a time. `None` where the contract reverts.
    pub fn accrued(&self, now: u64) -> Option<Self> {
        let elapsed = now.checked_sub(self.last_update)?;
        let mut market = Self { last_update: now, ..*self };
        if elapsed == 0 || self.borrow_assets == 0 || self.irm == Irm::None {
            return Some(market);
        }
        let rate = self.irm.borrow_rate(self.supply_assets, self.borrow_assets, elapsed)?;
        let interest = wad_of(U256::from(self.borrow_assets), compounded(rate, elapsed)?)?;
        let interest = u128::try_from(interest).ok()?;
        market.borrow_assets = self.borrow_assets.checked_add(interest)?;
        market.supply_assets = self.supply_assets.checked_add(interest)?;
        if self.fee_wad != 0 {
            let fee = u128::try_from(wad_of(U256::from(interest), U256::from(self.fee_wad))?).ok()?;
            let before = Self { supply_assets: market.supply_assets.checked_sub(fee)?, ..market };
            let shares = u128::try_from(before.shares_down(U256::from(fee))?).ok()?;
            market.supply_shares = self.supply_shares.checked_add(shares)?;
        }
        Some(market)
    }

    /// Returns the assets that are not borrowed.
    pub const fn liquidity(&self) -> u128 {
        self.supply_assets.saturating_sub(self.borrow_assets)
    }

    fn totals(&self) -> (U256, U256) {
        (U256::from(self.supply_assets) + VIRTUAL_ASSETS, U256::from(self.supply_shares) + VIRTUAL_SHARES)
    }

    pub(super) fn shares_down(&self, assets: U256) -> Option<U256> {
        let (all_assets, all_shares) = self.totals();
        assets.checked_mul(all_shares)?.checked_div(all_assets)
    }

    fn shares_up(&self, assets: U256) -> Option<U256> {
        let (all_assets, all_shares) = self.totals();
        div_up(assets.checked_mul(all_shares)?, all_assets)
    }

    pub(super) fn assets_down(&self, shares: U256) -> Option<U256> {
        let (all_assets, all_shares) = self.totals();
        shares.checked_mul(all_assets)?.checked_div(all_shares)
    }

    pub(super) fn assets_up(&self, shares: U256) -> Option<U256> {
        let (all_assets, all_shares) = self.totals();
        div_up(shares.checked_mul(all_assets)?, all_shares)
    }
}

/// Position of one supplier in a market.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holding {
    /// The market's id.
    pub id: B256,
    /// The market.
    pub market: Market,
    /// The supplier's shares.
    pub shares: u128,
    /// The vault's own supply cap for the market, in assets; zero if it supplies no more.
    pub cap_assets: U256,
}

impl Holding {
    /// Returns the position with interest up to a time.
    pub(super) fn accrued(&self, now: u64) -> Option<Self> {
        Some(Self { market: self.market.accrued(now)?, ..*self })
    }

    /// Computes the worth of the shares, rounded down.
    pub(super) fn assets(&self) -> Option<U256> {
        self.market.assets_down(U256::from(self.shares))
    }

    /// Computes the remaining supply under the vault's cap.
    pub(super) fn suppliable(&self) -> Option<U256> {
        if self.cap_assets.is_zero() {
            return Some(U256::ZERO);
        }
        Some(self.cap_assets.saturating_sub(self.market.assets_up(U256::from(self.shares))?))
    }

    /// Computes the maximum withdrawal now, if the contract holds `at_hand` of the asset.
    pub(super) fn withdrawable(&self, at_hand: U256) -> Option<U256> {
        Some(self.assets()?.min(U256::from(self.market.liquidity())).min(at_hand))
    }

    /// Supplies assets and returns the minted shares. Requires accrued interest.
    pub(super) fn supply(&mut self, assets: U256) -> Option<U256> {
        let shares = self.market.shares_down(assets)?;
        let (minted, added) = (u128::try_from(shares).ok()?, u128::try_from(assets).ok()?);
        self.shares = self.shares.checked_add(minted)?;
        self.market.supply_shares = self.market.supply_shares.checked_add(minted)?;
        self.market.supply_assets = self.market.supply_assets.checked_add(added)?;
        Some(shares)
    }

    /// Withdraws assets. `None` where the contract reverts: above the supplier's assets, or above the liquidity.
    /// Requires accrued interest.
    pub(super) fn withdraw(&mut self, assets: U256) -> Option<()> {
        let burnt = u128::try_from(self.market.shares_up(assets)?).ok()?;
        let taken = u128::try_from(assets).ok()?;
        self.shares = self.shares.checked_sub(burnt)?;
        self.market.supply_shares = self.market.supply_shares.checked_sub(burnt)?;
        self.market.supply_assets = self.market.supply_assets.checked_sub(taken)?;
        (self.market.borrow_assets <= self.market.supply_assets).then_some(())
    }
}

fn wad_of(amount: U256, part: U256) -> Option<U256> {
    Some(amount.checked_mul(part)? / WAD)
}

fn div_up(numerator: U256, denominator: U256) -> Option<U256> {
    numerator.checked_add(denominator.checked_sub(U256::ONE)?)?.checked_div(denominator)
}

/// Computes `e^(rate · seconds) − 1` by the first three terms, each rounded down. Source: `MathLib.wTaylorCompounded`.
fn compounded(rate: U256, seconds: u64) -> Option<U256> {
    let first = rate.checked_mul(U256::from(seconds))?;
    let second = first.checked_mul(first)? / (WAD * U256::from(2));
    let third = second.checked_mul(first)? / (WAD * U256::from(3));
    first.checked_add(second)?.checked_add(third)
}
