//! When the node's head does not follow our tip: missed blocks, replaced blocks, a head that went backwards.

use std::collections::BTreeSet;

use braid_market::Market;
use braid_primitives::{B256, Block, PoolKey};

use super::{advance::polled, synchronizer::Synchronizer};
use crate::{FollowError, Phase, apply::Listeners, scan::Scan, spans::Segment};

/// Most missed blocks that are searched for what they touched. Beyond, to read every pool costs the node less.
const LEAP_MOST_BLOCKS: u64 = 1_024;

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
        let oldest = self.history.oldest().map_or(0, |block| block.number);
        let reach = (self.config.reorganisation_depth as u64).saturating_mul(2);
        if head.number >= oldest && head.number - oldest <= reach {
            let path = self.node.blocks_at(oldest..=head.number).await?;
            check_path(&path, &head)?;
            if let Some((ancestor, way)) = self.part(&path) {
                self.roll_back_to(ancestor, &tip);
                self.advance_all(way).await?;
                return Ok(true);
            }
        } else if head.number > tip.number && self.is_canonical(&tip).await? {
            if let Some(base) = self.tip().cloned() {
                self.leap(&base, tip.number, &head, self.history.read_at_tip()).await?;
            }
            return Ok(true);
        }
        self.restart(head).await?;
        self.status.send_modify(|status| status.reorganisations += 1);
        Ok(true)
    }

    /// The newest block of a path whose market is kept, and the rest of the path.
    fn part<'a>(&self, path: &'a [Block]) -> Option<(B256, &'a [Block])> {
        let position = path.iter().rposition(|block| self.history.contains(block.hash))?;
        let (common, way) = path.split_at(position + 1);
        common.last().map(|ancestor| (ancestor.hash, way))
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
        self.read_all(head, Some(common)).await
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
        self.phase(Phase::Reading);
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
