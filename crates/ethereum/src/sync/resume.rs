//! Starts from the market that an earlier run stored.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use braid_market::Market;
use braid_primitives::{Address, PoolKey};
use braid_protocols::{Discovered, Pool, Product};
use braid_store::{
    MarketStore,
    market::{ExclusionKind, KnownPool, Saved},
};

use super::{journal::Journal, synchronizer::Synchronizer};
use crate::{lists::Lists, spans::Spans};

impl Synchronizer {
    /// Stores every later market, and starts from the content of the store. Nothing of it is published before the node
    /// was asked about its block.
    pub(crate) fn keep_in(&mut self, store: Arc<MarketStore>, saved: Option<Saved>) {
        self.store = Some(store);
        if let Some(saved) = saved {
            self.resume(saved);
        }
    }

    fn resume(&mut self, saved: Saved) {
        let mut unnamed: BTreeSet<PoolKey> =
            saved.known.iter().filter(|known| self.is_named_no_more(known)).map(|known| known.pool.key).collect();
        if !self.config.find_vaults {
            let found = saved.market.pools().iter().filter(|pool| self.is_found(pool));
            unnamed.extend(found.map(|pool| pool.key));
        }
        let refused = saved.known.iter().filter(|known| self.config.rules.refuse(&known.pool).is_some());
        let refused: BTreeSet<PoolKey> = refused.map(|known| known.pool.key).collect();
        let dropped = |pool: &&Arc<Pool>| {
            let is_followed = self.catalog.follows(pool.product) && !has_refused_coin(&saved.market, pool);
            !is_followed || unnamed.contains(&pool.key) || refused.contains(&pool.key)
        };
        let dropped: Vec<PoolKey> = saved.market.pools().iter().filter(dropped).map(|pool| pool.key).collect();
        let market = if dropped.is_empty() { saved.market } else { Arc::new(saved.market.without(&dropped)) };
        let block = *market.block();
        for mut pool in saved.known {
            let is_judged_anew = self.is_judged_anew(&pool);
            let excluded = pool.excluded.filter(|_| !is_judged_anew);
            pool.excluded = self.config.rules.refuse(&pool.pool).or(excluded);
            let (key, follows) = (pool.pool.key, self.catalog.may_follow(pool.pool.product));
            self.known.restore(pool);
            if !follows || unnamed.contains(&key) {
                self.known.remove(key);
            }
        }
        self.learn_new_fixed_pools();
        self.learn_named_vaults();
        self.spans = Spans::new(&self.catalog, self.config.start_block, block.number, &saved.sources);
        self.known.lists = Lists::new(self.catalog.lists().map(|(_, list)| list.keeper()), &saved.lists);
        let blocks = saved.journal.iter().map(|entry| (entry.number, entry.hash));
        for (number, hash) in saved.anchors.iter().copied().chain(blocks) {
            self.history.remember(number, hash);
        }
        self.pending = self.known.missing_from(&market).collect();
        self.await_unread();
        tracing::info!(
            number = block.number, hash = %block.hash, pools = market.pools().len(), known = self.known.len(),
            blocks_to_search = self.spans.blocks_left(), "starting from the stored market"
        );
        self.history.push(market, saved.read.into_iter().collect());
        self.journal = Some(Journal { tip: block.hash, entries: saved.journal });
        self.unpublished = true;
        self.report_unread();
        if self.spans.blocks_left() > 0 {
            self.background = Some(self.search(self.spans.segments(), Duration::ZERO));
        } else {
            self.check_history();
        }
    }

    /// Returns whether the configuration of this run decides about a pool that another run excluded.
    pub(super) fn is_judged_anew(&self, known: &KnownPool) -> bool {
        match known.excluded.as_ref().map(|exclusion| exclusion.kind) {
            Some(ExclusionKind::Configuration) => true,
            Some(ExclusionKind::Product(product)) => self.catalog.follows(product),
            Some(ExclusionKind::Floor) => self.config.rules.allow_pools.contains(&known.pool.key),
            Some(ExclusionKind::Unread | ExclusionKind::Pool) | None => false,
        }
    }

