//! Growth of a vault's conversion with time.

use alloy_primitives::U256;
use serde::{Deserialize, Serialize};

use super::Conversion;
use crate::{
    aave::{RAY, ray_mul},
    maths::{WAD, mul_div},
    vault::Rounding,
};

/// A year of 365 days.
pub(super) const YEAR_SECONDS: u64 = 31_536_000;

/// One hundred percent, in basis points.
const BIPS: u64 = 10_000;

/// One hundred percent, in millionths.
const MILLION: U256 = U256::from_limbs([1_000_000, 0, 0, 0]);

/// Bits of the numbers of Frankencoin's savings.
const SAVED_BITS: usize = 192;

/// Scale of the unlocking rate. Source: `MAX_BPS_EXTENDED` of Yearn's `VaultV3`.
const UNLOCKING_SCALE: U256 = U256::from_limbs([1_000_000_000_000, 0, 0, 0]);

/// Change of a vault's conversion between two transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Accrual {
    /// None, or the vault is polled every block.
    #[default]
    None,
    /// Compound interest per second: `rate · per_second^(now − since)`, with the rounding of the contract's `rpow`.
    ///
    /// Sky's `sUSDS` (`chi`, `ssr`, `rho`) and `sDAI` (the pot's `chi`, `dsr`, `rho`).
    Compounding {
        /// Growth per second, in ray.
        per_second_ray: U256,
        /// Time at which the rate was stored, in unix seconds.
        since: u64,
    },
    /// Simple interest since the rate was stored. The interest on one is rounded down, its product with the rate as
    /// `rounding` says.
    ///
    /// Aave's wrapped tokens (the reserve's liquidity index, liquidity rate and last update), to nearest. Aave's `sGHO`
    /// of its first release (`yieldIndex`, `ratePerSecond`), rounded down.
    Simple {
        /// Interest per period, in ray.
        interest_ray: U256,
        /// Period in seconds.
        period_seconds: u64,
        /// Time at which the rate was stored, in unix seconds.
        since: u64,
        /// Rounding of the new rate.
        rounding: Rounding,
    },
    /// A reward that vests linearly.
    ///
    /// Ethena's `sUSDe`: the vault's balance includes the reward, and the unvested part is subtracted, rounded down.
    Vesting {
        /// Reward, in assets.
        amount: U256,
        /// Start, in unix seconds.
        since: u64,
        /// Duration in seconds.
        duration_seconds: u64,
    },
    /// A reward added linearly to the stored assets.
    ///
    /// Frax's `xERC4626` (`sfrxETH`).
    Streaming {
        /// Reward, in assets.
        amount: U256,
        /// Start, in unix seconds.
        since: u64,
        /// End, in unix seconds.
        until: u64,
    },
    /// A reward distributed per cycle, rate-capped: each trade adds to the stored assets what accrued since the last
    /// distribution, at most a maximum rate on the stored assets.
    ///
    /// Frax's `sFRAX` (`rewardsCycleData`, `lastRewardsDistribution`, `maxDistributionPerSecondPerAsset`).
    Distributing {
        /// Reward of the cycle, in assets.
        amount: U256,
        /// Start of the cycle, in unix seconds.
        from: u64,
        /// End of the cycle, in unix seconds.
        until: u64,
        /// Last distribution, in unix seconds.
        since: u64,
        /// Maximum distribution per second, as a share of the stored assets, in wad.
        most_per_second_wad: U256,
    },
    /// Linear growth of the rate by a share of one, with a pace that changes at a known time.
    ///
    /// Aave's `sGHO` of its second release (`_getCheckpoint`).
    Straight {
        /// Growth per year, in basis points of one.
        per_year_bips: u64,
        /// Time at which the rate was stored, in unix seconds.
        since: u64,
        /// Time at which the pace changes, and the new pace.
        next: Option<(u64, u64)>,
    },
    /// Interest on savings by a counter of ticks. It starts once the counter exceeds the account's mark.
    ///
    /// Frankencoin's `svZCHF` (`currentTicks`, `currentRatePPM` and the vault's account in `savings`).
    Ticking {
        /// Counter: the sum of the annual rate in millionths over seconds.
        ticks: u64,
        /// Time at which the counter was read, in unix seconds.
        since: u64,
        /// Growth of the counter per second.
        per_second: u64,
        /// Mark of the account; zero for an account without savings.
        mark: u64,
        /// Referrer's share of the interest, in millionths.
        fee_millionths: u32,
    },
    /// Shares minted for a profit and held by the vault itself, which unlock linearly.
    ///
    /// Yearn V3 (`profitUnlockingRate`, `lastProfitUpdate`, `fullProfitUnlockDate`).
    Unlocking {
        /// Shares unlocked per second, times 10¹².
        per_second: U256,
        /// Start of the unlocking, in unix seconds.
        since: u64,
        /// End of the unlocking, in unix seconds; zero if nothing is locked.
        until: u64,
        /// Vault's balance of its own shares.
        held: U256,
    },
    /// A performance fee in shares, minted to the fee recipient before any trade.
    ///
    /// MetaMorpho 1.0; the vault's total assets are polled every block.
    PerformanceFee {
        /// Total assets when the fee was last taken.
        last_total_assets: U256,
        /// Fee on the gain since, in wad.
        fee_wad: U256,
    },
}

