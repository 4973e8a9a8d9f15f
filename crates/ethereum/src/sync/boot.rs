//! Builds the first market, and the market after a reorganisation deeper than markets are kept.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use braid_market::{Market, Tokens};
use braid_primitives::{Address, B256, Block, Bytes, PoolKey};
use braid_protocols::Call;
use braid_store::market::{KnownPool, Snapshot};

use super::{background::Found, synchronizer::Synchronizer};
use crate::{
    FeeData, FollowError, NodeError, Phase,
    scan::Scan,
    spans::{Segment, Spans},
};

/// Depths below the first head whose block hashes are kept, to find where a later reorganisation starts.
const ANCHOR_DEPTHS: [u64; 4] = [64, 256, 1_024, 4_096];

/// Kept hashes that are compared with the node in one message.
const ANCHORS_PER_MESSAGE: usize = 64;

/// Selector of `decimals()`.
const DECIMALS: [u8; 4] = [0x31, 0x3c, 0xe5, 0x67];

impl Synchronizer {
    /// Builds the first market, at a head.
    pub(super) async fn start(&mut self, head: Block) -> Result<(), FollowError> {
        self.history.restart_above(None);
        self.note_roll_back(0);
        self.known.clear();
        self.pending.clear();
        self.background = None;
        self.journal = None;
        let snapshot = self.usable_snapshot().await?;
        self.learn_fixed_pools(head.hash).await?;
        self.learn_named_vaults();
        let stored = snapshot.as_ref().map(|snapshot| snapshot.spans_to(head.number)).unwrap_or_default();
        self.spans = Spans::new(&self.catalog, self.config.start_block, head.number, &stored);
        let segments = self.spans.segments();
        if snapshot.is_none() && self.spans.blocks_left() <= self.config.scan_before_serving_blocks {
            self.spans.complete();
            self.scan(segments).await?;
            while !self.known.lists.due().is_empty() {
                self.read_due_lists(head.number, head.hash).await?;
            }
        } else {
            // Quotes use these pools while the others are searched.
            if self.config.largest_pools_first {
                for pool in crate::curated::pools(|product| self.catalog.follows(product)) {
                    self.known.insert(pool, 0);
                }
            }
            self.background = Some(self.search(self.spans.segments(), Duration::ZERO));
        }
        let first: BTreeSet<PoolKey> = self.known.keys().collect();
        if let Some(snapshot) = snapshot {
            self.add_snapshot_pools(&snapshot);
        }
        let older = ANCHOR_DEPTHS.into_iter().rev().filter_map(|depth| head.number.checked_sub(depth));
        for block in self.node.blocks_at(older).await? {
            self.history.remember(block.number, block.hash);
        }
        self.read_all(head, None, first).await?;
        self.config.snapshot = None;
        Ok(())
    }

    /// Returns the configured snapshot, if the chain has its block.
    async fn usable_snapshot(&self) -> Result<Option<Arc<Snapshot>>, FollowError> {
        let Some(snapshot) = self.config.snapshot.clone() else { return Ok(None) };
        let Some(same) = self.is_canonical(&snapshot.block).await? else {
            return Err(NodeError::UnknownBlock { hash: snapshot.block.hash }.into());
        };
        if !same {
            tracing::warn!(
                "the snapshot is of another chain and is not used: the chain is searched from the beginning"
            );
        }
        Ok(Some(snapshot).filter(|_| same))
    }

    /// Adds the pools of a snapshot: each is read after the first market, once the chain confirmed it.
    fn add_snapshot_pools(&mut self, snapshot: &Snapshot) {
        for known in &snapshot.search.known {
            if self.catalog.may_follow(known.pool.product) {
                // A pool that another configuration excluded is tried under this one.
                let excluded = known.excluded.clone().filter(|_| !self.is_judged_anew(known));
                self.known.insert_unproven(KnownPool { excluded, ..known.clone() });
            }
        }
        let (number, searched_to) = (snapshot.block.number, snapshot.searched_to());
        tracing::info!(
            number,
            searched_to,
            pools = snapshot.pools,
            known = self.known.len(),
            "starting from a snapshot"
        );
    }

    /// Adds pools that exist without an announcement, if this chain has their contracts: a local one has few.
    pub(super) async fn learn_fixed_pools(&mut self, block_hash: B256) -> Result<(), FollowError> {
        let pools = self.catalog.fixed_pools();
        // Every token answers this call; the code is asked for only if nothing comes back.
        let calls = pools.iter().map(|pool| Call { to: pool.key.contract, data: Bytes::from_static(&DECIMALS) });
        let answers = self.node.read(block_hash, calls.collect()).await?;
        let is_silent = |answer: &Option<Bytes>| answer.as_ref().is_some_and(|answer| answer.is_empty());
        let (silent, others): (Vec<_>, Vec<_>) =
            pools.into_iter().zip(answers).partition(|(_, answer)| is_silent(answer));
        let contracts: Vec<Address> = silent.iter().map(|(pool, _)| pool.key.contract).collect();
        let codes = self.node.codes(block_hash, &contracts).await?;
        let there = silent.into_iter().zip(codes).filter(|(_, code)| !code.is_empty()).map(|(pool, _)| pool);
        others.into_iter().chain(there).for_each(|(pool, _)| self.known.insert(pool, 0));
        Ok(())
    }

