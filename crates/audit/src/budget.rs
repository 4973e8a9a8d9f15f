//! Bounds on the checks that no quote waits for.

use parking_lot::Mutex;

use crate::config::AuditConfig;

/// Most blocks for which a costly check prevents others.
const MOST_BLOCKS_OWED: u32 = 16;

/// What a check is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A swap of a pool.
    Swap,
    /// The transfers of a token.
    Token,
}

/// Checks and calls of the newest block.
#[derive(Debug, Default)]
pub(crate) struct Budget(Mutex<Spent>);

#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    block: u64,
    checks: u32,
    /// Calls of the node, including those that earlier blocks made beyond their share.
    calls: u32,
    /// The kind that was refused first since its last check. It goes before the other: a check may cost so much that the
    /// budget would never allow one of the other kind.
    waits: Option<Kind>,
}

impl Budget {
    /// Counts one more check at a block, and returns whether the budget allows it.
    pub(crate) fn allows_check(&self, config: &AuditConfig, block: u64, kind: Kind) -> bool {
        let mut spent = self.0.lock();
        if spent.block != block {
            let passed = u32::try_from(block.saturating_sub(spent.block)).unwrap_or(u32::MAX);
            let paid = config.calls_per_block.saturating_mul(passed);
            *spent = Spent { block, checks: 0, calls: spent.calls.saturating_sub(paid), ..*spent };
        }
        let first = *spent.waits.get_or_insert(kind);
        if first != kind || spent.calls >= config.calls_per_block || spent.checks >= config.per_block {
            return false;
        }
        spent.waits = None;
        spent.checks += 1;
        true
    }

    /// Adds calls of the node that a check made.
    pub(crate) fn add_calls(&self, config: &AuditConfig, calls: u64) {
        let most = config.calls_per_block.saturating_mul(MOST_BLOCKS_OWED);
        let mut spent = self.0.lock();
        spent.calls = spent.calls.saturating_add(u32::try_from(calls).unwrap_or(u32::MAX)).min(most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_so_many_checks_and_the_next_one_as_many_again() {
        let config = AuditConfig { per_block: 2, calls_per_block: 5, ..AuditConfig::default() };
        let budget = Budget::default();
        let allows = |block| budget.allows_check(&config, block, Kind::Swap);
        assert_eq!([7, 7, 7, 8, 8, 8].map(allows), [true, true, false, true, true, false]);
        assert!(allows(9));
        budget.add_calls(&config, 4);
        assert!(allows(9));
        budget.add_calls(&config, 13);
        let allowed = [9, 10, 11, 12, 12].map(allows);
        assert_eq!(allowed, [false, false, false, true, true], "calls beyond a block's share are paid first");
        budget.add_calls(&config, u64::MAX);
        let next = (13..99).find(|block| allows(*block));
        assert_eq!(next, Some(12 + u64::from(MOST_BLOCKS_OWED)), "one costly check does not end the audit");
    }

    /// With a node that takes a hundred calls for a check, a budget of twenty a block is spent by every one.
    #[test]
    fn swaps_and_tokens_take_turns_however_much_a_check_costs() {
        let (config, budget) = (AuditConfig { calls_per_block: 20, ..AuditConfig::default() }, Budget::default());
        let mut checked = Vec::new();
        for block in 1..=40 {
            for kind in [Kind::Swap, Kind::Token] {
                if budget.allows_check(&config, block, kind) {
                    checked.push((block, kind));
                    budget.add_calls(&config, 100);
                }
            }
        }
        let turns = [1, 6, 11, 16, 21, 26, 31, 36].into_iter().zip([Kind::Swap, Kind::Token].into_iter().cycle());
        assert_eq!(checked, turns.collect::<Vec<_>>());
    }
}
