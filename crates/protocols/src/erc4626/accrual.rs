//! What time adds to a vault.

use alloy_primitives::U256;
use serde::{Deserialize, Serialize};

use super::{Conversion, RAY, WAD, mul_div};
use crate::{aave::ray_mul, vault::Rounding};

/// A year of 365 days.
pub(super) const YEAR_SECONDS: u64 = 31_536_000;

/// One in hundredths of a percent.
const BIPS: u64 = 10_000;

/// One in millionths.
const MILLION: U256 = U256::from_limbs([1_000_000, 0, 0, 0]);

/// How wide the numbers of Frankencoin's savings are.
const SAVED_BITS: usize = 192;

/// The scale of what goes in a second. Source: `MAX_BPS_EXTENDED` of Yearn's `VaultV3`.
const UNLOCKING_SCALE: U256 = U256::from_limbs([1_000_000_000_000, 0, 0, 0]);

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
    /// The rate grows by simple interest from the second in which it was stored: what a part of one earns is rounded down, its product with the
    /// rate as said.
    ///
    /// Aave's wrapped tokens: the reserve's index, its rate of supply, its last update, to the nearest. Aave's `sGHO` of its first release
    /// (`yieldIndex`, `ratePerSecond`), rounded down.
    Simple {
        /// Interest in a period, in ray.
        interest_ray: U256,
        /// The period, seconds.
        period_seconds: u64,
        /// When the rate was stored, unix seconds.
        since: u64,
        /// How the new rate is rounded.
        rounding: Rounding,
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
    /// A reward that a cycle spreads, of which each visit writes into what is stored what came since the visit before, no faster than a rate
    /// on what is stored.
    ///
    /// Frax's `sFRAX` (`rewardsCycleData`, `lastRewardsDistribution`, `maxDistributionPerSecondPerAsset`).
    Distributing {
        /// The cycle's reward, in assets.
        amount: U256,
        /// When the cycle began, unix seconds.
        from: u64,
        /// When it ends, unix seconds.
        until: u64,
        /// The last visit, unix seconds.
        since: u64,
        /// The most that comes in a second, as a part of what is stored, in wad.
        most_per_second_wad: U256,
    },
    /// The rate grows by a part of one, not of itself, and at another pace from a second that is known.
    ///
    /// Aave's `sGHO` of its second release (`_getCheckpoint`).
    Straight {
        /// Growth in a year, in hundredths of a percent of one.
        per_year_bips: u64,
        /// When the rate was stored, unix seconds.
        since: u64,
        /// The second in which the pace changes and what it will be.
        next: Option<(u64, u64)>,
    },
    /// Interest on what is saved, as ticks of a counter that runs at the rate: none before the counter passes the account's mark.
    ///
    /// Frankencoin's `svZCHF` (`currentTicks`, `currentRatePPM` and the vault's account in `savings`).
    Ticking {
        /// The counter, millionths of a year's interest times seconds.
        ticks: u64,
        /// When it was read, unix seconds.
        since: u64,
        /// What it grows by in a second.
        per_second: u64,
        /// The account's mark; zero for one without savings.
        mark: u64,
        /// What a referrer takes of the interest, in millionths.
        fee_millionths: u32,
    },
    /// Shares that the vault holds of itself, minted for a profit, go in a straight line.
    ///
    /// Yearn's third version (`profitUnlockingRate`, `lastProfitUpdate`, `fullProfitUnlockDate`).
    Unlocking {
        /// Shares that go in a second, times 10¹².
        per_second: U256,
        /// When that began, unix seconds.
        since: u64,
        /// When all are gone, unix seconds; zero for none to go.
        until: u64,
        /// What the vault holds of itself.
        held: U256,
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

    /// What a cycle has brought since the last visit to a vault that stores so much. Source: `StakedFrax.calculateRewardsToDistribute`.
    fn distributed(&self, stored: U256, now: u64) -> Option<U256> {
        let Self::Distributing { amount, from, until, since, most_per_second_wad } = self else { return None };
        let passed = U256::from(now.min(*until).checked_sub(*since)?);
        let spread = amount.checked_mul(passed)?.checked_div(U256::from(until.checked_sub(*from)?))?;
        Some(spread.min(most_per_second_wad.checked_mul(passed)?.checked_mul(stored)? / WAD))
    }

    /// What ticks have brought to savings, less the referrer's part. Source: `AbstractSavings.calculateInterest`, `SavingsVaultZCHF._interest`.
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

    /// The conversion at a time. `None` where the contract's arithmetic reverts.
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
            // the others are of a ratio
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

    /// With other shares; `None` where assets are left to none, which releases treat differently.
    fn with_shares(self, change: impl FnOnce(U256) -> Option<U256>) -> Option<Self> {
        let Self::Ratio { total_assets, total_shares, virtual_assets, virtual_shares } = self else { return None };
        let total_shares = change(total_shares)?;
        let orphaned = total_shares.is_zero() && !total_assets.is_zero();
        (!orphaned).then_some(Self::Ratio { total_assets, total_shares, virtual_assets, virtual_shares })
    }

    /// With the shares that the fee on a gain is paid in. Source: `MetaMorpho._accruedFeeShares`.
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

/// What a rate grows by in so many seconds at a pace in hundredths of a percent of one a year. Source: `sGho._accruedYield`.
fn straight(per_year_bips: u64, seconds: u64) -> Option<U256> {
    let product = U256::from(per_year_bips).checked_mul(RAY)?.checked_mul(U256::from(seconds))?;
    Some(product / U256::from(BIPS * YEAR_SECONDS))
}

/// `base^exponent` in ray, each product rounded to the nearest. Source: `rpow` of Sky's `SUsds` and MakerDAO's `Pot`.
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