    /// Scans for announcements before there is a market.
    pub(super) async fn scan(&mut self, segments: Vec<Segment>) -> Result<(), FollowError> {
        self.phase(Phase::Discovering);
        let mut scan = Scan::new(&self.node, segments, self.config.backoff);
        while let Some(part) = scan.next_patiently().await? {
            self.learn(&part.logs);
            self.note_missing(&part);
            self.status.send_modify(|status| status.discovery = Some(scan.progress()));
        }
        self.status.send_modify(|status| status.discovery = None);
        self.search_unread_later();
        Ok(())
    }

    /// Builds a market of pools that are read at a head. The kept history ends at the block `common` with the head's
    /// chain.
    pub(super) async fn read_all(
        &mut self,
        head: Block,
        common: Option<u64>,
        all: BTreeSet<PoolKey>,
    ) -> Result<(), FollowError> {
        self.phase(Phase::Reading);
        let base = Market::empty(head, Arc::new(Tokens::new()));
        let node = self.node.clone();
        let (joined, history) =
            futures::join!(self.join(&all, base.tokens(), None, None, head.hash), node.fee_history(head.number));
        let (joined, history) = (joined?, history.ok());
        self.check_canonical(&head).await?;
        let market = self.build_market(&base, head, Vec::new(), joined)?;
        self.await_missing(&market);
        let (pools, tokens) = (market.pools().len(), market.tokens().len());
        if common.is_some() {
            self.history.restart_above(common);
        }
        self.history.push(market, all);
        self.fees = Some(FeeData::new(&head, history.as_ref()));
        let (excluded, examples) = (self.known.excluded(), self.known.excluded_examples(3));
        tracing::info!(number = head.number, hash = %head.hash, pools, tokens, excluded, ?examples, "market read");
        Ok(())
    }

    /// Returns the highest block with a kept hash that the node's chain still has; `None` if it has other blocks at
    /// every such height. A height that it has not reached says nothing.
    pub(super) async fn common_anchor(&self, height: u64) -> Result<Option<u64>, FollowError> {
        let mut has_others = false;
        for anchors in self.history.anchors_up_to(height).chunks(ANCHORS_PER_MESSAGE) {
            // Ascending, because the list ends at the first height that the chain has not reached.
            let blocks = self.node.blocks_at(anchors.iter().rev().map(|(number, _)| *number)).await?;
            let same = |((number, hash), block): (&(u64, B256), &Block)| (*hash == block.hash).then_some(*number);
            if let Some(common) = anchors.iter().rev().zip(&blocks).rev().find_map(same) {
                return Ok(Some(common));
            }
            has_others |= !blocks.is_empty();
        }
        let tip = self.tip().map(|tip| *tip.block()).filter(|tip| !has_others && !self.is_local(tip.number));
        match tip {
            Some(tip) => Err(NodeError::UnknownBlock { hash: tip.hash }.into()),
            None => Ok(None),
        }
    }

    /// Waits for the next part of the background scan; for ever if there is none.
    pub(crate) async fn found(&mut self) -> Option<Found> {
        match &mut self.background {
            Some(background) => background.next().await,
            None => std::future::pending().await,
        }
    }

    /// Adds the pools that a part of the background scan found; `None` ends the scan.
    pub(crate) fn on_found(&mut self, found: Option<Found>) {
        let (part, progress) = match found {
            Some(Found::Part(part, progress)) => (part, progress),
            Some(Found::LeftOut(height)) => return self.distrust_search(height),
            None => {
                self.background = None;
                self.status.send_modify(|status| status.discovery = None);
                if self.search_unread_later() {
                    return;
                }
                tracing::info!(
                    known = self.known.len(),
                    "the search for pools is done: every block whose logs the node has was searched"
                );
                return self.check_history();
            }
        };
        let mut new = self.learn(&part.logs);
        self.note_missing(&part);
        if let Some(tip) = self.tip() {
            new.retain(|pool| tip.pool_id(*pool).is_none());
        }
        new.retain(|pool| !self.known.is_excluded(*pool));
        self.pending.extend(new);
        let waiting = self.pending.len();
        self.status.send_modify(|status| (status.discovery, status.waiting) = (Some(progress), waiting));
    }
}
