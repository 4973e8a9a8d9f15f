//! Parts of an amount in basis points: minimums after slippage, fees.

use braid_primitives::{BPS, U256};

/// The highest slippage tolerance that a request may carry, in basis points.
pub const MAX_SLIPPAGE_BPS: u16 = 5_000;

/// Returns the least amount that an order accepts: `floor(expected × (10⁴ − slippage) / 10⁴)`.
///
/// A slippage above 10⁴ counts as 10⁴. The result may be zero for a few atomic units; such an order is refused
/// by [`Order::validate`](crate::Order::validate), as the proxy refuses a zero minimum.
///
/// ```
/// # use braid_execution::minimum_amount;
/// # use braid_primitives::U256;
/// assert_eq!(minimum_amount(U256::from(16_650_000), 100), U256::from(16_483_500));
/// assert_eq!(minimum_amount(U256::from(99), 1), U256::from(98));
/// ```
pub fn minimum_amount(expected: U256, slippage_bps: u16) -> U256 {
    let kept = BPS.saturating_sub(u64::from(slippage_bps));
    part_of(expected, kept)
}

/// Returns the most that an order sells to buy an amount: `ceil(expected × (10⁴ + slippage) / 10⁴)`.
///
/// ```
/// # use braid_execution::maximum_amount;
/// # use braid_primitives::U256;
/// assert_eq!(maximum_amount(U256::from(16_650_000), 100), U256::from(16_816_500));
/// assert_eq!(maximum_amount(U256::from(99), 1), U256::from(100));
/// ```
pub fn maximum_amount(expected: U256, slippage_bps: u16) -> U256 {
    let (quotient, remainder) = expected.div_rem(U256::from(BPS));
    let slippage = U256::from(slippage_bps);
    let more = quotient.saturating_mul(slippage).saturating_add((remainder * slippage).div_ceil(U256::from(BPS)));
    expected.saturating_add(more)
}

/// `floor(amount × bps / 10⁴)` for `bps ≤ 10⁴`, for every 256-bit amount.
///
/// With `amount = q·10⁴ + r` this is `q·bps + floor(r·bps / 10⁴)`, in which nothing overflows.
pub(crate) fn part_of(amount: U256, bps: u64) -> U256 {
    let whole = U256::from(BPS);
    let (quotient, remainder) = amount.div_rem(whole);
    let bps = U256::from(bps);
    quotient * bps + remainder * bps / whole
}

#[cfg(test)]
mod tests {
    use braid_primitives::Address;
    use proptest::prelude::*;

    use super::*;
    use crate::PartnerFee;

    fn u256(words: [u64; 4]) -> U256 {
        U256::from_limbs(words)
    }

    proptest! {
        #[test]
        fn part_of_is_the_schoolbook_floor_where_that_does_not_overflow(amount: u128, bps in 0u64..=10_000) {
            let expected = U256::from(amount) * U256::from(bps) / U256::from(10_000);
            prop_assert_eq!(part_of(U256::from(amount), bps), expected);
        }

        #[test]
        fn a_maximum_is_the_schoolbook_ceiling(amount: u64, slippage in 0u16..=10_000) {
            let (whole, amount) = (U256::from(10_000), U256::from(amount));
            let exact = amount * (whole + U256::from(slippage));
            prop_assert_eq!(maximum_amount(amount, slippage), exact.div_ceil(whole));
        }

        #[test]
        fn what_a_fee_leaves_is_the_amount_and_one_unit_less_would_leave_less(amount: u128, bps in 1u16..=300) {
            let amount = U256::from(amount);
            for on_output in [false, true] {
                let fee = PartnerFee { bps, recipient: Address::ZERO, on_output };
                let before = if on_output { fee.before_output(amount) } else { fee.before_input(amount) };
                let left = |before| if on_output { fee.after_output(before) } else { fee.after_input(before) };
                prop_assert!(left(before) >= amount);
                prop_assert!(before.is_zero() || left(before - U256::ONE) < amount);
                prop_assert_eq!(if on_output { fee.before_input(amount) } else { fee.before_output(amount) }, amount);
            }
        }

        #[test]
        fn no_amount_overflows_and_no_minimum_exceeds_the_expectation(words: [u64; 4], slippage in 0u16..=10_000) {
            prop_assert!(minimum_amount(u256(words), slippage) <= u256(words));
        }

        #[test]
        fn a_fee_is_taken_from_one_side_only_and_adds_up(words: [u64; 4], bps in 1u16..=300, on_output: bool) {
            let amount = u256(words);
            let fee = PartnerFee { bps, recipient: Address::ZERO, on_output };
            let (input, output) = (fee.after_input(amount), fee.after_output(amount));
            let taken = if on_output { amount - output } else { amount - input };
            prop_assert_eq!(taken, fee.on(amount));
            prop_assert_eq!(if on_output { input } else { output }, amount);
        }

        #[test]
        fn more_slippage_never_raises_the_minimum(words: [u64; 4], a in 0u16..=5_000, b in 0u16..=5_000) {
            let (low, high) = (a.min(b), a.max(b));
            prop_assert!(minimum_amount(u256(words), high) <= minimum_amount(u256(words), low));
        }
    }

    #[test]
    fn the_extremes() {
        assert_eq!(minimum_amount(U256::MAX, 0), U256::MAX);
        assert_eq!(maximum_amount(U256::MAX, 1), U256::MAX);
        assert_eq!(minimum_amount(U256::MAX, 10_000), U256::ZERO);
        assert_eq!(minimum_amount(U256::from(1), 1), U256::ZERO);
        assert_eq!(part_of(U256::from(39), 250), U256::ZERO);
    }
}
