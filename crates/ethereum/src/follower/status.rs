//! What the follower tells the rest of the service.

use std::{sync::Arc, time::Instant};

use braid_market::Market;
use braid_primitives::Block;

use crate::FeeData;

/// The newest market, published once per block.
#[derive(Clone, Debug)]
pub struct Head {
    /// Every pool at the block.
    pub market: Arc<Market>,
    /// What gas costs in the block after it.
    pub fees: FeeData,
    /// When the block reached us; what the age of the market is counted from.
    pub received_at: Instant,
}

impl Head {
    /// The block that the market was read at.
    pub fn block(&self) -> &Block {
        self.market.block()
    }
}

/// Where the follower stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncStatus {
    /// What it is doing.
    pub phase: Phase,
    /// Height of the newest block that the node reported.
    pub node_block: Option<u64>,
    /// When the node last confirmed that the published market is its head, or led to a newer one. A chain that makes no
    /// blocks keeps this fresh; a node that does not answer lets it grow old.
    pub checked_at: Option<Instant>,
    /// Whether a node pushes its heads; where none does they are asked for.
    pub heads_pushed: bool,
    /// Height of the newest published market.
    pub market_block: Option<u64>,
    /// Pools in that market.
    pub pools: usize,
    /// Tokens in that market.
    pub tokens: usize,
    /// Known pools that are not in it: their state or a token of theirs could not be read.
    pub left_out: usize,
    /// Known pools that are still to be read.
    pub waiting: usize,
    /// How far discovery is; `None` once it has reached the head.
    pub discovery: Option<DiscoveryProgress>,
    /// The first block whose logs the nodes have, where older ones are missing: pools announced before are not found.
    pub history_from: Option<u64>,
    /// The latest failure in words, while it lasts. Never shows more of a URL than scheme and host.
    pub last_error: Option<String>,
    /// The blocks that are caught up with at once, while that lasts: the published market is as old as the first of them.
    pub catching_up: Option<CatchUp>,
    /// How often so many blocks were missed that they were caught up with at once.
    pub leaps: u64,
    /// Reorganisations seen so far.
    pub reorganisations: u64,
    /// Height of the newest block whose market is safe on disk; `None` without a store, or before its first.
    pub stored_block: Option<u64>,
    /// Whether the store failed to write; it tries again.
    pub store_failing: bool,
}

/// What the follower is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Waiting for a first answer of the node.
    #[default]
    Connecting,
    /// Looking for pools, before the first market.
    Discovering,
    /// Reading the pools' states, before the first market or after a replaced history.
    Reading,
    /// At the node's head, block by block.
    Following,
    /// The node does not answer; the last market stands and grows older.
    Disconnected,
    /// Shut down.
    Stopped,
}

/// Missed blocks that are caught up with at once rather than one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatchUp {
    /// The block that the market was of.
    pub from_block: u64,
    /// The node's head when this began.
    pub to_block: u64,
}

/// How far a scan for pools is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiscoveryProgress {
    /// First block of the scan.
    pub from_block: u64,
    /// First block that is not scanned yet.
    pub next_block: u64,
    /// Last block of the scan.
    pub to_block: u64,
    /// Pools announced so far.
    pub found: usize,
    /// About how long the rest takes, in seconds; `None` in the first moments.
    pub seconds_left: Option<u64>,
}

impl DiscoveryProgress {
    /// Share of the blocks that is scanned, 0 to 1.
    pub fn fraction(&self) -> f64 {
        let all = self.to_block.saturating_sub(self.from_block).saturating_add(1);
        let done = self.next_block.saturating_sub(self.from_block).min(all);
        done as f64 / all as f64
    }
}
