//! Applies the next block, and reads waiting pools between two blocks.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use braid_market::Market;
use braid_primitives::{Block, PoolKey};

use super::synchronizer::{POOLS_WITH_A_BLOCK, Synchronizer};
use crate::{
    BlockLogs, FeeData, FollowError, NodeError, apply_logs,
    node::PlacedLog,
    state::{Base, CallsLeft},
};

/// Most waiting pools that are read at a time between two blocks.
const MOST_BETWEEN_BLOCKS: usize = 4_096;

/// Longest time for a read between two blocks, for which the next block waits.
const LONGEST_BETWEEN_BLOCKS: Duration = Duration::from_secs(1);

/// The same while a large market is being filled.
const LONGEST_WHILE_FILLING: Duration = Duration::from_secs(2);

/// Waiting pools above which a market counts as being filled.
const FILLING: usize = 20_000;

/// Blocks after which pools that could not be read are read again: about six hours.
const UNREAD_AGAIN_BLOCKS: u64 = 1_800;

/// Most pools that are polled every block. Anybody can make such pools, so those beyond are polled in turn.
const POLLED_EVERY_BLOCK: usize = 4_096;

/// Pools beyond those that are polled at one block.
const POLLED_IN_TURN: usize = 256;

/// Blocks whose logs are asked for in one message when catching up.
pub(super) const BLOCKS_PER_MESSAGE: usize = 16;

impl Synchronizer {
    /// Applies consecutive blocks, the first of which follows the tip.
    pub(super) async fn advance_all(&mut self, blocks: &[Block]) -> Result<(), FollowError> {
        for chunk in blocks.chunks(BLOCKS_PER_MESSAGE) {
            let all = self.read_logs(chunk, true).await?;
            for (block, logs) in chunk.iter().zip(all) {
                self.advance(block, &logs).await?;
                self.failed_at_logs = 0;
            }
        }
        Ok(())
    }

    /// Returns the logs of blocks, and counts the failures of nodes that gave the blocks' headers.
    pub(super) async fn read_logs(&mut self, blocks: &[Block], fees: bool) -> Result<Vec<BlockLogs>, NodeError> {
        let read = self.node.blocks_logs(blocks, self.catalog.block(), fees).await;
        let passes = |error: &NodeError| error.is_rate_limit() || matches!(error, NodeError::UnknownBlock { .. });
        if read.as_ref().is_err_and(|error| !passes(error)) {
            self.failed_at_logs = self.failed_at_logs.saturating_add(1);
        }
        read
    }

    async fn advance(&mut self, block: &Block, news: &BlockLogs) -> Result<(), FollowError> {
        let Some(base) = self.tip().cloned() else { return Ok(()) };
        if block.number.is_multiple_of(UNREAD_AGAIN_BLOCKS) {
            self.await_unread();
        }
        let just_read = self.history.read_at_tip();
        let change = apply_logs(&self.catalog, &base, &just_read, news.logs.iter().map(|placed| &placed.log));
        let by_logs = change.changed.iter().map(|pool| pool.key).collect();
        self.note_activity(block.number, base.block().hash, &by_logs, &change.stale);
        let announced = change.announced.iter().map(|pool| pool.key);
        let announced: Vec<PoolKey> = announced.filter(|pool| base.pool_id(*pool).is_none()).collect();
        for pool in change.announced {
            self.replace_named(&pool);
            self.known.insert(pool, block.number);
        }
        let found = self.find_vaults(change.candidates, &base, block.number);
        change.grown.iter().for_each(|keeper| self.known.lists.set_due(*keeper));
        let listed = self.read_lists(change.grown, block.number, block.hash).await?;
        let mut read: BTreeSet<PoolKey> = change.stale;
        let all: Vec<PoolKey> = polled(&base).collect();
        let mut polled: BTreeSet<PoolKey> = polled_at(&all, block.number).filter(|pool| !read.contains(pool)).collect();
        let mut changed = change.changed;
        read.extend(&polled);
        // A pool that logs changed is read whole, since a partial read would start from its state before them.
        polled.retain(|key| changed.iter().all(|pool| pool.key != *key));
        changed.retain(|pool| !read.contains(&pool.key));
        read.extend(announced);
        read.extend(listed);
        read.extend(found);
        read.extend(change.unknown.into_iter().filter(|pool| self.may_be_wanted(*pool, &news.logs)));
        for pool in self.pending.iter().take(POOLS_WITH_A_BLOCK) {
            polled.remove(pool);
            read.insert(*pool);
        }
        let known = Base { market: &base, polled: &polled };
        let left = CallsLeft::new(self.config.calls_at_a_block);
        let joined = self.join_with_retry(&read, &base, Some(known), Some(&left), block.hash).await?;
        let market = self.build_market(&base, *block, changed, joined)?;
        let count = read.len();
        for applied in change.doubtful {
            let now = market.pool_id(applied.key).and_then(|id| market.pool(id));
            if now.is_some_and(|now| now.state == applied.state) {
                // The logs and the node agree, so neither was of another block.
                read.remove(&applied.key);
            }
        }
        self.history.push(market, read);
        if let Some(history) = &news.fees {
            self.fees = Some(FeeData::new(block, Some(history)));
        }
        tracing::debug!(number = block.number, hash = %block.hash, logs = news.logs.len(), read = count, "block applied");
        Ok(())
    }

