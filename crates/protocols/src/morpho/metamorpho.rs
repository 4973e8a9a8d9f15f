//! MetaMorpho vaults: one asset, spread over markets of Morpho Blue.
//!
//! Sources: `MetaMorpho.sol` as deployed by the factory of version 1.0, `MetaMorphoV1_1.sol` by that of 1.1. They
//! differ in the treatment of a loss: in 1.0 the share price falls; 1.1 records lost assets and keeps the price.

use std::sync::Arc;

use alloy_primitives::U256;
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};

use super::Holding;
use crate::{
    SwapError,
    maths::{WAD, mul_div},
};

/// Maximum length of a queue. Source: `ConstantsLib.MAX_QUEUE_LENGTH`.
pub const MAX_QUEUE: usize = 30;

/// State of a vault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetaMorpho {
    /// `totalSupply` of shares.
    pub total_shares: U256,
    /// Total assets at the last accrual.
    pub last_total_assets: U256,
    /// Losses that the share price excludes; `None` in version 1.0, which does not record them.
    pub lost_assets: Option<U256>,
    /// Owner's part of the interest, in wad.
    pub fee_wad: U256,
    /// Virtual shares, next to one virtual asset.
    pub virtual_shares: U256,
    /// Markets of the vault, in the order of the withdraw queue.
    pub holdings: Arc<[Holding]>,
    /// Supply queue, as positions among the holdings.
    pub supply_queue: Arc<[u8]>,
    /// Balance of the asset in Morpho Blue.
    pub morpho_balance_assets: U256,
}

/// A vault at a time, while trades are applied.
#[derive(Clone, Debug)]
pub(super) struct Now<'a> {
    vault: &'a MetaMorpho,
    pub(super) total_assets: U256,
    pub(super) total_shares: U256,
    pub(super) holdings: ArrayVec<Holding, MAX_QUEUE>,
    at_hand: U256,
    lost_assets: Option<U256>,
    /// Number of markets of a queue that the trade visited.
    pub(super) visited: u64,
}

impl MetaMorpho {
    /// Checks that the state is possible.
    ///
    /// # Errors
    /// Describes the violation.
    pub fn validate(&self) -> Result<(), &'static str> {
        if self.holdings.len() > MAX_QUEUE || self.supply_queue.len() > MAX_QUEUE {
            return Err("a queue of more than 30 markets");
        }
        let known = |index: &u8| usize::from(*index) < self.holdings.len();
        if self.supply_queue.iter().all(known) { Ok(()) } else { Err("a supply to a market that does not exist") }
    }

    /// Returns the vault with interest and fee shares up to a time.
    pub(super) fn at(&self, now: u64) -> Option<Now<'_>> {
        let mut now = self.opened(now)?;
        now.accrue()?;
        Some(now)
    }

    /// Returns the vault as stored, over markets with interest up to a time.
    pub(super) fn opened(&self, now: u64) -> Option<Now<'_>> {
        let holdings = self.holdings.iter().map(|holding| holding.accrued(now)).collect::<Option<_>>()?;
        Some(Now {
            vault: self,
            total_assets: self.last_total_assets,
            total_shares: self.total_shares,
            holdings,
            at_hand: self.morpho_balance_assets,
            lost_assets: self.lost_assets,
            visited: 0,
        })
    }
}

