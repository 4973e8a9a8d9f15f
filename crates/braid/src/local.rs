//! A service of this process alone, for a command that has a node and no service: the same stages as `braid serve`, on
//! a loopback port.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use braid_ethereum::{Follower, FollowerConfig, FollowerHandle, Node};
use braid_quoting::feed;
use braid_server::serve::watch_proxy;
use braid_server::{App, Config, MarketFeed, Parts, SystemClock, serve};
use braid_store::{KeyStore, KeyTerms, QuoteStore};
use eyre::{Result, eyre};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::api::Api;

/// How long a simulation may take: nobody else waits.
const SIMULATION: Duration = Duration::from_secs(10);

/// A service that ends with this.
pub(crate) struct Local {
    /// Asks it.
    pub api: Api,
    tasks: Vec<JoinHandle<()>>,
    _follower: FollowerHandle,
    dir: PathBuf,
}

impl Local {
    /// Reads a node's market and serves it.
    pub(crate) async fn start(url: &str) -> Result<Self> {
        let node = Node::connect(url).await?;
        node.check_chain().await?;
        let mut follower = Follower::spawn(node.clone(), FollowerConfig::default());
        let dir = std::env::temp_dir().join(format!("braid-{}", std::process::id()));
        let stores = || {
            braid_store::prepare_dir(&dir)?;
            let keys = KeyStore::open(&dir)?;
            let (key, _) = keys.create("this process", KeyTerms::default(), 0)?;
            Ok((keys, key, QuoteStore::open(&dir)?))
        };
        let (keys, key, quotes) = stores().map_err(crate::data::cannot_store)?;
        let market = Arc::new(MarketFeed::new(follower.status.clone()));
        let app = App::new(Parts {
            config: Config { simulation_time: SIMULATION, ..Config::default() },
            clock: Arc::new(SystemClock),
            feed: Arc::clone(&market),
            node: Some(node.clone()),
            keys,
            quotes,
            replicas: None,
        });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let base = format!("http://{}", listener.local_addr()?).parse()?;
        let head = follower.heads.wait_for(Option::is_some).await.map_err(|_| eyre!("the follower ended"))?.clone();
        let published = Arc::clone(&market);
        tokio::task::spawn_blocking(move || head.map(|head| published.publish(head))).await?;
        let tasks = vec![
            tokio::spawn(feed::follow(market, follower.heads.clone())),
            tokio::spawn(app.accounts.clone().read_ahead(follower.status.clone())),
            tokio::spawn(watch_proxy(Arc::clone(&app.proxy), node, follower.heads.clone())),
            tokio::spawn(serve(app, listener, std::future::pending())),
        ];
        Ok(Self { api: Api::new(base, Some(key.reveal().to_owned()))?, tasks, _follower: follower, dir })
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        // what is left is in the system's folder for temporary files
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
