//! Compares a search for pools with a few of its blocks read alone. A node that leaves out logs of ranges leaves
//! stretches without logs, so most of these blocks are of the longest ones.
//!
//! A comparison takes two messages of eight calls each and about 120 kB, nearly all of it headers. That is less than a
//! hundredth of the bytes of a search of mainnet, and of the messages of one in ranges of 10,000 blocks.

use std::{collections::BTreeMap, ops::RangeInclusive};

use crate::{DiscoveryProgress, Node, NodeError, node::LogFilter, scan::Part};

/// Blocks of a search from one comparison to the next. The search of mainnet has 14.7 million.
const BLOCKS_EACH: u64 = 2_500_000;

/// Most blocks without logs in a comparison.
const SILENT_BLOCKS: usize = 7;

/// Blocks to read alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    /// Number of logs that the search found, by height.
    counts: BTreeMap<u64, usize>,
    filter: LogFilter,
}

/// Chooses blocks to read alone while a search proceeds. Pure.
pub(super) struct Sampler {
    /// Blocks from one comparison to the next.
    each: u64,
    /// Block after which the next comparison is made.
    next: u64,
    /// Last block of the search.
    last: u64,
    /// Filter of the blocks below.
    filter: LogFilter,
    /// Longest stretch without logs since the last comparison.
    silent: Option<RangeInclusive<u64>>,
    /// Block with the most logs since then, and their number.
    fullest: Option<(u64, usize)>,
}

impl Sampler {
    pub(super) fn new(search: &DiscoveryProgress) -> Self {
        Self::with(search, BLOCKS_EACH)
    }

    fn with(search: &DiscoveryProgress, each: u64) -> Self {
        let last = search.to_block;
        let next = search.from_block.saturating_add(each - 1).min(last);
        Self { each, next, last, filter: LogFilter::default(), silent: None, fullest: None }
    }

    /// Notes a range of the search; returns blocks to read alone if a comparison is due.
    pub(super) fn note(&mut self, part: &Part) -> Option<Sample> {
        if part.missing.is_none() {
            self.note_logs(part);
        }
        if part.to < self.next {
            return None;
        }
        self.next = part.to.saturating_add(self.each).min(self.last);
        let silent: Vec<u64> = self.silent.take()?.collect();
        let silent = spread(&silent, SILENT_BLOCKS).into_iter().map(|height| (height, 0));
        Some(Sample { counts: silent.chain(self.fullest.take()).collect(), filter: self.filter.clone() })
    }

    fn note_logs(&mut self, part: &Part) {
        if part.filter != self.filter {
            (self.filter, self.silent, self.fullest) = (part.filter.clone(), None, None);
        }
        let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
        part.logs.iter().for_each(|log| *counts.entry(log.block_number).or_default() += 1);
        let blocks = |stretch: &RangeInclusive<u64>| stretch.end().saturating_sub(*stretch.start()).saturating_add(1);
        let mut first = part.from;
        for height in counts.keys().copied().chain([part.to.saturating_add(1)]) {
            let longest = self.silent.as_ref().map_or(0, blocks);
            if height.saturating_sub(first) > longest {
                self.silent = Some(first..=height - 1);
            }
            first = height.saturating_add(1);
        }
        let fullest = counts.into_iter().chain(self.fullest).max_by_key(|(_, count)| *count);
        self.fullest = fullest;
    }
}

impl Sample {
    /// Returns a block in which a node has more logs than the search found; `None` if it has none, or lacks the blocks.
    pub(super) async fn left_out(&self, node: &Node) -> Result<Option<u64>, NodeError> {
        let blocks = node.blocks_at(self.counts.keys().copied()).await?;
        let alone = node.logs_alone(&blocks, &self.filter).await?;
        let found = |height: u64| self.counts.get(&height).copied().unwrap_or_default();
        let more = blocks.iter().zip(alone).find(|(block, logs)| logs.len() > found(block.number));
        Ok(more.map(|(block, _)| block.number))
    }
}

/// Returns at most so many items, at equal distances.
pub(super) fn spread(all: &[u64], most: usize) -> Vec<u64> {
    let step = all.len().div_ceil(most).max(1);
    // Of each stretch its middle, so that a hole as long as two of them has one.
    all.iter().copied().skip(step / 2).step_by(step).collect()
}

#[cfg(test)]
mod tests {
    use alloy::primitives::{Bytes, Log};
    use braid_primitives::{Address, B256};

    use super::*;
    use crate::{node::PlacedLog, scan::Missing};

    fn part(from: u64, to: u64, heights: &[u64]) -> Part {
        let log = Log::new_unchecked(Address::ZERO, vec![], Bytes::new());
        let placed =
            |height: &u64| PlacedLog { block_number: *height, block_hash: B256::ZERO, index: 0, log: log.clone() };
        Part { from, to, logs: heights.iter().map(placed).collect(), filter: LogFilter::default(), missing: None }
    }

    fn search(from_block: u64, to_block: u64) -> DiscoveryProgress {
        DiscoveryProgress { from_block, next_block: from_block, to_block, found: 0, seconds_left: None }
    }

    #[test]
    fn a_sample_is_spread_over_all_blocks() {
        let blocks: Vec<u64> = (0..1_000).collect();
        let sample = spread(&blocks, 32);
        assert!(sample.len() <= 32 && sample.len() >= 28, "{}", sample.len());
        assert!(sample.is_sorted_by(|a, b| b - a <= 32) && sample[0] < 32 && sample[sample.len() - 1] >= 968);
        assert_eq!(spread(&blocks[..3], 32), [0, 1, 2]);
        assert!(spread(&[], 32).is_empty());
    }

    #[test]
    fn the_longest_stretch_without_logs_and_the_fullest_block_are_read_alone() {
        let mut sampler = Sampler::with(&search(1_000, 1_599), 100);
        let dense: Vec<u64> = (1_000..1_050).step_by(2).collect();
        assert_eq!(sampler.note(&part(1_000, 1_049, &dense)), None);
        let sample = sampler.note(&part(1_050, 1_099, &[1_050, 1_051, 1_051, 1_098])).unwrap();
        let silent: Vec<u64> =
            sample.counts.iter().filter(|(_, count)| **count == 0).map(|(height, _)| *height).collect();
        assert!(
            silent.len() <= SILENT_BLOCKS && silent.iter().all(|height| (1_052..1_098).contains(height)),
            "{silent:?}"
        );
        assert_eq!(sample.counts.get(&1_051), Some(&2));
        let empty = sampler.note(&part(1_100, 1_199, &[])).unwrap();
        assert!(empty.counts.values().all(|count| *count == 0) && empty.counts.len() >= 6, "a range without any logs");
    }

    #[test]
    fn a_search_has_few_comparisons_whatever_the_size_of_its_ranges() {
        for blocks in [1, 7, 500, 10_000, 250_000] {
            let mut sampler = Sampler::new(&search(10_000_000, 24_700_000));
            let (mut from, mut comparisons) = (10_000_000, 0);
            while from <= 24_700_000 {
                let to = (from + blocks * 100 - 1).min(24_700_000);
                comparisons += u64::from(sampler.note(&part(from, to, &[from])).is_some());
                from = to + 1;
            }
            assert!((1..=6).contains(&comparisons), "{comparisons} in ranges of {blocks}");
        }
        let mut sampler = Sampler::new(&search(5, 5));
        assert!(sampler.note(&part(5, 5, &[])).is_some(), "a search of one block");
        let pruned = Part { missing: Some(Missing::Pruned), ..part(6, 9, &[]) };
        assert_eq!(sampler.note(&pruned), None, "nothing was found there to compare");
    }
}
