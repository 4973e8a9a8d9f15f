//! Integer helpers.

use alloy_primitives::U256;

/// `10^power`, for powers that a token's decimals can be.
pub(super) fn ten_to(power: u8) -> U256 {
    U256::from(10).saturating_pow(U256::from(power.min(77)))
}

/// The floor of the square root.
pub(super) fn square_root(value: U256) -> U256 {
    if value.is_zero() {
        return value;
    }
    // a power of two that is not below the root; Newton from above falls until it is the floor
    let mut root = U256::ONE << (value.bit_len().div_ceil(2));
    loop {
        let next = (root + value / root) >> 1;
        if next >= root {
            return root;
        }
        root = next;
    }
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
}