    /// Keeps a copy of the stored market of an earlier run, before the market of another chain takes its place.
    pub(super) async fn copy_stored_market(&self) {
        let Some(store) = self.store.clone().filter(|_| self.unpublished) else { return };
        let copied = tokio::task::spawn_blocking(move || {
            // Nothing is recorded meanwhile, so the file does not change while it is copied.
            store.flush().map_err(std::io::Error::other)?;
            let mut copy = store.path().as_os_str().to_owned();
            copy.push(".replaced");
            std::fs::copy(store.path(), &copy).map(|_| copy)
        });
        match copied.await.map_err(std::io::Error::other).flatten() {
            Ok(copy) => tracing::warn!(?copy, "the stored market is of another chain: a copy of it is kept"),
            Err(error) => tracing::warn!(%error, "the stored market is of another chain, and cannot be copied"),
        }
    }

    /// Adds fixed pools of products without any in the store, which is from before they were followed.
    fn learn_new_fixed_pools(&mut self) {
        let fixed = self.catalog.fixed_pools();
        let known = |pool: &&Discovered| self.known.get(pool.key).is_some();
        let old: Vec<Product> = fixed.iter().filter(known).map(|pool| pool.product).collect();
        for pool in fixed.into_iter().filter(|pool| !old.contains(&pool.product)) {
            self.known.insert(pool, 0);
        }
    }

    /// Returns the newest market, and the pools in which it may differ from the state at an older block; `None` if that
    /// is not known.
    pub(super) fn touched_above(&self, common: u64) -> Option<(Arc<Market>, BTreeSet<PoolKey>)> {
        let journal = self.journal.as_ref()?;
        let (tip, oldest) = (self.history.tip()?, self.history.oldest_market()?);
        // Requires every block: the journal up to the first market, and every market since.
        let whole = oldest.block().hash == journal.tip && journal.entries.iter().any(|entry| entry.number <= common);
        if !whole {
            return None;
        }
        let replaced = journal.entries.iter().filter(|entry| entry.number > common);
        let mut touched: BTreeSet<PoolKey> = replaced.flat_map(|entry| entry.changed.iter().copied()).collect();
        let since = tip.changes_since(oldest);
        touched.extend(since.changed.iter().map(|pool| pool.key).chain(since.removed));
        touched.extend(self.history.read_at_tip());
        Some((Arc::clone(tip), touched))
    }
}

/// Returns whether a pool has a coin that its product does not take. Earlier versions followed such pools.
fn has_refused_coin(market: &Market, pool: &Pool) -> bool {
    let coins = pool.coins.iter().filter_map(|coin| market.tokens().get(*coin));
    let coins: Vec<Address> = coins.map(|token| token.address).collect();
    pool.product.refused_share_token(&coins).is_some()
}

#[cfg(test)]
mod tests {
    use braid_market::Tokens;
    use braid_primitives::Token;
    use braid_protocols::{PoolState, lido::STETH, uniswap_v2};

    use super::*;
    use crate::testing::block;

    #[test]
    fn a_stored_pair_with_steth_is_dropped_and_another_is_kept() {
        let mut tokens = Tokens::new();
        let other = Address::repeat_byte(0x70);
        for address in [STETH, other] {
            tokens.insert(Token { address, symbol: "T".into(), name: String::new(), decimals: 18 });
        }
        let pair = |coin: Address| Pool {
            key: Address::repeat_byte(9).into(),
            product: Product::UniswapV2,
            coins: [tokens.id(coin).unwrap(), Tokens::WETH].into_iter().collect(),
            state: PoolState::UniswapV2(uniswap_v2::State { reserve0: 1, reserve1: 1, fee_bps: 30 }),
        };
        let pairs = [STETH, other].map(pair);
        let market = Market::empty(block(1), Arc::new(tokens));
        assert_eq!(pairs.map(|pair| has_refused_coin(&market, &pair)), [true, false]);
    }
}
