//! The synchroniser: what it knows of pools, blocks and markets, and the step from one head to the next.

use std::{collections::BTreeSet, sync::Arc, time::Instant};

use braid_market::Market;
use braid_primitives::{Block, PoolKey};
use braid_store::{MarketStore, market::Change};
use tokio::sync::watch;

use super::{activity::Activity, background::Background, journal::Journal};
use crate::{
    Catalog, FeeData, FollowError, FollowerConfig, Node, Phase, SyncStatus, history::History, known::Known,
    lists::Lists, node::PlacedLog, spans::Spans,
};

/// Most waiting pools that are read together with a block, and fewest between two blocks.
pub(super) const POOLS_WITH_A_BLOCK: usize = 256;

/// Brings the market to the node's head. A failure leaves the last market in place, from which the next try goes on.
pub(crate) struct Synchronizer {
    pub(super) node: Node,
    pub(super) config: FollowerConfig,
    pub(super) catalog: Catalog,
    pub(super) known: Known,
    pub(super) history: History,
    /// Known pools that wait to be read into the market.
    pub(super) pending: BTreeSet<PoolKey>,
    /// Number of them that are read at a time between two blocks.
    pub(super) between_blocks: usize,
    pub(super) fees: Option<FeeData>,
    pub(super) background: Option<Background>,
    pub(super) status: watch::Sender<SyncStatus>,
    /// Progress of the search for pools.
    pub(super) spans: Spans,
    /// Block before which logs are missing that no node will give.
    pub(super) lacks_logs_before: Option<u64>,
    /// How often blocks whose logs could not be read were searched again.
    pub(super) unread_tries: u32,
    /// Pools that logs changed, to be compared with the chain.
    pub(super) activity: Activity,
    /// The store, if there is one.
    pub(super) store: Option<Arc<MarketStore>>,
    /// The last blocks of an earlier run, while they are of use.
    pub(super) journal: Option<Journal>,
    /// Whether the tip is a market from the store that was not published yet.
    pub(super) unpublished: bool,
    /// Lowest height rolled back to since the last change was stored.
    rolled_back_to: Option<u64>,
    /// Since when the node has been behind the tip, while it is.
    pub(super) behind_since: Option<Instant>,
    /// Failures at the logs of blocks since a block was last applied, or the head was reached.
    pub(super) failed_at_logs: u32,
    /// When blocks whose logs could not be read were last passed over.
    pub(super) leapt_at: Option<Instant>,
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
            lacks_logs_before: None,
            unread_tries: 0,
            activity: Activity::default(),
            store: None,
            journal: None,
            unpublished: false,
            rolled_back_to: None,
            behind_since: None,
            failed_at_logs: 0,
            leapt_at: None,
            node,
            config,
            status,
        }
    }

    /// Hands changes to the store, which writes them in the background.
    pub(crate) fn record(&mut self) {
        let (Some(store), Some(tip)) = (&self.store, self.history.tip()) else { return };
        store.record(Change {
            market: Arc::clone(tip),
            read: self.history.read_at_tip().into_iter().collect(),
            known: self.known.take_unsaved(),
            sources: self.spans.all(),
            lists: self.known.lists.all(),
            anchors: self.history.deep_anchors(),
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

    /// Returns the newest market.
    pub(crate) fn tip(&self) -> Option<&Arc<Market>> {
        self.history.tip()
    }

    /// Returns the gas price after the newest market's block.
    pub(crate) fn fees(&self) -> Option<FeeData> {
        let tip = self.tip()?.block();
        Some(self.fees.map_or_else(|| FeeData::new(tip, None), |fees| fees.after(tip)))
    }

    /// Returns how many known pools are excluded.
    pub(crate) fn excluded(&self) -> usize {
        self.known.excluded()
    }

    /// Returns how many known pools and lists wait to be read.
    pub(crate) fn waiting(&self) -> usize {
        self.pending.len() + self.known.lists.due().len()
    }

    /// Returns whether pools or lists wait to be read between two blocks: not before the tip was published.
    pub(crate) fn has_pending(&self) -> bool {
        !self.unpublished && self.waiting() > 0 && self.tip().is_some()
    }

    /// Makes pools of the market wait to be read again.
    pub(crate) fn read_again(&mut self, pools: impl IntoIterator<Item = PoolKey>) {
        let Some(tip) = self.history.tip() else { return };
        self.pending.extend(pools.into_iter().filter(|pool| tip.pool_id(*pool).is_some()));
    }

    /// Makes every pool of the market wait to be read again.
    pub(crate) fn read_everything_again(&mut self) {
        let all: Vec<PoolKey> = self.tip().into_iter().flat_map(|tip| tip.pools()).map(|pool| pool.key).collect();
        self.read_again(all);
    }

    /// Brings the market to a head that the node reported, or to its present head; returns whether the market changed.
    ///
    /// # Errors
    /// [`FollowError`]; the market is then of some block before the head, and the next call goes on from it.
    pub(crate) async fn follow(&mut self, head: Block) -> Result<bool, FollowError> {
        let moved = self.go_to(head).await?;
        (self.behind_since, self.failed_at_logs) = (None, 0);
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
        self.follow_other_chain(tip).await
    }

    pub(super) fn phase(&self, phase: Phase) {
        self.status.send_modify(|status| status.phase = phase);
    }

    /// Returns whether the chain is so short that it is a local one: its blocks and its clock are as its user sets them.
    pub(crate) const fn is_local(&self, height: u64) -> bool {
        self.catalog.is_short(height)
    }

    /// Returns whether the node's chain has a block; `None` if the chain has not reached its height.
    pub(super) async fn is_canonical(&self, block: &Block) -> Result<Option<bool>, FollowError> {
        Ok(self.node.block_at(block.number).await?.map(|now| now.hash == block.hash))
    }

    /// Checks that the node's chain has a block.
    pub(super) async fn check_canonical(&self, block: &Block) -> Result<(), FollowError> {
        if self.is_canonical(block).await? == Some(true) {
            return Ok(());
        }
        Err(FollowError::Replaced { number: block.number, hash: block.hash })
    }

    /// Adds the pools that logs announce; returns their keys.
    pub(super) fn learn(&mut self, logs: &[PlacedLog]) -> BTreeSet<PoolKey> {
        let mut found = BTreeSet::new();
        for log in logs {
            match self.catalog.announced(&log.log) {
                Ok(Some(pool)) => {
                    found.insert(pool.key);
                    self.replace_named(&pool);
                    self.known.insert(pool, log.block_number);
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "a factory's announcement cannot be decoded: it is skipped"),
            }
        }
        found
    }
}
