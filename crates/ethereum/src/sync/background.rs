//! A scan for pools that goes on behind the market that is already served.

use std::time::Duration;

use tokio::{sync::mpsc, task::JoinHandle};

use crate::{
    DiscoveryProgress, Node, Urgency,
    scan::{Part, Scan},
    spans::Segment,
};

/// Pause of a background scan after a failure.
const SCAN_PAUSE: Duration = Duration::from_secs(2);

/// Part of a background scan's yield.
pub(crate) struct Found {
    pub(super) part: Part,
    pub(super) progress: DiscoveryProgress,
}

/// A scan for pools that goes on while the market is already served.
pub(crate) struct Background {
    found: mpsc::UnboundedReceiver<Found>,
    task: JoinHandle<()>,
}

impl Background {
    /// Starts scanning segments in a task of its own, which ends when this is dropped.
    pub(super) fn spawn(node: Node, segments: Vec<Segment>) -> Self {
        // never waits: a scan that stood still with requests under way would keep the places that the follower's own requests wait for
        let (sender, found) = mpsc::unbounded_channel();
        let mut scan = Scan::new(&node.at_urgency(Urgency::Background), segments);
        let task = tokio::spawn(async move {
            loop {
                match scan.next().await {
                    Ok(Some(part)) => {
                        let found = Found { part, progress: scan.progress() };
                        if sender.send(found).is_err() {
                            return;
                        }
                    }
                    Ok(None) => return,
                    Err(error) => {
                        tracing::warn!(%error, "the scan for pools pauses");
                        tokio::time::sleep(SCAN_PAUSE).await;
                    }
                }
            }
        });
        Self { found, task }
    }

    /// The next part; `None` when the scan is done.
    pub(super) async fn next(&mut self) -> Option<Found> {
        self.found.recv().await
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.task.abort();
    }
}
