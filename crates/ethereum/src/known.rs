//! Every pool that was ever announced on the present chain, in the market or not. Pure.
//!
//! This is what discovery earns and a restart keeps: the pools, the height of each announcement, and why a pool is left out.

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use braid_market::Market;
use braid_primitives::{Address, PoolKey};
use braid_protocols::{Discovered, Product};
use braid_store::market::KnownPool;

use crate::lists::Lists;

/// Announced pools.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pools: BTreeMap<PoolKey, Record>,
    /// Pools that are not in the market, with the reason.
    left_out: BTreeMap<PoolKey, String>,
    /// Pools of which only a snapshot said that they exist.
    unproven: BTreeSet<PoolKey>,
    /// Pools that are not as they were last stored.
    unsaved: BTreeSet<PoolKey>,
    /// How far lists of pools were read: goes with what was found in them.
    pub(crate) lists: Lists,
}

#[derive(Clone, Debug)]
struct Record {
    pool: Discovered,
    announced_at: u64,
}

impl Known {
    /// Remembers a pool. The first announcement of a key stands: a factory cannot change what a pool is. A pool that was
    /// known without one (`announced_at` 0) is announced from here on.
    pub(crate) fn insert(&mut self, pool: Discovered, announced_at: u64) {
        let key = pool.key;
        if self.unproven.contains(&key) {
            self.remove(key);
        }
        match self.pools.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(Record { pool, announced_at });
            }
            Entry::Occupied(mut entry) if entry.get().announced_at == 0 && announced_at > 0 => {
                let record = entry.get_mut();
                record.announced_at = announced_at;
                // what the announcement says of its fee is what a snapshot is held against
                if record.pool.product == pool.product && record.pool.coins == pool.coins {
                    record.pool = pool;
                }
            }
            Entry::Occupied(_) => return,
        }
        self.unsaved.insert(key);
    }

    /// The height of the first announcement.
    pub(crate) fn first_announcement(&self) -> Option<u64> {
        self.pools.values().map(|record| record.announced_at).filter(|height| *height > 0).min()
    }

    /// Whether an announcement of a pool was seen.
    pub(crate) fn is_announced(&self, key: PoolKey) -> bool {
        self.pools.get(&key).is_some_and(|record| record.announced_at > 0)
    }

    /// Completes a pool whose announcement does not name all its coins with the one that goes before them.
    pub(crate) fn name_coin(&mut self, key: PoolKey, coin: Address) {
        if let Some(record) = self.pools.get_mut(&key) {
            record.pool.coins.insert(0, coin);
            self.unsaved.insert(key);
        }
    }

    /// Takes up what a snapshot says, of pools that nothing else told about.
    pub(crate) fn suppose(&mut self, supposed: KnownPool) {
        let key = supposed.pool.key;
        if self.pools.contains_key(&key) {
            self.insert(supposed.pool, supposed.announced_at);
        } else {
            self.restore(KnownPool { unproven: true, ..supposed });
            self.unsaved.insert(key);
        }
    }

    /// Whether only a snapshot said that a pool exists, and in which block it was announced.
    pub(crate) fn supposed_at(&self, key: PoolKey) -> Option<u64> {
        self.pools.get(&key).filter(|_| self.unproven.contains(&key)).map(|record| record.announced_at)
    }

    /// A pool is what the chain says that it is.
    pub(crate) fn prove(&mut self, pool: Discovered) {
        let key = pool.key;
        if let Some(record) = self.pools.get_mut(&key).filter(|_| self.unproven.remove(&key)) {
            record.pool = pool;
            self.unsaved.insert(key);
        }
    }

    /// Takes up what an earlier run stored.
    pub(crate) fn restore(&mut self, saved: KnownPool) {
        let key = saved.pool.key;
        if saved.unproven {
            self.unproven.insert(key);
        }
        self.left_out.extend(saved.left_out.map(|reason| (key, reason)));
        self.pools.insert(key, Record { pool: saved.pool, announced_at: saved.announced_at });
    }

    /// Forgets a pool whatever was known of it.
    pub(crate) fn remove(&mut self, key: PoolKey) {
        self.pools.remove(&key);
        self.left_out.remove(&key);
        self.unproven.remove(&key);
        self.unsaved.insert(key);
    }

    /// What is to be stored since the last time that this was asked.
    pub(crate) fn take_unsaved(&mut self) -> BTreeMap<PoolKey, Option<KnownPool>> {
        let unsaved = std::mem::take(&mut self.unsaved);
        let record = |key: PoolKey| {
            let known = self.pools.get(&key).map(|record| KnownPool {
                pool: record.pool.clone(),
                announced_at: record.announced_at,
                left_out: self.left_out.get(&key).cloned(),
                unproven: self.unproven.contains(&key),
            });
            (key, known)
        };
        unsaved.into_iter().map(record).collect()
    }

    /// Forgets everything; what was stored goes too.
    pub(crate) fn clear(&mut self) {
        let gone: Vec<PoolKey> = self.keys().collect();
        self.unsaved.extend(gone);
        self.pools.clear();
        self.left_out.clear();
        self.unproven.clear();
        self.lists.clear();
    }

    pub(crate) fn get(&self, key: PoolKey) -> Option<&Discovered> {
        self.pools.get(&key).map(|record| &record.pool)
    }

    /// How many pools of a product are known.
    pub(crate) fn count_of(&self, product: Product) -> usize {
        self.pools.values().filter(|record| record.pool.product == product).count()
    }

    pub(crate) fn len(&self) -> usize {
        self.pools.len()
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = PoolKey> {
        self.pools.keys().copied()
    }

    /// Forgets what blocks above a height announced: they were replaced.
    pub(crate) fn forget_above(&mut self, height: u64) {
        let gone = self.pools.iter().filter(|(_, record)| record.announced_at > height).map(|(key, _)| *key);
        self.unsaved.extend(gone);
        self.pools.retain(|_, record| record.announced_at <= height);
        self.left_out.retain(|key, _| self.pools.contains_key(key));
        self.unproven.retain(|key| self.pools.contains_key(key));
        self.lists.forget_above(height);
    }

    /// Leaves a pool out of the market; whether that, or the reason, is news.
    pub(crate) fn leave_out(&mut self, key: PoolKey, reason: String) -> bool {
        tracing::debug!(pool = %key, reason, "pool excluded");
        let news = self.left_out.get(&key) != Some(&reason);
        if news {
            self.unsaved.insert(key);
            self.left_out.insert(key, reason);
        }
        news
    }

    pub(crate) fn take_in(&mut self, key: PoolKey) {
        if self.left_out.remove(&key).is_some() {
            self.unsaved.insert(key);
        }
    }

    /// Gives every pool that was left out another try.
    pub(crate) fn forgive(&mut self) {
        let all: Vec<PoolKey> = self.left_out.keys().copied().collect();
        all.into_iter().for_each(|key| self.take_in(key));
    }

    pub(crate) fn is_left_out(&self, key: PoolKey) -> bool {
        self.left_out.contains_key(&key)
    }

    /// Why a pool is left out.
    pub(crate) fn reason(&self, key: PoolKey) -> Option<&str> {
        self.left_out.get(&key).map(String::as_str)
    }

    pub(crate) fn left_out(&self) -> usize {
        self.left_out.len()
    }

    /// Some pools that were left out, with the reason, for the log.
    pub(crate) fn left_out_examples(&self, count: usize) -> Vec<String> {
        self.left_out.iter().take(count).map(|(key, reason)| format!("{key}: {reason}")).collect()
    }

    /// Pools that should be in a market and are not: to be read.
    pub(crate) fn missing_from(&self, market: &Market) -> Vec<PoolKey> {
        let missing = |key: &PoolKey| market.pool_id(*key).is_none() && !self.is_left_out(*key);
        self.keys().filter(missing).collect()
    }

    /// After a roll-back, a pool that the older market holds is not left out, whatever the replaced blocks said.
    pub(crate) fn reconcile(&mut self, market: &Market) {
        let back: Vec<PoolKey> = self.left_out.keys().copied().filter(|key| market.pool_id(*key).is_some()).collect();
        back.into_iter().for_each(|key| self.take_in(key));
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

    #[test]
    fn what_replaced_blocks_announced_is_forgotten() {
        let mut known = Known::default();
        for (byte, height) in [(1, 10), (2, 11), (3, 12)] {
            known.insert(pool(byte), height);
        }
        known.leave_out(key(3), "it does not answer".into());
        known.forget_above(11);
        assert_eq!(known.keys().collect::<Vec<_>>(), [key(1), key(2)]);
        assert_eq!(known.left_out(), 0);
    }

    #[test]
    fn what_changed_is_stored_once_and_what_is_forgotten_is_removed() {
        let mut known = Known::default();
        known.insert(pool(1), 10);
        known.insert(pool(2), 12);
        assert_eq!(known.take_unsaved().len(), 2);
        known.insert(pool(1), 11);
        known.leave_out(key(1), "it does not answer".into());
        known.leave_out(key(1), "it does not answer".into());
        known.forget_above(11);
        let unsaved = known.take_unsaved();
        let first = unsaved[&key(1)].clone().unwrap();
        assert_eq!((first.announced_at, first.left_out.as_deref()), (10, Some("it does not answer")));
        assert_eq!(unsaved[&key(2)], None);
        known.leave_out(key(1), "it does not answer".into());
        assert!(known.take_unsaved().is_empty(), "nothing new was said");
    }

    #[test]
    fn the_first_announcement_of_a_key_stands() {
        let mut known = Known::default();
        known.insert(pool(1), 10);
        known.insert(Discovered { product: Product::SushiswapV2, ..pool(1) }, 11);
        assert_eq!(known.get(key(1)).unwrap().product, Product::UniswapV2);
    }
}
