//! Keeps the market at the node's head: the first market, every block after it, and every way in which the chain may have
//! moved meanwhile.

mod advance;
mod boot;
mod join;
mod reorganise;

use std::{collections::BTreeSet, sync::Arc};

use braid_market::Market;
use braid_primitives::{Address, Block};
use tokio::sync::watch;

use crate::{
    Catalog, FeeData, FollowError, FollowerConfig, Node, Phase, SyncStatus, history::History, known::Known,
    node::PlacedLog,
};

use boot::Background;
pub(crate) use boot::Found;

/// Most waiting pools that are read along with a block, or between two blocks.
const POOLS_BETWEEN_BLOCKS: usize = 256;

/// The follower's memory and what it does with it. Whatever fails half-way leaves the last market in place, and is done
/// again from there.
pub(crate) struct Synchronizer {
    node: Node,
    config: FollowerConfig,
    catalog: Catalog,
    known: Known,
    history: History,
    /// Known pools that still have to be read into the market.
    pending: BTreeSet<Address>,
    fees: Option<FeeData>,
    background: Option<Background>,
    status: watch::Sender<SyncStatus>,
}

impl Synchronizer {
    pub(crate) fn new(node: Node, config: FollowerConfig, status: watch::Sender<SyncStatus>) -> Self {
        Self {
            catalog: Catalog::new(&config.products),
            history: History::new(config.reorganisation_depth.saturating_add(1)),
            known: Known::default(),
            pending: BTreeSet::new(),
            fees: None,
            background: None,
            node,
            config,
            status,
        }
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

    /// Whether pools wait to be read in between two blocks.
    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.is_empty() && self.tip().is_some()
    }

    /// Brings the market to a head that the node announced, or to where the node is by now. Whether the market changed.
    ///
    /// # Errors
    /// [`FollowError`]; the market is then that of some block on the way, and the next call goes on from it.
    pub(crate) async fn follow(&mut self, head: Block) -> Result<bool, FollowError> {
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

    fn phase(&self, phase: Phase) {
        self.status.send_modify(|status| status.phase = phase);
    }

    /// Fails when a block is no longer the one of its height.
    async fn check_canonical(&self, block: &Block) -> Result<(), FollowError> {
        let now = self.node.block_at(block.number).await?;
        if now.is_some_and(|now| now.hash == block.hash) {
            return Ok(());
        }
        Err(FollowError::Replaced { number: block.number, hash: block.hash })
    }

    /// Remembers the pools that logs announce; gives their addresses.
    fn learn(&mut self, logs: &[PlacedLog]) -> BTreeSet<Address> {
        let mut found = BTreeSet::new();
        for log in logs {
            match self.catalog.announced(&log.log) {
                Ok(Some(pool)) => {
                    found.insert(pool.address);
                    self.known.insert(pool, log.block_number);
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "a factory announced something that is no pool"),
            }
        }
        found
    }
}
