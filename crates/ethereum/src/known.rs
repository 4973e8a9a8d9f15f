//! Every pool that was ever announced on the present chain, in the market or not. Pure.
//!
//! This is what discovery earns and a restart would have to keep: the pools, the height of each announcement, and the
//! height up to which announcements are known.

use std::collections::BTreeMap;

use braid_market::Market;
use braid_primitives::Address;
use braid_protocols::Discovered;

/// Announced pools by address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pools: BTreeMap<Address, Record>,
    /// Pools that are not in the market, with the reason.
    left_out: BTreeMap<Address, String>,
}

#[derive(Clone, Debug)]
struct Record {
    pool: Discovered,
    announced_at: u64,
}

impl Known {
    /// Remembers a pool. The first announcement of an address stands: a factory cannot change what a pool is.
    pub(crate) fn insert(&mut self, pool: Discovered, announced_at: u64) {
        self.pools.entry(pool.address).or_insert(Record { pool, announced_at });
    }

    pub(crate) fn get(&self, address: Address) -> Option<&Discovered> {
        self.pools.get(&address).map(|record| &record.pool)
    }

    pub(crate) fn len(&self) -> usize {
        self.pools.len()
    }

    pub(crate) fn addresses(&self) -> impl Iterator<Item = Address> {
        self.pools.keys().copied()
    }

    /// Forgets what blocks above a height announced: they were replaced.
    pub(crate) fn forget_above(&mut self, height: u64) {
        self.pools.retain(|_, record| record.announced_at <= height);
        self.left_out.retain(|address, _| self.pools.contains_key(address));
    }

    pub(crate) fn leave_out(&mut self, address: Address, reason: String) {
        tracing::debug!(pool = %address, reason, "pool left out");
        self.left_out.insert(address, reason);
    }

    pub(crate) fn take_in(&mut self, address: Address) {
        self.left_out.remove(&address);
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
        self.left_out.retain(|address, _| market.pool_id(*address).is_none());
    }
}

#[cfg(test)]
mod tests {
    use braid_protocols::Product;

    use super::*;

    fn pool(byte: u8) -> Discovered {
        let coins = vec![Address::with_last_byte(1), Address::with_last_byte(2)];
        Discovered {
            address: Address::repeat_byte(byte),
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
    fn the_first_announcement_of_an_address_stands() {
        let mut known = Known::default();
        known.insert(pool(1), 10);
        known.insert(Discovered { product: Product::SushiswapV2, ..pool(1) }, 11);
        assert_eq!(known.get(Address::repeat_byte(1)).unwrap().product, Product::UniswapV2);
    }
}
