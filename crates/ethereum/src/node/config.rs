//! How nodes are talked to: deadlines, repeats, and when another one is asked.

use std::time::Duration;

/// How to talk to a node.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// How long one request may take.
    pub timeout: Duration,
    /// How many requests may be under way at once.
    pub concurrency: usize,
    /// How often a request is made in all when the node refuses for a moment (429, 5xx, garbled answers).
    pub attempts: u32,
    /// When a second node is asked because the first is slow: no sooner than the first of these, and after the second while
    /// the node's usual speed is not known.
    pub hedge: (Duration, Duration),
    /// How often several nodes are compared with each other.
    pub check_every: Duration,
    /// How many blocks a node may be behind the others before it is asked last.
    pub lag_blocks: u64,
}

impl Default for NodeConfig {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(15),
            concurrency: 8,
            attempts: 3,
            hedge: (Duration::from_millis(50), Duration::from_secs(2)),
            check_every: Duration::from_secs(6),
            lag_blocks: 3,
        }
    }
}
