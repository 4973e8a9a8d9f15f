//! What nodes were found to allow, kept in the data directory: a restart does not have to be refused again.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use braid_store::node_limits::{self, NodeLimits};

use super::{
    connect::{Node, lock},
    fleet::Member,
};

/// How often it is looked whether there is something new to keep.
const EVERY: Duration = Duration::from_secs(5);

/// A rate has to move by more than this share of itself to be kept anew: it never stands still.
const RATE_MOVES: f64 = 0.25;

/// The file's directory, and what is in it of these nodes.
#[derive(Clone)]
pub struct KeptLimits {
    dir: PathBuf,
    kept: Arc<Mutex<Vec<NodeLimits>>>,
}

impl Node {
    /// Begins with what earlier starts found these nodes to allow, and keeps in `dir` what is found from now on, for as long as anyone holds
    /// the nodes. Must be called within a tokio runtime.
    pub fn keep_limits_in(&self, dir: &Path) -> KeptLimits {
        let kept = node_limits::load(dir, now_s()).unwrap_or_else(|error| {
            tracing::warn!(%error, "what nodes allow is learnt anew");
            Vec::new()
        });
        for (member, name) in self.named() {
            let Some(limits) = kept.iter().find(|limits| limits.node == name) else { continue };
            member.connection.limits.learnt().recall(limits);
            if let Some(rate) = limits.calls_per_s {
                member.connection.gate.recall(rate.into());
            }
            tracing::info!(node = member.name, "what the node allows is known from an earlier start");
        }
        let limits = KeptLimits { dir: dir.to_owned(), kept: Arc::new(Mutex::new(kept)) };
        let (weak, keeper, urgency) = (Arc::downgrade(&self.inner), limits.clone(), self.urgency);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(EVERY).await;
                let Some(inner) = weak.upgrade() else { return };
                keeper.keep(&Self { inner, urgency }).await;
            }
        });
        limits
    }

    /// The nodes, each with scheme, host and port, and a number where several share them.
    fn named(&self) -> impl Iterator<Item = (&Member, String)> {
        self.inner.fleet.members.iter().map(|member| {
            let endpoint = member.connection.endpoint();
            let number = member.name.strip_prefix(&endpoint.host()).unwrap_or_default();
            (member, format!("{endpoint}{number}"))
        })
    }
}

impl KeptLimits {
    /// Writes what was found since it was last written.
    pub async fn keep(&self, node: &Node) {
        let now_s = now_s();
        let found: Vec<NodeLimits> = {
            let kept = lock(&self.kept);
            let found = node.named().map(|(member, name)| {
                let limits = member.connection.limits.learnt().found();
                #[allow(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "rates are below a thousand"
                )]
                let calls_per_s = member.connection.gate.rate().map(|rate| rate.ceil() as u32);
                NodeLimits { node: name, learnt_at_s: now_s, calls_per_s, ..limits }
            });
            found.filter(|limits| is_news(limits, kept.iter().find(|kept| kept.node == limits.node))).collect()
        };
        if found.is_empty() {
            return;
        }
        let (dir, news) = (self.dir.clone(), found.clone());
        let saved = tokio::task::spawn_blocking(move || node_limits::save(&dir, &news, now_s)).await;
        match saved {
            Ok(Ok(())) => {
                let mut kept = lock(&self.kept);
                kept.retain(|kept| found.iter().all(|limits| limits.node != kept.node));
                kept.extend(found);
            }
            Ok(Err(error)) => tracing::debug!(%error, "what nodes allow could not be kept"),
            Err(error) => tracing::debug!(%error, "what nodes allow could not be kept"),
        }
    }
}

/// Whether what was found of a node differs from what is kept of it.
fn is_news(found: &NodeLimits, kept: Option<&NodeLimits>) -> bool {
    let nothing = NodeLimits { node: found.node.clone(), ..NodeLimits::default() };
    let kept = kept.unwrap_or(&nothing);
    let [now, before] = [found, kept].map(|limits| f64::from(limits.calls_per_s.unwrap_or_default()));
    let NodeLimits { learnt_at_s, calls_per_s, .. } = *kept;
    let of_sizes = NodeLimits { learnt_at_s, calls_per_s, ..found.clone() };
    of_sizes != *kept || (now - before).abs() > before * RATE_MOVES
}

#[expect(clippy::disallowed_methods, reason = "the rim: what was learnt of a node is forgotten after a week")]
fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
