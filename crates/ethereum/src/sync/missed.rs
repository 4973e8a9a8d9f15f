//! Reads the logs of many missed blocks. A list of the logs of a range cannot be checked by itself; the lists of single
//! blocks are checked against the blocks' blooms. So the newest blocks are read alone, and some of the others too, to
//! check the range.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use braid_market::Market;
use braid_primitives::{Block, PoolKey};

use super::{advance::BLOCKS_PER_MESSAGE, sample::spread, synchronizer::Synchronizer};
use crate::{FollowError, NodeError, apply::Listeners, node::PlacedLog};

/// Newest blocks that are read alone.
pub(super) const BLOCKS_ALONE: u64 = 64;

/// Most blocks without logs that are read alone to check a range: what a node leaves out leaves blocks without logs.
const MOST_SILENT: usize = 32;

/// Most other blocks that are read alone to check a range.
const MOST_OTHERS: usize = 16;

/// Ranges that are compared with their blocks where a long one was searched for announcements only, and their length.
const RANGES: (u64, u64) = (4, 4);

/// What tells the pools that logs concern.
pub(super) struct News<'a> {
    pub(super) base: &'a Market,
    pub(super) listeners: Listeners,
}

impl Synchronizer {
    /// Adds the pools that logs announce; returns the known pools that logs concern.
    pub(super) fn touched_by(&mut self, news: &News<'_>, logs: &[PlacedLog]) -> BTreeSet<PoolKey> {
        let mut touched = self.learn(logs);
        let named = |log| self.catalog.pools_named(log).chain([log.address.into()]);
        let named = logs.iter().flat_map(|log| named(&log.log));
        touched.extend(named.filter(|pool| self.known.get(*pool).is_some()));
        let heard = logs.iter().flat_map(|log| news.listeners.of_log(news.base, &log.log));
        touched.extend(heard.filter_map(|id| news.base.pool(id)).map(|pool| pool.key));
        touched
    }

    /// Reads the blocks from `first` to the head one by one, and adds the pools that they concern.
    pub(super) async fn read_alone(
        &mut self,
        first: u64,
        head: &Block,
        news: &News<'_>,
        touched: &mut BTreeSet<PoolKey>,
    ) -> Result<(), FollowError> {
        let replaced = || FollowError::Replaced { number: head.number, hash: head.hash };
        let heights: Vec<u64> = (first..=head.number).collect();
        let mut parent = None;
        for chunk in heights.chunks(BLOCKS_PER_MESSAGE) {
            let blocks = self.node.blocks_at(chunk.iter().copied()).await?;
            let follows = |block: &Block| parent.replace(block.hash).is_none_or(|hash| hash == block.parent_hash);
            if blocks.len() != chunk.len() || !blocks.iter().all(follows) {
                return Err(replaced());
            }
            let alone = self.read_logs(&blocks, false).await?;
            alone.iter().for_each(|block| touched.extend(self.touched_by(news, &block.logs)));
        }
        if parent == Some(head.hash) { Ok(()) } else { Err(replaced()) }
    }

    /// Returns whether the logs of a range, counted by block, agree with some of its blocks read alone.
    pub(super) async fn is_whole(
        &self,
        range: &Range<u64>,
        counts: &BTreeMap<u64, usize>,
        head: &Block,
    ) -> Result<bool, FollowError> {
        let (others, silent): (Vec<u64>, Vec<u64>) = range.clone().partition(|height| counts.contains_key(height));
        let mut sample = [spread(&silent, MOST_SILENT), spread(&others, MOST_OTHERS)].concat();
        sample.sort_unstable();
        for chunk in sample.chunks(BLOCKS_PER_MESSAGE) {
            let blocks = self.node.blocks_at(chunk.iter().copied()).await?;
            if blocks.len() != chunk.len() {
                return Err(FollowError::Replaced { number: head.number, hash: head.hash });
            }
            let alone = self.node.blocks_logs(&blocks, self.catalog.block(), false).await?;
            let count = |block: &Block| counts.get(&block.number).copied().unwrap_or_default();
            if blocks.iter().zip(&alone).any(|(block, alone)| count(block) != alone.logs.len()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns whether the logs of a few short ranges agree with their blocks.
    pub(super) async fn are_ranges_whole(&self, range: &Range<u64>, head: &Block) -> Result<bool, FollowError> {
        let (ranges, length) = RANGES;
        let blocks = range.end.saturating_sub(range.start);
        for part in 0..ranges {
            let from = range.start.saturating_add(blocks / ranges * part);
            let short = from..from.saturating_add(length).min(range.end);
            if short.is_empty() {
                continue;
            }
            let logs = match self.node.logs_between(short.start, short.end - 1, self.catalog.block()).await {
                // What a node says that it lacks, or fails at, it does not hide.
                Err(error) => {
                    if error.is_rate_limit() || self.node.height().await.is_err() {
                        return Err(error.into());
                    }
                    tracing::debug!(%error, from = short.start, "a range is not compared with its blocks");
                    continue;
                }
                Ok(logs) => logs,
            };
            let mut counts = BTreeMap::new();
            logs.iter().for_each(|log| *counts.entry(log.block_number).or_default() += 1);
            match self.is_whole(&short, &counts, head).await {
                Ok(true) => {}
                Ok(false) | Err(FollowError::Node(NodeError::MissingLogs { .. })) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Reports that a node left out logs of a block in a search for pools.
    pub(super) fn distrust_search(&mut self, height: u64) {
        tracing::warn!(
            height,
            "the node left out logs of ranges of blocks in the search for pools: pools announced in them are not in the \
             market. Search again in an empty data directory with another node"
        );
        self.report_history_from(height.saturating_add(1));
    }

    /// Reports that a node leaves out logs of ranges; returns the first block to read alone.
    pub(super) fn distrust_ranges(&mut self, range: &Range<u64>, everything: bool) -> u64 {
        let (from, to) = (range.start, range.end.saturating_sub(1));
        if everything {
            tracing::warn!(
                from,
                to,
                "the node leaves out logs of ranges of blocks: every pool is read again, and pools announced in these blocks \
                 are not in the market. Search again in an empty data directory with another node"
            );
            self.report_history_from(range.end);
            return range.end;
        }
        tracing::warn!(from, to, "the node leaves out logs of ranges of blocks: the blocks are read one by one");
        range.start
    }
}
