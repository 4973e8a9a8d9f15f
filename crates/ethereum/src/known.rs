//! Every pool that was ever announced on the present chain, in the market or not. Pure.
//!
//! This is what discovery earns and a restart keeps: the pools, the height of each announcement, and why a pool is left out.

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use braid_market::Market;
use braid_primitives::Address;
use braid_protocols::{Discovered, Product};
use braid_store::market::KnownPool;

use crate::lists::Lists;

/// Announced pools by address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pools: BTreeMap<Address, Record>,
    /// Pools that are not in the market, with the reason.
    left_out: BTreeMap<Address, String>,
    /// Pools that are not as they were last stored.
    unsaved: BTreeSet<Address>,
    /// How far lists of pools were read: goes with what was found in them.
    pub(crate) lists: Lists,
}

#[derive(Clone, Debug)]
struct Record {
    pool: Discovered,
    announced_at: u64,
}

impl Known {
    /// Remembers a pool. The first announcement of an address stands: a factory cannot change what a pool is.
    pub(crate) fn insert(&mut self, pool: Discovered, announced_at: u64) {
        let address = pool.key.contract;
        if let Entry::Vacant(entry) = self.pools.entry(address) {
            entry.insert(Record { pool, announced_at });
            self.unsaved.insert(address);
        }
    }

    /// Completes a pool whose announcement does not name all its coins with the one that goes before them.
    pub(crate) fn name_coin(&mut self, address: Address, coin: Address) {
        if let Some(record) = self.pools.get_mut(&address) {
            record.pool.coins.insert(0, coin);
            self.unsaved.insert(address);
        }
    }

    /// Takes up what an earlier run stored.
    pub(crate) fn restore(&mut self, saved: KnownPool) {
        let address = saved.pool.key.contract;
        self.left_out.extend(saved.left_out.map(|reason| (address, reason)));
        self.pools.insert(address, Record { pool: saved.pool, announced_at: saved.announced_at });
    }

    /// Forgets a pool whatever was known of it.
    pub(crate) fn remove(&mut self, address: Address) {
        self.pools.remove(&address);
        self.left_out.remove(&address);
        self.unsaved.insert(address);
    }

    /// What is to be stored since the last time that this was asked.
    pub(crate) fn take_unsaved(&mut self) -> BTreeMap<Address, Option<KnownPool>> {
        let unsaved = std::mem::take(&mut self.unsaved);
        let record = |address: Address| {
            let known = self.pools.get(&address).map(|record| KnownPool {
                pool: record.pool.clone(),
                announced_at: record.announced_at,
                left_out: self.left_out.get(&address).cloned(),
            });
            (address, known)
        };
        unsaved.into_iter().map(record).collect()
    }

    /// Forgets everything; what was stored goes too.
    pub(crate) fn clear(&mut self) {
        let gone: Vec<Address> = self.addresses().collect();
        self.unsaved.extend(gone);
        self.pools.clear();
        self.left_out.clear();
        self.lists.clear();
    }

    pub(crate) fn get(&self, address: Address) -> Option<&Discovered> {
        self.pools.get(&address).map(|record| &record.pool)
    }

    /// How many pools of a product are known.
    pub(crate) fn count_of(&self, product: Product) -> usize {
        self.pools.values().filter(|record| record.pool.product == product).count()
    }

    pub(crate) fn len(&self) -> usize {
        self.pools.len()
    }

    pub(crate) fn addresses(&self) -> impl Iterator<Item = Address> {
        self.pools.keys().copied()
    }

    /// Forgets what blocks above a height announced: they were replaced.
    pub(crate) fn forget_above(&mut self, height: u64) {
        let gone = self.pools.iter().filter(|(_, record)| record.announced_at > height).map(|(address, _)| *address);
        self.unsaved.extend(gone);
        self.pools.retain(|_, record| record.announced_at <= height);
        self.left_out.retain(|address, _| self.pools.contains_key(address));
        self.lists.forget_above(height);
    }

