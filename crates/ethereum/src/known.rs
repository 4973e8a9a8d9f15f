//! Every pool that was announced on the present chain, in the market or not. Pure.
//!
//! Discovery finds these pools and a restart keeps them: the height of each announcement, and why a pool is excluded.

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use braid_market::Market;
use braid_primitives::{Address, PoolKey};
use braid_protocols::{Discovered, Product};
use braid_store::market::{Exclusion, ExclusionKind, KnownPool};

use crate::lists::Lists;

/// Announced pools.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pools: BTreeMap<PoolKey, KnownPool>,
    /// Number of excluded pools.
    excluded: usize,
    /// Pools that differ from what was last stored.
    unsaved: BTreeSet<PoolKey>,
    /// Progress of reading lists of pools, which belongs to what was found in them.
    pub(crate) lists: Lists,
}

impl Known {
    /// Adds a pool. The first announcement of a key counts, since a factory cannot change what a pool is. A pool known
    /// without one (`announced_at` 0) counts as announced from now on.
    pub(crate) fn insert(&mut self, pool: Discovered, announced_at: u64) {
        let key = pool.key;
        if self.unproven_since(key).is_some() {
            self.remove(key);
        }
        match self.pools.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(KnownPool { pool, announced_at, excluded: None, unproven: false });
            }
            Entry::Occupied(mut entry) if entry.get().announced_at == 0 && announced_at > 0 => {
                let known = entry.get_mut();
                known.announced_at = announced_at;
                // Takes the announced fee, which snapshots are compared with.
                if known.pool.product == pool.product && known.pool.coins == pool.coins {
                    known.pool = pool;
                }
            }
            Entry::Occupied(_) => return,
        }
        self.unsaved.insert(key);
    }

    /// Adds a pool of a snapshot. It is unproven if it was not known before.
    pub(crate) fn insert_unproven(&mut self, pool: KnownPool) {
        let key = pool.pool.key;
        if self.pools.contains_key(&key) {
            self.insert(pool.pool, pool.announced_at);
        } else {
            self.restore(KnownPool { unproven: true, ..pool });
            self.unsaved.insert(key);
        }
    }

    /// Adds a pool that an earlier run stored.
    pub(crate) fn restore(&mut self, pool: KnownPool) {
        self.excluded += usize::from(pool.excluded.is_some());
        let before = self.pools.insert(pool.pool.key, pool);
        self.excluded -= usize::from(before.is_some_and(|before| before.excluded.is_some()));
    }

    /// Removes a pool.
    pub(crate) fn remove(&mut self, key: PoolKey) {
        let removed = self.pools.remove(&key);
        self.excluded -= usize::from(removed.is_some_and(|removed| removed.excluded.is_some()));
        self.unsaved.insert(key);
    }

    /// Removes everything, from the store too.
    pub(crate) fn clear(&mut self) {
        self.unsaved.extend(self.pools.keys());
        self.pools.clear();
        self.excluded = 0;
        self.lists.clear();
    }

    /// Removes what blocks above a height announced, because they were replaced.
    pub(crate) fn forget_above(&mut self, height: u64) {
        let replaced = self.pools.values().filter(|known| known.announced_at > height);
        let replaced: Vec<PoolKey> = replaced.map(|known| known.pool.key).collect();
        replaced.into_iter().for_each(|key| self.remove(key));
        self.lists.forget_above(height);
    }

    /// Returns the changes since the last call, to be stored.
    pub(crate) fn take_unsaved(&mut self) -> BTreeMap<PoolKey, Option<KnownPool>> {
        let unsaved = std::mem::take(&mut self.unsaved);
        unsaved.into_iter().map(|key| (key, self.pools.get(&key).cloned())).collect()
    }

    pub(crate) fn get(&self, key: PoolKey) -> Option<&Discovered> {
        self.pools.get(&key).map(|known| &known.pool)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = PoolKey> {
        self.pools.keys().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.pools.len()
    }

    /// Returns how many pools of a product are known.
    pub(crate) fn count_of(&self, product: Product) -> usize {
        self.pools.values().filter(|known| known.pool.product == product).count()
    }

    /// Returns the height of the first announcement.
    pub(crate) fn first_announcement(&self) -> Option<u64> {
        self.pools.values().map(|known| known.announced_at).filter(|height| *height > 0).min()
    }

    /// Returns the height at which a known pool was announced; 0 if it exists without an announcement.
    pub(crate) fn announced_at(&self, key: PoolKey) -> Option<u64> {
        self.pools.get(&key).map(|known| known.announced_at)
    }

    /// Returns whether an announcement of a pool was seen.
    pub(crate) fn is_announced(&self, key: PoolKey) -> bool {
        self.pools.get(&key).is_some_and(|known| known.announced_at > 0)
    }

    /// Returns the height at which a pool was announced that only a snapshot contains.
    pub(crate) fn unproven_since(&self, key: PoolKey) -> Option<u64> {
        self.pools.get(&key).filter(|known| known.unproven).map(|known| known.announced_at)
    }

    /// Notes that the chain confirmed a pool of a snapshot.
    pub(crate) fn prove(&mut self, pool: Discovered) {
        let key = pool.key;
        if let Some(known) = self.pools.get_mut(&key).filter(|known| known.unproven) {
            (known.pool, known.unproven) = (pool, false);
            self.unsaved.insert(key);
        }
    }

    /// Adds the first coin to a pool whose announcement does not name it.
    pub(crate) fn name_coin(&mut self, key: PoolKey, coin: Address) {
        if let Some(known) = self.pools.get_mut(&key) {
            known.pool.coins.insert(0, coin);
            self.unsaved.insert(key);
        }
    }

    /// Excludes a known pool from the market; returns whether that, or the reason, is news.
    pub(crate) fn exclude(&mut self, key: PoolKey, exclusion: Exclusion) -> bool {
        tracing::debug!(pool = %key, reason = exclusion.reason, "pool excluded");
        let Some(known) = self.pools.get_mut(&key) else { return false };
        if known.excluded.as_ref() == Some(&exclusion) {
            return false;
        }
        self.excluded += usize::from(known.excluded.replace(exclusion).is_none());
        self.unsaved.insert(key);
        true
    }

    /// Ends the exclusion of a pool.
    pub(crate) fn include(&mut self, key: PoolKey) {
        if self.pools.get_mut(&key).is_some_and(|known| known.excluded.take().is_some()) {
            self.excluded -= 1;
            self.unsaved.insert(key);
        }
    }

    /// Ends the exclusion of every pool that passes a test.
    pub(crate) fn include_all(&mut self, test: impl Fn(PoolKey) -> bool) {
        let excluded: Vec<PoolKey> = self.all_excluded().map(|(key, _)| key).filter(|key| test(*key)).collect();
        excluded.into_iter().for_each(|key| self.include(key));
    }

    pub(crate) fn is_excluded(&self, key: PoolKey) -> bool {
        self.exclusion(key).is_some()
    }

    /// Returns what may end the exclusion of a pool, if it is excluded.
    pub(crate) fn exclusion(&self, key: PoolKey) -> Option<ExclusionKind> {
        self.pools.get(&key)?.excluded.as_ref().map(|exclusion| exclusion.kind)
    }

    /// Returns how many pools are excluded.
    pub(crate) const fn excluded(&self) -> usize {
        self.excluded
    }

    /// Returns some excluded pools with the reasons, for the log.
    pub(crate) fn excluded_examples(&self, count: usize) -> Vec<String> {
        self.all_excluded().take(count).map(|(key, why)| format!("{key}: {}", why.reason)).collect()
    }

    fn all_excluded(&self) -> impl Iterator<Item = (PoolKey, &Exclusion)> {
        self.pools.iter().filter_map(|(key, known)| Some((*key, known.excluded.as_ref()?)))
    }

    /// Returns the pools that are excluded because they, or their tokens, could not be read.
    pub(crate) fn unread(&self) -> impl Iterator<Item = PoolKey> {
        self.all_excluded().filter(|(_, why)| why.kind == ExclusionKind::Unread).map(|(key, _)| key)
    }

    /// Returns the pools that a market lacks and that are not excluded: they have to be read.
    pub(crate) fn missing_from(&self, market: &Market) -> impl Iterator<Item = PoolKey> {
        let missing =
            move |(key, known): &(&PoolKey, &KnownPool)| market.pool_id(**key).is_none() && known.excluded.is_none();
        self.pools.iter().filter(missing).map(|(key, _)| *key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> PoolKey {
        Address::repeat_byte(byte).into()
    }

    fn pool(byte: u8) -> Discovered {
        let coins = vec![Address::with_last_byte(1), Address::with_last_byte(2)];
        Discovered { key: key(byte), product: Product::UniswapV2, coins, fee_pips: 0, tick_spacing: 0 }
    }

    fn why(kind: ExclusionKind) -> Exclusion {
        Exclusion { kind, reason: "it does not answer".into() }
    }

    #[test]
    fn what_replaced_blocks_announced_is_forgotten() {
        let mut known = Known::default();
        for (byte, height) in [(1, 10), (2, 11), (3, 12)] {
            known.insert(pool(byte), height);
        }
        known.exclude(key(3), why(ExclusionKind::Unread));
        known.forget_above(11);
        assert_eq!(known.keys().collect::<Vec<_>>(), [key(1), key(2)]);
        assert_eq!(known.excluded(), 0);
    }

    #[test]
    fn pools_that_could_not_be_read_are_told_from_those_that_a_rule_excludes() {
        use ExclusionKind::{Configuration, Floor, Pool, Unread};
        let mut known = Known::default();
        // All have the same words.
        for (byte, kind) in (1..).zip([Unread, Floor, Configuration, Pool, Unread]) {
            known.insert(pool(byte), 10);
            known.exclude(key(byte), why(kind));
        }
        assert_eq!(known.unread().collect::<Vec<_>>(), [1, 5].map(key));
    }

    #[test]
    fn what_changed_is_stored_once_and_what_is_forgotten_is_removed() {
        let mut known = Known::default();
        known.insert(pool(1), 10);
        known.insert(pool(2), 12);
        assert_eq!(known.take_unsaved().len(), 2);
        known.insert(pool(1), 11);
        known.exclude(key(1), why(ExclusionKind::Unread));
        known.exclude(key(1), why(ExclusionKind::Unread));
        known.forget_above(11);
        let unsaved = known.take_unsaved();
        let first = unsaved[&key(1)].clone().unwrap();
        assert_eq!((first.announced_at, first.excluded), (10, Some(why(ExclusionKind::Unread))));
        assert_eq!(unsaved[&key(2)], None);
        known.exclude(key(1), why(ExclusionKind::Unread));
        assert!(known.take_unsaved().is_empty(), "nothing new was said");
    }

    #[test]
    fn the_first_announcement_of_a_key_stands() {
        let mut known = Known::default();
        known.insert(pool(1), 10);
        known.insert(Discovered { product: Product::SushiswapV2, ..pool(1) }, 11);
        assert_eq!(known.get(key(1)).unwrap().product, Product::UniswapV2);
    }

    #[test]
    fn excluded_pools_are_counted_however_they_come_and_go() {
        let mut known = Known::default();
        (1..=5).for_each(|byte| known.insert(pool(byte), byte.into()));
        (2..=5).for_each(|byte| assert!(known.exclude(key(byte), why(ExclusionKind::Unread))));
        assert!(!known.exclude(key(9), why(ExclusionKind::Pool)), "nothing is known of it");
        known.include(key(2));
        known.remove(key(3));
        let saved = known.take_unsaved().remove(&key(4)).flatten().unwrap();
        known.restore(saved);
        assert_eq!(known.excluded(), 2);
        assert_eq!(known.excluded_examples(9).len(), 2);
        known.forget_above(4);
        assert_eq!(known.excluded(), 1);
        known.include_all(|_| true);
        assert_eq!(known.excluded(), 0);
    }
}
