//! The market's source of `braid serve`: a node, or another service that publishes it.

use std::sync::Arc;
use std::time::Duration;

use braid_ethereum::{Follower, FollowerConfig, FollowerHandle, Head, KeptLimits, Node, SyncStatus};
use braid_server::stream::{self, Pace};
use braid_server::{App, serve};
use braid_store::MarketStore;
use braid_store::market::Saved;
use braid_store::replicas::stream::MarketStream;
use eyre::Result;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use crate::exit::usage;
use crate::node_only::NodeOnly;
use crate::nodes::NodeArgs;
use crate::paths::DataDir;
use crate::snapshot::SnapshotArgs;

/// Longest wait for the release of the lease.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Debug, clap::Args)]
pub(crate) struct SourceArgs {
    // must be first: clap removes the values of later fields from the matches that it reads
    #[command(flatten)]
    node_only: NodeOnly,
    #[command(flatten)]
    nodes: NodeArgs,
    /// A Redis-compatible server that several services share: quotes, calls counted for limits, Permit2 nonces and API
    /// keys
    #[arg(long, env = "BRAID_REDIS", value_name = "URL", hide_env_values = true)]
    pub(crate) redis: Option<String>,
    /// Take the market from the `--redis` server, where a service with a node publishes it, instead of following a
    /// node. There are no simulations then
    #[arg(long, env = "BRAID_FOLLOW")]
    follow: bool,
    #[command(flatten)]
    pub(crate) data: DataDir,
    #[command(flatten)]
    snapshot: SnapshotArgs,
}

impl SourceArgs {
    /// Refuses options that contradict each other.
    pub(crate) fn check(&self) -> Result<()> {
        if self.follow && self.redis.is_none() {
            return Err(usage("--follow takes the market from a Redis server: name it with --redis"));
        }
        if self.follow && !self.node_only.0.is_empty() {
            return Err(usage(format!(
                "--follow takes the market as another service publishes it, and has no node: {} cannot take effect here. \
                Give them to the service that publishes, and leave them out here (options, variables and configuration file), \
                or leave out --follow",
                self.node_only.0.join(", ")
            )));
        }
        if !self.follow {
            self.nodes.urls()?;
        }
        Ok(())
    }

    /// Checks what a start opens: the data directory, the snapshot, and the addresses of nodes and Redis server.
    pub(crate) fn check_files(&self) -> Result<()> {
        self.redis.as_deref().map(MarketStream::open).transpose()?;
        crate::data::check_dir(&self.data.data_dir)?;
        if self.follow {
            return Ok(());
        }
        if self.snapshot.is_named() && !crate::data::holds_market(&self.data.data_dir)? {
            self.snapshot.read()?;
        }
        self.nodes.check_addresses()
    }
}

/// A source, opened before the service listens.
pub(crate) enum Source {
    Node { pools: Box<FollowerConfig>, store: Arc<MarketStore>, saved: Option<Saved>, stream: Option<MarketStream> },
    Stream(MarketStream),
}

/// A running source.
pub(crate) struct Running {
    kind: Kind,
    tasks: Vec<JoinHandle<()>>,
    publishing: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

enum Kind {
    Node {
        node: Node,
        limits: KeptLimits,
        follower: FollowerHandle,
        store: Arc<MarketStore>,
        stream: Option<MarketStream>,
    },
    Stream {
        stream: Option<MarketStream>,
        heads: watch::Sender<Option<Arc<Head>>>,
        status: watch::Sender<SyncStatus>,
    },
}

impl Source {
    /// Opens the stored market, or the stream.
    pub(crate) fn prepare(args: &SourceArgs, mut pools: FollowerConfig) -> Result<Self> {
        let stream = args.redis.as_deref().map(MarketStream::open).transpose()?;
        match stream {
            Some(stream) if args.follow => Ok(Self::Stream(stream)),
            stream => {
                let (store, saved) = crate::data::open_market(&args.data)?;
                pools.snapshot = args.snapshot.load(saved.as_ref())?;
                Ok(Self::Node { pools: Box::new(pools), store, saved, stream })
            }
        }
    }

