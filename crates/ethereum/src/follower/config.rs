//! How the follower is set up.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use braid_primitives::Address;
use braid_protocols::Product;
use braid_store::market::Snapshot;

use crate::PoolRules;

/// Settings of a follower; the defaults suit mainnet and a local chain alike.
#[derive(Clone, Debug)]
pub struct FollowerConfig {
    /// The products to follow, in the order of the list.
    pub products: Vec<Product>,
    /// First block to look for announcements in. By default the oldest factory's deployment, or 0 on a chain that is
    /// shorter than that.
    pub start_block: Option<u64>,
    /// How often to ask for a new head where none is pushed. By default an eighth of the observed block time, within
    /// 250 ms and 1.5 s, and 500 ms until a block time is known.
    pub poll_interval: Option<Duration>,
    /// When to ask for the head although heads are pushed: the longest silence that is believed.
    pub silence: Duration,
    /// How often a lost subscription to heads is tried again, while heads are asked for.
    pub resubscribe_every: Duration,
    /// The deepest reorganisation that is rolled back and replayed; a deeper one reads the pools again.
    pub reorganisation_depth: usize,
    /// Scans of at most this many blocks finish before the first market is published; longer ones go on behind it.
    pub scan_before_serving_blocks: u64,
    /// Whether a market that is served before its scan is done begins with the largest mainnet pools of our list.
    pub largest_pools_first: bool,
    /// Which pools are taken into the market.
    pub rules: PoolRules,
    /// ERC-4626 vaults that the configuration names, besides those that lists and factories tell about.
    pub vaults: BTreeSet<Address>,
    /// Whether vaults that are seen to trade are taken too, where their own answers tell what they are.
    pub find_vaults: bool,
    /// First and longest pause after a failure; each one doubles the one before.
    pub backoff: (Duration, Duration),
    /// What a first market goes on from: which pools another market's search found. Every state is read from the node, and no pool joins that
    /// the chain does not confirm.
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
            snapshot: None,
            backoff: (Duration::from_millis(250), Duration::from_secs(10)),
        }
    }
}
