//! How shares follow from assets, rounded down, and what a trade makes of that.

use alloy_primitives::U256;
use serde::{Deserialize, Serialize};

use super::{WAD, mul_div};
use crate::vault::mul_div_up;

/// How shares follow from assets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conversion {
    /// In proportion to what the vault holds: `shares = assets · (supply + virtual) / (holdings + virtual)`.
    ///
    /// With virtual amounts of zero, an empty vault converts one to one (solmate's `ERC4626`); OpenZeppelin's adds one
    /// asset and `10^offset` shares.
    Ratio {
        /// Assets held, `totalAssets` before what [`Accrual`](super::Accrual) adds.
        total_assets: U256,
        /// Shares in circulation, `totalSupply`.
        total_shares: U256,
        /// Assets added to the first.
        virtual_assets: U256,
        /// Shares added to the second.
        virtual_shares: U256,
    },
    /// At a rate that deposits do not move: `assets = shares · rate / one`.
    Rate {
        /// Assets for `one` shares.
        rate: U256,
        /// The rate's scale, [`RAY`](super::RAY) for Aave's wrapped tokens and Sky's savings.
        one: U256,
    },
    /// At the price of a share, which is rounded down to 18 decimals before anything is converted: Frankencoin's `svZCHF`.
    Price {
        /// Assets saved, before what [`Accrual`](super::Accrual) adds.
        total_assets: U256,
        /// Shares in circulation, `totalSupply`.
        total_shares: U256,
    },
    /// Over another token that keeps a ratio: a share is so many of that token's own shares, and as many are virtual there, beside one
    /// virtual asset. Resolv's `wstUSR` over `stUSR`.
    Wrapped {
        /// Assets that the other token holds.
        total_assets: U256,
        /// The other token's shares.
        inner_shares: U256,
        /// How many of them a share is.
        inner_per_share: U256,
    },
}

impl Conversion {
    /// In proportion to what the vault holds, without virtual amounts.
    pub(super) const fn ratio(total_assets: U256, total_shares: U256) -> Self {
        Self::Ratio { total_assets, total_shares, virtual_assets: U256::ZERO, virtual_shares: U256::ZERO }
    }

    /// The same with OpenZeppelin's one virtual asset and so many virtual shares, where it is a ratio.
    pub(super) const fn with_virtual(self, shares: U256) -> Self {
        match self {
            Self::Ratio { total_assets, total_shares, .. } => {
                Self::Ratio { total_assets, total_shares, virtual_assets: U256::ONE, virtual_shares: shares }
            }
            other => other,
        }
    }

    /// So many assets for so many shares. `None` where the contract's arithmetic reverts.
    pub(super) fn pair(&self) -> Option<(U256, U256)> {
        Some(match *self {
            Self::Rate { rate, one } => (rate, one),
            Self::Ratio { total_shares, virtual_shares, .. } if (total_shares | virtual_shares).is_zero() => {
                (U256::ONE, U256::ONE)
            }
            Self::Ratio { total_assets, total_shares, virtual_assets, virtual_shares } => {
                (total_assets.checked_add(virtual_assets)?, total_shares.checked_add(virtual_shares)?)
            }
            Self::Price { total_shares: U256::ZERO, .. } => (WAD, WAD),
            Self::Price { total_assets, total_shares } => (total_assets.checked_mul(WAD)? / total_shares, WAD),
            Self::Wrapped { total_assets, inner_shares, inner_per_share } => (
                total_assets.checked_add(U256::ONE)?.checked_mul(inner_per_share)?,
                inner_shares.checked_add(inner_per_share)?,
            ),
        })
    }

    /// Shares for assets, rounded down.
    pub(super) fn shares(&self, assets: U256) -> Option<U256> {
        let (per, gives) = self.pair()?;
        mul_div(assets, gives, per)
    }

    /// Assets for shares, rounded down.
    pub(super) fn assets(&self, shares: U256) -> Option<U256> {
        let (gives, per) = self.pair()?;
        mul_div(shares, gives, per)
    }

    /// Shares in circulation, where the conversion knows.
    pub(super) const fn in_circulation(&self) -> Option<U256> {
        match self {
            Self::Ratio { total_shares, .. } | Self::Price { total_shares, .. } => Some(*total_shares),
            Self::Rate { .. } | Self::Wrapped { .. } => None,
        }
    }

    /// What the vault holds, where the conversion knows.
    pub(super) const fn holdings(&self) -> Option<U256> {
        match self {
            Self::Ratio { total_assets, .. }
            | Self::Price { total_assets, .. }
            | Self::Wrapped { total_assets, .. } => Some(*total_assets),
            Self::Rate { .. } => None,
        }
    }

    /// After a deposit of assets that gave shares; a rate does not move.
    pub(super) fn deposited(self, assets: U256, shares: U256) -> Option<Self> {
        let inner = self.inner_shares_for(assets, false)?.unwrap_or(shares);
        self.changed(|held| held.checked_add(assets), |supply| supply.checked_add(inner))
    }

    /// After a redemption of shares that gave assets; a rate does not move.
    pub(super) fn redeemed(self, assets: U256, shares: U256) -> Option<Self> {
        let inner = self.inner_shares_for(assets, true)?.unwrap_or(shares);
        self.changed(|held| held.checked_sub(assets), |supply| supply.checked_sub(inner))
    }

    /// The other token's shares that it mints for assets, or burns for them, rounded against whoever asks; `Some(None)` where there is no
    /// other token.
    #[allow(clippy::option_option, reason = "the outer one is the contract's revert")]
    fn inner_shares_for(&self, assets: U256, up: bool) -> Option<Option<U256>> {
        let Self::Wrapped { total_assets, inner_shares, inner_per_share } = *self else { return Some(None) };
        let (shares, held) = (inner_shares.checked_add(inner_per_share)?, total_assets.checked_add(U256::ONE)?);
        if up { mul_div_up(assets, shares, held) } else { mul_div(assets, shares, held) }.map(Some)
    }

    fn changed(
        self,
        held: impl FnOnce(U256) -> Option<U256>,
        supply: impl FnOnce(U256) -> Option<U256>,
    ) -> Option<Self> {
        Some(match self {
            Self::Rate { .. } => self,
            Self::Ratio { total_assets, total_shares, virtual_assets, virtual_shares } => Self::Ratio {
                total_assets: held(total_assets)?,
                total_shares: supply(total_shares)?,
                virtual_assets,
                virtual_shares,
            },
            Self::Price { total_assets, total_shares } => {
                Self::Price { total_assets: held(total_assets)?, total_shares: supply(total_shares)? }
            }
            Self::Wrapped { total_assets, inner_shares, inner_per_share } => Self::Wrapped {
                total_assets: held(total_assets)?,
                inner_shares: supply(inner_shares)?,
                inner_per_share,
            },
        })
    }
}
