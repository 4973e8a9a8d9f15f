//! When the node's head does not follow our tip: missed blocks, replaced blocks, a head that went backwards.

use std::{collections::BTreeSet, time::Instant};

use braid_market::Market;
use braid_primitives::{B256, Block, PoolKey};

use super::{advance::polled, synchronizer::Synchronizer};
use crate::{CatchUp, FollowError, Phase, apply::Listeners, scan::Scan, spans::Segment};

/// Most missed blocks that are searched for what they touched. Beyond, to read every pool costs the node less.
const LEAP_MOST_BLOCKS: u64 = 1_024;

/// How many kept markets' blocks are compared with the node's in one message.
const KEPT_PER_MESSAGE: usize = 16;

impl Synchronizer {
    /// Asks the node where its chain is now, and goes there from `tip`. Whether the market changed.
    pub(super) async fn find_the_way(&mut self, tip: Block) -> Result<bool, FollowError> {
        let head = self.node.latest_block().await?;
        if head.hash == tip.hash {
            return Ok(false);
        }
        if head.number < tip.number && self.is_canonical(&tip).await? {
            // The node lags behind itself, however far: what it said of our block still stands.
            return Ok(false);
        }
        if self.history.contains(head.hash) {
            self.roll_back_to(head.hash, &tip);
            return Ok(true);
        }
        if head.number > tip.number && head.number - tip.number <= self.reach() && self.walk(&tip, &head).await? {
            return Ok(true);
        }
        let Some(ancestor) = self.newest_kept(head.number).await? else {
            self.restart(head).await?;
            self.status.send_modify(|status| status.reorganisations += 1);
            return Ok(true);
        };
        self.roll_back_to(ancestor.hash, &tip);
        if head.number - ancestor.number > self.reach() {
            if let Some(base) = self.tip().cloned() {
                self.leap(&base, ancestor.number, &head, self.history.read_at_tip()).await?;
            }
        } else if !self.walk(&ancestor, &head).await? {
            return Err(FollowError::Replaced { number: head.number, hash: head.hash });
        }
        Ok(true)
    }

    /// Most blocks that are applied one by one rather than leapt over.
    fn reach(&self) -> u64 {
        (self.config.reorganisation_depth as u64).saturating_mul(2)
    }

    /// Applies the blocks from the tip to a head, one by one. `false`, and nothing happens, where the head does not descend from the tip.
    async fn walk(&mut self, tip: &Block, head: &Block) -> Result<bool, FollowError> {
        let path = self.node.blocks_at(tip.number..=head.number).await?;
        check_path(&path, head)?;
        let Some((_, way)) = path.split_first().filter(|(first, _)| first.hash == tip.hash) else {
            return Ok(false);
        };
        self.advance_all(way).await?;
        Ok(true)
    }

    /// The newest block, up to a height, whose market is kept and that the node's chain still has. There may be gaps between kept
    /// markets: a leap leaves one.
    async fn newest_kept(&self, height: u64) -> Result<Option<Block>, FollowError> {
        for kept in self.history.blocks_up_to(height).chunks(KEPT_PER_MESSAGE) {
            let now = self.node.blocks_at(kept.iter().rev().map(|block| block.number)).await?;
            if let Some(same) = kept.iter().find(|block| now.iter().any(|other| other.hash == block.hash)) {
                return Ok(Some(*same));
            }
        }
        Ok(None)
    }

    /// Takes the market of an older block as the tip. What later blocks announced is forgotten; pools that joined later
    /// although they are older are read again.
    fn roll_back_to(&mut self, ancestor: B256, tip: &Block) {
        if ancestor == tip.hash || !self.history.roll_back_to(ancestor) {
            return;
        }
        let Some(market) = self.history.tip().cloned() else { return };
        let block = market.block();
        tracing::warn!(from = tip.number, to = block.number, hash = %block.hash, "the chain was reorganised");
        self.note_roll_back(block.number);
        self.known.forget_above(block.number);
        self.learn_named_vaults();
        self.known.reconcile(&market);
        self.await_missing(&market);
        // What was read for this block may have been read of a replaced one (see `doubt`).
        self.pending.extend(self.history.read_at_tip());
        self.status.send_modify(|status| status.reorganisations += 1);
    }

