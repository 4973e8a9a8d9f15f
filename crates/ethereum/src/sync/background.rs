//! A scan for pools in the background, while the market is served.

use std::time::Duration;

use tokio::{sync::mpsc, task::JoinHandle};

use crate::{
    DiscoveryProgress, Node, Urgency,
    scan::{Part, Scan},
    spans::Segment,
};

/// Pause of a background scan after a failure.
const SCAN_PAUSE: Duration = Duration::from_secs(2);

/// Logs of a range of a background scan, and its progress.
pub(crate) struct Found {
    pub(super) part: Part,
    pub(super) progress: DiscoveryProgress,
}

/// A scan for pools in the background.
pub(crate) struct Background {
    found: mpsc::UnboundedReceiver<Found>,
    task: JoinHandle<()>,
}

impl Background {
    /// Starts to scan segments in a task, which ends when this is dropped.
    pub(super) fn spawn(node: Node, segments: Vec<Segment>) -> Self {
        // Unbounded, so that the scan never waits with requests under way: they hold permits that the follower needs.
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

    /// Returns the next part; `None` when the scan is done.
    pub(super) async fn next(&mut self) -> Option<Found> {
        self.found.recv().await
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.task.abort();
    }
}
