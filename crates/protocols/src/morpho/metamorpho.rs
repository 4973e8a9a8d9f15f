//! MetaMorpho vaults: one asset, spread over markets of Morpho Blue.
//!
//! Sources: `MetaMorpho.sol` as deployed by the factory of version 1.0, `MetaMorphoV1_1.sol` by that of 1.1. The two differ in what
//! becomes of a loss: 1.0 lets the price of shares fall, 1.1 remembers it as lost assets and keeps the price.

use std::sync::Arc;

use alloy_primitives::U256;
use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};

use super::Holding;
use crate::{SwapError, vault::mul_div};

/// The longest queue that a vault can have. Source: `ConstantsLib.MAX_QUEUE_LENGTH`.
pub const MAX_QUEUE: usize = 30;

/// A vault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetaMorpho {
    /// Shares in circulation.
    pub total_shares: U256,
    /// What the vault held when interest was last taken note of.
    pub last_total_assets: U256,
    /// Losses that the price of shares does not know of; `None` in version 1.0, which has no such thing.
    pub lost_assets: Option<U256>,
    /// The owner's part of the interest, in wad.
    pub fee_wad: U256,
    /// Virtual shares beside one virtual asset.
    pub virtual_shares: U256,
    /// The vault's markets, in the order of withdrawals.
    pub holdings: Arc<[Holding]>,
    /// The order of supplies, as positions among the holdings.
    pub supply_queue: Arc<[u8]>,
    /// What lies in Morpho Blue of the asset.
    pub morpho_balance_assets: U256,
}

/// A vault at a time, on the way through trades.
#[derive(Clone, Debug)]
pub(super) struct Now<'a> {
    vault: &'a MetaMorpho,
    pub(super) total_assets: U256,
    pub(super) total_shares: U256,
    pub(super) holdings: ArrayVec<Holding, MAX_QUEUE>,
    at_hand: U256,
    lost_assets: Option<U256>,
    /// Markets of a queue that the trade came by.
    pub(super) visited: u64,
}

impl MetaMorpho {
    /// Whether a vault can be in this state.
    ///
    /// # Errors
    /// What is impossible about it.
    pub fn validate(&self) -> Result<(), &'static str> {
        if self.holdings.len() > MAX_QUEUE || self.supply_queue.len() > MAX_QUEUE {
            return Err("a queue of more than 30 markets");
        }
        let known = |index: &u8| usize::from(*index) < self.holdings.len();
        if self.supply_queue.iter().all(known) { Ok(()) } else { Err("a supply to a market that is not there") }
    }

    /// The vault with interest and fee shares up to a time.
    pub(super) fn at(&self, now: u64) -> Option<Now<'_>> {
        let mut now = self.opened(now)?;
        now.accrue()?;
        Some(now)
    }

    /// The vault as it is stored, over markets with interest up to a time.
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
    /// Takes note of what the markets hold, and mints the fee. Source: `_accruedFeeAndAssets`, in 1.0 `_accruedFeeShares`.
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
        let fee = mul_div(interest, self.vault.fee_wad, super::blue::WAD)?;
        if !fee.is_zero() {
            let assets = held.checked_sub(fee)?.checked_add(U256::ONE)?;
            let shares = mul_div(fee, self.total_shares.checked_add(self.vault.virtual_shares)?, assets)?;
            self.total_shares = self.total_shares.checked_add(shares)?;
        }
        Some(())
    }

    /// `previewDeposit`.
    pub(super) fn shares_of(&self, assets: U256) -> Option<U256> {
        let shares = self.total_shares.checked_add(self.vault.virtual_shares)?;
        mul_div(assets, shares, self.total_assets.checked_add(U256::ONE)?)
    }

    /// `previewRedeem`.
    pub(super) fn assets_of(&self, shares: U256) -> Option<U256> {
        let all = self.total_shares.checked_add(self.vault.virtual_shares)?;
        mul_div(shares, self.total_assets.checked_add(U256::ONE)?, all)
    }

    /// The most that the supply queue takes, in assets.
    pub(super) fn suppliable(&self) -> Option<U256> {
        let mut sum = U256::ZERO;
        for index in self.vault.supply_queue.iter() {
            sum = sum.saturating_add(self.holdings.get(usize::from(*index))?.suppliable()?);
        }
        Some(sum)
    }

    /// The most that can be withdrawn, in assets.
    pub(super) fn withdrawable(&self) -> Option<U256> {
        let mut sum = U256::ZERO;
        for holding in &self.holdings {
            sum = sum.saturating_add(holding.withdrawable(self.at_hand.saturating_sub(sum))?);
        }
        Some(sum)
    }

    /// Deposits assets or redeems shares; interest is up to date.
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

    /// Withdraws so many assets; the shares that it burns, rounded up. `None` where the contract reverts; interest is up to date.
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

    /// Along the supply queue, to each market up to its cap. Source: `_supplyMorpho`.
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

    /// Along the withdraw queue, from each market what it has; what is left over is the error. Source: `_withdrawMorpho`.
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
