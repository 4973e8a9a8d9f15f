//! A scan for pools in the background, while the market is served.

use std::time::Duration;

use tokio::{sync::mpsc, task::JoinHandle};

use super::sample::{Sample, Sampler};
use crate::{
    DiscoveryProgress, Node, Urgency,
    scan::{Part, Scan},
    spans::Segment,
};

/// Result of a background scan.
pub(crate) enum Found {
    /// The logs of a range, and the progress of the scan.
    Part(Part, DiscoveryProgress),
    /// The search was given fewer logs of the block at this height than the block has.
    LeftOut(u64),
}

/// A scan for pools in the background.
pub(crate) struct Background {
    found: mpsc::UnboundedReceiver<Found>,
    task: JoinHandle<()>,
}

impl Background {
    /// Starts to scan segments in a task after a pause. The task ends when this is dropped. `pauses` are the first and the
    /// longest pause after failures.
    pub(super) fn spawn(node: &Node, segments: Vec<Segment>, pause: Duration, pauses: (Duration, Duration)) -> Self {
        // Unbounded, so that the scan never waits with requests under way: they hold permits that the follower needs.
        let (sender, found) = mpsc::unbounded_channel();
        let node = node.at_urgency(Urgency::Background);
        let mut scan = Scan::new(&node, segments, pauses);
        let mut sampler = Sampler::new(&scan.progress());
        let task = tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            loop {
                match scan.next().await {
                    Ok(Some(part)) => {
                        let sample = sampler.note(&part);
                        if sender.send(Found::Part(part, scan.progress())).is_err() {
                            return;
                        }
                        if let Some(height) = left_out(&node, sample).await {
                            // The receiver may be gone by now.
                            let _ = sender.send(Found::LeftOut(height));
                        }
                    }
                    Ok(None) => return,
                    Err(error) => {
                        if scan.failed_again() {
                            tracing::debug!(%error, "the scan for pools pauses again");
                        } else {
                            tracing::warn!(%error, "the scan for pools pauses");
                        }
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

/// Compares a search with some blocks read alone. A node that does not answer contradicts nothing.
async fn left_out(node: &Node, sample: Option<Sample>) -> Option<u64> {
    match sample?.left_out(node).await {
        Ok(height) => height,
        Err(error) => {
            tracing::debug!(%error, "the search for pools cannot be compared with single blocks");
            None
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.task.abort();
    }
}
