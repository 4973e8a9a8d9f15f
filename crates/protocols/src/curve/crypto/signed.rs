//! Checked signed arithmetic: division rounds towards zero, as in the EVM.

use alloy_primitives::{I256, U256};

use crate::curve::arith::{Fault, Maths};

/// Converts to a signed number; fails at 2²⁵⁵ and above.
pub(super) fn s(value: U256) -> Maths<I256> {
    I256::try_from(value).map_err(|_| Fault::Arithmetic)
}

/// Converts to an unsigned number; fails below zero.
pub(super) fn unsigned(value: I256) -> Maths<U256> {
    if value.is_negative() { Err(Fault::Arithmetic) } else { Ok(value.into_raw()) }
}

pub(super) fn sadd(a: I256, b: I256) -> Maths<I256> {
    a.checked_add(b).ok_or(Fault::Arithmetic)
}

pub(super) fn ssub(a: I256, b: I256) -> Maths<I256> {
    a.checked_sub(b).ok_or(Fault::Arithmetic)
}

pub(super) fn smul(a: I256, b: I256) -> Maths<I256> {
    a.checked_mul(b).ok_or(Fault::Arithmetic)
}

pub(super) fn sdiv(a: I256, b: I256) -> Maths<I256> {
    if b.is_zero() { Err(Fault::Arithmetic) } else { a.checked_div(b).ok_or(Fault::Arithmetic) }
}

/// Returns the absolute value.
pub(super) fn abs(value: I256) -> I256 {
    if value.is_negative() { value.wrapping_neg() } else { value }
}
