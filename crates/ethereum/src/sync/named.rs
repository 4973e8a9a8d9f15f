//! Vaults on no list and of no factory: the configuration names them, or they are seen to trade.

use braid_market::Market;
use braid_primitives::PoolKey;
use braid_protocols::{Discovered, Pool, Product};
use braid_store::market::{Exclusion, KnownPool};

use super::synchronizer::Synchronizer;

/// Most vaults of a market that were seen to trade: each is read every block.
const MOST_FOUND: usize = 256;

/// Most vaults that are known, including excluded ones.
const MOST_SEEN: usize = 4_096;

impl Synchronizer {
    /// Adds the vaults that the configuration names. One that an earlier run excluded is tried again.
    pub(super) fn learn_named_vaults(&mut self) {
        for vault in &self.config.vaults {
            let named = Product::ALL.iter().filter(|product| self.catalog.follows(**product));
            if let Some(pool) = named.filter_map(|product| product.named_pool(*vault)).next() {
                self.known.insert(pool, 0);
                self.known.include((*vault).into());
            }
        }
    }

    /// Returns whether a pool of an earlier run was known only by a name that the configuration no longer has.
    pub(super) fn is_named_no_more(&self, known: &KnownPool) -> bool {
        let Discovered { key, product, .. } = known.pool;
        let named = product.takes_names() && known.announced_at == 0 && !self.catalog.is_fixed(key);
        named && !self.is_named(key)
    }

    /// Returns whether the configuration names a vault.
    fn is_named(&self, vault: PoolKey) -> bool {
        vault.id.is_none() && self.config.vaults.contains(&vault.contract)
    }

    /// Adds unknown vaults that traded; returns their keys.
    pub(super) fn find_vaults(&mut self, candidates: Vec<Discovered>, market: &Market, block: u64) -> Vec<PoolKey> {
        let mut found = Vec::new();
        if !self.config.find_vaults || candidates.is_empty() {
            return found;
        }
        let in_market = market.pools().iter().filter(|pool| self.is_found(pool)).count();
        let seen = Product::ALL
            .iter()
            .filter(|product| product.takes_names())
            .map(|product| self.known.count_of(*product))
            .sum();
        let room = MOST_FOUND.saturating_sub(in_market).min(MOST_SEEN.saturating_sub(seen));
        for pool in candidates {
            if found.len() < room && self.known.get(pool.key).is_none() {
                found.push(pool.key);
                self.known.insert(pool, block);
            }
        }
        found
    }

    /// Returns whether a pool is in the market only because it was seen to trade.
    pub(super) fn is_found(&self, pool: &Pool) -> bool {
        pool.product.guessed_as(pool).is_some() && !self.is_named(pool.key)
    }

    /// Drops a vault that was added by its name, if a factory announces it as another product.
    pub(super) fn replace_named(&mut self, announced: &Discovered) {
        let key = announced.key;
        let otherwise = |known: &Discovered| known.product != announced.product;
        if self.is_named(key) && self.known.get(key).is_some_and(otherwise) {
            self.known.remove(key);
            self.pending.insert(key);
        }
    }

    /// Excludes a pool from the market.
    pub(super) fn exclude(&mut self, pool: PoolKey, exclusion: Exclusion) {
        if self.known.exclude(pool, exclusion.clone()) {
            self.report_named(pool, Some(&exclusion.reason));
        }
    }

    /// Logs whether a vault that the configuration names is in the market.
    pub(super) fn report_named(&self, vault: PoolKey, excluded: Option<&str>) {
        if !self.is_named(vault) {
            return;
        }
        match excluded {
            Some(reason) => tracing::warn!(%vault, reason, "a named vault is excluded"),
            None => tracing::info!(%vault, "a named vault is in the market"),
        }
    }
}
