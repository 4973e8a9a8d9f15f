//! The follower's memory: what it knows of pools, blocks and markets, and the step from one head to the next.

use std::{collections::BTreeSet, sync::Arc};

use braid_market::Market;
use braid_primitives::{Block, PoolKey};
use braid_store::{MarketStore, market::Change};
use tokio::sync::watch;

use super::{background::Background, journal::Journal};
use crate::{
    Catalog, FeeData, FollowError, FollowerConfig, Node, Phase, SyncStatus, history::History, known::Known,
    lists::Lists, node::PlacedLog, spans::Spans,
};

/// Most waiting pools that are read along with a block, and fewest between two blocks.
pub(super) const POOLS_WITH_A_BLOCK: usize = 256;

/// The follower's memory and what it does with it. Whatever fails half-way leaves the last market in place, and is done
/// again from there.
pub(crate) struct Synchronizer {
    pub(super) node: Node,
    pub(super) config: FollowerConfig,
    pub(super) catalog: Catalog,
    pub(super) known: Known,
    pub(super) history: History,
    /// Known pools that still have to be read into the market.
    pub(super) pending: BTreeSet<PoolKey>,
    /// How many of them are read between two blocks.
    pub(super) between_blocks: usize,
    pub(super) fees: Option<FeeData>,
    pub(super) background: Option<Background>,
    pub(super) status: watch::Sender<SyncStatus>,
    /// Where each source's search for pools stands.
    pub(super) spans: Spans,
    /// Where everything is kept for the next start.
    pub(super) store: Option<Arc<MarketStore>>,
    /// What an earlier run stored of its last blocks, while it is of use.
    pub(super) journal: Option<Journal>,
    /// A market taken up from the store is at the head and was not published.
    pub(super) unpublished: bool,
    /// The lowest height rolled back to since the store was last told.
    rolled_back_to: Option<u64>,
}

impl Synchronizer {
    pub(crate) fn new(node: Node, config: FollowerConfig, status: watch::Sender<SyncStatus>) -> Self {
        let catalog = Catalog::new(&config.products);
        let mut known = Known::default();
        known.lists = Lists::new(catalog.lists().map(|(_, list)| list.keeper()), &[]);
        Self {
            catalog,
            history: History::new(config.reorganisation_depth.saturating_add(1)),
            known,
            pending: BTreeSet::new(),
            between_blocks: POOLS_WITH_A_BLOCK,
            fees: None,
            background: None,
            spans: Spans::default(),
            store: None,
            journal: None,
            unpublished: false,
            rolled_back_to: None,
            node,
            config,
            status,
        }
    }

    /// Hands what is new to the store, which writes it behind our back.
    pub(crate) fn record(&mut self) {
        let (Some(store), Some(tip)) = (&self.store, self.history.tip()) else { return };
        store.record(Change {
            market: Arc::clone(tip),
            read: self.history.read_at_tip().into_iter().collect(),
            known: self.known.take_unsaved(),
            sources: self.spans.all(),
            lists: self.known.lists.all(),
            rolled_back_to: self.rolled_back_to.take(),
        });
        let (stored_block, healthy) = (store.stored_block(), store.is_healthy());
        self.status.send_if_modified(|status| {
            let changed = (status.stored_block, status.store_failing) != (stored_block, !healthy);
            (status.stored_block, status.store_failing) = (stored_block, !healthy);
            changed
        });
    }

    pub(super) fn note_roll_back(&mut self, height: u64) {
        self.rolled_back_to = Some(self.rolled_back_to.map_or(height, |lowest| lowest.min(height)));
    }

    /// The newest market.
    pub(crate) fn tip(&self) -> Option<&Arc<Market>> {
        self.history.tip()
    }

    /// What gas costs after the newest market's block.
    pub(crate) fn fees(&self) -> Option<FeeData> {
        let tip = self.tip()?.block();
        Some(self.fees.map_or_else(|| FeeData::new(tip, None), |fees| fees.after(tip)))
    }

    /// Known pools that are not in the market.
    pub(crate) fn left_out(&self) -> usize {
        self.known.left_out()
    }

    /// Known pools that are still to be read, and lists of pools.
    pub(crate) fn waiting(&self) -> usize {
        self.pending.len() + self.known.lists.due().len()
    }

    /// Whether pools or lists wait to be read in between two blocks. Lists can wait until the tip is the node's.
    pub(crate) fn has_pending(&self) -> bool {
        let lists = !self.unpublished && !self.known.lists.due().is_empty();
        (!self.pending.is_empty() || lists) && self.tip().is_some()
    }

    /// Reads pools of the market again, in between blocks.
    pub(crate) fn read_again(&mut self, pools: impl IntoIterator<Item = PoolKey>) {
        let Some(tip) = self.history.tip() else { return };
        self.pending.extend(pools.into_iter().filter(|pool| tip.pool_id(*pool).is_some()));
    }

    /// Reads every pool of the market again, in between blocks.
    pub(crate) fn read_everything_again(&mut self) {
        let all: Vec<PoolKey> = self.tip().into_iter().flat_map(|tip| tip.pools()).map(|pool| pool.key).collect();
        self.read_again(all);
    }

    /// Brings the market to a head that the node announced, or to where the node is by now. Whether the market changed.
    ///
    /// # Errors
    /// [`FollowError`]; the market is then that of some block on the way, and the next call goes on from it.
    pub(crate) async fn follow(&mut self, head: Block) -> Result<bool, FollowError> {
        let moved = self.go_to(head).await?;
        if self.unpublished
            && self.fees.is_none()
            && let Some(tip) = self.tip().map(|tip| *tip.block())
        {
            let history = self.node.fee_history(tip.number).await.ok();
            self.fees = Some(FeeData::new(&tip, history.as_ref()));
        }
        Ok(std::mem::take(&mut self.unpublished) || moved)
    }

    async fn go_to(&mut self, head: Block) -> Result<bool, FollowError> {
        let Some(tip) = self.tip().map(|tip| *tip.block()) else {
            self.start(head).await?;
            return Ok(true);
        };
        if head.hash == tip.hash {
            return Ok(false);
        }
        if head.parent_hash == tip.hash {
            self.advance_all(&[head]).await?;
            return Ok(true);
        }
        self.find_the_way(tip).await
    }

    pub(super) fn phase(&self, phase: Phase) {
        self.status.send_modify(|status| status.phase = phase);
    }

    /// Whether a block is still the one of its height.
    pub(super) async fn is_canonical(&self, block: &Block) -> Result<bool, FollowError> {
        Ok(self.node.block_at(block.number).await?.is_some_and(|now| now.hash == block.hash))
    }

    /// Fails when a block is no longer the one of its height.
    pub(super) async fn check_canonical(&self, block: &Block) -> Result<(), FollowError> {
        if self.is_canonical(block).await? {
            return Ok(());
        }
        Err(FollowError::Replaced { number: block.number, hash: block.hash })
    }

    /// Remembers the pools that logs announce; gives their keys.
    pub(super) fn learn(&mut self, logs: &[PlacedLog]) -> BTreeSet<PoolKey> {
        let mut found = BTreeSet::new();
        for log in logs {
            match self.catalog.announced(&log.log) {
                Ok(Some(pool)) => {
                    found.insert(pool.key);
                    self.give_way(&pool);
                    self.known.insert(pool, log.block_number);
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "a factory announced something that is no pool"),
            }
        }
        found
    }
}
