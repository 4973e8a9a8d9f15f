//! The latest markets, to roll back to, and older block hashes, to find where two chains diverge. Pure.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use braid_market::Market;
use braid_primitives::{B256, Block, PoolKey};

/// Most block hashes that are kept.
const MOST_ANCHORS: usize = 4_096;

/// Depths below the tip of the block hashes that are stored, beyond the stored journal.
const DEEP: [u64; 4] = [512, 1_024, 2_048, 4_000];

/// Markets of blocks of one chain, ascending, with gaps where blocks were caught up with at once. They share unchanged
/// pools.
#[derive(Clone, Debug)]
pub(crate) struct History {
    markets: VecDeque<Kept>,
    capacity: usize,
    /// Block hashes by height.
    anchors: BTreeMap<u64, B256>,
}

/// A market, and the pools whose state was read for it, not updated from logs.
#[derive(Clone, Debug)]
struct Kept {
    market: Arc<Market>,
    read: BTreeSet<PoolKey>,
}

impl History {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { markets: VecDeque::new(), capacity: capacity.max(1), anchors: BTreeMap::new() }
    }

    pub(crate) fn tip(&self) -> Option<&Arc<Market>> {
        self.markets.back().map(|kept| &kept.market)
    }

    /// Returns the pools whose state was read for the tip.
    pub(crate) fn read_at_tip(&self) -> BTreeSet<PoolKey> {
        self.markets.back().map(|kept| kept.read.clone()).unwrap_or_default()
    }

    /// Returns the oldest market.
    pub(crate) fn oldest_market(&self) -> Option<&Arc<Market>> {
        self.markets.front().map(|kept| &kept.market)
    }

    /// Returns the blocks up to a height whose markets are kept, newest first, with gaps.
    pub(crate) fn blocks_up_to(&self, height: u64) -> Vec<Block> {
        let blocks = self.markets.iter().rev().map(|kept| *kept.market.block());
        blocks.filter(|block| block.number <= height).collect()
    }

    pub(crate) fn contains(&self, hash: B256) -> bool {
        self.markets.iter().any(|kept| kept.market.block().hash == hash)
    }

    /// Adds the market of a newer block, or replaces the tip by a later market of the same block.
    pub(crate) fn push(&mut self, market: Arc<Market>, mut read: BTreeSet<PoolKey>) {
        let block = *market.block();
        if self.tip().is_some_and(|tip| tip.block().hash == block.hash) {
            read.extend(self.markets.pop_back().into_iter().flat_map(|kept| kept.read));
        }
        self.markets.push_back(Kept { market, read });
        while self.markets.len() > self.capacity {
            self.markets.pop_front();
        }
        self.remember(block.number, block.hash);
    }

    /// Keeps the hash of a block of the chain.
    pub(crate) fn remember(&mut self, number: u64, hash: B256) {
        self.anchors.insert(number, hash);
        while self.anchors.len() > MOST_ANCHORS {
            self.anchors.pop_first();
        }
    }

    /// Returns the heights and hashes of a few blocks deep below the tip, ascending.
    pub(crate) fn deep_anchors(&self) -> Vec<(u64, B256)> {
        let Some(tip) = self.tip().map(|tip| tip.block().number) else { return Vec::new() };
        let below = |depth: u64| self.anchors.range(..=tip.checked_sub(depth)?).next_back();
        let deep = DEEP.into_iter().filter_map(below).map(|(number, hash)| (*number, *hash));
        deep.collect::<BTreeMap<u64, B256>>().into_iter().collect()
    }

    /// Drops every market after a block; returns the pools whose state was read for those. Returns `None`, and changes
    /// nothing, if the block's market is not kept.
    pub(crate) fn roll_back_to(&mut self, hash: B256) -> Option<BTreeSet<PoolKey>> {
        let position = self.markets.iter().position(|kept| kept.market.block().hash == hash)?;
        let dropped = self.markets.split_off(position + 1);
        if let Some(tip) = self.tip().map(|tip| tip.block().number) {
            self.anchors.split_off(&tip.saturating_add(1));
        }
        Some(dropped.into_iter().flat_map(|kept| kept.read).collect())
    }

    /// Drops every market, and every hash above a height; every hash if there is none.
    pub(crate) fn restart_above(&mut self, height: Option<u64>) {
        self.markets.clear();
        match height {
            Some(height) => drop(self.anchors.split_off(&height.saturating_add(1))),
            None => self.anchors.clear(),
        }
    }

    /// Returns the heights and hashes of blocks up to a height, newest first.
    pub(crate) fn anchors_up_to(&self, height: u64) -> Vec<(u64, B256)> {
        self.anchors.range(..=height).rev().map(|(number, hash)| (*number, *hash)).collect()
    }
}

