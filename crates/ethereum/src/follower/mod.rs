//! Follows a node: finds pools, reads their states, applies every block, and recovers from reorganisations and
//! failures.

mod config;
mod run;
mod status;

use std::sync::Arc;

use braid_primitives::PoolKey;
use braid_store::{MarketStore, market::Saved};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};

pub use config::FollowerConfig;
pub use status::{CatchUp, DiscoveryProgress, Head, Phase, SyncStatus};

use crate::{Node, Urgency};

/// Most doubted pools that wait to be read again.
const DOUBTS_WAITING: usize = 256;

/// Starts followers.
#[derive(Clone, Copy, Debug)]
pub struct Follower;

/// A running follower. Dropping it stops the follower.
#[derive(Debug)]
pub struct FollowerHandle {
    /// The newest market; `None` until the first one is complete, and never after that.
    pub heads: watch::Receiver<Option<Arc<Head>>>,
    /// The follower's status.
    pub status: watch::Receiver<SyncStatus>,
    /// Takes pools whose state is doubted, to be read again soon. A full queue may be ignored.
    pub doubt: mpsc::Sender<PoolKey>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Follower {
    /// Starts to follow a node in a task that goes on whatever the node does.
    ///
    /// Must be called within a tokio runtime.
    pub fn spawn(node: Node, config: FollowerConfig) -> FollowerHandle {
        Self::spawn_with(node, config, None)
    }

    /// Starts to follow a node with a store: its market is used once the node confirmed its block or showed where the
    /// chains diverge, and every later market is stored.
    ///
    /// Must be called within a tokio runtime.
    pub fn spawn_with(
        node: Node,
        config: FollowerConfig,
        store: Option<(Arc<MarketStore>, Option<Saved>)>,
    ) -> FollowerHandle {
        let (published, heads) = watch::channel(None);
        let (reported, status) = watch::channel(SyncStatus::default());
        let (stop, stopped) = watch::channel(false);
        let (doubt, doubted) = mpsc::channel(DOUBTS_WAITING);
        let mut runner = run::Runner::new(node.at_urgency(Urgency::Block), config, published, reported, doubted);
        if let Some((store, saved)) = store {
            runner.keep_in(store, saved);
        }
        FollowerHandle { heads, status, doubt, stop, task: tokio::spawn(runner.run(stopped)) }
    }
}

impl FollowerHandle {
    /// Stops the follower and waits for it.
    pub async fn shutdown(mut self) {
        self.stop.send_replace(true);
        if let Err(error) = (&mut self.task).await {
            tracing::error!(%error, "the follower's task failed");
        }
    }
}

impl Drop for FollowerHandle {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}
