//! Integer helpers.

use alloy_primitives::U256;

/// Computes `10^power`, for any possible number of token decimals.
pub(super) fn ten_to(power: u8) -> U256 {
    U256::from(10).saturating_pow(U256::from(power.min(77)))
}

/// Computes the floor of the square root.
pub(super) fn square_root(value: U256) -> U256 {
    if value.is_zero() {
        return value;
    }
    // start from a power of two at or above the root; Newton's method descends to the floor
    let mut root = U256::ONE << (value.bit_len().div_ceil(2));
    loop {
        let next = (root + value / root) >> 1;
        if next >= root {
            return root;
        }
        root = next;
    }
}

/// Computes `a · b / c`, rounded up.
pub(super) fn mul_div_up(a: U256, b: U256, c: U256) -> Option<U256> {
    let (quotient, rest) = (!c.is_zero()).then(|| a.checked_mul(b).map(|product| product.div_rem(c)))??;
    Some(if rest.is_zero() { quotient } else { quotient + U256::ONE })
}

/// Expands a number that the chain stores as a coefficient and an exponent of eight bits.
pub(super) fn expand(packed: U256) -> U256 {
    let exponent = usize::try_from(packed & U256::from(0xff)).unwrap_or(0xff);
    (packed >> 8) << exponent
}

/// Packs a number into a coefficient with this many bits and an exponent of eight, rounded down or up. Source:
/// `BigMathMinified.toBigNumber`.
pub(super) fn pack(value: U256, coefficient_bits: usize, round_up: bool) -> U256 {
    let mut exponent = value.bit_len().saturating_sub(coefficient_bits);
    let mut coefficient = value >> exponent;
    if round_up && exponent > 0 {
        coefficient += U256::ONE;
        if coefficient.bit_len() > coefficient_bits {
            coefficient >>= 1;
            exponent += 1;
        }
    }
    (coefficient << 8) + U256::from(exponent)
}

/// Extracts `count` bits of a word from position `from`.
pub(super) fn bits(word: U256, from: usize, count: usize) -> U256 {
    (word >> from) & ((U256::ONE << count) - U256::ONE)
}

/// Extracts at most 64 bits like [`bits`].
pub(super) fn small_bits(word: U256, from: usize, count: usize) -> u64 {
    u64::try_from(bits(word, from, count.min(64))).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_square_root_is_the_floor() {
        for value in [0_u64, 1, 2, 3, 4, 8, 9, 15, 16, 17, 24, 25, u64::MAX] {
            let root = square_root(U256::from(value));
            assert!(root * root <= U256::from(value));
            assert!((root + U256::ONE) * (root + U256::ONE) > U256::from(value));
        }
        let root = square_root(U256::MAX);
        assert_eq!(root, (U256::ONE << 128) - U256::ONE);
    }

    #[test]
    fn what_is_packed_expands_to_itself_or_its_neighbour() {
        for value in [0_u64, 1, 255, 256, 1 << 40, u64::MAX] {
            let value = U256::from(value);
            assert!(expand(pack(value, 32, false)) <= value);
            assert!(expand(pack(value, 32, true)) >= value);
            assert_eq!(expand(pack(value, 64, true)), value);
        }
        // 111 rounded up is 1000, but the coefficient keeps its size.
        assert_eq!(pack(U256::from(0xff), 3, true), (U256::from(4) << 8) + U256::from(6));
    }
}