impl Accrual {
    /// Returns the streamed part of a reward at a time.
    pub(super) fn streamed(&self, now: u64) -> Option<U256> {
        let Self::Streaming { amount, since, until } = self else { return None };
        if now >= *until {
            return Some(*amount);
        }
        let passed = U256::from(now.checked_sub(*since)?);
        amount.checked_mul(passed)?.checked_div(U256::from(until.checked_sub(*since)?))
    }

    /// Returns the cycle's distribution since the last one, for a vault with these stored assets. Source:
    /// `StakedFrax.calculateRewardsToDistribute`.
    fn distributed(&self, stored: U256, now: u64) -> Option<U256> {
        let Self::Distributing { amount, from, until, since, most_per_second_wad } = self else { return None };
        let passed = U256::from(now.min(*until).checked_sub(*since)?);
        let spread = amount.checked_mul(passed)?.checked_div(U256::from(until.checked_sub(*from)?))?;
        Some(spread.min(most_per_second_wad.checked_mul(passed)?.checked_mul(stored)? / WAD))
    }

    /// Returns the interest of ticks on savings, less the referrer's share. Source:
    /// `AbstractSavings.calculateInterest`, `SavingsVaultZCHF._interest`.
    fn ticked(&self, saved: U256, now: u64) -> Option<U256> {
        let Self::Ticking { ticks, since, per_second, mark, fee_millionths } = self else { return None };
        let ticks = per_second.checked_mul(now.checked_sub(*since)?)?.checked_add(*ticks)?;
        if *mark == 0 || ticks <= *mark {
            return Some(U256::ZERO);
        }
        let interest = U256::from(ticks - mark).checked_mul(saved)? / MILLION / U256::from(YEAR_SECONDS);
        let fee = interest.checked_mul(U256::from(*fee_millionths))? / MILLION;
        interest.checked_sub(fee).filter(|_| interest.bit_len() <= SAVED_BITS)
    }

