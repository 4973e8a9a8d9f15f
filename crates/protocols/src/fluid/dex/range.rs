//! Price range at a time, and the reserves of collateral and debt in it. Amounts have 12 decimals, prices 27.

use alloy_primitives::U256;

use super::{Side, reserves::PRICE_ONE, storage::Storage};
use crate::fluid::arith::{bits, expand, small_bits, square_root};

const MILLION: u64 = 1_000_000;
const THOUSAND: u64 = 1_000;

/// Prices of a pool at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) centre: U256,
    upper: U256,
    lower: U256,
    /// Geometric mean of upper and lower.
    mean: U256,
}

/// Interpolates a value that shifts from old to new. Source: `FluidDexT1Shift._calcShiftingDone`.
fn shifted(current: U256, old: U256, passed: U256, duration: U256) -> Option<U256> {
    let moved = current.abs_diff(old).checked_mul(passed)?.checked_div(duration)?;
    if current > old { old.checked_add(moved) } else { old.checked_sub(moved) }
}

impl Storage {
    /// Computes the range at a time; `None` where the contract's arithmetic reverts. Source:
    /// `CoreHelpers._getPricesAndExchangePrices`.
    pub(super) fn range(&self, now: u64) -> Option<Range> {
        let second = self.variables2;
        let mut centre = self.centre(now)?;
        let (mut upper, mut lower) = self.bounds(now, centre)?;
        let last = expand(bits(self.variables, 41, 40));
        let mut moved = false;
        if !bits(second, 68, 20).is_zero() {
            let (upper_threshold, lower_threshold, seconds) = self.thresholds(now)?;
            let rest = |threshold: U256| U256::from(THOUSAND).checked_sub(threshold);
            let above = upper.checked_sub(centre)?.checked_mul(rest(upper_threshold)?)? / U256::from(THOUSAND);
            let below = centre.checked_sub(lower)?.checked_mul(rest(lower_threshold)?)? / U256::from(THOUSAND);
            let elapsed = U256::from(now.saturating_sub(small_bits(self.variables, 121, 33)));
            let part = |whole: U256| {
                if elapsed < seconds { Some(whole.checked_mul(elapsed)? / seconds) } else { Some(whole) }
            };
            if last > centre.checked_add(above)? {
                centre = centre.checked_add(part(upper.checked_sub(centre)?)?)?;
                moved = true;
            } else if last < centre.checked_sub(below)? {
                centre = centre.checked_sub(part(centre.checked_sub(lower)?)?)?;
                moved = true;
            }
        }
        let (most, least) = (expand(bits(second, 172, 28)), expand(bits(second, 200, 28)));
        if centre > most {
            (centre, moved) = (most, true);
        } else if centre < least {
            (centre, moved) = (least, true);
        }
        if moved {
            (upper, lower) = self.bounds(now, centre)?;
        }
        let mean = if upper < U256::from(10).pow(U256::from(38)) {
            square_root(upper.checked_mul(lower)?)
        } else {
            let one = U256::from(10).pow(U256::from(18));
            square_root((upper / one).checked_mul(lower / one)?).checked_mul(one)?
        };
        Some(Range { centre, upper, lower, mean })
    }

    /// Computes the centre before thresholds and bounds. Source: `FluidDexT1Shift._calcCenterPrice`.
    fn centre(&self, now: u64) -> Option<U256> {
        let stored = expand(bits(self.variables, 81, 40));
        if !self.variables2.bit(248) {
            return if bits(self.variables2, 112, 30).is_zero() { Some(stored) } else { self.external_centre };
        }
        let target = self.external_centre?;
        let (percent, duration) = (bits(self.centre_shift, 33, 20), bits(self.centre_shift, 53, 20));
        let from = small_bits(self.variables, 121, 33).max(small_bits(self.centre_shift, 0, 33));
        let passed = U256::from(now.saturating_sub(from));
        let step = stored.checked_mul(percent)?.checked_mul(passed)?;
        let step = step.checked_div(duration.checked_mul(U256::from(MILLION))?)?;
        Some(if target > stored {
            target.min(stored.checked_add(step)?)
        } else {
            target.max(stored.saturating_sub(step))
        })
    }

    /// Returns `dexVariables2` after a swap. Once a shifting centre has reached the other contract's answer, the shift
    /// is over, and later reads use that answer in full precision instead of the stored one. Source:
    /// `FluidDexT1Shift._calcCenterPrice`.
    pub(super) fn arrived(&self, now: u64) -> U256 {
        let mut second = self.variables2;
        if second.bit(248) && self.centre(now) == self.external_centre {
            second.set_bit(248, false);
        }
        second
    }

    /// Computes the upper and lower price around a centre.
    fn bounds(&self, now: u64, centre: U256) -> Option<(U256, U256)> {
        let (mut upper, mut lower) = (bits(self.variables2, 27, 20), bits(self.variables2, 47, 20));
        if self.variables2.bit(26) {
            let (duration, start) = (small_bits(self.shifts, 40, 20), small_bits(self.shifts, 60, 33));
            if start.saturating_add(duration) >= now {
                let (passed, duration) = (U256::from(now.checked_sub(start)?), U256::from(duration));
                upper = shifted(upper, bits(self.shifts, 0, 20), passed, duration)?;
                lower = shifted(lower, bits(self.shifts, 20, 20), passed, duration)?;
            }
        }
        let million = U256::from(MILLION);
        let above = centre.checked_mul(million)?.checked_div(million.checked_sub(upper)?)?;
        let below = centre.checked_mul(million.checked_sub(lower)?)? / million;
        Some((above, below))
    }