#[cfg(test)]
mod tests {
    use braid_primitives::Address;

    use super::*;

    fn market(number: u64, fork: u8) -> Arc<Market> {
        let block = Block {
            number,
            hash: B256::from([fork; 32]) ^ B256::left_padding_from(&number.to_be_bytes()),
            parent_hash: B256::ZERO,
            timestamp: 0,
            base_fee_per_gas_wei: 1,
            gas_used: 0,
            gas_limit: 1,
        };
        Arc::new(Market::empty(block, Arc::default()))
    }

    fn history(blocks: u64) -> History {
        let mut history = History::new(64);
        (1..=blocks).for_each(|number| history.push(market(number, 0xaa), BTreeSet::new()));
        history
    }

    #[test]
    fn sixty_four_markets_are_kept_and_every_one_can_be_rolled_back_to() {
        let full = history(200);
        assert_eq!(full.oldest_market().unwrap().block().number, 137);
        for number in 137..=200 {
            let mut history = full.clone();
            assert!(history.roll_back_to(market(number, 0xaa).block().hash).is_some());
            assert_eq!(history.tip().unwrap().block().number, number);
            assert_eq!(history.anchors_up_to(u64::MAX).first().unwrap().0, number);
        }
    }

    #[test]
    fn a_few_deep_blocks_are_stored_whatever_is_known() {
        let heights = |history: &History| history.deep_anchors().iter().map(|(number, _)| *number).collect::<Vec<_>>();
        assert!(heights(&History::new(64)).is_empty() && heights(&history(200)).is_empty(), "nothing is so deep");
        assert_eq!(heights(&history(5_000)), [1_000, 2_952, 3_976, 4_488]);
        let mut history = history(200);
        history.push(market(1_300, 0xaa), BTreeSet::new());
        assert_eq!(heights(&history), [200], "the newest below each depth, once");
    }

    #[test]
    fn an_unknown_block_changes_nothing() {
        let mut history = history(200);
        assert!(history.roll_back_to(market(136, 0xaa).block().hash).is_none(), "too old");
        assert!(history.roll_back_to(market(190, 0xbb).block().hash).is_none(), "of another chain");
        assert_eq!(history.tip().unwrap().block().number, 200);
    }

    #[test]
    fn the_market_before_a_leap_can_be_rolled_back_to() {
        let mut history = history(200);
        history.push(market(500, 0xaa), BTreeSet::new());
        history.push(market(501, 0xaa), BTreeSet::new());
        let heights: Vec<u64> = history.blocks_up_to(500).iter().map(|block| block.number).collect();
        assert_eq!(
            (heights.len(), &heights[..3]),
            (63, &[500, 200, 199][..]),
            "newest first, and what is newer is not there"
        );
        assert!(history.roll_back_to(market(200, 0xaa).block().hash).is_some());
        assert_eq!(history.tip().unwrap().block().number, 200);
    }

    #[test]
    fn a_fuller_market_of_the_same_block_replaces_the_tip() {
        let mut history = history(2);
        let read = |byte| BTreeSet::from([Address::with_last_byte(byte).into()]);
        history.push(market(3, 0xaa), read(1));
        history.push(market(3, 0xaa), read(2));
        assert_eq!(history.read_at_tip().len(), 2, "both reads were for this block");
        assert_eq!(history.oldest_market().unwrap().block().number, 1);
        let read_for_dropped = history.roll_back_to(market(2, 0xaa).block().hash).unwrap();
        assert_eq!(read_for_dropped, read(1).union(&read(2)).copied().collect());
    }
}