    /// Returns the conversion at a time. `None` where the contract's arithmetic reverts.
    pub(super) fn apply(&self, conversion: Conversion, now: u64) -> Option<Conversion> {
        match (self, conversion) {
            (Self::None, same) => Some(same),
            (Self::Compounding { per_second_ray, since }, Conversion::Rate { rate, one }) => {
                let growth = power_ray(*per_second_ray, now.checked_sub(*since)?)?;
                Some(Conversion::Rate { rate: growth.checked_mul(rate)? / RAY, one })
            }
            (Self::Simple { interest_ray, period_seconds, since, rounding }, Conversion::Rate { rate, one }) => {
                let interest = interest_ray.checked_mul(U256::from(now.checked_sub(*since)?))?;
                let grown = interest.checked_div(U256::from(*period_seconds))?.checked_add(RAY)?;
                let rate = match rounding {
                    Rounding::Nearest => ray_mul(grown, rate)?,
                    Rounding::Down => rate.checked_mul(grown)? / RAY,
                };
                Some(Conversion::Rate { rate, one })
            }
            (Self::Straight { per_year_bips, since, next }, Conversion::Rate { rate, one }) => {
                let rate = match next {
                    Some((at, then)) if now >= *at => {
                        let until_then = rate.checked_add(straight(*per_year_bips, at.checked_sub(*since)?)?)?;
                        until_then.checked_add(straight(*then, now - at)?)?
                    }
                    _ => rate.checked_add(straight(*per_year_bips, now.checked_sub(*since)?)?)?,
                };
                Some(Conversion::Rate { rate, one })
            }
            (Self::Ticking { .. }, Conversion::Price { total_assets, total_shares }) => {
                let interest = self.ticked(total_assets, now)?;
                Some(Conversion::Price { total_assets: total_assets.checked_add(interest)?, total_shares })
            }
            // the other accruals apply to a ratio
            (_, Conversion::Rate { .. } | Conversion::Price { .. } | Conversion::Wrapped { .. })
            | (Self::Compounding { .. } | Self::Simple { .. } | Self::Straight { .. } | Self::Ticking { .. }, _) => {
                None
            }
            (Self::Distributing { .. }, ratio) => {
                ratio.with_assets(|assets| assets.checked_add(self.distributed(assets, now)?))
            }
            (Self::Unlocking { per_second, since, until, held }, ratio) => {
                let gone = match *until {
                    0 => U256::ZERO,
                    until if until > now => {
                        per_second.checked_mul(U256::from(now.checked_sub(*since)?))? / UNLOCKING_SCALE
                    }
                    _ => *held,
                };
                ratio.with_shares(|shares| shares.checked_sub(gone))
            }
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
            _ => None,
        }
    }

    /// Returns the conversion with a changed number of shares; `None` if no shares remain but assets do, which releases
    /// treat differently.
    fn with_shares(self, change: impl FnOnce(U256) -> Option<U256>) -> Option<Self> {
        let Self::Ratio { total_assets, total_shares, virtual_assets, virtual_shares } = self else { return None };
        let total_shares = change(total_shares)?;
        let orphaned = total_shares.is_zero() && !total_assets.is_zero();
        (!orphaned).then_some(Self::Ratio { total_assets, total_shares, virtual_assets, virtual_shares })
    }

    /// Returns the conversion with the shares of a performance fee. Source: `MetaMorpho._accruedFeeShares`.
    fn with_fee_shares(self, last_total_assets: U256, fee_wad: U256) -> Option<Self> {
        let Self::Ratio { total_assets, total_shares, virtual_assets, virtual_shares } = self else { return None };
        let gain = total_assets.saturating_sub(last_total_assets);
        let fee_assets = mul_div(gain, fee_wad, WAD)?;
        let shares = total_shares.checked_add(virtual_shares)?;
        let assets = total_assets.checked_sub(fee_assets)?.checked_add(virtual_assets)?;
        let fee_shares = if fee_assets.is_zero() { U256::ZERO } else { mul_div(fee_assets, shares, assets)? };
        let total_shares = total_shares.checked_add(fee_shares)?;
        Some(Self::Ratio { total_assets, total_shares, virtual_assets, virtual_shares })
    }
}

/// Computes the growth of a rate in a number of seconds, at a pace in basis points of one per year. Source:
/// `sGho._accruedYield`.
fn straight(per_year_bips: u64, seconds: u64) -> Option<U256> {
    let product = U256::from(per_year_bips).checked_mul(RAY)?.checked_mul(U256::from(seconds))?;
    Some(product / U256::from(BIPS * YEAR_SECONDS))
}

/// Computes `base^exponent` in ray, each product rounded to nearest. Source: `rpow` of Sky's `SUsds` and MakerDAO's
/// `Pot`.
fn power_ray(base: U256, exponent: u64) -> Option<U256> {
    let (mut base, mut rest) = (base, exponent);
    let mut result = if rest % 2 == 1 { base } else { RAY };
    rest /= 2;
    while rest != 0 {
        base = ray_mul(base, base)?;
        if rest % 2 == 1 {
            result = ray_mul(result, base)?;
        }
        rest /= 2;
    }
    Some(result)
}
