//! The pair's exact arithmetic.

use alloy_primitives::{U256, U512};

use super::{After, State, gas};
use crate::{Swap, SwapError};

/// The largest reserve that a pair stores: 112 bits.
pub const MAX_RESERVE: u128 = (1 << 112) - 1;

/// A whole, in basis points.
const WHOLE_BPS: u16 = 10_000;

impl State {
    /// The pair as an earlier swap of the same route left it.
    #[must_use]
    pub const fn with(&self, after: &After) -> Self {
        Self { reserve0: after.reserve0, reserve1: after.reserve1, fee_bps: self.fee_bps }
    }

    /// What a swap of `amount_in` pays when the caller asks the pair for the most that it gives.
    ///
    /// The amount is that of `UniswapV2Library.getAmountOut`, rounded down: the fee stays on the amount in, and the product
    /// of the reserves, net of the fee, does not fall. Assumes that the pair's balances equal its reserves, and that both
    /// tokens move exactly what they are told to.
    ///
    /// # Errors
    /// - [`SwapError::InsufficientLiquidity`] while a reserve is zero.
    /// - [`SwapError::Overflow`] when the reserve of the coin in would pass 112 bits.
    /// - [`SwapError::ZeroOutput`] when nothing would be paid.
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
        let overflow = SwapError::Overflow { amount_in };
        let amount = u128::try_from(amount_in).map_err(|_| overflow.clone())?;
        let reserve_in_after =
            reserve_in.checked_add(amount).filter(|reserve| *reserve <= MAX_RESERVE).ok_or(overflow)?;
        let amount_out = amount_out(reserve_in, reserve_out, self.fee_bps, amount).ok_or(SwapError::Closed)?;
        if amount_out == 0 {
            return Err(SwapError::ZeroOutput);
        }
        let reserve_out_after = reserve_out.checked_sub(amount_out).ok_or(SwapError::Closed)?;
        let (reserve0, reserve1) =
            if zero_for_one { (reserve_in_after, reserve_out_after) } else { (reserve_out_after, reserve_in_after) };
        Ok(Swap {
            amount_out: U256::from(amount_out),
            gas_units: gas::SWAP_GAS_UNITS,
            after: crate::After::UniswapV2(After { reserve0, reserve1 }),
        })
    }
}

/// `reserve_out · in′ / (reserve_in · 10⁴ + in′)`, rounded down, with `in′ = amount_in · (10⁴ − fee)`.
///
/// `None` for a fee of the whole amount or more, which no pair has.
fn amount_out(reserve_in: u128, reserve_out: u128, fee_bps: u16, amount_in: u128) -> Option<u128> {
    let kept = u64::from(WHOLE_BPS.checked_sub(fee_bps).filter(|kept| *kept > 0)?);
    // 112 + 14 bits each: both fit 128 bits for reserves that a pair can have
    let in_after_fee = U256::from(amount_in).checked_mul(U256::from(kept))?;
    let denominator = U256::from(reserve_in).checked_mul(U256::from(WHOLE_BPS))?.checked_add(in_after_fee)?;
    let numerator = match in_after_fee.checked_mul(U256::from(reserve_out)) {
        Some(numerator) => numerator.checked_div(denominator)?,
        None => {
            let wide = in_after_fee.widening_mul::<256, 4, 512, 8>(U256::from(reserve_out));
            U256::checked_from_limbs_slice((wide / U512::from(denominator)).as_limbs())?
        }
    };
    u128::try_from(numerator).ok()
}