    /// Returns whether a pool is excluded, and a block's logs do not show that it stays excluded for the same reason.
    fn may_be_wanted(&self, pool: PoolKey, logs: &[PlacedLog]) -> bool {
        let Some((excluded_as, known)) = self.known.exclusion(pool).zip(self.known.get(pool)) else { return false };
        let own = logs.iter().rev().map(|placed| &placed.log).filter(|log| log.address == pool.contract);
        pool.id.is_some() || !self.config.rules.still_refuse(known, excluded_as, own)
    }

    /// Reads on in a list that is due.
    pub(crate) async fn read_due_list(&mut self) -> Result<(), FollowError> {
        let Some(block) = self.tip().map(|tip| *tip.block()) else { return Ok(()) };
        if let Some(keeper) = self.known.lists.due().first().copied() {
            self.read_lists([keeper], block.number, block.hash).await?;
        }
        Ok(())
    }

    /// Adds some of the waiting pools to the tip's market. Dropped before it returns, it leaves the market as it was and
    /// the pools waiting.
    pub(crate) async fn read_waiting(&mut self) -> Result<(), FollowError> {
        let Some(base) = self.tip().cloned() else { return Ok(()) };
        let started = Instant::now();
        let read: BTreeSet<PoolKey> = self.pending.iter().take(self.between_blocks).copied().collect();
        let known = Base { market: &base, polled: &BTreeSet::new() };
        let joined = self.join_with_retry(&read, &base, Some(known), None, base.block().hash).await?;
        let market = self.build_market(&base, *base.block(), Vec::new(), joined)?;
        self.between_blocks =
            next_between_blocks(self.between_blocks, started.elapsed(), self.longest_between_blocks());
        self.history.push(market, read);
        Ok(())
    }

    /// Returns the time that a read between two blocks is meant to take at most.
    pub(crate) fn longest_between_blocks(&self) -> Duration {
        if self.pending.len() > FILLING { LONGEST_WHILE_FILLING } else { LONGEST_BETWEEN_BLOCKS }
    }

    /// Reads fewer pools at a time between two blocks, after a read for which a block did not wait.
    pub(crate) fn read_fewer_between_blocks(&mut self, took: Duration) {
        self.between_blocks = next_between_blocks(self.between_blocks, took, self.longest_between_blocks());
    }
}

/// Returns how many pools to read next between two blocks, from the time of the last read: as many as fit, at most
/// twice as many.
fn next_between_blocks(read: usize, took: Duration, longest: Duration) -> usize {
    let fitting = longest.as_millis().saturating_mul(read as u128) / took.as_millis().max(1);
    let next = usize::try_from(fitting).unwrap_or(usize::MAX).clamp(read / 2, read * 2);
    next.clamp(POOLS_WITH_A_BLOCK, MOST_BETWEEN_BLOCKS)
}

/// Returns which of the pools that are polled to read at a block.
fn polled_at(all: &[PoolKey], number: u64) -> impl Iterator<Item = PoolKey> {
    let (always, others) = all.split_at(all.len().min(POLLED_EVERY_BLOCK));
    let turns = others.len().div_ceil(POLLED_IN_TURN).max(1) as u64;
    let turn = usize::try_from(number % turns).unwrap_or_default();
    always.iter().chain(others.chunks(POLLED_IN_TURN).nth(turn).unwrap_or_default()).copied()
}

/// Returns the pools that are polled every block.
pub(super) fn polled(market: &Market) -> impl Iterator<Item = PoolKey> + '_ {
    let pools = market.dependent_pools().map(|(_, pool)| pool);
    pools.filter(|pool| pool.product.reads_each_block(&pool.state)).map(|pool| pool.key)
}

#[cfg(test)]
mod tests {
    use braid_primitives::Address;

    use super::*;

    fn keys(count: usize) -> Vec<PoolKey> {
        (0..count).map(|index| Address::left_padding_from(&index.to_be_bytes()).into()).collect()
    }

    /// Anybody can make pools that are polled every block, and could make the market late.
    #[test]
    fn polls_of_a_block_are_bounded_and_none_is_left_out_for_good() {
        let few = keys(300);
        assert!(polled_at(&few, 7).eq(few.iter().copied()));
        let many = keys(POLLED_EVERY_BLOCK + 3 * POLLED_IN_TURN + 1);
        let mut seen = BTreeSet::new();
        for number in 100..104 {
            let at_once: Vec<PoolKey> = polled_at(&many, number).collect();
            assert!(at_once.len() <= POLLED_EVERY_BLOCK + POLLED_IN_TURN);
            assert!(at_once.starts_with(&many[..POLLED_EVERY_BLOCK]));
            seen.extend(at_once);
        }
        assert_eq!(seen.len(), many.len());
    }
}
