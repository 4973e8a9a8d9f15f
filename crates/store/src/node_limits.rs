//! What nodes were found to allow, kept for the next start.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{StoreError, json_file};

/// Name of the file in the data directory.
pub const NODE_LIMITS_FILE: &str = "nodes.json";

/// How long limits are believed that were not learnt anew, in seconds: providers change them.
const BELIEVED_S: u64 = 7 * 86_400;

/// Most nodes that are kept.
const MOST_NODES: usize = 64;

/// What one node was found to allow; nothing where nothing was refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeLimits {
    /// Scheme, host and port; never a path, query or user.
    pub node: String,
    /// When the newest of them was learnt, in seconds of Unix time.
    pub learnt_at_s: u64,
    /// Requests in a message.
    pub requests: Option<Limit>,
    /// Bytes of a message.
    pub message_bytes: Option<Limit>,
    /// Calls in an aggregate.
    pub aggregated_calls: Option<Limit>,
    /// Gas of an aggregate, in gas units.
    pub aggregate_gas: Option<Limit>,
    /// Blocks of a range in which announcements of pools are asked for.
    pub announcement_blocks: Option<Limit>,
    /// Blocks of a range in which every event is asked for.
    pub event_blocks: Option<Limit>,
    /// Calls a second.
    pub calls_per_s: Option<u32>,
    /// Whether logs are given only of contracts that are named.
    pub logs_need_emitters: bool,
}

/// A size that a node limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// The largest that is asked for.
    pub accepted: u64,
    /// The smallest that was refused.
    pub refused: u64,
}

impl NodeLimits {
    /// Whether they are recent enough to be believed.
    fn is_believed(&self, now_s: u64) -> bool {
        // a clock that is set back makes nothing doubtful
        now_s.abs_diff(self.learnt_at_s) <= BELIEVED_S
    }
}

/// What was kept of nodes, but for what is too old to be believed.
///
/// # Errors
/// [`StoreError::Unreadable`], also when the file is not what [`save`] writes.
pub fn load(dir: &Path, now_s: u64) -> Result<Vec<NodeLimits>, StoreError> {
    let mut kept: Vec<NodeLimits> = json_file::load(dir, NODE_LIMITS_FILE)?;
    kept.retain(|limits| limits.is_believed(now_s));
    Ok(kept)
}

/// Keeps what nodes allow, besides what is kept of others.
///
/// # Errors
/// [`StoreError::Unwritable`] with the operating system's reason; what was written before is then still there.
pub fn save(dir: &Path, nodes: &[NodeLimits], now_s: u64) -> Result<(), StoreError> {
    // a file that cannot be read is replaced
    let mut all = load(dir, now_s).unwrap_or_default();
    all.retain(|kept| nodes.iter().all(|limits| limits.node != kept.node));
    all.extend(nodes.iter().filter(|limits| limits.is_believed(now_s)).cloned());
    all.sort_by_key(|limits| std::cmp::Reverse(limits.learnt_at_s));
    all.truncate(MOST_NODES);
    json_file::save(dir, NODE_LIMITS_FILE, &all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(node: &str, learnt_at_s: u64) -> NodeLimits {
        let announcement_blocks = Some(Limit { accepted: 500, refused: 501 });
        NodeLimits { node: node.into(), learnt_at_s, announcement_blocks, ..NodeLimits::default() }
    }

    #[test]
    fn nodes_are_kept_side_by_side_and_forgotten_after_a_week() {
        let dir = tempfile::tempdir().unwrap();
        let now = 100 * 86_400;
        assert_eq!(load(dir.path(), now).unwrap(), []);
        let [a, b] = [limits("https://a.example", now - 1), limits("https://b.example", now)];
        save(dir.path(), std::slice::from_ref(&a), now).unwrap();
        save(dir.path(), std::slice::from_ref(&b), now).unwrap();
        assert_eq!(load(dir.path(), now).unwrap(), [b.clone(), a]);
        assert_eq!(load(dir.path(), now + BELIEVED_S).unwrap(), [b]);
        assert_eq!(load(dir.path(), now + BELIEVED_S + 1).unwrap(), []);
        assert_eq!(load(dir.path(), now - 3_600).unwrap().len(), 2, "a clock that is set back by an hour");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_an_error_until_it_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(NODE_LIMITS_FILE), b"[{").unwrap();
        assert!(matches!(load(dir.path(), 7), Err(StoreError::Unreadable { .. })));
        save(dir.path(), &[limits("https://a.example", 7)], 7).unwrap();
        assert_eq!(load(dir.path(), 7).unwrap().len(), 1);
    }
}
