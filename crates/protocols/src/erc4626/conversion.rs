//! Conversion of assets to shares, rounded down, and its change by a trade.

use alloy_primitives::U256;
use serde::{Deserialize, Serialize};

use crate::maths::{WAD, mul_div, mul_div_up};

/// Conversion of assets to shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conversion {
    /// In proportion to the vault's assets: `shares = assets · (supply + virtual) / (holdings + virtual)`.
    ///
    /// With virtual amounts of zero, an empty vault converts one to one (solmate's `ERC4626`). OpenZeppelin's adds one
    /// asset and `10^offset` shares.
    Ratio {
        /// `totalAssets` before the growth by [`Accrual`](super::Accrual).
        total_assets: U256,
        /// `totalSupply`.
        total_shares: U256,
        /// Virtual assets, added to the first.
        virtual_assets: U256,
        /// Virtual shares, added to the second.
        virtual_shares: U256,
    },
    /// At a rate that deposits do not change: `assets = shares · rate / one`.
    Rate {
        /// Assets for `one` shares.
        rate: U256,
        /// Scale of the rate: [`RAY`](super::RAY) for Aave's wrapped tokens and Sky's savings.
        one: U256,
    },
    /// At the price of a share, rounded down to 18 decimals before the conversion: Frankencoin's `svZCHF`.
    Price {
        /// Savings before the growth by [`Accrual`](super::Accrual).
        total_assets: U256,
        /// `totalSupply`.
        total_shares: U256,
    },
    /// Through an inner token with a ratio of its own. A share is a fixed number of the inner token's shares. The inner
    /// token adds as many virtual shares, and one virtual asset. Resolv's `wstUSR` over `stUSR`.
    Wrapped {
        /// Assets of the inner token.
        total_assets: U256,
        /// Shares of the inner token.
        inner_shares: U256,
        /// Inner shares per share.
        inner_per_share: U256,
    },
}

impl Conversion {
    /// Returns a ratio without virtual amounts.
    pub(super) const fn ratio(total_assets: U256, total_shares: U256) -> Self {
        Self::Ratio { total_assets, total_shares, virtual_assets: U256::ZERO, virtual_shares: U256::ZERO }
    }

    /// Adds OpenZeppelin's one virtual asset and a number of virtual shares to a ratio.
    pub(super) const fn with_virtual(self, shares: U256) -> Self {
        match self {
            Self::Ratio { total_assets, total_shares, .. } => {
                Self::Ratio { total_assets, total_shares, virtual_assets: U256::ONE, virtual_shares: shares }
            }
            other => other,
        }
    }

    /// Returns the rate as a pair of assets and shares. `None` where the contract's arithmetic reverts.
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

    /// Converts assets to shares, rounded down.
    pub(super) fn shares(&self, assets: U256) -> Option<U256> {
        let (per, gives) = self.pair()?;
        mul_div(assets, gives, per)
    }

    /// Converts shares to assets, rounded down.
    pub(super) fn assets(&self, shares: U256) -> Option<U256> {
        let (gives, per) = self.pair()?;
        mul_div(shares, gives, per)
    }

    /// Returns the shares in circulation, if the conversion has them.
    pub(super) const fn in_circulation(&self) -> Option<U256> {
        match self {
            Self::Ratio { total_shares, .. } | Self::Price { total_shares, .. } => Some(*total_shares),
            Self::Rate { .. } | Self::Wrapped { .. } => None,
        }
    }

    /// Returns the vault's assets, if the conversion has them.
    pub(super) const fn holdings(&self) -> Option<U256> {
        match self {
            Self::Ratio { total_assets, .. }
            | Self::Price { total_assets, .. }
            | Self::Wrapped { total_assets, .. } => Some(*total_assets),
            Self::Rate { .. } => None,
        }
    }

    /// Returns the conversion after a deposit of assets for shares; a rate does not change.
    pub(super) fn deposited(self, assets: U256, shares: U256) -> Option<Self> {
        let inner = self.inner_shares_for(assets, false)?.unwrap_or(shares);
        self.changed(|held| held.checked_add(assets), |supply| supply.checked_add(inner))
    }

    /// Returns the conversion after a redemption of shares for assets; a rate does not change.
    pub(super) fn redeemed(self, assets: U256, shares: U256) -> Option<Self> {
        let inner = self.inner_shares_for(assets, true)?.unwrap_or(shares);
        self.changed(|held| held.checked_sub(assets), |supply| supply.checked_sub(inner))
    }

    /// Computes the inner shares minted or burned for assets, rounded against the caller; `Some(None)` if there is no
    /// inner token.
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
