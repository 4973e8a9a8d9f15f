//! Exact arithmetic of a pair.

use alloy_primitives::{U256, U512};

use super::{After, State, gas};
use crate::{Swap, SwapError};

/// Largest reserve that a pair stores: 112 bits.
pub const MAX_RESERVE: u128 = (1 << 112) - 1;

/// One hundred percent, in basis points.
const WHOLE_BPS: u16 = 10_000;

impl State {
    /// Returns the pair after an earlier swap of the same route.
    #[must_use]
    pub const fn with(&self, after: &After) -> Self {
        Self { reserve0: after.reserve0, reserve1: after.reserve1, fee_bps: self.fee_bps }
    }

    /// Computes the largest output that the pair pays for `amount_in`.
    ///
    /// This is `UniswapV2Library.getAmountOut`, rounded down: the fee stays on the amount in, and the product of the
    /// reserves, net of the fee, does not fall. Assumes that the pair's balances equal its reserves, and that neither
    /// token takes a transfer fee.
    ///
    /// # Errors
    /// - [`SwapError::InsufficientLiquidity`] if a reserve is zero.
    /// - [`SwapError::Overflow`] if the reserve of the coin in would exceed 112 bits.
    /// - [`SwapError::ZeroOutput`] if the output rounds to zero.
    ///
    /// Source: `UniswapV2Pair.swap`, `_update` (v2-core 1.0.1), `UniswapV2Library.getAmountOut` (v2-periphery).
    pub fn swap(&self, zero_for_one: bool, amount_in: U256) -> Result<Swap, SwapError> {
        let (reserve_in, reserve_out) =
            if zero_for_one { (self.reserve0, self.reserve1) } else { (self.reserve1, self.reserve0) };
        if amount_in.is_zero() {
            return Err(SwapError::ZeroAmount);
        }
        if reserve_in == 0 || reserve_out == 0 {
            return Err(SwapError::InsufficientLiquidity { consumed: U256::ZERO, amount_in });
        }
        let amount_out = amount_out(reserve_in, reserve_out, self.fee_bps, amount_in).ok_or(SwapError::Closed)?;
        if amount_out == 0 {
            return Err(SwapError::ZeroOutput);
        }
        let reserve_in_after = u128::try_from(amount_in).ok().and_then(|amount| reserve_in.checked_add(amount));
        let reserve_in_after =
            reserve_in_after.filter(|reserve| *reserve <= MAX_RESERVE).ok_or(SwapError::Overflow { amount_in })?;
        let reserve_out_after = reserve_out.checked_sub(amount_out).ok_or(SwapError::Closed)?;
        let (reserve0, reserve1) =
            if zero_for_one { (reserve_in_after, reserve_out_after) } else { (reserve_out_after, reserve_in_after) };
        Ok(Swap {
            amount_out: U256::from(amount_out),
            gas_units: gas::SWAP_GAS_UNITS,
            after: crate::After::UniswapV2(After { reserve0, reserve1 }),
        })
    }

    /// Computes the input for exactly `amount_out`: the quotient rounded down, plus one, even if the division is exact.
    ///
    /// # Errors
    /// - [`SwapError::InsufficientLiquidity`] if `amount_out` is the whole reserve or more, or a reserve is zero.
    /// - [`SwapError::Overflow`] where the contract's arithmetic reverts.
    ///
    /// Source: `UniswapV2Library.getAmountIn` (v2-periphery).
    pub fn swap_exact_out(&self, zero_for_one: bool, amount_out: U256) -> Result<U256, SwapError> {
        let (reserve_in, reserve_out) =
            if zero_for_one { (self.reserve0, self.reserve1) } else { (self.reserve1, self.reserve0) };
        if amount_out.is_zero() {
            return Err(SwapError::ZeroAmount);
        }
        let left = U256::from(reserve_out).checked_sub(amount_out).filter(|left| !left.is_zero() && reserve_in > 0);
        let left = left.ok_or(SwapError::InsufficientLiquidity { consumed: U256::ZERO, amount_in: amount_out })?;
        let kept = WHOLE_BPS.checked_sub(self.fee_bps).filter(|kept| *kept > 0).ok_or(SwapError::Closed)?;
        let numerator = U256::from(reserve_in).checked_mul(amount_out);
        let quotient = numerator
            .and_then(|product| product.checked_mul(U256::from(WHOLE_BPS)))
            .and_then(|numerator| numerator.checked_div(left.checked_mul(U256::from(kept))?)?.checked_add(U256::ONE));
        quotient.ok_or(SwapError::Overflow { amount_in: amount_out })
    }
}

/// Computes `reserve_out · in′ / (reserve_in · 10⁴ + in′)`, rounded down, with `in′ = amount_in · (10⁴ − fee)`.
///
/// `None` for a fee of 100% or more, which no pair has.
fn amount_out(reserve_in: u128, reserve_out: u128, fee_bps: u16, amount_in: U256) -> Option<u128> {
    let kept = U256::from(WHOLE_BPS.checked_sub(fee_bps).filter(|kept| *kept > 0)?);
    let scaled_reserve = U256::from(reserve_in) * U256::from(WHOLE_BPS);
    let Some(in_after_fee) = amount_in.checked_mul(kept).filter(|amount| amount.bit_len() <= 144) else {
        return amount_out_wide(scaled_reserve, reserve_out, kept, amount_in);
    };
    // at most 144 + 112 bits, for any reserve that a pair can have
    match in_after_fee.checked_mul(U256::from(reserve_out)) {
        Some(numerator) => u128::try_from(numerator / (scaled_reserve + in_after_fee)).ok(),
        None => amount_out_wide(scaled_reserve, reserve_out, kept, amount_in),
    }
}

/// Computes the same in 512 bits, for amounts that no real token has.
fn amount_out_wide(scaled_reserve: U256, reserve_out: u128, kept: U256, amount_in: U256) -> Option<u128> {
    let in_after_fee = U512::from(amount_in).checked_mul(U512::from(kept))?;
    let denominator = in_after_fee.checked_add(U512::from(scaled_reserve))?;
    u128::try_from(in_after_fee.checked_mul(U512::from(reserve_out))?.checked_div(denominator)?).ok()
}
