//! A small deterministic random number generator, so that every run tries the same cases.

use alloy_primitives::U256;

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub const fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number that is uniformly distributed below `end`.
    pub const fn below(&mut self, end: u64) -> u64 {
        self.word() % end
    }

    /// Returns a number that is uniformly distributed in `low..=high`.
    pub fn between(&mut self, low: i32, high: i32) -> i32 {
        let width = (i64::from(high) - i64::from(low) + 1) as u64;
        (i64::from(low) + self.below(width) as i64) as i32
    }

    pub const fn coin(&mut self) -> bool {
        self.word() & 1 == 1
    }

    /// Returns true once in `n` on average.
    pub const fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// Returns a number of at most `bits` bits, with every length equally likely; never zero.
    pub fn log_uniform(&mut self, bits: u64) -> U256 {
        self.log_uniform_between(0, bits)
    }

    /// Returns a number of more than `low` and at most `high` bits, with every length equally likely; never zero.
    pub fn log_uniform_between(&mut self, low: u64, high: u64) -> U256 {
        let length = 1 + (low + self.below(high.saturating_sub(low).max(1))) as usize;
        let raw = U256::from_limbs([self.word(), self.word(), self.word(), self.word()]) >> (256 - length);
        raw | (U256::ONE << (length - 1))
    }

    /// Does the same as [`Self::log_uniform`], with at most 127 bits.
    pub fn log_uniform_u128(&mut self, bits: u64) -> u128 {
        u128::try_from(self.log_uniform(bits.min(127))).unwrap()
    }

    /// Returns a number that is uniformly distributed in `0..=max`, with 64 bits of precision.
    pub fn up_to(&mut self, max: U256) -> U256 {
        let length = max.bit_len();
        if length <= 64 {
            let max = max.to::<u64>();
            return U256::from(if max == u64::MAX { self.word() } else { self.below(max + 1) });
        }
        (max >> 64) * U256::from(self.word())
    }
}
