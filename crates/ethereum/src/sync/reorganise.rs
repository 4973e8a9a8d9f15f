//! Handles heads that do not follow our tip: missed blocks, replaced blocks, a head that went backwards.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use braid_market::Market;
use braid_primitives::{B256, Block, PoolKey};

use super::{
    advance::polled,
    missed::{BLOCKS_ALONE, News},
    synchronizer::Synchronizer,
};
use crate::{
    CatchUp, FollowError, NodeError, Phase,
    apply::Listeners,
    scan::{Part, Scan},
    spans::Segment,
};

/// Most missed blocks whose logs are searched for changed pools. Beyond, reading every pool costs the node less.
const CATCH_UP_MOST_BLOCKS: u64 = 1_024;

/// Blocks of kept markets that are compared with the node in one message.
const KEPT_PER_MESSAGE: usize = 16;

/// Time for which a node may be behind our tip before the market goes back to a kept one of its head.
const TIME_TO_GET_THERE: Duration = Duration::from_secs(30);

/// Failures at the logs of blocks after which they are passed over: with the pauses between them three quarters of a minute.
const FAILURES_BEFORE_LEAP: u32 = 10;

/// Least time between two such leaps, at each of which every pool is read.
const LEAST_BETWEEN_LEAPS: Duration = Duration::from_secs(600);

impl Synchronizer {
    /// Brings the market from `tip` to the node's head; returns whether it changed.
    pub(super) async fn follow_other_chain(&mut self, tip: Block) -> Result<bool, FollowError> {
        let head = self.node.latest_block().await?;
        if head.hash == tip.hash {
            return Ok(false);
        }
        if head.number < tip.number {
            match self.is_canonical(&tip).await? {
                // The node went backwards on the same chain: our block is still canonical.
                Some(true) => return Ok(false),
                None if self.may_get_there(&tip, &head).await? => {
                    return Err(FollowError::Behind { blocks: tip.number - head.number, head: head.number });
                }
                _ => {}
            }
        }
        if self.history.contains(head.hash) {
            self.roll_back_to(head.hash, &tip);
            return Ok(true);
        }
        let leaps = self.must_leap(&head).await;
        if head.number > tip.number
            && !leaps
            && head.number - tip.number <= self.most_single_blocks()
            && self.apply_path(&tip, &head).await?
        {
            return Ok(true);
        }
        let Some(ancestor) = self.newest_kept(head.number).await? else {
            self.restart(head).await?;
            self.status.send_modify(|status| status.reorganisations += 1);
            return Ok(true);
        };
        self.roll_back_to(ancestor.hash, &tip);
        if leaps || head.number - ancestor.number > self.most_single_blocks() {
            if let Some(base) = self.tip().cloned() {
                self.catch_up(&base, ancestor.number, &head, self.history.read_at_tip(), leaps).await?;
            }
        } else if !self.apply_path(&ancestor, &head).await? {
            return Err(FollowError::Replaced { number: head.number, hash: head.hash });
        }
        Ok(true)
    }

    /// Returns whether a node whose head is below our tip is only behind: no block of it at a known height is another
    /// one. A local chain is set back on purpose. So may be a fork of mainnet, and a head whose market is kept costs
    /// nothing to go back to: that is done once the node has had its time.
    async fn may_get_there(&mut self, tip: &Block, head: &Block) -> Result<bool, FollowError> {
        let since = *self.behind_since.get_or_insert_with(Instant::now);
        let is_set_back = self.history.contains(head.hash) && since.elapsed() > TIME_TO_GET_THERE;
        if self.is_local(tip.number) || is_set_back {
            return Ok(false);
        }
        let Some((number, hash)) = self.history.anchors_up_to(head.number).first().copied() else { return Ok(true) };
        if number == head.number {
            return Ok(hash == head.hash);
        }
        Ok(self.node.block_at(number).await?.is_none_or(|block| block.hash == hash))
    }

    /// Returns whether to pass over the blocks before a head: the logs of one of them were asked for again and again, by
    /// range, by hash and by receipts, and those of the head are given.
    async fn must_leap(&self, head: &Block) -> bool {
        let is_due = self.leapt_at.is_none_or(|at| at.elapsed() >= LEAST_BETWEEN_LEAPS);
        self.failed_at_logs >= FAILURES_BEFORE_LEAP
            && is_due
            && self.node.blocks_logs(std::slice::from_ref(head), self.catalog.block(), false).await.is_ok()
    }

