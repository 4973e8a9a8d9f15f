//! Amounts between two prices, and prices after an amount: `SqrtPriceMath` of v3-core.
//!
//! Prices are square roots in Q64.96 of at most 160 bits. `None` means that the contract reverts.

use alloy_primitives::{U256, U512};

use crate::maths::{div_up, mul_div, mul_div_up};

/// One in Q64.96.
const Q96: U256 = U256::from_limbs([0, 1 << 32, 0, 0]);

/// Rounding of an amount: up if the pool receives it, down if the pool pays it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Round {
    Up,
    Down,
}

/// Computes the amount of coin 0 between two prices, `L · (b − a) / (a · b)`. Source: `getAmount0Delta`.
///
/// The contract divides by one price and then by the other, and rounds both in the same direction. That equals one
/// division by their product. The first quotient is at most `L · 2⁹⁶` and never overflows.
pub(super) fn amount0(low_x96: U256, high_x96: U256, liquidity: u128, round: Round) -> Option<U256> {
    let width = high_x96.checked_sub(low_x96)?;
    let numerator: U512 = (U256::from(liquidity) << 96_usize).widening_mul(width);
    let denominator: U512 = high_x96.widening_mul(low_x96);
    if denominator.is_zero() {
        return None;
    }
    let (quotient, rest) = numerator.div_rem(denominator);
    narrow(quotient, round == Round::Up && !rest.is_zero())
}

/// Computes the amount of coin 1 between two prices, `L · (b − a)`. Source: `getAmount1Delta`.
pub(super) fn amount1(low_x96: U256, high_x96: U256, liquidity: u128, round: Round) -> Option<U256> {
    let width = high_x96.checked_sub(low_x96)?;
    let product: U512 = U256::from(liquidity).widening_mul(width);
    let [l0, l1, ..] = *product.as_limbs();
    let exact = l0 == 0 && l1.trailing_zeros() >= 32;
    narrow(product >> 96_usize, round == Round::Up && !exact)
}

/// Narrows to 256 bits, adding one if `up`.
fn narrow(wide: U512, up: bool) -> Option<U256> {
    let [l0, l1, l2, l3, high @ ..] = *wide.as_limbs();
    if high != [0; 4] {
        return None;
    }
    let number = U256::from_limbs([l0, l1, l2, l3]);
    if up { number.checked_add(U256::ONE) } else { Some(number) }
}

/// Computes the price after `amount` comes in, rounded so that it never passes the exact one: up for coin 0, down for
/// coin 1. Source: `getNextSqrtPriceFromInput`.
pub(super) fn price_after_input(price_x96: U256, liquidity: u128, amount: U256, zero_for_one: bool) -> Option<U256> {
    if price_x96.is_zero() || liquidity == 0 {
        return None;
    }
    if zero_for_one { after_amount0(price_x96, liquidity, amount) } else { after_amount1(price_x96, liquidity, amount) }
}

/// Computes the price after `amount` goes out, rounded past the exact one: down for coin 1, up for coin 0. Source:
/// `getNextSqrtPriceFromOutput`.
pub(super) fn price_after_output(price_x96: U256, liquidity: u128, amount: U256, zero_for_one: bool) -> Option<U256> {
    if price_x96.is_zero() || liquidity == 0 {
        return None;
    }
    if zero_for_one {
        let fall = mul_div_up(amount, Q96, U256::from(liquidity))?;
        return price_x96.checked_sub(fall).filter(|price| !price.is_zero());
    }
    let scaled = U256::from(liquidity) << 96_usize;
    let denominator = scaled.checked_sub(amount.checked_mul(price_x96)?).filter(|left| !left.is_zero())?;
    mul_div_up(scaled, price_x96, denominator).filter(|price| price.bit_len() <= 160)
}

fn after_amount0(price_x96: U256, liquidity: u128, amount: U256) -> Option<U256> {
    if amount.is_zero() {
        return Some(price_x96);
    }
    let scaled = U256::from(liquidity) << 96_usize;
    let denominator = amount.checked_mul(price_x96).and_then(|product| scaled.checked_add(product));
    match denominator {
        Some(denominator) => mul_div_up(scaled, price_x96, denominator),
        // the contract's less precise form, if the product does not fit
        None => div_up(scaled, scaled.checked_div(price_x96)?.checked_add(amount)?),
    }
}

fn after_amount1(price_x96: U256, liquidity: u128, amount: U256) -> Option<U256> {
    let rise = mul_div(amount, Q96, U256::from(liquidity))?;
    price_x96.checked_add(rise).filter(|price| price.bit_len() <= 160)
}
