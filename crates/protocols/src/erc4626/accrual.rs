//! What time adds to a vault.

use alloy_primitives::{U256, U512};
use serde::{Deserialize, Serialize};

use super::{Conversion, RAY, WAD};
use crate::aave::Interest;

/// How a vault's conversion moves between two transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Accrual {
    /// It does not, or what it does is read anew for each block.
    #[default]
    None,
    /// The rate compounds every second: `rate · per_second^(now − since)`, rounded as the contract's `rpow`.
    ///
    /// Sky's `sUSDS` (`chi`, `ssr`, `rho`) and `sDAI` (the pot's `chi`, `dsr`, `rho`).
    Compounding {
        /// Growth in one second, in ray.
        per_second_ray: U256,
        /// When the rate was stored, unix seconds.
        since: u64,
    },
    /// The rate grows by simple interest from the second in which it was stored.
    ///
    /// Aave's wrapped tokens: the reserve's index, its rate of supply, its last update.
    Linear {
        /// A year's interest, in ray.
        per_year_ray: U256,
        /// When the rate was stored, unix seconds.
        since: u64,
    },
    /// A reward that is held back and released in a straight line.
    ///
    /// Ethena's `sUSDe`: the reward is part of what the vault holds, and what is not yet released is taken off, rounded down.
    Vesting {
        /// The reward, in assets.
        amount: U256,
        /// When it began, unix seconds.
        since: u64,
        /// How long it takes, seconds.
        duration_seconds: u64,
    },
    /// A reward that comes on top of what is stored, in a straight line.
    ///
    /// Frax's `xERC4626` (`sfrxETH`).
    Streaming {
        /// The reward, in assets.
        amount: U256,
        /// When it began, unix seconds.
        since: u64,
        /// When all of it is there, unix seconds.
        until: u64,
    },
    /// A share of the gain is minted to the fee's owner before anything else happens.
    ///
    /// MetaMorpho 1.0; what the vault holds is read for the block.
    PerformanceFee {
        /// What the vault held when the fee was last taken.
        last_total_assets: U256,
        /// The fee on what came since, in wad.
        fee_wad: U256,
    },
}

impl Accrual {
    /// What a reward that streams has brought by a time.
    pub(super) fn streamed(&self, now: u64) -> Option<U256> {
        let Self::Streaming { amount, since, until } = self else { return None };
        if now >= *until {
            return Some(*amount);
        }
        let passed = U256::from(now.checked_sub(*since)?);
        amount.checked_mul(passed)?.checked_div(U256::from(until.checked_sub(*since)?))
    }

    /// The conversion at a time. `None` where the contract's arithmetic reverts.
    pub(super) fn apply(&self, conversion: Conversion, now: u64) -> Option<Conversion> {
        match (self, conversion) {
            (Self::None, same) => Some(same),
            (Self::Compounding { per_second_ray, since }, Conversion::Rate { rate, one }) => {
                let growth = power_ray(*per_second_ray, now.checked_sub(*since)?)?;
                Some(Conversion::Rate { rate: growth.checked_mul(rate)? / RAY, one })
            }
            (Self::Linear { per_year_ray, since }, Conversion::Rate { rate, one }) => {
                let interest = Interest { index: rate, rate: *per_year_ray, since: *since };
                Some(Conversion::Rate { rate: interest.income(now)?, one })
            }
            (Self::Compounding { .. } | Self::Linear { .. }, Conversion::Ratio { .. }) => None,
            (_, Conversion::Rate { .. }) => None,
            (Self::Vesting { amount, since, duration_seconds }, ratio) => {
                let left = duration_seconds.saturating_sub(now.checked_sub(*since)?);
                let held_back = match left {
                    0 => U256::ZERO,
                    left => amount.checked_mul(U256::from(left))?.checked_div(U256::from(*duration_seconds))?,
                };
                ratio.with_assets(|assets| assets.checked_sub(held_back))
            }
            (Self::Streaming { .. }, ratio) => {
                let streamed = self.streamed(now)?;
                ratio.with_assets(|assets| assets.checked_add(streamed))
            }
            (Self::PerformanceFee { last_total_assets, fee_wad }, ratio) => {
                ratio.with_fee_shares(*last_total_assets, *fee_wad)
            }
        }
    }
}

impl Conversion {
    fn with_assets(self, change: impl FnOnce(U256) -> Option<U256>) -> Option<Self> {
        match self {
            Self::Ratio { total_assets, total_shares, virtual_assets, virtual_shares } => {
                Some(Self::Ratio { total_assets: change(total_assets)?, total_shares, virtual_assets, virtual_shares })
            }
            Self::Rate { .. } => None,
        }
    }

    /// With the shares that the fee on a gain is paid in. Source: `MetaMorpho._accruedFeeShares`.
    fn with_fee_shares(self, last_total_assets: U256, fee_wad: U256) -> Option<Self> {
        let Self::Ratio { total_assets, total_shares, virtual_assets, virtual_shares } = self else { return None };
        let gain = total_assets.saturating_sub(last_total_assets);
        let fee_assets = super::swap::mul_div(gain, fee_wad, WAD)?;
        let shares = total_shares.checked_add(virtual_shares)?;
        let assets = total_assets.checked_sub(fee_assets)?.checked_add(virtual_assets)?;
        let fee_shares =
            if fee_assets.is_zero() { U256::ZERO } else { super::swap::mul_div(fee_assets, shares, assets)? };
        let total_shares = total_shares.checked_add(fee_shares)?;
        Some(Self::Ratio { total_assets, total_shares, virtual_assets, virtual_shares })
    }
}

/// `base^exponent` in ray, each product rounded to the nearest. Source: `rpow` of Sky's `SUsds` and MakerDAO's `Pot`.
fn power_ray(base: U256, exponent: u64) -> Option<U256> {
    let (mut base, mut rest) = (base, exponent);
    let mut result = if rest % 2 == 1 { base } else { RAY };
    rest /= 2;
    while rest != 0 {
        base = round_ray(base, base)?;
        if rest % 2 == 1 {
            result = round_ray(result, base)?;
        }
        rest /= 2;
    }
    Some(result)
}

/// `a · b / ray`, rounded to the nearest; `None` where the contract reverts, above 256 bits before the division.
fn round_ray(a: U256, b: U256) -> Option<U256> {
    let product: U512 = a.widening_mul(b);
    let half = RAY >> 1_usize;
    let sum = U256::checked_from_limbs_slice(product.as_limbs())?.checked_add(half)?;
    Some(sum / RAY)
}
