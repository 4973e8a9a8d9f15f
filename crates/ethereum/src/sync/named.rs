//! Vaults that neither a list nor a factory tells about: the configuration names them, or they are seen to trade.

use braid_market::Market;
use braid_primitives::{Address, PoolKey};
use braid_protocols::{Discovered, Pool, Product};
use braid_store::market::KnownPool;

use super::Synchronizer;

/// Most vaults in a market that were found: each is read at every block.
const MOST_FOUND: usize = 256;

/// Most vaults that are remembered, those that were found and left out included.
const MOST_SEEN: usize = 4_096;

impl Synchronizer {
    /// Remembers the vaults that the configuration names and nothing else tells about. One that an earlier run left out is tried again.
    pub(super) fn learn_named_vaults(&mut self) {
        for vault in &self.config.vaults {
            let named = Product::ALL.iter().filter(|product| self.catalog.follows(**product));
            if let Some(pool) = named.filter_map(|product| product.named_pool(*vault)).next() {
                self.known.insert(pool, 0);
                self.known.take_in(*vault);
            }
        }
    }

    /// Whether a pool of an earlier run was known for a name alone, which the configuration no longer has.
    pub(super) fn is_named_no_more(&self, known: &KnownPool) -> bool {
        let Discovered { key: PoolKey { contract: address, .. }, product, .. } = known.pool;
        let named = product.takes_names() && known.announced_at == 0 && !self.catalog.is_fixed(address);
        named && !self.config.vaults.contains(&address)
    }

    /// Remembers vaults that traded and that nobody knows; gives their addresses.
    pub(super) fn find_vaults(&mut self, suggested: Vec<Discovered>, market: &Market, block: u64) -> Vec<Address> {
        let mut found = Vec::new();
        if !self.config.find_vaults || suggested.is_empty() {
            return found;
        }
        let in_market = market.pools().iter().filter(|pool| self.is_found(pool)).count();
        let seen = Product::ALL
            .iter()
            .filter(|product| product.takes_names())
            .map(|product| self.known.count_of(*product))
            .sum();
        let room = MOST_FOUND.saturating_sub(in_market).min(MOST_SEEN.saturating_sub(seen));
        for pool in suggested {
            if found.len() < room && self.known.get(pool.key.contract).is_none() {
                found.push(pool.key.contract);
                self.known.insert(pool, block);
            }
        }
        found
    }

    /// Whether a pool is in the market only because it was seen to trade.
    pub(super) fn is_found(&self, pool: &Pool) -> bool {
        pool.product.guessed_as(pool).is_some() && !self.config.vaults.contains(&pool.key.contract)
    }

    /// What a factory says of a vault outdoes its name.
    pub(super) fn give_way(&mut self, announced: &Discovered) {
        let address = announced.key.contract;
        let otherwise = |known: &Discovered| known.product != announced.product;
        if self.config.vaults.contains(&address) && self.known.get(address).is_some_and(otherwise) {
            self.known.remove(address);
            self.pending.insert(address);
        }
    }

    /// Leaves a pool out of the market.
    pub(super) fn leave_out(&mut self, pool: Address, reason: String) {
        if self.known.leave_out(pool, reason.clone()) {
            self.tell_of_named(pool, Some(&reason));
        }
    }

    /// Says what became of a vault that the configuration names; of other pools nothing.
    pub(super) fn tell_of_named(&self, vault: Address, left_out: Option<&str>) {
        if !self.config.vaults.contains(&vault) {
            return;
        }
        match left_out {
            Some(reason) => tracing::warn!(%vault, reason, "a vault that was named is left out"),
            None => tracing::info!(%vault, "a vault that was named is in the market"),
        }
    }
}