    /// Returns the thresholds beyond which a price within the range pulls the centre, and the duration in seconds.
    fn thresholds(&self, now: u64) -> Option<(U256, U256, U256)> {
        let second = self.variables2;
        let (upper, lower, seconds) = (bits(second, 68, 10), bits(second, 78, 10), bits(second, 88, 24));
        let shift = self.shifts >> 128_usize;
        let (duration, start) = (small_bits(shift, 40, 20), small_bits(shift, 60, 33));
        if !second.bit(67) || start.saturating_add(duration) < now {
            return Some((upper, lower, seconds));
        }
        let (passed, duration) = (U256::from(now.checked_sub(start)?), U256::from(duration));
        Some((
            shifted(upper, bits(shift, 0, 20), passed, duration)?,
            shifted(lower, bits(shift, 20, 20), passed, duration)?,
            shifted(seconds, bits(shift, 93, 24), passed, duration)?,
        ))
    }
}

/// Computes `1 / price`.
fn inverse(price: U256) -> Option<U256> {
    PRICE_ONE.checked_mul(PRICE_ONE)?.checked_div(price)
}

impl Range {
    /// Computes the reserves of an amount of collateral. Source: `_getCollateralReserves`.
    pub(super) fn of_collateral(&self, supply: [U256; 2]) -> Option<Side> {
        let [x, y] = supply;
        let outside = if self.mean < PRICE_ONE {
            outside_range(self.mean, self.upper, x, y)?
        } else {
            let (second, first) = outside_range(inverse(self.mean)?, inverse(self.lower)?, y, x)?;
            (first, second)
        };
        Some(Side { real: supply, imaginary: [outside.0.checked_add(x)?, outside.1.checked_add(y)?] })
    }

    /// Computes the reserves of an amount of debt. Source: `_getDebtReserves`.
    pub(super) fn of_debt(&self, debt: [U256; 2]) -> Option<Side> {
        let [x, y] = debt;
        if self.mean < PRICE_ONE {
            debt_reserves(self.mean, self.lower, x, y)
        } else {
            let Side { real: [r1, r0], imaginary: [i1, i0] } =
                debt_reserves(inverse(self.mean)?, inverse(self.upper)?, y, x)?;
            Some(Side { real: [r0, r1], imaginary: [i0, i1] })
        }
    }
}

/// Returns `10^50`: a product with 27 more digits still fits a word.
fn roomy() -> U256 {
    U256::from(10).pow(U256::from(50))
}

/// Computes the imaginary reserves beyond the real ones. Source: `_calculateReservesOutsideRange`.
fn outside_range(mean: U256, edge: U256, x: U256, y: U256) -> Option<(U256, U256)> {
    let wide = edge.checked_sub(mean)?;
    let half = mean.checked_mul(x)?.checked_add(y.checked_mul(PRICE_ONE)?)?;
    let half = half.checked_div(wide.checked_mul(U256::from(2))?)?;
    let product = x.checked_mul(y)?;
    let product = if product < roomy() {
        product.checked_mul(PRICE_ONE)?.checked_div(wide)?
    } else {
        product.checked_div(wide)?.checked_mul(PRICE_ONE)?
    };
    let first = half.checked_add(square_root(product.checked_add(half.checked_mul(half)?)?))?;
    Some((first, first.checked_mul(mean)? / PRICE_ONE))
}

/// Computes the reserves of debt. Source: `_calculateDebtReserves`.
fn debt_reserves(mean: U256, lower: U256, dx: U256, dy: U256) -> Option<Side> {
    let (plus, minus) = (dx.checked_mul(mean)?, dy.checked_mul(PRICE_ONE)?);
    let half = plus.abs_diff(minus) / (PRICE_ONE * U256::from(2));
    let product = dx.checked_mul(dy)?;
    let product = if product < roomy() {
        product.checked_mul(lower)? / PRICE_ONE
    } else {
        (product / PRICE_ONE).checked_mul(lower)?
    };
    let root = square_root(product.checked_add(half.checked_mul(half)?)?);
    let real1 = if plus >= minus { root.checked_add(half)? } else { root.checked_sub(half)? };
    let above = real1.checked_mul(PRICE_ONE)?.checked_sub(dx.checked_mul(lower)?)?;
    if above < U256::from(MILLION) {
        return None;
    }
    let square = real1.checked_mul(real1)?;
    let imaginary1 = if real1 < U256::from(10).pow(U256::from(25)) {
        square.checked_mul(PRICE_ONE)?.checked_div(above)?
    } else {
        square.checked_div(above / PRICE_ONE)?
    };
    let imaginary0 = imaginary1.checked_mul(dx)?.checked_div(real1)?.checked_sub(dx)?;
    let real0 = imaginary0.checked_mul(dy)?.checked_div(imaginary1.checked_add(dy)?)?;
    Some(Side { real: [real0, real1], imaginary: [imaginary0, imaginary1] })
}
