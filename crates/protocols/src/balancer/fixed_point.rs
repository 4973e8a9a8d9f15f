//! Fixed point with 18 decimals: `FixedPoint` of v2-solidity-utils.

use alloy_primitives::U256;

use super::{log_exp, revert::Revert};

pub(super) use crate::maths::WAD as ONE;

/// Relative error that a power is corrected by, in units of 10⁻¹⁸.
const MAX_POW_RELATIVE_ERROR: U256 = U256::from_limbs([10_000, 0, 0, 0]);

pub(super) fn add(a: U256, b: U256) -> Result<U256, Revert> {
    a.checked_add(b).ok_or(Revert::Arithmetic)
}

pub(super) fn sub(a: U256, b: U256) -> Result<U256, Revert> {
    a.checked_sub(b).ok_or(Revert::Arithmetic)
}

/// Adds up balances.
pub(super) fn total(balances: &[U256]) -> Result<U256, Revert> {
    balances.iter().try_fold(U256::ZERO, |sum, balance| add(sum, *balance))
}

pub(super) fn mul_down(a: U256, b: U256) -> Result<U256, Revert> {
    Ok(a.checked_mul(b).ok_or(Revert::Arithmetic)? / ONE)
}

pub(super) fn mul_up(a: U256, b: U256) -> Result<U256, Revert> {
    round_up(a.checked_mul(b), ONE)
}

pub(super) fn div_down(a: U256, b: U256) -> Result<U256, Revert> {
    a.checked_mul(ONE).and_then(|a| a.checked_div(b)).ok_or(Revert::Arithmetic)
}

pub(super) fn div_up(a: U256, b: U256) -> Result<U256, Revert> {
    round_up(a.checked_mul(ONE), b)
}

/// Computes `a / b`, rounded up; propagates an earlier overflow.
pub(super) fn round_up(a: Option<U256>, b: U256) -> Result<U256, Revert> {
    let a = a.filter(|_| !b.is_zero()).ok_or(Revert::Arithmetic)?;
    let (quotient, rest) = a.div_rem(b);
    Ok(if rest.is_zero() { quotient } else { quotient + U256::ONE })
}

/// Computes `1 − x`, at least zero.
pub(super) const fn complement(x: U256) -> U256 {
    ONE.saturating_sub(x)
}

/// Computes `x^y`, rounded so that it is never below the true power. With `shortcuts`, exponents 1, 2 and 4 are
/// multiplied out, as in later pools.
pub(super) fn pow_up(x: U256, y: U256, shortcuts: bool) -> Result<U256, Revert> {
    const TWO: U256 = U256::from_limbs([2_000_000_000_000_000_000, 0, 0, 0]);
    const FOUR: U256 = U256::from_limbs([4_000_000_000_000_000_000, 0, 0, 0]);
    if shortcuts && y == ONE {
        return Ok(x);
    }
    if shortcuts && y == TWO {
        return mul_up(x, x);
    }
    if shortcuts && y == FOUR {
        let square = mul_up(x, x)?;
        return mul_up(square, square);
    }
    let raw = log_exp::pow(x, y)?;
    add(raw, add(mul_up(raw, MAX_POW_RELATIVE_ERROR)?, U256::ONE)?)
}
