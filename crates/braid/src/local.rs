//! Runs a service inside this process on a loopback port, for a command with a node and no service. It runs the same
//! stages as `braid serve`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use braid_ethereum::{Follower, FollowerHandle, Node};
use braid_quoting::feed;
use braid_server::serve::watch_proxy;
use braid_server::{App, Config, MarketFeed, Parts, SystemClock, serve};
use braid_store::{KeyStore, KeyTerms, QuoteStore};
use eyre::Result;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::api::Api;
use crate::first_head::first_head;
use crate::rules::FloorArgs;

/// Timeout of a simulation: longer than a service's, since no other caller waits.
const SIMULATION_TIMEOUT: Duration = Duration::from_secs(10);

/// A running service; dropping it stops the service.
pub(crate) struct Local {
    /// Client of the service.
    pub api: Api,
    tasks: Vec<JoinHandle<()>>,
    _follower: FollowerHandle,
    _dir: Scratch,
}

impl Local {
    /// Reads a node's market and serves it.
    pub(crate) async fn start(url: &str, floor: FloorArgs) -> Result<Self> {
        let node = Node::connect(url).await?;
        node.check_chain().await?;
        let mut follower = Follower::spawn(node.clone(), floor.follower());
        let dir = Scratch(std::env::temp_dir().join(format!("braid-{}", std::process::id())));
        let stores = || {
            braid_store::prepare_dir(&dir.0)?;
            let keys = KeyStore::open(&dir.0)?;
            let (key, _) = keys.create("this process", KeyTerms::default(), 0)?;
            Ok((keys, key, QuoteStore::open(&dir.0)?))
        };
        let (keys, key, quotes) = stores().map_err(crate::data::cannot_store)?;
        let market = Arc::new(MarketFeed::new(follower.status.clone()));
        let app = App::new(Parts {
            config: Config { simulation_time: SIMULATION_TIMEOUT, ..Config::default() },
            clock: Arc::new(SystemClock),
            feed: Arc::clone(&market),
            node: Some(node.clone()),
            keys,
            quotes,
            replicas: None,
        });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let base = format!("http://{}", listener.local_addr()?).parse()?;
        let head = first_head(&mut follower).await?;
        let published = Arc::clone(&market);
        tokio::task::spawn_blocking(move || published.publish(head)).await?;
        let tasks = vec![
            tokio::spawn(feed::follow(market, follower.heads.clone())),
            tokio::spawn(app.accounts.clone().read_ahead(follower.status.clone())),
            tokio::spawn(watch_proxy(Arc::clone(&app.proxy), node, follower.heads.clone())),
            tokio::spawn(serve(app, listener, std::future::pending())),
        ];
        Ok(Self { api: Api::new(base, Some(key.reveal().to_owned()))?, tasks, _follower: follower, _dir: dir })
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// A directory for temporary files, removed at the end.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // a failure leaves files in the system's directory for temporary files
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
