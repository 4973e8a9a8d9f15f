//! Settings of the follower.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use braid_primitives::Address;
use braid_protocols::Product;
use braid_store::market::Snapshot;

use crate::PoolRules;

/// Settings of a follower. The defaults suit mainnet and a local chain.
#[derive(Clone, Debug)]
pub struct FollowerConfig {
    /// The products to follow, in the order of the list.
    pub products: Vec<Product>,
    /// First block to search for announcements. By default the oldest factory's deployment, or 0 on a shorter chain.
    pub start_block: Option<u64>,
    /// Fixed poll interval while no heads are pushed. By default 500 ms until the block time is known, then a quarter
    /// of it within 250 ms and 3 s between two blocks, and 250 ms when the next one is expected.
    pub poll_interval: Option<Duration>,
    /// Longest time without a pushed head before the head is polled.
    pub silence: Duration,
    /// Interval at which a lost subscription to heads is tried again.
    pub resubscribe_every: Duration,
    /// Depth of the deepest reorganisation that is rolled back and replayed, in blocks; a deeper one reads pools again.
    pub reorganisation_depth: usize,
    /// Most blocks of a scan that finishes before the first market is published; a longer one goes on in the
    /// background.
    pub scan_before_serving_blocks: u64,
    /// Whether a market that is served before its scan is done starts from our list of the largest mainnet pools.
    pub largest_pools_first: bool,
    /// Rules for the pools of the market.
    pub rules: PoolRules,
    /// ERC-4626 vaults that the configuration names, besides those of lists and factories.
    pub vaults: BTreeSet<Address>,
    /// Whether vaults that are seen to trade are added too, if their answers show their rule.
    pub find_vaults: bool,
    /// First and longest pause after failures; each failure doubles it.
    pub backoff: (Duration, Duration),
    /// First and longest pause before blocks whose logs no node gave are searched again; each failure doubles it.
    pub search_again: (Duration, Duration),
    /// Calls for the pools that are read with one block: so many for each, and so many for all together beyond these.
    /// Anybody can make vaults that take a thousand calls each.
    pub calls_at_a_block: (usize, usize),
    /// Number of blocks after which some pools are compared with the chain again; 0 for never.
    pub compare_every_blocks: u64,
    /// Snapshot that a first market starts from: the pools that another search found. Every state is read from the
    /// node, and a pool joins only if the chain confirms it.
    pub snapshot: Option<Arc<Snapshot>>,
}

impl Default for FollowerConfig {
    fn default() -> Self {
        Self {
            products: Product::ALL.to_vec(),
            start_block: None,
            poll_interval: None,
            silence: Duration::from_millis(2_500),
            resubscribe_every: Duration::from_secs(5),
            reorganisation_depth: 64,
            scan_before_serving_blocks: 100_000,
            largest_pools_first: true,
            rules: PoolRules::default(),
            vaults: BTreeSet::new(),
            find_vaults: false,
            calls_at_a_block: (64, 32_768),
            compare_every_blocks: 5,
            snapshot: None,
            search_again: (Duration::from_secs(600), Duration::from_secs(6 * 3_600)),
            backoff: (Duration::from_millis(250), Duration::from_secs(10)),
        }
    }
}
