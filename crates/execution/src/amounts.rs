//! Parts of an amount in basis points: minimums after slippage, fees.

use braid_primitives::{BPS, U256};

/// The highest slippage tolerance that a request may carry, in basis points.
pub const MAX_SLIPPAGE_BPS: u16 = 5_000;

/// The least amount that an order accepts: `floor(expected × (10⁴ − slippage) / 10⁴)`.
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
        assert_eq!(minimum_amount(U256::MAX, 10_000), U256::ZERO);
        assert_eq!(minimum_amount(U256::from(1), 1), U256::ZERO);
        assert_eq!(part_of(U256::from(39), 250), U256::ZERO);
    }
}
