//! Deposits and redemptions of a vault.

use alloy_primitives::U256;
use braid_primitives::ExecutionBlock;

use super::{Accrual, After, Conversion, Limits, State};
use crate::{
    SwapError,
    vault::{EarlierTrades, Rate, Trade},
};

impl State {
    /// Computes the shares for assets at a time, ignoring limits, rounded down: `previewDeposit`.
    ///
    /// # Errors
    /// [`SwapError::Overflow`] where the contract's arithmetic reverts.
    pub fn preview_deposit(&self, at: &ExecutionBlock, assets: U256) -> Result<U256, SwapError> {
        let now = self.accrual.apply(self.conversion, at.timestamp);
        now.and_then(|now| now.shares(assets)).ok_or(SwapError::Overflow { amount_in: assets })
    }

    /// Computes the assets for shares at a time, ignoring limits, rounded down: `previewRedeem`.
    ///
    /// # Errors
    /// [`SwapError::Overflow`] where the contract's arithmetic reverts.
    pub fn preview_redeem(&self, at: &ExecutionBlock, shares: U256) -> Result<U256, SwapError> {
        let now = self.accrual.apply(self.conversion, at.timestamp);
        now.and_then(|now| now.assets(shares)).ok_or(SwapError::Overflow { amount_in: shares })
    }

    /// Computes the conversion rate, ignoring limits.
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
    pub const fn closed(mut self) -> Self {
        (self.limits.max_deposit_assets, self.limits.max_redeem_shares) = (U256::ZERO, U256::ZERO);
        self
    }

    /// Computes the shares of a deposit, `deposit(assets, receiver)`, and the vault afterwards.
    ///
    /// # Errors
    /// - [`SwapError::LimitExceeded`] above `maxDeposit`, or above the remaining cap, the reserve's or the vault's own.
    /// - [`SwapError::ZeroOutput`] if no share would be minted.
    /// - [`SwapError::Overflow`] where the contract's arithmetic reverts.
    pub fn deposit(&self, at: &ExecutionBlock, assets: U256) -> Result<(U256, After), SwapError> {
        let overflow = SwapError::Overflow { amount_in: assets };
        let now = self.accrual.apply(self.conversion, at.timestamp).ok_or_else(|| overflow.clone())?;
        limit(assets, self.limits.room(&now, at.timestamp).ok_or_else(|| overflow.clone())?)?;
        let shares = now.shares(assets).ok_or_else(|| overflow.clone())?;
        if shares.is_zero() {
            return Err(SwapError::ZeroOutput);
        }
        let conversion = now.deposited(assets, shares).ok_or(overflow)?;
        let after = self.after(conversion, self.limits.deposited(&now, at.timestamp, assets, shares));
        Ok((shares, after))
    }

    /// Computes the assets of a redemption, `redeem(shares, receiver, owner)`, and the vault afterwards.
    ///
    /// # Errors
    /// - [`SwapError::LimitExceeded`] above `maxRedeem`.
    /// - [`SwapError::ZeroOutput`] if no asset would be paid.
    /// - [`SwapError::InsufficientLiquidity`] for more shares than the supply.
    /// - [`SwapError::Overflow`] where the contract's arithmetic reverts.
    pub fn redeem(&self, at: &ExecutionBlock, shares: U256) -> Result<(U256, After), SwapError> {
        limit(shares, self.limits.max_redeem_shares)?;
        let overflow = SwapError::Overflow { amount_in: shares };
        let now = self.accrual.apply(self.conversion, at.timestamp).ok_or_else(|| overflow.clone())?;
        let assets = now.assets(shares).ok_or(overflow)?;
        if assets.is_zero() {
            return Err(SwapError::ZeroOutput);
        }
        let short =
            SwapError::InsufficientLiquidity { consumed: now.in_circulation().unwrap_or(shares), amount_in: shares };
        let payable = now.shares(self.limits.max_withdraw_assets).unwrap_or(U256::MAX);
        // some vaults convert their payout limit to shares, rounded down
        if assets > self.limits.max_withdraw_assets || (self.limits.counts_shares && shares > payable) {
            let consumed = payable.min(shares);
            return Err(SwapError::InsufficientLiquidity { consumed, amount_in: shares });
        }
        let conversion = now.redeemed(assets, shares).ok_or(short)?;
        let after = self.after(conversion, self.limits.redeemed(&now, at.timestamp, assets, shares));
        Ok((assets, after))
    }

    /// Returns the vault after a route's trades with it.
    ///
    /// # Errors
    /// As [`Self::deposit`] and [`Self::redeem`].
    pub(crate) fn after_trades(&self, at: &ExecutionBlock, before: EarlierTrades<'_>) -> Result<Self, SwapError> {
        let once = |state: Self, trade: Trade| {
            let done =
                if trade.deposits { state.deposit(at, trade.amount_in) } else { state.redeem(at, trade.amount_in) };
            done.map(|(_, after)| after)
        };
        before.own().try_fold(*self, once)
    }

    /// Returns the state after a trade. A route runs within one block, so the conversion already includes all growth.
    const fn after(&self, conversion: Conversion, limits: Limits) -> Self {
        Self { conversion, accrual: Accrual::None, limits, form: self.form }
    }
}

fn limit(amount: U256, limit: U256) -> Result<(), SwapError> {
    if amount.is_zero() {
        return Err(SwapError::ZeroAmount);
    }
    if amount > limit { Err(SwapError::LimitExceeded { limit, amount }) } else { Ok(()) }
}
