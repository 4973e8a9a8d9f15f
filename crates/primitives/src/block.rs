//! Blocks: the block of a market, and the block of a trade.

use alloy_primitives::B256;
use serde::{Deserialize, Serialize};

/// The header fields of a block that quotes depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Block number.
    pub number: u64,
    /// Keccak-256 of the header.
    pub hash: B256,
    /// Hash of the parent block.
    pub parent_hash: B256,
    /// Time of the block, in unix seconds.
    pub timestamp: u64,
    /// EIP-1559 base fee of this block, in wei per gas.
    pub base_fee_per_gas_wei: u64,
    /// Gas used by this block's transactions.
    pub gas_used: u64,
    /// Gas limit of this block.
    pub gas_limit: u64,
}

/// Seconds between two blocks of mainnet.
pub const SLOT_SECONDS: u64 = 12;

/// Block environment that a contract sees when a trade runs.
///
/// Amounts are exact for these two values; interest, ramps and oracles depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ExecutionBlock {
    /// `block.number`.
    pub number: u64,
    /// `block.timestamp`, in unix seconds.
    pub timestamp: u64,
}

impl Block {
    /// Returns the next block, one slot later. Quotes on this block are exact for it.
    pub const fn next(&self) -> ExecutionBlock {
        ExecutionBlock { number: self.number.saturating_add(1), timestamp: self.timestamp.saturating_add(SLOT_SECONDS) }
    }

    /// Computes the base fee of the next block by EIP-1559 (elasticity 2, denominator 8), in wei per gas.
    ///
    /// ```
    /// # use braid_primitives::{Block, B256};
    /// let full = Block {
    ///     number: 1, hash: B256::ZERO, parent_hash: B256::ZERO, timestamp: 0,
    ///     base_fee_per_gas_wei: 800, gas_used: 30_000_000, gas_limit: 30_000_000,
    /// };
    /// assert_eq!(full.next_base_fee_per_gas_wei(), 900);
    /// ```
    pub fn next_base_fee_per_gas_wei(&self) -> u64 {
        let target = self.gas_limit / 2;
        let base = self.base_fee_per_gas_wei;
        if target == 0 || self.gas_used == target {
            return base;
        }
        let delta = |gap: u64| {
            let raw = u128::from(base) * u128::from(gap) / u128::from(target) / 8;
            u64::try_from(raw).unwrap_or(u64::MAX)
        };
        if self.gas_used > target {
            base.saturating_add(delta(self.gas_used - target).max(1))
        } else {
            base.saturating_sub(delta(target - self.gas_used))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(base: u64, used: u64, limit: u64) -> Block {
        Block {
            number: 1,
            hash: B256::ZERO,
            parent_hash: B256::ZERO,
            timestamp: 100,
            base_fee_per_gas_wei: base,
            gas_used: used,
            gas_limit: limit,
        }
    }

    #[test]
    fn base_fee_rises_by_an_eighth_at_most_and_falls_by_an_eighth_at_most() {
        assert_eq!(block(1_000, 30, 30).next_base_fee_per_gas_wei(), 1_125);
        assert_eq!(block(1_000, 0, 30).next_base_fee_per_gas_wei(), 875);
        assert_eq!(block(1_000, 15, 30).next_base_fee_per_gas_wei(), 1_000);
    }

    #[test]
    fn a_block_above_its_target_always_raises_the_fee() {
        assert_eq!(block(1, 16, 30).next_base_fee_per_gas_wei(), 2);
    }

    #[test]
    fn the_next_block_is_one_slot_later() {
        assert_eq!(block(1, 1, 2).next(), ExecutionBlock { number: 2, timestamp: 112 });
    }
}
