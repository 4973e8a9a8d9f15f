//! Multiplication and division through 512 bits, as the `FullMath` and `mulDiv` of many contracts, and the scale that
//! most of them use.

use alloy_primitives::{U256, U512};

/// One in wad, the scale of 18 decimals.
pub const WAD: U256 = U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]);

/// Computes `a · b / denominator`, rounded down. `None` where the contract reverts: for a quotient above 256 bits or a
/// zero denominator.
pub(crate) fn mul_div(a: U256, b: U256, denominator: U256) -> Option<U256> {
    Some(mul_div_rem(a, b, denominator)?.0)
}

/// Computes `a · b / denominator`, rounded up. `None` as for [`mul_div`].
pub(crate) fn mul_div_up(a: U256, b: U256, denominator: U256) -> Option<U256> {
    let (quotient, exact) = mul_div_rem(a, b, denominator)?;
    if exact { Some(quotient) } else { quotient.checked_add(U256::ONE) }
}

/// Computes `a / denominator`, rounded up; `None` for a zero denominator.
pub(crate) fn div_up(a: U256, denominator: U256) -> Option<U256> {
    if denominator.is_zero() {
        return None;
    }
    let (quotient, rest) = a.div_rem(denominator);
    if rest.is_zero() { Some(quotient) } else { quotient.checked_add(U256::ONE) }
}

/// Returns the quotient, and whether the division was exact.
fn mul_div_rem(a: U256, b: U256, denominator: U256) -> Option<(U256, bool)> {
    if denominator.is_zero() {
        return None;
    }
    let product: U512 = a.widening_mul(b);
    let [l0, l1, l2, l3, high @ ..] = *product.as_limbs();
    if high == [0; 4] {
        let (quotient, rest) = U256::from_limbs([l0, l1, l2, l3]).div_rem(denominator);
        return Some((quotient, rest.is_zero()));
    }
    let (quotient, rest) = product.div_rem(U512::from(denominator));
    let [q0, q1, q2, q3, high @ ..] = *quotient.as_limbs();
    (high == [0; 4]).then(|| (U256::from_limbs([q0, q1, q2, q3]), rest.is_zero()))
}