    /// Returns the most blocks that are applied one by one rather than caught up with at once.
    fn most_single_blocks(&self) -> u64 {
        (self.config.reorganisation_depth as u64).saturating_mul(2)
    }

    /// Applies the blocks from the tip to a head one by one, or as many of them as the node has: of several nodes at
    /// one address, one may not have reached the head of another. Returns false, and changes nothing, if the head does
    /// not descend from the tip.
    async fn apply_path(&mut self, tip: &Block, head: &Block) -> Result<bool, FollowError> {
        let path = self.node.blocks_at(tip.number..=head.number).await?;
        check_path(&path, head)?;
        let Some((_, next)) = path.split_first().filter(|(first, _)| first.hash == tip.hash) else {
            return Ok(false);
        };
        if next.is_empty() {
            return Err(NodeError::UnknownBlock { hash: head.hash }.into());
        }
        self.advance_all(next).await?;
        Ok(true)
    }

    /// Returns the newest block up to a height whose market is kept and that the node's chain still has. Catching up
    /// leaves gaps between kept markets.
    async fn newest_kept(&self, height: u64) -> Result<Option<Block>, FollowError> {
        for kept in self.history.blocks_up_to(height).chunks(KEPT_PER_MESSAGE) {
            let now = self.node.blocks_at(kept.iter().rev().map(|block| block.number)).await?;
            if let Some(missing) = kept.iter().rev().nth(now.len()) {
                // The node reported a head above this block, and now does not have it: it was not replaced.
                return Err(NodeError::UnknownBlock { hash: missing.hash }.into());
            }
            if let Some(same) = kept.iter().find(|block| now.iter().any(|other| other.hash == block.hash)) {
                return Ok(Some(*same));
            }
        }
        Ok(None)
    }

    /// Makes the market of an older block the tip. Drops what later blocks announced; older pools that joined later, or
    /// were read later, are read again.
    fn roll_back_to(&mut self, ancestor: B256, tip: &Block) {
        if ancestor == tip.hash {
            return;
        }
        let Some(read_later) = self.history.roll_back_to(ancestor) else { return };
        let Some(market) = self.history.tip().cloned() else { return };
        let block = market.block();
        tracing::warn!(from = tip.number, to = block.number, hash = %block.hash, "the chain was reorganised: the market is rolled back");
        self.note_roll_back(block.number);
        self.known.forget_above(block.number);
        self.learn_named_vaults();
        // The older market holds these pools, whatever the replaced blocks said of them.
        self.known.include_all(|pool| market.pool_id(pool).is_some());
        self.await_missing(&market);
        // Reads for this block may have returned the state of a replaced one.
        self.pending.extend(self.history.read_at_tip());
        // The older market may hold a state that was found to be wrong, and was read again for a replaced block.
        self.read_again(read_later);
        self.status.send_modify(|status| status.reorganisations += 1);
    }

    /// Builds the market after a reorganisation deeper than markets are kept: drops what the replaced blocks announced,
    /// searches the new ones, and reads every state that may differ.
    pub(super) async fn restart(&mut self, head: Block) -> Result<(), FollowError> {
        self.node.check_chain().await?;
        // A height that no node has would be searched for ever.
        self.check_canonical(&head).await?;
        let Some(common) = self.common_anchor(head.number).await? else {
            tracing::warn!(number = head.number, "the node has another block at every known height: starting over");
            self.copy_stored_market().await;
            return self.start(head).await;
        };
        tracing::warn!(
            number = head.number,
            common,
            "the chain was reorganised deeper than markets are kept: pools are read again"
        );
        self.known.forget_above(common);
        self.learn_named_vaults();
        self.note_roll_back(common);
        if let Some((base, touched)) = self.touched_above(common) {
            let unannounced: Vec<PoolKey> =
                base.pools().iter().map(|pool| pool.key).filter(|pool| self.known.get(*pool).is_none()).collect();
            let touched = touched.into_iter().filter(|pool| self.known.get(*pool).is_some()).collect();
            return self.catch_up(&base.without(&unannounced), common, &head, touched, false).await;
        }
        let first = common.saturating_add(1).max(self.catalog.first_block(self.config.start_block, head.number));
        self.scan(vec![Segment { from: first, to: head.number, filter: self.catalog.announcements().clone() }]).await?;
        self.set_lists_due();
        self.read_due_lists(head.number, head.hash).await?;
        let all = self.known.keys().collect();
        self.read_all(head, Some(common), all).await
    }

