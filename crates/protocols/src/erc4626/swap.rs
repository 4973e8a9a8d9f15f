//! Deposits and redemptions.

use alloy_primitives::U256;
use braid_primitives::ExecutionBlock;

use super::{Accrual, After, Cap, Conversion, State};
use crate::{
    SwapError,
    vault::{Before, Rate, Trade},
};

impl State {
    /// The shares that assets are worth at a time, whatever the limits say: `previewDeposit`.
    ///
    /// # Errors
    /// [`SwapError::Overflow`] where the contract's arithmetic reverts.
    pub fn preview_deposit(&self, at: &ExecutionBlock, assets: U256) -> Result<U256, SwapError> {
        let now = self.accrual.apply(self.conversion, at.timestamp);
        now.and_then(|now| now.shares(assets)).ok_or(SwapError::Overflow { amount_in: assets })
    }

    /// The assets that shares are worth at a time, whatever the limits say: `previewRedeem`.
    ///
    /// # Errors
    /// [`SwapError::Overflow`] where the contract's arithmetic reverts.
    pub fn preview_redeem(&self, at: &ExecutionBlock, shares: U256) -> Result<U256, SwapError> {
        let now = self.accrual.apply(self.conversion, at.timestamp);
        now.and_then(|now| now.assets(shares)).ok_or(SwapError::Overflow { amount_in: shares })
    }

    /// What it converts at, whatever the limits say.
    ///
    /// # Errors
    /// [`SwapError::Overflow`] where the contract's arithmetic reverts.
    pub fn rate(&self, at: &ExecutionBlock) -> Result<Rate, SwapError> {
        let pair = self.accrual.apply(self.conversion, at.timestamp).and_then(|now| now.pair());
        let (assets, shares) = pair.ok_or(SwapError::Overflow { amount_in: U256::ZERO })?;
        Rate::new(Some(assets), Some(shares))
    }

    /// Returns the same vault with deposits and redemptions closed.
    #[must_use]
    pub const fn closed(self) -> Self {
        Self { max_deposit_assets: U256::ZERO, max_redeem_shares: U256::ZERO, ..self }
    }

    /// Whether the vault counts in shares what can be redeemed: Aave's do, and not Spark's, whose rate compounds.
    const fn counts_shares(&self) -> bool {
        let compounds = matches!(self.accrual, Accrual::Compounding { .. });
        self.reserve.is_some() || (self.cap.is_some() && !compounds)
    }

    /// The most that a deposit brings at a time, at the rate of then.
    pub(super) fn room(&self, now: &Conversion, timestamp: u64) -> Option<U256> {
        let reserve = self.reserve_room(now, timestamp)?;
        let own = match self.cap {
            Some(Cap { most_assets, total_shares }) => most_assets.saturating_sub(now.assets(total_shares)?),
            None => U256::MAX,
        };
        Some(reserve.min(own).min(self.max_deposit_assets))
    }

    /// The shares that a deposit gives, `deposit(assets, receiver)`, and the vault afterwards.
    ///
    /// # Errors
    /// - [`SwapError::LimitExceeded`] above `maxDeposit`, or above what a cap leaves, the reserve's or the vault's own.
    /// - [`SwapError::ZeroOutput`] when no share would be given.
    /// - [`SwapError::Overflow`] where the contract's arithmetic reverts.
    pub fn deposit(&self, at: &ExecutionBlock, assets: U256) -> Result<(U256, After), SwapError> {
        let overflow = SwapError::Overflow { amount_in: assets };
        let now = self.accrual.apply(self.conversion, at.timestamp).ok_or_else(|| overflow.clone())?;
        limit(assets, self.room(&now, at.timestamp).ok_or_else(|| overflow.clone())?)?;
        let shares = now.shares(assets).ok_or_else(|| overflow.clone())?;
        if shares.is_zero() {
            return Err(SwapError::ZeroOutput);
        }
        let mut after = self.at(now.deposited(assets, shares).ok_or(overflow)?, at.timestamp);
        after.max_deposit_assets = self.max_deposit_assets.saturating_sub(assets);
        after.reserve = self.reserve_after(&now, at.timestamp, assets);
        after.cap = self.cap.map(|cap| Cap { total_shares: cap.total_shares.saturating_add(shares), ..cap });
        if self.counts_shares() {
            // nobody can redeem more shares than there are, and now there are more
            after.max_redeem_shares = self.max_redeem_shares.saturating_add(shares);
        }
        after.max_withdraw_assets = self.max_withdraw_assets.saturating_add(assets);
        Ok((shares, after))
    }

