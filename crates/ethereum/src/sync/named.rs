//! Vaults that neither a list nor a factory tells about: the configuration names them, or they are seen to trade.

use braid_market::Market;
use braid_primitives::PoolKey;
use braid_protocols::{Discovered, Pool, Product};
use braid_store::market::KnownPool;

use super::synchronizer::Synchronizer;

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
                self.known.take_in((*vault).into());
            }
        }
    }

    /// Whether a pool of an earlier run was known for a name alone, which the configuration no longer has.
    pub(super) fn is_named_no_more(&self, known: &KnownPool) -> bool {
        let Discovered { key, product, .. } = known.pool;
        let named = product.takes_names() && known.announced_at == 0 && !self.catalog.is_fixed(key);
        named && !self.is_named(key)
    }

    /// Whether the configuration names a vault.
    fn is_named(&self, vault: PoolKey) -> bool {
        vault.id.is_none() && self.config.vaults.contains(&vault.contract)
    }

    /// Remembers vaults that traded and that nobody knows; gives their keys.
    pub(super) fn find_vaults(&mut self, suggested: Vec<Discovered>, market: &Market, block: u64) -> Vec<PoolKey> {
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
            if found.len() < room && self.known.get(pool.key).is_none() {
                found.push(pool.key);
                self.known.insert(pool, block);
            }
        }
        found
    }

    /// Whether a pool is in the market only because it was seen to trade.
    pub(super) fn is_found(&self, pool: &Pool) -> bool {
        pool.product.guessed_as(pool).is_some() && !self.is_named(pool.key)
    }

    /// What a factory says of a vault outdoes its name.
    pub(super) fn give_way(&mut self, announced: &Discovered) {
        let key = announced.key;
        let otherwise = |known: &Discovered| known.product != announced.product;
        if self.is_named(key) && self.known.get(key).is_some_and(otherwise) {
            self.known.remove(key);
            self.pending.insert(key);
        }
    }

    /// Leaves a pool out of the market.
    pub(super) fn leave_out(&mut self, pool: PoolKey, reason: String) {
        if self.known.leave_out(pool, reason.clone()) {
            self.tell_of_named(pool, Some(&reason));
        }
    }

    /// Says what became of a vault that the configuration names; of other pools nothing.
    pub(super) fn tell_of_named(&self, vault: PoolKey, left_out: Option<&str>) {
        if !self.is_named(vault) {
            return;
        }
        match left_out {
            Some(reason) => tracing::warn!(%vault, reason, "a vault that was named is excluded"),
            None => tracing::info!(%vault, "a vault that was named is in the market"),
        }
    }
}
