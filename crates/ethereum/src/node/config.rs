//! Settings for nodes: deadlines, repeats, and when another node is asked.

use std::time::Duration;

/// Settings for nodes.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// Longest time for one request.
    pub timeout: Duration,
    /// Most requests under way at once.
    pub concurrency: usize,
    /// How often a request is made in all while failures are transient (429, 5xx, malformed answers).
    pub attempts: u32,
    /// Shortest time after which a second node is asked because the first is slow, and the time while the first node's
    /// usual speed is unknown.
    pub hedge: (Duration, Duration),
    /// Interval at which several nodes are compared with each other.
    pub check_every: Duration,
    /// Blocks that a node may be behind the others without being asked last.
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