    /// Starts to follow the node.
    pub(crate) async fn start(self, args: &SourceArgs) -> Result<Running> {
        let kind = match self {
            Self::Stream(stream) => {
                Kind::Stream { stream: Some(stream), heads: watch::Sender::default(), status: watch::Sender::default() }
            }
            Self::Node { pools, store, saved, stream } => {
                let node = args.nodes.connect().await?;
                let limits = node.keep_limits_in(&args.data.data_dir);
                args.snapshot.check(&node, pools.snapshot.as_ref()).await?;
                let follower = Follower::spawn_with(node.clone(), *pools, Some((Arc::clone(&store), saved)));
                Kind::Node { node, limits, follower, store, stream }
            }
        };
        Ok(Running { kind, tasks: Vec::new(), publishing: None })
    }
}

impl Running {
    /// Returns the node, if there is one.
    pub(crate) fn node(&self) -> Option<Node> {
        match &self.kind {
            Kind::Node { node, .. } => Some(node.clone()),
            Kind::Stream { .. } => None,
        }
    }

    /// Returns the newest market.
    pub(crate) fn heads(&self) -> watch::Receiver<Option<Arc<Head>>> {
        match &self.kind {
            Kind::Node { follower, .. } => follower.heads.clone(),
            Kind::Stream { heads, .. } => heads.subscribe(),
        }
    }

    /// Returns the follower's status.
    pub(crate) fn status(&self) -> watch::Receiver<SyncStatus> {
        match &self.kind {
            Kind::Node { follower, .. } => follower.status.clone(),
            Kind::Stream { status, .. } => status.subscribe(),
        }
    }

    /// Starts the tasks of the source: audits and publishes a node's market, or follows the stream.
    pub(crate) fn serve(mut self, app: &App, args: &SourceArgs) -> Self {
        let audit = Arc::clone(&app.audit);
        match &mut self.kind {
            Kind::Node { node, follower, stream, .. } => {
                audit.quarantine.keep_in(&args.data.data_dir);
                let watching = serve::watch_proxy(Arc::clone(&app.proxy), node.clone(), follower.heads.clone());
                let auditing = serve::keep_auditing(Arc::clone(&audit), app.markets.clone(), follower.doubt.clone());
                let reading_ahead = app.accounts.clone().read_ahead(follower.status.clone());
                self.tasks.extend([tokio::spawn(watching), tokio::spawn(auditing), tokio::spawn(reading_ahead)]);
                self.publishing = stream.take().map(|stream| {
                    let (stop, stopped) = oneshot::channel::<()>();
                    let (heads, status) = (follower.heads.clone(), follower.status.clone());
                    let stopped = async move { drop(stopped.await) };
                    let publishes = app.metrics.publishes.clone();
                    let publishing = stream::publish(stream, heads, status, audit, Pace::default(), publishes, stopped);
                    (stop, tokio::spawn(publishing))
                });
            }
            Kind::Stream { stream, heads, status } => {
                let following =
                    stream.take().map(|stream| stream::follow(stream, audit, heads.clone(), status.clone()));
                self.tasks.extend(following.map(tokio::spawn));
            }
        }
        self
    }

    /// Stops all tasks in order, and writes the market to disk.
    pub(crate) async fn stop(self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        if let Some((stop, publishing)) = self.publishing {
            drop(stop);
            // without an answer of the server the lease expires
            let _ = tokio::time::timeout(RELEASE_TIMEOUT, publishing).await;
        }
        let Kind::Node { node, limits, follower, store, .. } = self.kind else { return };
        limits.keep(&node).await;
        if tokio::time::timeout(Duration::from_secs(5), follower.shutdown()).await.is_err() {
            tracing::warn!("the follower did not stop in time");
        }
        let flushed = tokio::task::spawn_blocking(move || store.flush()).await;
        if !matches!(flushed, Ok(Ok(()))) {
            tracing::error!("the newest market could not be written; the next start reads more from the node");
        }
    }
}
