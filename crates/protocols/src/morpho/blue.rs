//! Markets of Morpho Blue: what suppliers own, and what time adds to it.
//!
//! Source: `Morpho.sol`, `MathLib.sol`, `SharesMathLib.sol` (npm `@morpho-org/morpho-blue` 1.0.0, deployed at [`MORPHO_BLUE`]).

use alloy_primitives::{Address, B256, U256, address};
use serde::{Deserialize, Serialize};

use super::Irm;

/// The contract that holds every market. Source: Morpho's deployment list.
pub const MORPHO_BLUE: Address = address!("BBBBBbbBBb9cC5e90e3b3Af64bdAF62C37EEFFCb");

pub(super) const WAD: U256 = U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]);
const VIRTUAL_SHARES: U256 = U256::from_limbs([1_000_000, 0, 0, 0]);
const VIRTUAL_ASSETS: U256 = U256::ONE;

/// The part of a market that suppliers depend on, as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Market {
    /// Assets supplied, interest included.
    pub supply_assets: u128,
    /// Shares of them.
    pub supply_shares: u128,
    /// Assets lent out, interest included.
    pub borrow_assets: u128,
    /// When interest was last added, unix seconds.
    pub last_update: u64,
    /// The protocol's part of the interest, in wad.
    pub fee_wad: u64,
    /// What borrowers pay.
    pub irm: Irm,
}

impl Market {
    /// The market with interest up to a time. `None` where the contract reverts.
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

    /// What is not lent out.
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

/// What one supplier has in a market.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holding {
    /// The market's id.
    pub id: B256,
    /// The market.
    pub market: Market,
    /// The supplier's shares of it.
    pub shares: u128,
    /// The most that a vault lets itself supply there, in assets; zero where nothing more goes in.
    pub cap_assets: U256,
}

impl Holding {
    /// The holding with interest up to a time.
    pub(super) fn accrued(&self, now: u64) -> Option<Self> {
        Some(Self { market: self.market.accrued(now)?, ..*self })
    }

    /// What the shares are worth, rounded down.
    pub(super) fn assets(&self) -> Option<U256> {
        self.market.assets_down(U256::from(self.shares))
    }

    /// What may still be supplied under the vault's cap.
    pub(super) fn suppliable(&self) -> Option<U256> {
        if self.cap_assets.is_zero() {
            return Some(U256::ZERO);
        }
        Some(self.cap_assets.saturating_sub(self.market.assets_up(U256::from(self.shares))?))
    }

    /// What can be taken out now, where `at_hand` of the asset lies in the contract.
    pub(super) fn withdrawable(&self, at_hand: U256) -> Option<U256> {
        Some(self.assets()?.min(U256::from(self.market.liquidity())).min(at_hand))
    }

    /// Supplies assets; the shares minted. The market's interest is up to date.
    pub(super) fn supply(&mut self, assets: U256) -> Option<U256> {
        let shares = self.market.shares_down(assets)?;
        let (minted, added) = (u128::try_from(shares).ok()?, u128::try_from(assets).ok()?);
        self.shares = self.shares.checked_add(minted)?;
        self.market.supply_shares = self.market.supply_shares.checked_add(minted)?;
        self.market.supply_assets = self.market.supply_assets.checked_add(added)?;
        Some(shares)
    }

    /// Withdraws assets. `None` where the contract reverts: more than is owned, or than is not lent out.
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

/// `e^(rate · seconds) − 1` by the first three terms, each rounded down. Source: `MathLib.wTaylorCompounded`.
fn compounded(rate: U256, seconds: u64) -> Option<U256> {
    let first = rate.checked_mul(U256::from(seconds))?;
    let second = first.checked_mul(first)? / (WAD * U256::from(2));
    let third = second.checked_mul(first)? / (WAD * U256::from(3));
    first.checked_add(second)?.checked_add(third)
}
