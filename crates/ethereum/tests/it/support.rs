//! A local chain with a follower, and a comparison of the follower's market with the chain.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use alloy::primitives::{Address, B256};
use braid_devnet::{Devnet, Options};
use braid_ethereum::{Follower, FollowerConfig, FollowerHandle, Head, Node, NodeConfig, NodeFault, Phase, SyncStatus};
use braid_market::Market;
use braid_primitives::PoolKey;
use braid_protocols::{PoolState, Product};
use tokio::time::timeout;
use tracing_subscriber::{filter::Targets, layer::SubscriberExt as _, util::SubscriberInitExt as _};

/// The time after which a test gives up. No machine is that slow.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// Returns whether to run more and longer cases: with `LONG=1`.
pub(crate) fn is_long() -> bool {
    std::env::var_os("LONG").is_some()
}

/// Returns depths of reorganisations, up to the deepest that is kept.
pub(crate) fn depths() -> &'static [u64] {
    if is_long() { &[1, 2, 7, 31, 64] } else { &[1, 7, 64] }
}

/// Starts a new chain. `RUST_LOG=braid_ethereum=debug` shows the log of its followers.
pub(crate) async fn chain() -> Devnet {
    // The first test of the process sets up the log for all.
    let wanted = std::env::var("RUST_LOG").ok().and_then(|wanted| wanted.parse::<Targets>().ok()).unwrap_or_default();
    let lines = tracing_subscriber::fmt::layer().with_test_writer();
    let _ = tracing_subscriber::registry().with(wanted).with(lines).try_init();
    Devnet::start(Options::default()).await.unwrap()
}

/// Starts a chain that shares no block with the one of [`chain`]. Two such chains that start within one second are the
/// same until something else is mined on each.
pub(crate) async fn other_chain() -> Devnet {
    Devnet::start(Options { past_blocks: 3, ..Options::default() }).await.unwrap()
}

/// Follows a node from its current head.
pub(crate) async fn follow(url: &str) -> FollowerHandle {
    follow_with(url, quick()).await
}

/// Returns settings with which a test does not wait for timers.
pub(crate) fn quick() -> FollowerConfig {
    let ms = Duration::from_millis;
    FollowerConfig {
        poll_interval: Some(ms(20)),
        backoff: (ms(20), ms(100)),
        resubscribe_every: ms(20),
        search_again: (ms(20), ms(100)),
        ..FollowerConfig::default()
    }
}

pub(crate) async fn follow_with(url: &str, config: FollowerConfig) -> FollowerHandle {
    Follower::spawn(Node::connect(url).await.unwrap(), config)
}

/// Connects to several nodes as one. They are compared only when a test requests it, never by a timer.
pub(crate) async fn connect_all(urls: &[String]) -> Node {
    let hours = Duration::from_secs(3_600);
    Node::connect_all(urls, NodeConfig { check_every: hours, attempts: 1, ..NodeConfig::default() }).await.unwrap()
}

/// Returns the fault of each of several nodes.
pub(crate) fn faults(node: &Node) -> Vec<&'static str> {
    node.report().iter().map(|report| report.fault.as_ref().map_or("ok", NodeFault::name)).collect()
}

/// Waits for a head that fulfils a condition.
pub(crate) async fn head_when(follower: &mut FollowerHandle, condition: impl Fn(&Head) -> bool) -> Arc<Head> {
    let reached = follower.heads.wait_for(|head| head.as_deref().is_some_and(&condition));
    match timeout(PATIENCE, reached).await {
        Ok(head) => head.unwrap().clone().unwrap(),
        Err(_) => panic!("the market never got there: {:?}", *follower.status.borrow()),
    }
}

/// Waits for a status that fulfils a condition.
pub(crate) async fn status_when(follower: &mut FollowerHandle, condition: impl Fn(&SyncStatus) -> bool) -> SyncStatus {
    let shown = follower.status.clone();
    let reached = follower.status.wait_for(|status| condition(status));
    match timeout(PATIENCE, reached).await {
        Ok(status) => status.unwrap().clone(),
        Err(_) => panic!("the follower never got there: {:?}", *shown.borrow()),
    }
}

/// Waits for the market at the node's current head.
pub(crate) async fn at_head(follower: &mut FollowerHandle, chain: &Devnet) -> Arc<Market> {
    let arrive = async {
        loop {
            // The market is taken before the chain's head. If the chain is ahead by then, another market will follow.
            let head = follower.heads.borrow_and_update().clone();
            let hash = head_hash(chain).await;
            match head {
                Some(head) if head.block().hash == hash => return Arc::clone(&head.market),
                _ => follower.heads.changed().await.unwrap(),
            }
        }
    };
    let arrived = timeout(PATIENCE, arrive).await;
    arrived.unwrap_or_else(|_| panic!("the market never got to the head: {:?}", *follower.status.borrow()))
}

pub(crate) async fn head_hash(chain: &Devnet) -> B256 {
    let block = chain.rpc().call("eth_getBlockByNumber", serde_json::json!(["latest", false])).await.unwrap();
    block["hash"].as_str().unwrap().parse().unwrap()
}

/// The contents of a market, independent of the order in which they were read.
pub(crate) type Content = BTreeMap<PoolKey, (Product, Vec<(Address, String, u8)>, PoolState)>;

pub(crate) fn content(market: &Market) -> Content {
    let coin = |id| {
        let token = market.tokens().get(id).unwrap();
        (token.address, token.symbol.clone(), token.decimals)
    };
    let pool = |pool: &Arc<braid_protocols::Pool>| {
        (pool.key, (pool.product, pool.coins.iter().map(|id| coin(*id)).collect(), pool.state.clone()))
    };
    market.pools().iter().map(pool).collect()
}

/// Returns the market that a new follower reads at the node's head.
pub(crate) async fn from_scratch(chain: &Devnet) -> Content {
    let mut fresh = follow(&chain.http_url()).await;
    let market = at_head(&mut fresh, chain).await;
    fresh.shutdown().await;
    content(&market)
}

/// Compares a followed market with one that a new follower reads, pool by pool.
pub(crate) async fn assert_faithful(follower: &mut FollowerHandle, chain: &Devnet) -> Arc<Market> {
    let market = at_head(follower, chain).await;
    let (followed, fresh) = (content(&market), from_scratch(chain).await);
    let names = |content: &Content| content.keys().copied().collect::<Vec<_>>();
    assert_eq!(names(&followed), names(&fresh), "the same pools");
    for (address, pool) in &followed {
        assert_eq!(pool, &fresh[address], "pool {address}");
    }
    market
}

pub(crate) fn is_following(status: &SyncStatus) -> bool {
    status.phase == Phase::Following
}
