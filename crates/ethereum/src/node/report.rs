//! What is known of each node, for people and machines.

use tokio::time::Instant;

use super::{
    connect::Node,
    fleet::Member,
    health::{CallTimes, NodeFault},
};

/// One node as it does at present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeReport {
    /// Host and port, or `ipc`; with a number where several nodes share them. Never a path, query or user.
    pub name: String,
    /// Whether it is asked first.
    pub leads: bool,
    /// 0 to 100.
    pub score: u8,
    /// The worst that is the matter with it.
    pub fault: Option<NodeFault>,
    /// Height of the newest block that it reported.
    pub head: Option<u64>,
    /// Questions put to it.
    pub asked: u64,
    /// Questions that it failed to answer.
    pub failed: u64,
    /// Questions put to it because another node was slow.
    pub hedged: u64,
    /// How long its answers took.
    pub calls: CallTimes,
}

impl Node {
    /// The nodes in the order in which they were named.
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
