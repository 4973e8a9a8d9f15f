//! Which pools trade, and which of them did not agree with the chain.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use braid_primitives::{B256, PoolKey};

/// Pools that are compared each time because they traded in most blocks.
const MOST_ACTIVE: usize = 32;

/// Other pools that traded, compared in turn.
const IN_TURN: usize = 32;

/// Blocks after which the number of blocks in which a pool traded is halved: about an hour.
const HALVED_AFTER: u64 = 300;

/// The pools that logs changed, and those that did not agree with the chain.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// Number of blocks whose logs changed a pool, halved at intervals.
    blocks: BTreeMap<PoolKey, u32>,
    /// The last pool that was compared in turn.
    turn: Option<PoolKey>,
    /// Height of the newest comparison.
    pub(super) compared_at: u64,
    /// Block at which pools did not agree with the chain, and these pools.
    pub(super) suspects: Option<(B256, BTreeSet<PoolKey>)>,
    /// Height at which every pool was last read again.
    pub(super) read_all_at: Option<u64>,
}

impl Activity {
    /// Notes the pools that a block's logs changed.
    pub(super) fn note(&mut self, number: u64, changed: impl Iterator<Item = PoolKey>) {
        for pool in changed {
            let blocks = self.blocks.entry(pool).or_default();
            *blocks = blocks.saturating_add(2);
        }
        if number.is_multiple_of(HALVED_AFTER) {
            self.blocks.retain(|_, blocks| {
                *blocks /= 2;
                *blocks > 0
            });
        }
    }

    /// Returns the pools to compare.
    pub(super) fn sample(&mut self) -> BTreeSet<PoolKey> {
        let mut most: Vec<(u32, PoolKey)> = self.blocks.iter().map(|(pool, blocks)| (*blocks, *pool)).collect();
        most.sort_unstable_by(|a, b| b.cmp(a));
        let mut sample: BTreeSet<PoolKey> = most.into_iter().take(MOST_ACTIVE).map(|(_, pool)| pool).collect();
        let after = self.turn.map_or(Bound::Unbounded, Bound::Excluded);
        let next = self.blocks.range((after, Bound::Unbounded)).chain(&self.blocks).map(|(pool, _)| *pool);
        let others: Vec<PoolKey> = next.filter(|pool| !sample.contains(pool)).take(IN_TURN).collect();
        self.turn = others.last().copied().or(self.turn);
        sample.extend(others);
        sample
    }

    /// Returns the suspects that the next block's logs do not concern. A node that answered with that block's state would
    /// have shown its logs; so logs of earlier blocks are missing.
    pub(super) fn confirmed(&mut self, parent: B256, concerned: impl Fn(&PoolKey) -> bool) -> Vec<PoolKey> {
        let Some((_, suspects)) = self.suspects.take().filter(|(block, _)| *block == parent) else { return Vec::new() };
        suspects.into_iter().filter(|pool| !concerned(pool)).collect()
    }
}

#[cfg(test)]
mod tests {
    use braid_primitives::Address;

    use super::*;

    fn key(number: u64) -> PoolKey {
        Address::left_padding_from(&number.to_be_bytes()).into()
    }

    #[test]
    fn the_pools_that_trade_most_are_always_compared_and_the_others_in_turn() {
        let mut activity = Activity::default();
        for block in 1..=4 {
            activity.note(block, (1_000..1_000 + MOST_ACTIVE as u64).map(key));
        }
        activity.note(5, (1..=100).map(key));
        let mut others = BTreeSet::new();
        for _ in 0..4 {
            let sample = activity.sample();
            assert_eq!(sample.len(), MOST_ACTIVE + IN_TURN);
            assert!((1_000..1_000 + MOST_ACTIVE as u64).all(|pool| sample.contains(&key(pool))));
            others.extend(sample.into_iter().filter(|pool| *pool < key(1_000)));
        }
        assert_eq!(others.len(), 100);
        activity.note(HALVED_AFTER, [].into_iter());
        activity.note(2 * HALVED_AFTER, [].into_iter());
        assert_eq!(activity.blocks.len(), MOST_ACTIVE, "what no longer trades is forgotten");
        assert!(Activity::default().sample().is_empty());
    }

    #[test]
    fn a_pool_that_differs_shows_missing_logs_unless_the_next_block_changes_it() {
        let [parent, other] = [1, 2].map(B256::with_last_byte);
        let suspects = || Some((parent, [key(1), key(2)].into()));
        let mut activity = Activity { suspects: suspects(), ..Activity::default() };
        assert_eq!(activity.confirmed(parent, |pool| *pool == key(1)), [key(2)]);
        assert!(activity.confirmed(parent, |_| false).is_empty(), "once");
        activity.suspects = suspects();
        assert!(activity.confirmed(other, |_| false).is_empty(), "a block of another chain");
    }
}
