//! Tests of nodes that fail at the logs of ranges of blocks, hang at them, or close the connection.

use std::time::Duration;

use braid_ethereum::{Follower, FollowerConfig, FollowerHandle, LogFilter, Node, NodeConfig, SyncStatus};
use braid_protocols::Product;

use crate::{
    standin::{HEAD, Rules, StandIn},
    support::*,
};

/// The first block that is searched. Each block from it on announces a pool.
const FIRST: u64 = HEAD - 600;

fn config() -> FollowerConfig {
    let products = vec![Product::UniswapV2];
    FollowerConfig { products, start_block: Some(FIRST), largest_pools_first: false, ..quick() }
}

/// Returns the rules of a node that fails at nothing.
fn whole() -> Rules {
    Rules { crowded_from: Some(FIRST), ..Rules::default() }
}

/// Waits for the market of the newest block, with a number of pools and a known gap. The pools of an artificial chain
/// cannot be read, so all found pools are excluded.
async fn at_newest(follower: &mut FollowerHandle, found: u64, history_from: Option<u64>) -> SyncStatus {
    let is_there = |status: &SyncStatus| {
        is_following(status)
            && status.market_block == Some(HEAD)
            && status.excluded as u64 == found
            && status.history_from == history_from
            && status.discovery.is_none()
            && status.waiting == 0
    };
    status_when(follower, is_there).await
}

/// A range at which a node hung was asked for again and again, and the market stayed where it was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_at_which_a_node_hangs_does_not_stop_a_catch_up() {
    for fails_by_hash in [false, true] {
        let node = StandIn::with(Rules { behind: 300, ..whole() }).await;
        let patience = NodeConfig { timeout: Duration::from_secs(1), attempts: 1, ..NodeConfig::default() };
        let client = Node::connect_with(&node.url, patience).await.unwrap();
        let mut follower = Follower::spawn(client, config());
        head_when(&mut follower, |head| head.block().number == HEAD - 300).await;
        let hung = HEAD - 200;
        node.set(Rules { failing: vec![(hung, hung)], hangs: true, fails_by_hash, ..whole() });
        let missing = u64::from(fails_by_hash);
        at_newest(&mut follower, 600 - missing, fails_by_hash.then_some(hung + 1)).await;
        assert_eq!(follower.heads.borrow().as_ref().unwrap().block().number, HEAD);
        node.set(whole());
        at_newest(&mut follower, 600, None).await;
        follower.shutdown().await;
    }
}

/// The market stayed where it was until such a block was 128 blocks old, and longer if it was among the newest 64 then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recent_block_whose_logs_no_node_gives_is_passed_over() {
    for behind in [20, 300] {
        let node = StandIn::with(Rules { behind, ..whole() }).await;
        let mut follower = follow_with(&node.url, config()).await;
        head_when(&mut follower, |head| head.block().number == HEAD - behind).await;
        let failing = HEAD - 10;
        node.set(Rules { failing: vec![(failing, failing)], fails_by_hash: true, ..whole() });
        at_newest(&mut follower, 599, Some(failing + 1)).await;
        node.set(whole());
        at_newest(&mut follower, 600, None).await;
        follower.shutdown().await;
    }
}

/// A node that failed at every range made a start fail for ever, or a search in the background try for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_fails_at_every_range_is_served_from_without_history() {
    for scan_before_serving_blocks in [0, 1_000] {
        for fails_by_hash in [false, true] {
            let node = StandIn::with(Rules { failing: vec![(0, HEAD)], fails_by_hash, ..whole() }).await;
            let client = Node::connect(&node.url).await.unwrap();
            let mut follower = Follower::spawn(client, FollowerConfig { scan_before_serving_blocks, ..config() });
            // The newest 256 blocks are read by their hashes. The newest one announces nothing.
            let (found, history_from) = if fails_by_hash { (0, HEAD + 1) } else { (255, HEAD - 255) };
            at_newest(&mut follower, found, Some(history_from)).await;
            node.set(whole());
            at_newest(&mut follower, 600, None).await;
            follower.shutdown().await;
        }
    }
}

/// A connection that was closed in place of a long answer told nothing: the same range was asked for again for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ranges_at_which_a_node_closes_the_connection_are_made_shorter() {
    let node = StandIn::with(Rules { cuts_off: Some(100), ..whole() }).await;
    let client = Node::connect(&node.url).await.unwrap();
    let any = LogFilter { emitters: vec![Default::default()], topics: vec![] };
    assert!(client.logs_between(FIRST, HEAD, &any).await.unwrap().len() >= 600);
    let refused = node.asked().refused;
    assert!(refused <= 12, "{refused}");
    assert_eq!(faults(&client), ["ok"]);
}
