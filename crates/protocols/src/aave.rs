//! Interest of Aave V2 and V3 reserves: growth of a deposit per second.

use alloy_primitives::U256;

/// One in ray, the scale of rates with 27 decimals.
pub const RAY: U256 = U256::from_limbs([0x9fd0_803c_e800_0000, 0x033b_2e3c, 0, 0]);

/// Seconds of the year to which rates refer.
const YEAR_SECONDS: U256 = U256::from_limbs([31_536_000, 0, 0, 0]);

/// State of a reserve at its last update.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interest {
    /// Liquidity or borrow index at the last update, in 27 decimals.
    pub(crate) index: U256,
    /// Interest per year from then on, in 27 decimals.
    pub(crate) rate: U256,
    /// Time of the last update, in unix seconds.
    pub(crate) since: u64,
}

impl Interest {
    /// Returns the normalised income at a timestamp: simple interest since the last update. Rate times time is rounded
    /// down, the product with the index to nearest. `None` where the contract reverts.
    ///
    /// Source: `getNormalizedIncome` and `_updateIndexes` of `ReserveLogic`, which agree within one second.
    pub(crate) fn income(&self, timestamp: u64) -> Option<U256> {
        if timestamp == self.since {
            return Some(self.index);
        }
        ray_mul(self.earned(timestamp)?.checked_add(RAY)?, self.index)
    }

    /// Returns the simple interest on one since the last update, in 27 decimals, rounded down.
    fn earned(&self, timestamp: u64) -> Option<U256> {
        let elapsed = U256::from(timestamp.checked_sub(self.since)?);
        Some(self.rate.checked_mul(elapsed)? / YEAR_SECONDS)
    }

    /// Returns the compound interest on one since the last update: the first three terms of the exponential function,
    /// in 27 decimals. Releases round the third term differently, by less than ten units of 10⁻²⁷.
    ///
    /// Source: `calculateCompoundedInterest` of `MathUtils`, release 3.4 and later.
    pub(crate) fn owed(&self, timestamp: u64) -> Option<U256> {
        let x = self.earned(timestamp)?;
        let curvature = (x >> 1_usize).checked_add(ray_mul(x, x / U256::from(6))?)?;
        x.checked_add(ray_mul(x, curvature)?)
    }
}

/// Multiplies two 27-decimal numbers, rounded to nearest, halves up. Source: `rayMul` of `WadRayMath`.
pub(crate) fn ray_mul(a: U256, b: U256) -> Option<U256> {
    Some(a.checked_mul(b)?.checked_add(RAY >> 1_usize)? / RAY)
}