    /// Brings a market from block `from` to the head at once: finds the pools that the blocks between changed, and
    /// reads them. The pools in `touched` are not right as of `from`, and are read too. A leap passes over blocks whose
    /// logs cannot be read, and reads every pool.
    async fn catch_up(
        &mut self,
        base: &Market,
        from: u64,
        head: &Block,
        mut touched: BTreeSet<PoolKey>,
        leaps: bool,
    ) -> Result<(), FollowError> {
        // A height that no node has would be searched for ever.
        self.check_canonical(head).await?;
        tracing::info!(from, to = head.number, "catching up with many blocks at once");
        let started = Instant::now();
        self.status.send_modify(|status| {
            status.phase = Phase::Reading;
            status.catching_up = Some(CatchUp { from_block: from, to_block: head.number });
            status.leaps += 1;
        });
        let blocks = head.number.saturating_sub(from);
        let mut everything = leaps || blocks > CATCH_UP_MOST_BLOCKS;
        let filter = if everything { self.catalog.announcements() } else { self.catalog.block() };
        touched.extend(polled(base));
        let news = News { base, listeners: Listeners::of(base) };
        let first = from.saturating_add(1);
        let alone = if leaps { 1 } else { BLOCKS_ALONE };
        let mut first_alone = head.number.saturating_sub(alone - 1).max(first);
        let segment = Segment { from: first, to: first_alone.saturating_sub(1), filter: filter.clone() };
        let mut scan = Scan::new(&self.node, vec![segment], self.config.backoff);
        let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
        while let Some(part) = scan.next_patiently().await? {
            if part.missing.is_some() {
                everything = true;
                self.note_missing(&Part { filter: self.catalog.announcements().clone(), logs: Vec::new(), ..part });
                continue;
            }
            touched.extend(self.touched_by(&news, &part.logs));
            part.logs.iter().for_each(|log| *counts.entry(log.block_number).or_default() += 1);
        }
        let range = first..first_alone;
        let is_whole = if everything {
            self.are_ranges_whole(&range, head).await?
        } else {
            self.is_whole(&range, &counts, head).await?
        };
        if !is_whole {
            first_alone = self.distrust_ranges(&range, everything);
        }
        self.read_alone(first_alone, head, &news, &mut touched).await?;
        self.set_lists_due();
        touched.extend(self.read_due_lists(head.number, head.hash).await?);
        if everything {
            touched.extend(base.pools().iter().map(|pool| pool.key));
            // Excluded pools may have changed unseen; they are tried again later.
            self.known.include_all(|_| true);
        }
        let joined = self.join_with_retry(&touched, base, None, None, head.hash).await?;
        self.check_canonical(head).await?;
        let market = self.build_market(base, *head, Vec::new(), joined)?;
        self.await_missing(&market);
        self.search_unread_later();
        if self.history.tip().is_none_or(|tip| tip.block().number != from) {
            self.history.restart_above(Some(from));
            self.journal = None;
        }
        let seconds = started.elapsed().as_secs_f64();
        tracing::info!(from, to = head.number, read = touched.len(), seconds, "caught up");
        self.history.push(market, touched);
        if leaps {
            self.leapt_at = Some(Instant::now());
        }
        Ok(())
    }
}

/// Checks that blocks are a chain that ends at the head, or below it where the node has not reached it.
fn check_path(path: &[Block], head: &Block) -> Result<(), FollowError> {
    let linked = path.is_sorted_by(|parent, child| parent.hash == child.parent_hash);
    if linked && path.last().is_some_and(|last| last.hash == head.hash || last.number < head.number) {
        return Ok(());
    }
    Err(FollowError::Replaced { number: head.number, hash: head.hash })
}
