//! Checked 256-bit arithmetic with the reverts of the contracts' compiler, and shared constants.

use alloy_primitives::U256;

use crate::SwapError;

pub(super) use crate::maths::WAD;

/// A fee of 100%: fees are in units of 10⁻¹⁰.
pub(super) const FEE_WHOLE: U256 = U256::from_limbs([10_000_000_000, 0, 0, 0]);
/// Maximum iterations of the contracts' Newton loops.
pub(super) const MAX_ROUNDS: usize = 255;

/// Reason for which a contract's arithmetic reverts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Overflow, underflow or division by zero, which the compiler checks.
    Arithmetic,
    /// A balance, invariant or parameter outside the range that the contract accepts.
    Unsafe,
    /// A Newton loop that did not converge in [`MAX_ROUNDS`] iterations.
    Unconverged,
    /// The virtual price would fall; the contract reverts with a loss.
    Loss,
}

/// A value, or the reason for the contract's revert.
pub(crate) type Maths<T> = Result<T, Fault>;

impl Fault {
    /// Converts to the swap error for an amount.
    pub(crate) const fn refusal(self, amount_in: U256) -> SwapError {
        match self {
            Self::Arithmetic => SwapError::Overflow { amount_in },
            Self::Unsafe | Self::Unconverged => SwapError::InsufficientLiquidity { consumed: U256::ZERO, amount_in },
            Self::Loss => SwapError::ZeroOutput,
        }
    }
}

/// Returns a small constant as a 256-bit integer.
pub(super) const fn int(value: u64) -> U256 {
    U256::from_limbs([value, 0, 0, 0])
}

/// Computes `a + b`.
pub(super) fn add(a: U256, b: U256) -> Maths<U256> {
    a.checked_add(b).ok_or(Fault::Arithmetic)
}

/// Computes `a − b`.
pub(super) fn sub(a: U256, b: U256) -> Maths<U256> {
    a.checked_sub(b).ok_or(Fault::Arithmetic)
}

/// Computes `a · b`.
pub(super) fn mul(a: U256, b: U256) -> Maths<U256> {
    a.checked_mul(b).ok_or(Fault::Arithmetic)
}

/// Computes `a / b`, rounded down.
pub(super) fn div(a: U256, b: U256) -> Maths<U256> {
    a.checked_div(b).ok_or(Fault::Arithmetic)
}

/// Computes `a · b / c`, rounded down; the product must fit 256 bits.
pub(super) fn mul_div(a: U256, b: U256, c: U256) -> Maths<U256> {
    div(mul(a, b)?, c)
}

/// Tells whether two successive values of a Newton loop differ by at most one.
pub(super) fn settled(a: U256, b: U256) -> bool {
    a.abs_diff(b) <= U256::ONE
}

/// Returns `Err(Unsafe)` unless the condition holds.
pub(super) const fn require(condition: bool) -> Maths<()> {
    if condition { Ok(()) } else { Err(Fault::Unsafe) }
}

/// Interpolates a ramp between two values like the contracts: linear in the block's time, rounded towards the start.
///
/// Source: `_A()` of every StableSwap pool.
pub(super) fn ramp(from: U256, to: U256, start: u64, end: u64, now: u64) -> Maths<U256> {
    if now >= end {
        return Ok(to);
    }
    let elapsed = int(now.checked_sub(start).ok_or(Fault::Arithmetic)?);
    let length = int(end.checked_sub(start).ok_or(Fault::Arithmetic)?);
    if to > from {
        add(from, mul_div(sub(to, from)?, elapsed, length)?)
    } else {
        sub(from, mul_div(sub(from, to)?, elapsed, length)?)
    }
}
