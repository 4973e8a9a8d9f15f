//! EIP-1559 fees per priority tier.
//!
//! The priority fees come from what recent blocks paid (`braid-ethereum`). A tier's maximum fee covers its priority fee
//! after a stated number of full blocks, in each of which the base fee rises by an eighth (EIP-1559), so that the
//! transaction can still be included when the chain is busy for that long:
//!
//! | tier | full blocks outlived | largest base fee, as a multiple of the next block's |
//! | --- | --- | --- |
//! | slow | 3 | 1.42 |
//! | standard | 5 | 1.80 |
//! | fast | 7 | 2.28 |
//! | urgent | 10 | 3.25 |
//!
//! A dearer tier never bids less than a cheaper one, since priority fees never fall from one tier to the next.

use braid_primitives::GasTier;

/// The denominator of EIP-1559's rule: a full block raises the base fee by an eighth.
const BASE_FEE_CHANGE_DENOMINATOR: u64 = 8;

/// What a tier bids, in wei per gas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fees {
    /// `maxPriorityFeePerGas`: what the builder of the block gets.
    pub max_priority_fee_per_gas: u64,
    /// `maxFeePerGas`: the most that a unit of gas may cost.
    pub max_fee_per_gas: u64,
    /// The base fee of the next block.
    pub base_fee_per_gas: u64,
}

impl Fees {
    /// Returns the fees of a tier, from the next block's base fee and the tier's priority fee, in wei per gas.
    ///
    /// ```
    /// # use braid_execution::fees::Fees;
    /// # use braid_primitives::GasTier;
    /// let standard = Fees::of(GasTier::Standard, 1_000_000_000, 200_000_000);
    /// assert_eq!(standard.expected_per_gas(), 1_200_000_000);
    /// assert_eq!(standard.max_fee_per_gas, 1_802_032_470 + 200_000_000);
    /// ```
    pub fn of(tier: GasTier, base_fee_per_gas: u64, max_priority_fee_per_gas: u64) -> Self {
        let later = base_fee_after_full_blocks(base_fee_per_gas, full_blocks_outlived(tier));
        let max_fee_per_gas = later.saturating_add(max_priority_fee_per_gas);
        Self { max_priority_fee_per_gas, max_fee_per_gas, base_fee_per_gas }
    }

    /// Returns what a unit of gas is expected to cost in the next block: base fee plus priority fee.
    pub fn expected_per_gas(&self) -> u64 {
        self.base_fee_per_gas.saturating_add(self.max_priority_fee_per_gas).min(self.max_fee_per_gas)
    }
}

/// Returns how many full blocks in a row a tier's maximum fee outlives.
const fn full_blocks_outlived(tier: GasTier) -> u32 {
    match tier {
        GasTier::Slow => 3,
        GasTier::Standard => 5,
        GasTier::Fast => 7,
        GasTier::Urgent => 10,
    }
}

/// Returns the base fee after `blocks` full blocks, by EIP-1559's own integer rule.
fn base_fee_after_full_blocks(base_fee_per_gas_wei: u64, blocks: u32) -> u64 {
    (0..blocks).fold(base_fee_per_gas_wei, |fee, _| fee.saturating_add((fee / BASE_FEE_CHANGE_DENOMINATOR).max(1)))
}

#[cfg(test)]
mod tests {
    use braid_primitives::{B256, Block};
    use proptest::prelude::*;

    use super::*;

    const GWEI: u64 = 1_000_000_000;

    #[test]
    fn the_base_fee_of_full_blocks_is_the_one_that_a_block_computes() {
        let mut block = Block {
            number: 1,
            hash: B256::ZERO,
            parent_hash: B256::ZERO,
            timestamp: 0,
            base_fee_per_gas_wei: 7 * GWEI + 3,
            gas_used: 36_000_000,
            gas_limit: 36_000_000,
        };
        for blocks in 1..20 {
            block.base_fee_per_gas_wei = block.next_base_fee_per_gas_wei();
            assert_eq!(base_fee_after_full_blocks(7 * GWEI + 3, blocks), block.base_fee_per_gas_wei);
        }
    }

    proptest! {
        #[test]
        fn a_dearer_tier_never_bids_less(base: u64, mut tips: [u64; 4]) {
            tips.sort_unstable();
            let fees = GasTier::ALL.map(|tier| Fees::of(tier, base, tips[tier as usize]));
            for pair in fees.windows(2) {
                let (cheap, dear) = (pair[0], pair[1]);
                prop_assert!(cheap.max_priority_fee_per_gas <= dear.max_priority_fee_per_gas);
                prop_assert!(cheap.max_fee_per_gas <= dear.max_fee_per_gas);
            }
        }

        #[test]
        fn the_maximum_pays_the_priority_fee_in_full_after_the_stated_blocks(base in 0..1_000 * GWEI, tip in 0..100 * GWEI) {
            for tier in GasTier::ALL {
                let later = base_fee_after_full_blocks(base, full_blocks_outlived(tier));
                prop_assert_eq!(Fees::of(tier, base, tip).max_fee_per_gas, later + tip);
            }
        }
    }
}
