//! What bounds a vault's deposits and redemptions, and what a trade leaves of that.

use alloy_primitives::U256;
use serde::{Deserialize, Serialize};

use super::{Conversion, Reserve};

/// What bounds deposits and redemptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Most assets that a deposit may bring, `maxDeposit`.
    pub max_deposit_assets: U256,
    /// Most shares that can be redeemed, `maxRedeem`; zero for a vault that makes holders wait.
    pub max_redeem_shares: U256,
    /// Most assets that the vault can pay out at once.
    pub max_withdraw_assets: U256,
    /// Whether what it can pay out is counted in shares, rounded down.
    pub counts_shares: bool,
    /// What bounds deposits beside `max_deposit_assets`, as interest uses it up.
    pub cap: Option<Cap>,
    /// Where the vault lends on, if it is one of Aave's wrapped tokens.
    pub reserve: Option<Reserve>,
}

/// What all assets of a vault may come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cap {
    /// The most assets, what was earned included.
    pub most_assets: U256,
    /// Shares in circulation.
    pub total_shares: U256,
}

impl Limits {
    /// No limit.
    pub const NONE: Self = Self {
        max_deposit_assets: U256::MAX,
        max_redeem_shares: U256::MAX,
        max_withdraw_assets: U256::MAX,
        counts_shares: false,
        cap: None,
        reserve: None,
    };

    /// The most that a deposit brings at a time, at the rate of then. `None` where the contract's arithmetic reverts.
    pub(super) fn room(&self, now: &Conversion, timestamp: u64) -> Option<U256> {
        let reserve = match (&self.reserve, now) {
            (Some(reserve), Conversion::Rate { rate, .. }) => reserve.room(*rate, timestamp)?,
            _ => U256::MAX,
        };
        let own = match self.cap {
            Some(Cap { most_assets, total_shares }) => most_assets.saturating_sub(now.assets(total_shares)?),
            None => U256::MAX,
        };
        Some(reserve.min(own).min(self.max_deposit_assets))
    }

    /// What a deposit of assets for shares leaves.
    pub(super) fn deposited(&self, now: &Conversion, timestamp: u64, assets: U256, shares: U256) -> Self {
        // nobody can redeem more shares than there are, and now there are more
        let more = if self.counts_shares { shares } else { U256::ZERO };
        Self {
            max_deposit_assets: self.max_deposit_assets.saturating_sub(assets),
            max_redeem_shares: self.max_redeem_shares.saturating_add(more),
            max_withdraw_assets: self.max_withdraw_assets.saturating_add(assets),
            cap: self.cap.map(|cap| Cap { total_shares: cap.total_shares.saturating_add(shares), ..cap }),
            reserve: self.reserve_after(now, timestamp, assets),
            ..*self
        }
    }

    /// What a redemption of shares for assets leaves.
    pub(super) fn redeemed(&self, now: &Conversion, timestamp: u64, assets: U256, shares: U256) -> Self {
        Self {
            max_redeem_shares: self.max_redeem_shares.saturating_sub(shares),
            max_withdraw_assets: self.max_withdraw_assets.saturating_sub(assets),
            cap: self.cap.map(|cap| Cap { total_shares: cap.total_shares.saturating_sub(shares), ..cap }),
            reserve: self.reserve_after(now, timestamp, U256::ZERO),
            ..*self
        }
    }

    fn reserve_after(&self, now: &Conversion, timestamp: u64, supplied: U256) -> Option<Reserve> {
        match (self.reserve, now) {
            (Some(reserve), Conversion::Rate { rate, .. }) => Some(reserve.after(*rate, timestamp, supplied)),
            (reserve, _) => reserve,
        }
    }
}
