//! Gas prices: the next block's base fee, and tips.

use braid_primitives::{Block, GasTier};

use crate::node::FeeHistory;

/// Lowest tip of each tier in wei per gas, cheapest first: used when recent blocks paid no tips.
pub const FLOORS_WEI: [u64; 4] = [10_000_000, 50_000_000, 100_000_000, 500_000_000];

/// Highest tip of any tier in wei per gas (10,000 gwei), so that a node's wrong answer does not empty a wallet.
pub const CEILING_WEI: u64 = 10_000_000_000_000;

/// Gas price in the block after a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeeData {
    /// Base fee of the next block in wei per gas (EIP-1559).
    pub next_base_fee_per_gas_wei: u64,
    /// Tip of each tier in wei per gas, cheapest first, non-decreasing.
    pub priority_fee_per_gas_wei: [u64; 4],
}

impl FeeData {
    /// Computes the fees after a block.
    ///
    /// A tier's tip is the median of its percentile over the blocks of the history with transactions, within
    /// [`FLOORS_WEI`] and [`CEILING_WEI`].
    pub fn new(block: &Block, history: Option<&FeeHistory>) -> Self {
        let mut tips = FLOORS_WEI;
        if let Some(history) = history {
            for (tier, tip) in tips.iter_mut().enumerate() {
                *tip = median(history, tier).unwrap_or(0).clamp(*tip, CEILING_WEI);
            }
        }
        for tier in 1..tips.len() {
            tips[tier] = tips[tier].max(tips[tier - 1]);
        }
        Self { next_base_fee_per_gas_wei: block.next_base_fee_per_gas_wei(), priority_fee_per_gas_wei: tips }
    }

    /// Returns the same tips after another block, for which there is no history.
    pub fn after(&self, block: &Block) -> Self {
        Self { next_base_fee_per_gas_wei: block.next_base_fee_per_gas_wei(), ..*self }
    }

    /// Returns the tip of a tier in wei per gas.
    pub fn priority_fee_wei(&self, tier: GasTier) -> u64 {
        self.priority_fee_per_gas_wei[tier as usize]
    }
}

fn median(history: &FeeHistory, tier: usize) -> Option<u64> {
    let rewards = history.reward.as_ref()?;
    let used = |index: usize| history.gas_used_ratio.get(index).is_none_or(|ratio| *ratio > 0.0);
    let tip = |(index, tips): (usize, &Vec<_>)| -> Option<u64> {
        let tip: &alloy::primitives::U128 = tips.get(tier).filter(|_| used(index))?;
        Some(u64::try_from(*tip).unwrap_or(u64::MAX))
    };
    let mut tips: Vec<u64> = rewards.iter().enumerate().filter_map(tip).collect();
    tips.sort_unstable();
    tips.get(tips.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use braid_primitives::B256;

    fn block() -> Block {
        Block {
            number: 9,
            hash: B256::ZERO,
            parent_hash: B256::ZERO,
            timestamp: 0,
            base_fee_per_gas_wei: 1_000,
            gas_used: 30,
            gas_limit: 30,
        }
    }

    fn history(blocks: &[(f64, [u128; 4])]) -> FeeHistory {
        FeeHistory {
            gas_used_ratio: blocks.iter().map(|(ratio, _)| *ratio).collect(),
            reward: Some(
                blocks
                    .iter()
                    .map(|(_, tips)| tips.iter().map(|tip| alloy::primitives::U128::from(*tip)).collect())
                    .collect(),
            ),
        }
    }

    #[test]
    fn without_a_history_every_tier_pays_its_floor() {
        let empty = FeeHistory::default();
        for history in [None, Some(&empty)] {
            let fees = FeeData::new(&block(), history);
            assert_eq!(fees.priority_fee_per_gas_wei, FLOORS_WEI);
            assert_eq!(fees.next_base_fee_per_gas_wei, 1_125);
        }
    }

    #[test]
    fn empty_blocks_do_not_pull_the_tips_down() {
        let gwei = 1_000_000_000;
        let busy = (0.5, [gwei, 2 * gwei, 3 * gwei, 4 * gwei]);
        let fees = FeeData::new(&block(), Some(&history(&[(0.0, [0; 4]), busy, (0.0, [0; 4]), (0.0, [0; 4])])));
        assert_eq!(fees.priority_fee_per_gas_wei, [1, 2, 3, 4].map(|g| g * 1_000_000_000));
        assert_eq!(fees.priority_fee_wei(GasTier::Urgent), 4_000_000_000);
    }

    #[test]
    fn a_dearer_tier_never_pays_less() {
        let fees = FeeData::new(&block(), Some(&history(&[(0.5, [7_000_000_000, 1, 1, 1])])));
        assert_eq!(fees.priority_fee_per_gas_wei, [7_000_000_000; 4]);
    }

    #[test]
    fn nonsense_from_a_node_is_bounded_and_does_not_panic() {
        let mut odd = history(&[(f64::NAN, [u128::MAX; 4])]);
        assert_eq!(FeeData::new(&block(), Some(&odd)).priority_fee_per_gas_wei, FLOORS_WEI);
        odd.gas_used_ratio.clear();
        assert_eq!(FeeData::new(&block(), Some(&odd)).priority_fee_per_gas_wei, [CEILING_WEI; 4]);
        odd.reward = Some(vec![vec![]]);
        assert_eq!(FeeData::new(&block(), Some(&odd)).priority_fee_per_gas_wei, FLOORS_WEI);
    }
}
