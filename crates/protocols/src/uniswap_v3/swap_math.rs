//! One step of a swap within a range of constant liquidity: `SwapMath.computeSwapStep` of v3-core.

use alloy_primitives::U256;

use super::{
    MAX_FEE_PIPS,
    sqrt_price_math::{Round, amount0, amount1, price_after_input, price_after_output},
};
use crate::maths::{mul_div, mul_div_up};

/// Result of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Price at the end of the step: the target, or short of it.
    pub price_x96: U256,
    /// Amount in, including the fee.
    pub spent: U256,
    /// Amount out.
    pub amount_out: U256,
}

/// Moves the price towards `target_x96` with the remaining input.
///
/// Amounts in are rounded up, amounts out down. If the target is not reached, the step spends all that remains, and the
/// excess is fee. `None` where the contract reverts.
pub(super) fn step(
    price_x96: U256,
    target_x96: U256,
    liquidity: u128,
    remaining: U256,
    fee_pips: u32,
    zero_for_one: bool,
) -> Option<Step> {
    let kept_pips = MAX_FEE_PIPS.checked_sub(fee_pips)?;
    let remaining_less_fee = less_fee(remaining, kept_pips)?;
    let to_target = input_between(price_x96, target_x96, liquidity, zero_for_one)?;
    if remaining_less_fee >= to_target {
        let fee = mul_div_up(to_target, U256::from(fee_pips), U256::from(kept_pips))?;
        let amount_out = output_between(price_x96, target_x96, liquidity, zero_for_one)?;
        return Some(Step { price_x96: target_x96, spent: to_target.checked_add(fee)?, amount_out });
    }
    // rounding keeps the price short of the target here, so the contract takes the same branch
    let end_x96 = price_after_input(price_x96, liquidity, remaining_less_fee, zero_for_one)?;
    let amount_out = output_between(price_x96, end_x96, liquidity, zero_for_one)?;
    Some(Step { price_x96: end_x96, spent: remaining, amount_out })
}

/// Moves the price towards `target_x96` until the remaining output is bought.
///
/// Rounds like [`step`]; the fee is added to the input. `None` where the contract reverts.
pub(super) fn step_out(
    price_x96: U256,
    target_x96: U256,
    liquidity: u128,
    remaining: U256,
    fee_pips: u32,
    zero_for_one: bool,
) -> Option<Step> {
    let kept_pips = MAX_FEE_PIPS.checked_sub(fee_pips)?;
    let to_target = output_between(price_x96, target_x96, liquidity, zero_for_one)?;
    let end_x96 = match remaining >= to_target {
        true => target_x96,
        false => price_after_output(price_x96, liquidity, remaining, zero_for_one)?,
    };
    let amount_out = output_between(price_x96, end_x96, liquidity, zero_for_one)?.min(remaining);
    let amount_in = input_between(price_x96, end_x96, liquidity, zero_for_one)?;
    let fee = mul_div_up(amount_in, U256::from(fee_pips), U256::from(kept_pips))?;
    Some(Step { price_x96: end_x96, spent: amount_in.checked_add(fee)?, amount_out })
}

/// Computes `remaining · kept / 10⁶`, rounded down.
fn less_fee(remaining: U256, kept_pips: u32) -> Option<U256> {
    match u64::try_from(remaining) {
        Ok(small) => Some(U256::from(u128::from(small) * u128::from(kept_pips) / u128::from(MAX_FEE_PIPS))),
        Err(_) => mul_div(remaining, U256::from(kept_pips), U256::from(MAX_FEE_PIPS)),
    }
}

fn input_between(from_x96: U256, to_x96: U256, liquidity: u128, zero_for_one: bool) -> Option<U256> {
    if zero_for_one {
        amount0(to_x96, from_x96, liquidity, Round::Up)
    } else {
        amount1(from_x96, to_x96, liquidity, Round::Up)
    }
}

fn output_between(from_x96: U256, to_x96: U256, liquidity: u128, zero_for_one: bool) -> Option<U256> {
    if zero_for_one {
        amount1(to_x96, from_x96, liquidity, Round::Down)
    } else {
        amount0(from_x96, to_x96, liquidity, Round::Down)
    }
}
