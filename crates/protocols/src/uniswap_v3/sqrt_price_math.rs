//! Amounts between two prices and prices after an amount: `SqrtPriceMath` of v3-core.
//!
//! Prices are square roots in Q64.96 of at most 160 bits. `None` stands where the contract reverts.

use alloy_primitives::U256;

use super::full_math::{div_up, mul_div, mul_div_up};

/// One in Q64.96.
const Q96: U256 = U256::from_limbs([0, 1 << 32, 0, 0]);

/// Whether an amount is owed to the pool (rounded up) or by it (rounded down).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Round {
    Up,
    Down,
}

/// Amount of coin 0 between two prices, `L · (b − a) / (a · b)`. Source: `getAmount0Delta`.
pub(super) fn amount0(low_x96: U256, high_x96: U256, liquidity: u128, round: Round) -> Option<U256> {
    let scaled = U256::from(liquidity) << 96_usize;
    let width = high_x96.checked_sub(low_x96)?;
    match round {
        Round::Up => div_up(mul_div_up(scaled, width, high_x96)?, low_x96),
        Round::Down => mul_div(scaled, width, high_x96)?.checked_div(low_x96),
    }
}

/// Amount of coin 1 between two prices, `L · (b − a)`. Source: `getAmount1Delta`.
pub(super) fn amount1(low_x96: U256, high_x96: U256, liquidity: u128, round: Round) -> Option<U256> {
    let width = high_x96.checked_sub(low_x96)?;
    let liquidity = U256::from(liquidity);
    match round {
        Round::Up => mul_div_up(liquidity, width, Q96),
        Round::Down => mul_div(liquidity, width, Q96),
    }
}

/// The price after `amount` comes in, never past the exact one: rounded up for coin 0, down for coin 1.
/// Source: `getNextSqrtPriceFromInput`.
pub(super) fn price_after_input(price_x96: U256, liquidity: u128, amount: U256, zero_for_one: bool) -> Option<U256> {
    if price_x96.is_zero() || liquidity == 0 {
        return None;
    }
    if zero_for_one { after_amount0(price_x96, liquidity, amount) } else { after_amount1(price_x96, liquidity, amount) }
}

fn after_amount0(price_x96: U256, liquidity: u128, amount: U256) -> Option<U256> {
    if amount.is_zero() {
        return Some(price_x96);
    }
    let scaled = U256::from(liquidity) << 96_usize;
    let denominator = amount.checked_mul(price_x96).and_then(|product| scaled.checked_add(product));
    match denominator {
        Some(denominator) => mul_div_up(scaled, price_x96, denominator),
        // the contract's own less precise form where the product does not fit
        None => div_up(scaled, scaled.checked_div(price_x96)?.checked_add(amount)?),
    }
}

fn after_amount1(price_x96: U256, liquidity: u128, amount: U256) -> Option<U256> {
    let rise = mul_div(amount, Q96, U256::from(liquidity))?;
    price_x96.checked_add(rise).filter(|price| price.bit_len() <= 160)
}