    /// The market after a reorganisation that is deeper than the markets that are kept: what the replaced blocks announced
    /// is forgotten, what the new ones announce is looked up, and every state is read again that may differ.
    pub(super) async fn restart(&mut self, head: Block) -> Result<(), FollowError> {
        self.node.check_chain().await?;
        let Some(common) = self.common_anchor(head.number).await? else {
            tracing::warn!(number = head.number, "nothing is known of this chain: starting over");
            return self.start(head).await;
        };
        tracing::warn!(number = head.number, common, "the chain was replaced deeper than markets are kept");
        self.known.forget_above(common);
        self.learn_named_vaults();
        self.note_roll_back(common);
        if let Some((base, touched)) = self.touched_above(common) {
            let unannounced: Vec<PoolKey> =
                base.pools().iter().map(|pool| pool.key).filter(|pool| self.known.get(*pool).is_none()).collect();
            let touched = touched.into_iter().filter(|pool| self.known.get(*pool).is_some()).collect();
            return self.leap(&base.without(&unannounced), common, &head, touched).await;
        }
        let first = common.saturating_add(1).max(self.catalog.first_block(self.config.start_block, head.number));
        self.scan(vec![Segment { from: first, to: head.number, filter: self.catalog.announcements().clone() }]).await?;
        self.doubt_lists();
        self.grow_all(head.number, head.hash).await?;
        let all = self.known.keys().collect();
        self.read_all(head, Some(common), all).await
    }

    /// From a market whose pools are right as of block `from` but for those in `touched`, to the head: finds out what the
    /// blocks between touched, and reads that.
    async fn leap(
        &mut self,
        base: &Market,
        from: u64,
        head: &Block,
        mut touched: BTreeSet<PoolKey>,
    ) -> Result<(), FollowError> {
        tracing::info!(from, to = head.number, "catching up over many blocks");
        let started = Instant::now();
        self.status.send_modify(|status| {
            status.phase = Phase::Reading;
            status.catching_up = Some(CatchUp { from_block: from, to_block: head.number });
            status.leaps += 1;
        });
        let blocks = head.number.saturating_sub(from);
        let mut everything = blocks > LEAP_MOST_BLOCKS;
        let filter = if everything { self.catalog.announcements() } else { self.catalog.block() };
        touched.extend(polled(base));
        let listeners = Listeners::of(base);
        let segment = Segment { from: from.saturating_add(1), to: head.number, filter: filter.clone() };
        let mut scan = Scan::new(&self.node, vec![segment]);
        while let Some(part) = scan.next().await? {
            everything |= part.pruned;
            touched.extend(self.learn(&part.logs));
            let named = |log| self.catalog.ids_named(log).chain([log.address.into()]);
            let named = part.logs.iter().flat_map(|log| named(&log.log));
            touched.extend(named.filter(|pool| self.known.get(*pool).is_some()));
            let heard = part.logs.iter().flat_map(|log| listeners.of_log(base, &log.log));
            touched.extend(heard.filter_map(|id| base.pool(id)).map(|pool| pool.key));
        }
        self.doubt_lists();
        touched.extend(self.grow_all(head.number, head.hash).await?);
        if everything {
            touched.extend(base.pools().iter().map(|pool| pool.key));
            // What was left out may have changed unseen; it is tried again behind the market.
            self.known.forgive();
        }
        let joined = self.join_surely(&touched, base, None, head.hash).await?;
        self.check_canonical(head).await?;
        let market = self.settle(base, *head, Vec::new(), joined)?;
        self.await_missing(&market);
        if self.history.tip().is_none_or(|tip| tip.block().number != from) {
            self.history.restart_above(Some(from));
            self.journal = None;
        }
        let seconds = started.elapsed().as_secs_f64();
        tracing::info!(from, to = head.number, read = touched.len(), seconds, "caught up");
        self.history.push(market, touched);
        Ok(())
    }
}

/// A path is a chain: each block's parent is the one before it, and the last is the head.
fn check_path(path: &[Block], head: &Block) -> Result<(), FollowError> {
    let linked = path.is_sorted_by(|parent, child| parent.hash == child.parent_hash);
    if linked && path.last().is_some_and(|last| last.hash == head.hash) {
        return Ok(());
    }
    Err(FollowError::Replaced { number: head.number, hash: head.hash })
}
