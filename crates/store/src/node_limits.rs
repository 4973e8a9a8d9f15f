//! Limits of nodes, stored for the next start.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{StoreError, files};

/// Name of the file in the data directory.
pub const NODE_LIMITS_FILE: &str = "nodes.json";

/// Age above which limits are dropped, in seconds: providers change them.
const BELIEVED_S: u64 = 7 * 86_400;

/// Most nodes in the file.
const MOST_NODES: usize = 64;

/// Limits of one node; `None` where nothing was refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeLimits {
    /// Scheme, host and port; never a path, query or user.
    pub node: String,
    /// When the newest of them was learnt, in unix seconds.
    pub learnt_at_s: u64,
    /// Requests in a message.
    pub requests: Option<Limit>,
    /// Bytes of a message.
    pub message_bytes: Option<Limit>,
    /// Calls in an aggregate.
    pub aggregated_calls: Option<Limit>,
    /// Gas of an aggregate, in gas units.
    pub aggregate_gas: Option<Limit>,
    /// Blocks of a range when announcements of pools are asked for.
    pub announcement_blocks: Option<Limit>,
    /// Blocks of a range when every event is asked for.
    pub event_blocks: Option<Limit>,
    /// Calls a second.
    pub calls_per_s: Option<u32>,
    /// Whether logs are given only for named contracts.
    pub logs_need_emitters: bool,
}

/// A size that a node limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// Largest size that is asked for.
    pub accepted: u64,
    /// Smallest size that was refused.
    pub refused: u64,
}

impl NodeLimits {
    /// Returns whether they are recent enough.
    fn is_believed(&self, now_s: u64) -> bool {
        // The difference, so that a clock that was set back drops nothing.
        now_s.abs_diff(self.learnt_at_s) <= BELIEVED_S
    }
}

/// Loads the limits of nodes that are recent enough.
///
/// # Errors
/// [`StoreError::Unreadable`], also when the file is not what [`save`] writes.
pub fn load(dir: &Path, now_s: u64) -> Result<Vec<NodeLimits>, StoreError> {
    let mut kept: Vec<NodeLimits> = files::load_json(&dir.join(NODE_LIMITS_FILE))?;
    kept.retain(|limits| limits.is_believed(now_s));
    Ok(kept)
}

/// Saves the limits of some nodes, and keeps those of others in the file.
///
/// # Errors
/// [`StoreError::Unwritable`] with the operating system's reason; the file is then unchanged.
pub fn save(dir: &Path, nodes: &[NodeLimits], now_s: u64) -> Result<(), StoreError> {
    // A file that cannot be read is replaced.
    let mut all = load(dir, now_s).unwrap_or_default();
    all.retain(|kept| nodes.iter().all(|limits| limits.node != kept.node));
    all.extend(nodes.iter().filter(|limits| limits.is_believed(now_s)).cloned());
    all.sort_by_key(|limits| std::cmp::Reverse(limits.learnt_at_s));
    all.truncate(MOST_NODES);
    files::save_json(&dir.join(NODE_LIMITS_FILE), &all)
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
