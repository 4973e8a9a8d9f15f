//! Common steps of the closed forms of two and of three coins: the cubic for `K₀`.

use alloy_primitives::I256;

use super::roots::{cbrt, isqrt};
use super::signed::{abs, s, sadd, sdiv, smul, ssub, unsigned};
use crate::curve::arith::{Maths, WAD, int};

/// Returns the divisor of the coefficients that makes their products fit: 18 powers of ten less than the first of the
/// given powers that a size exceeds.
pub(super) fn divider(size: I256, powers: &[u64]) -> Maths<I256> {
    let (size, ten) = (unsigned(size)?, int(10));
    let above = powers.iter().find(|power| size > ten.wrapping_pow(int(**power)));
    s(ten.wrapping_pow(int(above.map_or(0, |power| power - 18))))
}

/// Computes the term `C` of the cubic formula from the coefficient `b`, `δ₀` and `δ₁`; `None` if the cubic has no single
/// real root, so that Newton's method is needed.
pub(super) fn cubic_term(b: I256, delta0: I256, delta1: I256) -> Maths<Option<I256>> {
    let four_square = smul(s(int(4))?, smul(delta0, delta0)?)?;
    let inside = sadd(smul(delta1, delta1)?, smul(sdiv(four_square, b)?, delta0)?)?;
    if inside <= I256::ZERO {
        return Ok(None);
    }
    let root_inside = s(isqrt(unsigned(inside)?))?;
    let b_root = s(cbrt(unsigned(abs(b))?))?;
    let b_root = if b.is_negative() { b_root.wrapping_neg() } else { b_root };
    let second = if delta1 > I256::ZERO {
        s(cbrt(unsigned(sadd(delta1, root_inside)?)? >> 1))?
    } else {
        s(cbrt(unsigned(ssub(root_inside, delta1)?)? >> 1))?.wrapping_neg()
    };
    let wad = s(WAD)?;
    sdiv(smul(sdiv(smul(b_root, b_root)?, wad)?, second)?, wad).map(Some)
}
