//! Stores the limits of nodes in the data directory, so that they need not be learnt again after a restart.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use braid_store::node_limits::{self, NodeLimits};
use parking_lot::Mutex;

use super::{connect::Node, member::Member};

/// How often changed limits are stored.
const EVERY: Duration = Duration::from_secs(5);

/// Share by which a rate must change to be stored again; it changes all the time.
const RATE_MOVES: f64 = 0.25;

/// The stored limits of these nodes.
#[derive(Clone)]
pub struct KeptLimits {
    dir: PathBuf,
    kept: Arc<Mutex<Vec<NodeLimits>>>,
}

impl Node {
    /// Starts from the limits that a data directory holds of these nodes, and stores changes there while anything holds
    /// the nodes. Must be called within a tokio runtime.
    pub fn keep_limits_in(&self, dir: &Path) -> KeptLimits {
        let kept = node_limits::load(dir, now_s()).unwrap_or_else(|error| {
            tracing::warn!(%error, "the stored limits of nodes cannot be read: they are learnt again");
            Vec::new()
        });
        for (member, name) in self.named() {
            let Some(limits) = kept.iter().find(|limits| limits.node == name) else { continue };
            member.connection.limits.lock().recall(limits);
            if let Some(rate) = limits.calls_per_s {
                member.connection.gate.recall(rate.into());
            }
            tracing::info!(node = member.name, "the node's limits are known from an earlier start");
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

    /// Returns the nodes, each with scheme, host and port, and a number if several share them.
    fn named(&self) -> impl Iterator<Item = (&Member, String)> {
        self.inner.fleet.members.iter().map(|member| {
            let endpoint = member.connection.endpoint();
            let number = member.name.strip_prefix(&endpoint.host()).unwrap_or_default();
            (member, format!("{endpoint}{number}"))
        })
    }
}

impl KeptLimits {
    /// Stores the limits that changed.
    pub async fn keep(&self, node: &Node) {
        let now_s = now_s();
        let found: Vec<NodeLimits> = {
            let kept = self.kept.lock();
            let found = node.named().map(|(member, name)| {
                let limits = member.connection.limits.lock().found();
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
                let mut kept = self.kept.lock();
                kept.retain(|kept| found.iter().all(|limits| limits.node != kept.node));
                kept.extend(found);
            }
            Ok(Err(error)) => tracing::debug!(%error, "the limits of nodes could not be stored"),
            Err(error) => tracing::debug!(%error, "the limits of nodes could not be stored"),
        }
    }
}

/// Returns whether a node's limits differ from the stored ones.
fn is_news(found: &NodeLimits, kept: Option<&NodeLimits>) -> bool {
    let nothing = NodeLimits { node: found.node.clone(), ..NodeLimits::default() };
    let kept = kept.unwrap_or(&nothing);
    let [now, before] = [found, kept].map(|limits| f64::from(limits.calls_per_s.unwrap_or_default()));
    let NodeLimits { learnt_at_s, calls_per_s, .. } = *kept;
    let of_sizes = NodeLimits { learnt_at_s, calls_per_s, ..found.clone() };
    of_sizes != *kept || (now - before).abs() > before * RATE_MOVES
}

#[expect(clippy::disallowed_methods, reason = "the rim: stored limits expire, and heights are compared with the clock")]
pub(super) fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
