//! Limits of a vault's deposits and redemptions, and their change by a trade.

use alloy_primitives::U256;
use serde::{Deserialize, Serialize};

use super::{Conversion, Reserve};

/// Limits of deposits and redemptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Maximum deposit in assets, `maxDeposit`.
    pub max_deposit_assets: U256,
    /// Maximum redemption in shares, `maxRedeem`; zero for a vault with a waiting period.
    pub max_redeem_shares: U256,
    /// Maximum payout of the vault in assets.
    pub max_withdraw_assets: U256,
    /// Whether the payout limit is converted to shares, rounded down.
    pub counts_shares: bool,
    /// Cap on all assets besides `max_deposit_assets`; interest uses it up.
    pub cap: Option<Cap>,
    /// Aave reserve of a wrapped token.
    pub reserve: Option<Reserve>,
}

/// Cap on the total assets of a vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cap {
    /// Maximum assets, including interest.
    pub most_assets: U256,
    /// `totalSupply`.
    pub total_shares: U256,
}

impl Limits {
    /// No limits.
    pub const NONE: Self = Self {
        max_deposit_assets: U256::MAX,
        max_redeem_shares: U256::MAX,
        max_withdraw_assets: U256::MAX,
        counts_shares: false,
        cap: None,
        reserve: None,
    };

    /// Returns the maximum deposit at a time, at the conversion then. `None` where the contract's arithmetic reverts.
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

    /// Returns the limits after a deposit of assets for shares.
    pub(super) fn deposited(&self, now: &Conversion, timestamp: u64, assets: U256, shares: U256) -> Self {
        // the limit is at most the supply, which the deposit has increased
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

    /// Returns the limits after a redemption of shares for assets.
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
