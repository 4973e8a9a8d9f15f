//! Reports the state of each node, for metrics and readiness.

use tokio::time::Instant;

use super::{
    connect::Node,
    health::{CallTimes, NodeFault},
    member::Member,
};

/// The present state of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeReport {
    /// Host and port, or `ipc`, with a number if several nodes share them. Never a path, query or user.
    pub name: String,
    /// Whether it is asked first.
    pub leads: bool,
    /// Score, 0 to 100.
    pub score: u8,
    /// Its worst fault.
    pub fault: Option<NodeFault>,
    /// Height of the newest block that it reported.
    pub head: Option<u64>,
    /// Questions put to it.
    pub asked: u64,
    /// Questions that it failed to answer.
    pub failed: u64,
    /// Questions put to it because another node was slow.
    pub hedged: u64,
    /// Durations of its answers.
    pub calls: CallTimes,
}

impl Node {
    /// Returns the nodes in the order in which they were named.
    pub fn report(&self) -> Vec<NodeReport> {
        let leader = self.inner.fleet.leader().map(std::ptr::from_ref);
        let report = |member: &Member| {
            let health = member.health();
            NodeReport {
                name: member.name.clone(),
                leads: leader == Some(std::ptr::from_ref(member)),
                score: health.score(Instant::now()),
                fault: health.fault(),
                head: health.head,
                asked: health.asked,
                failed: health.failed,
                hedged: health.hedged,
                calls: health.calls,
            }
        };
        self.inner.fleet.members.iter().map(report).collect()
    }
}
