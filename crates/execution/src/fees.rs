//! EIP-1559 fees per priority tier, from what recent blocks paid.
//!
//! A tier's priority fee is the median, over recent blocks, of the reward that a percentile of the block's gas paid
//! (`eth_feeHistory`), kept between the tier's floor and a cap common to all. Its maximum fee covers the priority
//! fee after a stated number of full blocks, in which the base fee rises by an eighth each (EIP-1559).
//!
//! | tier | percentile | floor of the priority fee | full blocks outlived |
//! | --- | --- | --- | --- |
//! | slow | 10 | 0.001 gwei | 3 |
//! | standard | 40 | 0.01 gwei | 5 |
//! | fast | 70 | 0.1 gwei | 7 |
//! | urgent | 90 | 1 gwei | 10 |
//!
//! A dearer tier never has a lower fee than a cheaper one.

use braid_primitives::GasTier;
use serde::{Deserialize, Serialize};

/// The percentiles of `eth_feeHistory` rewards that [`tiers`] takes, one per tier, cheapest first.
pub const REWARD_PERCENTILES: [f64; 4] = [10.0, 40.0, 70.0, 90.0];

/// Most that a tier suggests as priority fee, in wei per gas, whatever recent blocks paid: 50 gwei.
pub const MAX_PRIORITY_FEE_CAP_WEI: u64 = 50_000_000_000;

/// The denominator of EIP-1559's rule: a full block raises the base fee by an eighth.
const BASE_FEE_CHANGE_DENOMINATOR: u64 = 8;

/// What a tier bids, in wei per gas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fees {
    /// `maxPriorityFeePerGas`: what the builder of the block gets.
    pub max_priority_fee_per_gas: u64,
    /// `maxFeePerGas`: the most that a unit of gas may cost.
    pub max_fee_per_gas: u64,
    /// The base fee of the next block.
    pub base_fee_per_gas: u64,
}

impl Fees {
    /// What a unit of gas is expected to cost in the next block: base fee plus priority fee.
    pub fn expected_per_gas(&self) -> u64 {
        self.base_fee_per_gas.saturating_add(self.max_priority_fee_per_gas).min(self.max_fee_per_gas)
    }
}

/// The fees of every tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tiers([Fees; 4]);

impl Tiers {
    /// The fees of one tier.
    pub const fn get(&self, tier: GasTier) -> Fees {
        self.0[tier as usize]
    }
}

/// The lowest priority fee that a tier suggests, in wei per gas.
pub const fn priority_fee_floor_wei(tier: GasTier) -> u64 {
    match tier {
        GasTier::Slow => 1_000_000,
        GasTier::Standard => 10_000_000,
        GasTier::Fast => 100_000_000,
        GasTier::Urgent => 1_000_000_000,
    }
}

/// How many full blocks in a row a tier's maximum fee outlives.
pub const fn full_blocks_outlived(tier: GasTier) -> u32 {
    match tier {
        GasTier::Slow => 3,
        GasTier::Standard => 5,
        GasTier::Fast => 7,
        GasTier::Urgent => 10,
    }
}

/// The fees of every tier, in wei per gas.
///
/// `rewards` has one row per recent block, in any order, with the rewards at [`REWARD_PERCENTILES`]; it may be empty (a chain
/// without transactions), which gives the floors.
///
/// ```
/// # use braid_execution::fees;
/// # use braid_primitives::GasTier;
/// let tiers = fees::tiers(1_000_000_000, &[[50_000_000, 200_000_000, 900_000_000, 3_000_000_000]]);
/// let standard = tiers.get(GasTier::Standard);
/// assert_eq!(standard.max_priority_fee_per_gas, 200_000_000);
/// assert_eq!(standard.expected_per_gas(), 1_200_000_000);
/// ```
pub fn tiers(next_base_fee_per_gas_wei: u64, rewards: &[[u64; 4]]) -> Tiers {
    let mut least = 0;
    Tiers(GasTier::ALL.map(|tier| {
        let paid = median(rewards.iter().map(|block| block[tier as usize]).collect());
        let priority = paid.clamp(priority_fee_floor_wei(tier), MAX_PRIORITY_FEE_CAP_WEI).max(least);
        least = priority;
        let base = base_fee_after_full_blocks(next_base_fee_per_gas_wei, full_blocks_outlived(tier));
        Fees {
            max_priority_fee_per_gas: priority,
            max_fee_per_gas: base.saturating_add(priority),
            base_fee_per_gas: next_base_fee_per_gas_wei,
        }
    }))
}

/// The base fee after `blocks` full blocks, by EIP-1559's own integer rule.
pub fn base_fee_after_full_blocks(base_fee_per_gas_wei: u64, blocks: u32) -> u64 {
    (0..blocks).fold(base_fee_per_gas_wei, |fee, _| fee.saturating_add((fee / BASE_FEE_CHANGE_DENOMINATOR).max(1)))
}

/// The lower median; 0 of nothing.
fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    let middle = values.len().saturating_sub(1) / 2;
    values.get(middle).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use braid_primitives::{B256, Block};
    use proptest::prelude::*;

    use super::*;

    const GWEI: u64 = 1_000_000_000;

    #[test]
    fn a_silent_chain_gets_the_floors() {
        for tier in GasTier::ALL {
            let fees = tiers(GWEI, &[]).get(tier);
            assert_eq!(fees.max_priority_fee_per_gas, priority_fee_floor_wei(tier));
        }
    }

    #[test]
    fn one_wild_block_does_not_move_the_median() {
        let calm = [GWEI / 100, GWEI / 10, GWEI, 2 * GWEI];
        let wild = [900 * GWEI; 4];
        let tiers = tiers(GWEI, &[calm, wild, calm]);
        assert_eq!(tiers.get(GasTier::Standard).max_priority_fee_per_gas, GWEI / 10);
    }

    #[test]
    fn nothing_bids_above_the_cap() {
        let tiers = tiers(GWEI, &[[900 * GWEI; 4]; 3]);
        assert_eq!(tiers.get(GasTier::Urgent).max_priority_fee_per_gas, MAX_PRIORITY_FEE_CAP_WEI);
    }

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
        fn a_dearer_tier_never_bids_less(base: u64, rewards: Vec<[u64; 4]>) {
            let tiers = tiers(base, &rewards);
            for pair in GasTier::ALL.windows(2) {
                let (cheap, dear) = (tiers.get(pair[0]), tiers.get(pair[1]));
                prop_assert!(cheap.max_priority_fee_per_gas <= dear.max_priority_fee_per_gas);
                prop_assert!(cheap.max_fee_per_gas <= dear.max_fee_per_gas);
            }
        }

        #[test]
        fn the_maximum_pays_the_priority_fee_in_full_after_the_stated_blocks(base in 0u64..1_000 * GWEI, rewards: Vec<[u64; 4]>) {
            for tier in GasTier::ALL {
                let fees = tiers(base, &rewards).get(tier);
                let later = base_fee_after_full_blocks(base, full_blocks_outlived(tier));
                prop_assert!(fees.max_fee_per_gas >= later + fees.max_priority_fee_per_gas);
                prop_assert!(fees.max_fee_per_gas >= fees.max_priority_fee_per_gas);
            }
        }
    }
}
