//! Borrow rate: the adaptive curve of Morpho's interest rate model.
//!
//! Source: `AdaptiveCurveIrm.sol`, `ExpLib.sol`, `ConstantsLib.sol` (morpho-blue-irm, deployed at
//! [`ADAPTIVE_CURVE_IRM`]). Values are signed numbers in wad, divided towards zero. Their magnitude stays far below
//! 2^127 for every rate that the model allows.

use alloy_primitives::{Address, U256, address};
use serde::{Deserialize, Serialize};

/// Interest rate model of nearly every market. Source: Morpho's deployment list.
pub const ADAPTIVE_CURVE_IRM: Address = address!("870aC11D48B15DB9a138Cf899d20F13F79Ba00BC");

/// Interest rate model of a market.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Irm {
    /// No interest.
    None,
    /// Adaptive curve, with the last stored rate at target utilisation, per second in wad; 0 before the first update.
    AdaptiveCurve {
        /// Rate at target, see above.
        rate_at_target_wad: u64,
    },
    /// An annual rate equal to the utilisation: the model in Morpho Blue's own package for tests (`IrmMock`).
    Utilisation,
}

const WAD: i128 = 1_000_000_000_000_000_000;
const YEAR_SECONDS: i128 = 365 * 86_400;
const CURVE_STEEPNESS: i128 = 4 * WAD;
const ADJUSTMENT_SPEED: i128 = 50 * WAD / YEAR_SECONDS;
const TARGET_UTILISATION: i128 = WAD / 10 * 9;
const INITIAL_RATE_AT_TARGET: i128 = WAD / 100 * 4 / YEAR_SECONDS;
const MIN_RATE_AT_TARGET: i128 = WAD / 1_000 / YEAR_SECONDS;
const MAX_RATE_AT_TARGET: i128 = 2 * WAD / YEAR_SECONDS;
/// ln 2 and ln 1e-18.
const LN_2: i128 = 693_147_180_559_945_309;
const LN_WEI: i128 = -41_446_531_673_892_822_312;
/// Exponent above which every rate is the maximum, because the minimum grows past it.
const LARGE: i128 = 20 * WAD;

impl Irm {
    /// Computes the rate over a period that ends now, per second in wad. `None` beyond the contract's range.
    pub(super) fn borrow_rate(&self, supply: u128, borrow: u128, elapsed_seconds: u64) -> Option<U256> {
        let used = match supply {
            0 => U256::ZERO,
            supply => U256::from(borrow).checked_mul(crate::maths::WAD)?.checked_div(U256::from(supply))?,
        };
        match *self {
            Self::None => Some(U256::ZERO),
            Self::Utilisation => used.checked_div(U256::from(31_536_000_u64)),
            Self::AdaptiveCurve { rate_at_target_wad } => {
                let used = i128::try_from(used).ok()?;
                let rate = adaptive(i128::from(rate_at_target_wad), used, i128::from(elapsed_seconds))?;
                u128::try_from(rate).ok().map(U256::from)
            }
        }
    }
}

fn adaptive(start: i128, used: i128, elapsed: i128) -> Option<i128> {
    let norm = if used > TARGET_UTILISATION { WAD - TARGET_UTILISATION } else { TARGET_UTILISATION };
    let error = used.checked_sub(TARGET_UTILISATION)?.checked_mul(WAD)? / norm;
    let average = if start == 0 {
        INITIAL_RATE_AT_TARGET
    } else {
        let speed = ADJUSTMENT_SPEED.checked_mul(error)? / WAD;
        match speed.checked_mul(elapsed)? {
            0 => start,
            adaptation => {
                let (end, middle) = (adapted(start, adaptation)?, adapted(start, adaptation / 2)?);
                (start + end + 2 * middle) / 4
            }
        }
    };
    let slope = if error < 0 { WAD - WAD * WAD / CURVE_STEEPNESS } else { CURVE_STEEPNESS - WAD };
    (slope.checked_mul(error)? / WAD + WAD).checked_mul(average).map(|rate| rate / WAD)
}

/// Computes the rate at target after an adaptation, within its bounds.
fn adapted(start: i128, adaptation: i128) -> Option<i128> {
    if adaptation >= LARGE {
        return (start >= MIN_RATE_AT_TARGET).then_some(MAX_RATE_AT_TARGET);
    }
    let moved = start.checked_mul(exponential(adaptation))? / WAD;
    Some(moved.clamp(MIN_RATE_AT_TARGET, MAX_RATE_AT_TARGET))
}

/// Computes `e^x` by halves of ln 2 and a polynomial of second order; `x` below [`LARGE`].
fn exponential(x: i128) -> i128 {
    if x < LN_WEI {
        return 0;
    }
    let half = if x < 0 { -(LN_2 / 2) } else { LN_2 / 2 };
    let doublings = (x + half) / LN_2;
    let rest = x - doublings * LN_2;
    let power = WAD + rest + (rest * rest) / WAD / 2;
    let shift = u32::try_from(doublings.unsigned_abs()).unwrap_or(u32::MAX);
    if doublings >= 0 { power.checked_shl(shift).unwrap_or(i128::MAX) } else { power.checked_shr(shift).unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_target_the_rate_stays_and_beside_it_the_rate_moves() {
        let rate = |used, elapsed| adaptive(INITIAL_RATE_AT_TARGET, used, elapsed).unwrap();
        assert_eq!(rate(TARGET_UTILISATION, 86_400), INITIAL_RATE_AT_TARGET);
        assert!(rate(WAD, 86_400) > rate(WAD, 12), "a market that is used up grows dearer");
        assert_eq!(rate(WAD, 0), 4 * INITIAL_RATE_AT_TARGET);
        assert!(rate(0, 86_400) < rate(0, 12));
        assert_eq!(rate(0, 0), INITIAL_RATE_AT_TARGET / 4);
    }

    #[test]
    fn ages_end_at_the_bounds() {
        let century = 100 * YEAR_SECONDS;
        assert_eq!(adapted(MIN_RATE_AT_TARGET, ADJUSTMENT_SPEED * century), Some(MAX_RATE_AT_TARGET));
        assert_eq!(adapted(MAX_RATE_AT_TARGET, -ADJUSTMENT_SPEED * century), Some(MIN_RATE_AT_TARGET));
    }

    #[test]
    #[allow(clippy::cast_possible_truncation, reason = "small numbers")]
    fn the_exponential_is_near_the_real_one() {
        for x in [-30.0_f64, -1.0, -0.3, 0.0, 0.01, 0.5, 3.0, 17.0] {
            let got = exponential((x * 1e18) as i128) as f64 / 1e18;
            let error = (got / x.exp() - 1.0).abs();
            assert!(error < 0.01 || x.exp() < 1e-12, "{x}: {got}");
        }
    }
}