impl Now<'_> {
    /// Accrues the assets of the markets, and mints the fee. Source: `_accruedFeeAndAssets`, in 1.0
    /// `_accruedFeeShares`.
    pub(super) fn accrue(&mut self) -> Option<()> {
        let mut held = U256::ZERO;
        for holding in &self.holdings {
            held = held.checked_add(holding.assets()?)?;
        }
        let last = self.total_assets;
        if let Some(lost) = self.lost_assets {
            let lost = if held < last.checked_sub(lost)? { last.checked_sub(held)? } else { lost };
            self.lost_assets = Some(lost);
            held = held.checked_add(lost)?;
        }
        self.total_assets = held;
        let interest = held.saturating_sub(last);
        let fee = mul_div(interest, self.vault.fee_wad, WAD)?;
        if !fee.is_zero() {
            let assets = held.checked_sub(fee)?.checked_add(U256::ONE)?;
            let shares = mul_div(fee, self.total_shares.checked_add(self.vault.virtual_shares)?, assets)?;
            self.total_shares = self.total_shares.checked_add(shares)?;
        }
        Some(())
    }

    /// Computes `previewDeposit`, rounded down.
    pub(super) fn shares_of(&self, assets: U256) -> Option<U256> {
        let shares = self.total_shares.checked_add(self.vault.virtual_shares)?;
        mul_div(assets, shares, self.total_assets.checked_add(U256::ONE)?)
    }

    /// Computes `previewRedeem`, rounded down.
    pub(super) fn assets_of(&self, shares: U256) -> Option<U256> {
        let all = self.total_shares.checked_add(self.vault.virtual_shares)?;
        mul_div(shares, self.total_assets.checked_add(U256::ONE)?, all)
    }

    /// Computes the maximum deposit by the supply queue, in assets.
    pub(super) fn suppliable(&self) -> Option<U256> {
        let mut sum = U256::ZERO;
        for index in self.vault.supply_queue.iter() {
            sum = sum.saturating_add(self.holdings.get(usize::from(*index))?.suppliable()?);
        }
        Some(sum)
    }

    /// Computes the maximum withdrawal, in assets.
    pub(super) fn withdrawable(&self) -> Option<U256> {
        let mut sum = U256::ZERO;
        for holding in &self.holdings {
            sum = sum.saturating_add(holding.withdrawable(self.at_hand.saturating_sub(sum))?);
        }
        Some(sum)
    }

    /// Deposits assets or redeems shares. Requires accrued interest.
    pub(super) fn trade(&mut self, deposits: bool, amount_in: U256) -> Result<U256, SwapError> {
        let overflow = || SwapError::Overflow { amount_in };
        let amount_out = if deposits { self.shares_of(amount_in) } else { self.assets_of(amount_in) };
        let amount_out = amount_out.ok_or_else(overflow)?;
        if amount_out.is_zero() {
            return Err(SwapError::ZeroOutput);
        }
        if deposits {
            self.supply(amount_in)?;
            self.total_assets = self.total_assets.checked_add(amount_in).ok_or_else(overflow)?;
            self.total_shares = self.total_shares.checked_add(amount_out).ok_or_else(overflow)?;
        } else {
            let short = SwapError::InsufficientLiquidity { consumed: self.total_shares, amount_in };
            self.total_shares = self.total_shares.checked_sub(amount_in).ok_or(short)?;
            self.withdraw(amount_out).map_err(|left| {
                let consumed = self.shares_of(amount_out.saturating_sub(left)).unwrap_or_default().min(amount_in);
                SwapError::InsufficientLiquidity { consumed, amount_in }
            })?;
            self.total_assets = self.total_assets.saturating_sub(amount_out);
        }
        Ok(amount_out)
    }

    /// Withdraws assets and returns the burned shares, rounded up. `None` where the contract reverts. Requires accrued
    /// interest.
    pub(super) fn burn_for(&mut self, assets: U256) -> Option<U256> {
        let all = self.total_shares.checked_add(self.vault.virtual_shares)?;
        let per = self.total_assets.checked_add(U256::ONE)?;
        let (quotient, rest) = assets.checked_mul(all)?.div_rem(per);
        let shares = if rest.is_zero() { quotient } else { quotient.checked_add(U256::ONE)? };
        self.total_shares = self.total_shares.checked_sub(shares)?;
        self.withdraw(assets).ok()?;
        self.total_assets = self.total_assets.saturating_sub(assets);
        Some(shares)
    }

    /// Supplies along the supply queue, to each market up to its cap. Source: `_supplyMorpho`.
    fn supply(&mut self, amount: U256) -> Result<(), SwapError> {
        let overflow = || SwapError::Overflow { amount_in: amount };
        let mut left = amount;
        for index in self.vault.supply_queue.iter() {
            let Some(holding) = self.holdings.get_mut(usize::from(*index)) else { continue };
            self.visited += 1;
            let part = holding.suppliable().ok_or_else(overflow)?.min(left);
            if part.is_zero() {
                continue;
            }
            holding.supply(part).ok_or_else(overflow)?;
            self.at_hand = self.at_hand.saturating_add(part);
            left -= part;
            if left.is_zero() {
                return Ok(());
            }
        }
        if left.is_zero() { Ok(()) } else { Err(SwapError::LimitExceeded { limit: amount - left, amount }) }
    }

    /// Withdraws along the withdraw queue, from each market up to its liquidity; the error is the missing amount.
    /// Source: `_withdrawMorpho`.
    pub(super) fn withdraw(&mut self, amount: U256) -> Result<(), U256> {
        let mut left = amount;
        for holding in &mut self.holdings {
            if left.is_zero() {
                break;
            }
            self.visited += 1;
            let Some(part) = holding.withdrawable(self.at_hand).map(|most| most.min(left)) else { continue };
            let mut next = *holding;
            if part.is_zero() || next.withdraw(part).is_none() {
                continue;
            }
            *holding = next;
            self.at_hand = self.at_hand.saturating_sub(part);
            left -= part;
        }
        if left.is_zero() { Ok(()) } else { Err(left) }
    }
}
