//! The follower's published state.

use std::{sync::Arc, time::Instant};

use braid_market::Market;
use braid_primitives::{B256, Block};

use crate::FeeData;

/// The newest market, published once per block.
#[derive(Clone, Debug)]
pub struct Head {
    /// Every pool at the block.
    pub market: Arc<Market>,
    /// Gas price in the block after it.
    pub fees: FeeData,
    /// When the block was received; the market's age counts from then.
    pub received_at: Instant,
}

impl Head {
    /// Returns the block of the market.
    pub fn block(&self) -> &Block {
        self.market.block()
    }
}

/// The follower's status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncStatus {
    /// The present phase.
    pub phase: Phase,
    /// Height of the newest block that the node reported.
    pub node_block: Option<u64>,
    /// Hash of the newest block whose header the node gave; its market follows.
    pub node_hash: Option<B256>,
    /// Timestamp of that block, in Unix seconds; `None` on a local chain, whose clock may be anywhere.
    pub node_timestamp: Option<u64>,
    /// When the node last confirmed the published market as its head, or led to a newer one. It stays recent on a chain
    /// without new blocks, and ages while the node does not answer.
    pub checked_at: Option<Instant>,
    /// Whether a node pushes its heads; otherwise they are polled.
    pub heads_pushed: bool,
    /// Height of the newest published market.
    pub market_block: Option<u64>,
    /// Pools in that market.
    pub pools: usize,
    /// Tokens in that market.
    pub tokens: usize,
    /// Known pools that are excluded: by the rules, or because their state or a token could not be read.
    pub excluded: usize,
    /// Known pools and lists that are still to be read.
    pub waiting: usize,
    /// Progress of the search for pools; `None` when it is done.
    pub discovery: Option<DiscoveryProgress>,
    /// First block from which on the search for pools has all logs, if it lacks older ones: nodes have pruned them, left
    /// them out, or fail at them. Pools announced in those are not found; blocks at which nodes fail are tried again.
    pub history_from: Option<u64>,
    /// The latest failure, while it lasts. Shows at most scheme and host of a URL.
    pub last_error: Option<String>,
    /// Blocks that are being caught up with at once; the published market is of the first of them.
    pub catching_up: Option<CatchUp>,
    /// How often missed blocks were caught up with at once.
    pub leaps: u64,
    /// Reorganisations so far.
    pub reorganisations: u64,
    /// Height of the newest block on disk; `None` without a store, or before its first block.
    pub stored_block: Option<u64>,
    /// Whether the store fails to write; it tries again.
    pub store_failing: bool,
}

/// What the follower does at present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Waits for a first answer of the node.
    #[default]
    Connecting,
    /// Searches for pools, before the first market.
    Discovering,
    /// Reads pools' states, before the first market or after a deep reorganisation.
    Reading,
    /// Follows the node's head block by block.
    Following,
    /// The node does not answer; the last market ages.
    Disconnected,
    /// Shut down.
    Stopped,
}

/// Missed blocks that are caught up with at once rather than one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatchUp {
    /// Block of the market.
    pub from_block: u64,
    /// The node's head when catching up began.
    pub to_block: u64,
}

/// Progress of a scan for pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiscoveryProgress {
    /// First block of the scan.
    pub from_block: u64,
    /// First block not scanned yet.
    pub next_block: u64,
    /// Last block of the scan.
    pub to_block: u64,
    /// Pools announced so far.
    pub found: usize,
    /// Estimated remaining time, in seconds; `None` at first.
    pub seconds_left: Option<u64>,
}

impl DiscoveryProgress {
    /// Returns the share of blocks that were scanned, 0 to 1.
    pub fn fraction(&self) -> f64 {
        let all = self.to_block.saturating_sub(self.from_block).saturating_add(1);
        let done = self.next_block.saturating_sub(self.from_block).min(all);
        done as f64 / all as f64
    }
}