    /// Leaves a pool out of the market; whether that, or the reason, is news.
    pub(crate) fn leave_out(&mut self, address: Address, reason: String) -> bool {
        tracing::debug!(pool = %address, reason, "pool left out");
        let news = self.left_out.get(&address) != Some(&reason);
        if news {
            self.unsaved.insert(address);
            self.left_out.insert(address, reason);
        }
        news
    }

    pub(crate) fn take_in(&mut self, address: Address) {
        if self.left_out.remove(&address).is_some() {
            self.unsaved.insert(address);
        }
    }

    /// Gives every pool that was left out another try.
    pub(crate) fn forgive(&mut self) {
        let all: Vec<Address> = self.left_out.keys().copied().collect();
        all.into_iter().for_each(|address| self.take_in(address));
    }

    pub(crate) fn is_left_out(&self, address: Address) -> bool {
        self.left_out.contains_key(&address)
    }

    pub(crate) fn left_out(&self) -> usize {
        self.left_out.len()
    }

    /// Some pools that were left out, with the reason, for the log.
    pub(crate) fn left_out_examples(&self, count: usize) -> Vec<String> {
        self.left_out.iter().take(count).map(|(address, reason)| format!("{address}: {reason}")).collect()
    }

    /// Pools that should be in a market and are not: to be read.
    pub(crate) fn missing_from(&self, market: &Market) -> Vec<Address> {
        let missing = |address: &Address| market.pool_id(*address).is_none() && !self.is_left_out(*address);
        self.addresses().filter(missing).collect()
    }

    /// After a roll-back, a pool that the older market holds is not left out, whatever the replaced blocks said.
    pub(crate) fn reconcile(&mut self, market: &Market) {
        let back: Vec<Address> =
            self.left_out.keys().copied().filter(|address| market.pool_id(*address).is_some()).collect();
        back.into_iter().for_each(|address| self.take_in(address));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(byte: u8) -> Discovered {
        let coins = vec![Address::with_last_byte(1), Address::with_last_byte(2)];
        Discovered {
            key: Address::repeat_byte(byte).into(),
            product: Product::UniswapV2,
            coins,
            fee_pips: 0,
            tick_spacing: 0,
        }
    }

    #[test]
    fn what_replaced_blocks_announced_is_forgotten() {
        let mut known = Known::default();
        for (byte, height) in [(1, 10), (2, 11), (3, 12)] {
            known.insert(pool(byte), height);
        }
        known.leave_out(Address::repeat_byte(3), "it does not answer".into());
        known.forget_above(11);
        assert_eq!(known.addresses().collect::<Vec<_>>(), [Address::repeat_byte(1), Address::repeat_byte(2)]);
        assert_eq!(known.left_out(), 0);
    }

    #[test]
    fn what_changed_is_stored_once_and_what_is_forgotten_is_removed() {
        let mut known = Known::default();
        known.insert(pool(1), 10);
        known.insert(pool(2), 12);
        assert_eq!(known.take_unsaved().len(), 2);
        known.insert(pool(1), 11);
        known.leave_out(Address::repeat_byte(1), "it does not answer".into());
        known.leave_out(Address::repeat_byte(1), "it does not answer".into());
        known.forget_above(11);
        let unsaved = known.take_unsaved();
        let first = unsaved[&Address::repeat_byte(1)].clone().unwrap();
        assert_eq!((first.announced_at, first.left_out.as_deref()), (10, Some("it does not answer")));
        assert_eq!(unsaved[&Address::repeat_byte(2)], None);
        known.leave_out(Address::repeat_byte(1), "it does not answer".into());
        assert!(known.take_unsaved().is_empty(), "nothing new was said");
    }

    #[test]
    fn the_first_announcement_of_an_address_stands() {
        let mut known = Known::default();
        known.insert(pool(1), 10);
        known.insert(Discovered { product: Product::SushiswapV2, ..pool(1) }, 11);
        assert_eq!(known.get(Address::repeat_byte(1)).unwrap().product, Product::UniswapV2);
    }
}
