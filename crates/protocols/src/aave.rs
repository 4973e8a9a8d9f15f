//! What the second and the third version of Aave have in common: how a deposit grows by the second.

use alloy_primitives::U256;

/// One, in Aave's 27-decimal fixed point.
pub(crate) const RAY: U256 = U256::from_limbs([0x9fd0_803c_e800_0000, 0x033b_2e3c, 0, 0]);

/// The year over which rates are paid, in seconds.
const YEAR_SECONDS: U256 = U256::from_limbs([31_536_000, 0, 0, 0]);

/// When a reserve was touched last, and what it pays from then on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interest {
    /// What one at the beginning had become by then, 27 decimals.
    pub(crate) index: U256,
    /// A year's interest, 27 decimals.
    pub(crate) rate: U256,
    /// When it was, unix seconds.
    pub(crate) since: u64,
}

impl Interest {
    /// What one at the beginning has become in a block of this time: interest is simple since the reserve was touched last, its
    /// product with time rounded down, its product with the index to the nearest. `None` where the contract reverts.
    ///
    /// Source: `getNormalizedIncome` and `_updateIndexes` of `ReserveLogic`, which agree in one second.
    pub(crate) fn income(&self, timestamp: u64) -> Option<U256> {
        if timestamp == self.since {
            return Some(self.index);
        }
        ray_mul(self.earned(timestamp)?.checked_add(RAY)?, self.index)
    }

    /// What one has earned since, at simple interest, rounded down.
    fn earned(&self, timestamp: u64) -> Option<U256> {
        let elapsed = U256::from(timestamp.checked_sub(self.since)?);
        Some(self.rate.checked_mul(elapsed)? / YEAR_SECONDS)
    }

    /// What one owed has come to cost since, at compound interest: the first three terms of the exponential function. Releases round the
    /// third differently, by less than ten in 27 decimals.
    ///
    /// Source: `calculateCompoundedInterest` of `MathUtils`, release 3.4 and later.
    pub(crate) fn owed(&self, timestamp: u64) -> Option<U256> {
        let x = self.earned(timestamp)?;
        let curvature = (x >> 1_usize).checked_add(ray_mul(x, x / U256::from(6))?)?;
        x.checked_add(ray_mul(x, curvature)?)
    }
}

/// `a · b` in 27 decimals, rounded to the nearest, halves up. Source: `rayMul` of `WadRayMath`.
pub(crate) fn ray_mul(a: U256, b: U256) -> Option<U256> {
    Some(a.checked_mul(b)?.checked_add(RAY >> 1_usize)? / RAY)
}