    /// The assets that a redemption gives, `redeem(shares, receiver, owner)`, and the vault afterwards.
    ///
    /// # Errors
    /// - [`SwapError::LimitExceeded`] above `maxRedeem`.
    /// - [`SwapError::ZeroOutput`] when no asset would be given.
    /// - [`SwapError::InsufficientLiquidity`] for more shares than there are.
    /// - [`SwapError::Overflow`] where the contract's arithmetic reverts.
    pub fn redeem(&self, at: &ExecutionBlock, shares: U256) -> Result<(U256, After), SwapError> {
        limit(shares, self.max_redeem_shares)?;
        let overflow = SwapError::Overflow { amount_in: shares };
        let now = self.accrual.apply(self.conversion, at.timestamp).ok_or_else(|| overflow.clone())?;
        let assets = now.assets(shares).ok_or(overflow)?;
        if assets.is_zero() {
            return Err(SwapError::ZeroOutput);
        }
        let short =
            SwapError::InsufficientLiquidity { consumed: now.in_circulation().unwrap_or(shares), amount_in: shares };
        let payable = now.shares(self.max_withdraw_assets).unwrap_or(U256::MAX);
        // some count what they can pay in shares, rounded down
        if assets > self.max_withdraw_assets || (self.counts_shares() && shares > payable) {
            let consumed = payable.min(shares);
            return Err(SwapError::InsufficientLiquidity { consumed, amount_in: shares });
        }
        let mut after = self.at(now.redeemed(assets, shares).ok_or(short)?, at.timestamp);
        after.max_redeem_shares = self.max_redeem_shares.saturating_sub(shares);
        after.reserve = self.reserve_after(&now, at.timestamp, U256::ZERO);
        after.cap = self.cap.map(|cap| Cap { total_shares: cap.total_shares.saturating_sub(shares), ..cap });
        after.max_withdraw_assets = self.max_withdraw_assets.saturating_sub(assets);
        Ok((assets, after))
    }

    /// The vault after a route's trades with it.
    ///
    /// # Errors
    /// As [`Self::deposit`] and [`Self::redeem`].
    pub(crate) fn after(&self, at: &ExecutionBlock, before: Before<'_>) -> Result<Self, SwapError> {
        let once = |state: Self, trade: Trade| {
            let done =
                if trade.deposits { state.deposit(at, trade.amount_in) } else { state.redeem(at, trade.amount_in) };
            done.map(|(_, after)| after)
        };
        before.own().try_fold(*self, once)
    }

    /// The state with a conversion that holds at a time: what was added until then is added for good.
    fn at(&self, conversion: Conversion, now: u64) -> Self {
        let accrual = match (self.accrual, conversion) {
            (Accrual::Compounding { per_second_ray, since }, _) => {
                Accrual::Compounding { per_second_ray, since: now.max(since) }
            }
            (Accrual::Linear { per_year_ray, since }, _) => Accrual::Linear { per_year_ray, since: now.max(since) },
            (Accrual::PerformanceFee { fee_wad, .. }, Conversion::Ratio { total_assets, .. }) => {
                Accrual::PerformanceFee { last_total_assets: total_assets, fee_wad }
            }
            // a route runs within one block: nothing more is released before its end
            _ => Accrual::None,
        };
        Self { conversion, accrual, ..*self }
    }
}

fn limit(amount: U256, limit: U256) -> Result<(), SwapError> {
    if amount.is_zero() {
        return Err(SwapError::ZeroAmount);
    }
    if amount > limit { Err(SwapError::LimitExceeded { limit, amount }) } else { Ok(()) }
}
