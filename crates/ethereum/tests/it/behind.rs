//! Tests of nodes that have not reached the stored market's block: they are waited for, and nothing is thrown away.

use std::{path::Path, sync::Arc};

use braid_ethereum::{Follower, FollowerConfig, FollowerHandle, SyncStatus};
use braid_protocols::Product;
use braid_store::{MarketStore, market::Found};

use crate::{
    standin::{HEAD, Rules, StandIn, announced_from},
    support::*,
};

/// The first block that is searched.
const FIRST: u64 = HEAD - 100_000;

async fn start(dir: &Path, nodes: &[&StandIn]) -> (FollowerHandle, Arc<MarketStore>) {
    let (store, found) = MarketStore::open(dir).unwrap();
    let saved = match found {
        Found::Market(saved) => Some(*saved),
        Found::Nothing => None,
        Found::Unusable(damage) => panic!("{damage}"),
    };
    let store = Arc::new(store);
    let config = FollowerConfig {
        products: vec![Product::UniswapV2],
        start_block: Some(FIRST),
        largest_pools_first: false,
        ..quick()
    };
    let urls: Vec<String> = nodes.iter().map(|node| node.url.clone()).collect();
    let node = connect_all(&urls).await;
    (Follower::spawn_with(node, config, Some((Arc::clone(&store), saved))), store)
}

/// Stores a market that was followed over a few blocks up to the newest.
async fn stored(dir: &Path, node: &StandIn) {
    node.set(Rules { behind: 6, ..Rules::default() });
    let (mut follower, store) = start(dir, &[node]).await;
    for behind in (0..=6).rev() {
        node.set(Rules { behind, ..Rules::default() });
        head_when(&mut follower, |head| head.block().number == HEAD - behind).await;
        // Each block is written by itself.
        while store.stored_block() != Some(HEAD - behind) {
            store.flush().unwrap();
            tokio::task::yield_now().await;
        }
    }
    let status = has_every_pool(&mut follower).await;
    assert_eq!(status.node_timestamp, Some(HEAD * 12), "the chain is mainnet, whose blocks keep to the clock");
    stop(follower, &store).await;
}

/// Waits until every announced pool is known. The pools of an artificial chain cannot be read, so all are excluded.
async fn has_every_pool(follower: &mut FollowerHandle) -> SyncStatus {
    let is_done =
        |status: &SyncStatus| is_following(status) && status.waiting == 0 && status.excluded == announced_from(FIRST);
    status_when(follower, is_done).await
}

async fn stop(follower: FollowerHandle, store: &MarketStore) {
    follower.shutdown().await;
    store.flush().unwrap();
    assert_eq!(store.stored_block(), Some(HEAD), "the stored market was kept");
}

/// Waits until the node's answer was judged, and checks that it is waited for.
async fn waits(follower: &mut FollowerHandle, blocks: u64) {
    let judged = |status: &SyncStatus| status.last_error.is_some() || status.market_block.is_some();
    let status = status_when(follower, judged).await;
    let says = status.last_error.unwrap_or_default();
    assert!(says.contains(&format!("the node is {blocks} blocks behind the stored market")), "{says:?}");
    assert_eq!((status.market_block, status.reorganisations), (None, 0));
}

/// A node that was merely behind made a start throw away the stored market and search from nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_behind_the_stored_market_is_waited_for() {
    let node = StandIn::with(Rules::default()).await;
    let dir = tempfile::tempdir().unwrap();
    stored(dir.path(), &node).await;
    for behind in [1, 4, 300, 100_000] {
        let before = node.asked().ranges;
        node.set(Rules { behind, ..Rules::default() });
        let (mut follower, store) = start(dir.path(), &[&node]).await;
        waits(&mut follower, behind).await;
        node.set(Rules::default());
        let head = head_when(&mut follower, |_| true).await;
        assert_eq!(head.block().number, HEAD);
        assert_eq!(has_every_pool(&mut follower).await.last_error, None, "{behind} behind");
        assert_eq!(node.asked().ranges, before, "{behind} behind: nothing is searched again");
        stop(follower, &store).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_of_two_nodes_may_be_behind_the_stored_market() {
    let (node, behind) = (StandIn::with(Rules::default()).await, StandIn::with(Rules::default()).await);
    let dir = tempfile::tempdir().unwrap();
    stored(dir.path(), &node).await;
    behind.set(Rules { behind: 100_000, ..Rules::default() });
    let before = node.asked().ranges;
    let (mut follower, store) = start(dir.path(), &[&behind, &node]).await;
    // Where the first is slow for once, the second answers.
    let judged = |status: &SyncStatus| status.last_error.is_some() || status.market_block.is_some();
    status_when(&mut follower, judged).await;
    behind.set(Rules::default());
    let head = head_when(&mut follower, |_| true).await;
    assert_eq!(head.block().number, HEAD, "the first market that is published");
    assert_eq!((behind.asked().ranges, node.asked().ranges), (0, before), "nothing is searched again");
    stop(follower, &store).await;
}

/// One unknown newest block hid every older one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_nodes_at_one_address_one_may_be_a_block_behind_another() {
    let node = StandIn::with(Rules::default()).await;
    let dir = tempfile::tempdir().unwrap();
    stored(dir.path(), &node).await;
    let before = node.asked().ranges;
    node.set(Rules { behind: 1, batches_behind: 1, ..Rules::default() });
    let (mut follower, store) = start(dir.path(), &[&node]).await;
    waits(&mut follower, 1).await;
    node.set(Rules { batches_behind: 1, ..Rules::default() });
    head_when(&mut follower, |head| head.block().number == HEAD).await;
    assert_eq!(node.asked().ranges, before, "nothing is searched again");
    stop(follower, &store).await;
}

/// Hashes older than the stored journal were not stored: a reorganisation that deep made a start begin from nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reorganisation_deeper_than_the_stored_journal_leaves_what_is_older() {
    let node = StandIn::with(Rules::default()).await;
    let dir = tempfile::tempdir().unwrap();
    stored(dir.path(), &node).await;
    node.set(Rules { replaced_from: Some(HEAD - 900), ..Rules::default() });
    let (mut follower, store) = start(dir.path(), &[&node]).await;
    head_when(&mut follower, |head| head.block().number == HEAD).await;
    assert_eq!(has_every_pool(&mut follower).await.reorganisations, 1);
    assert!(!dir.path().join("market.redb.replaced").exists(), "the market was started over");
    stop(follower, &store).await;
}

/// Blocks that were really replaced are replaced, and the rest of the market is kept, although the newest of the known
/// heights is unknown to the node that answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_height_that_a_node_has_not_reached_does_not_hide_the_common_block_below_it() {
    let node = StandIn::with(Rules::default()).await;
    let dir = tempfile::tempdir().unwrap();
    stored(dir.path(), &node).await;
    let before = node.asked().ranges;
    node.set(Rules { replaced_from: Some(HEAD - 1), behind: 1, batches_behind: 1, ..Rules::default() });
    let (mut follower, _store) = start(dir.path(), &[&node]).await;
    status_when(&mut follower, |status| status.last_error.is_some() || status.market_block.is_some()).await;
    node.set(Rules { replaced_from: Some(HEAD - 1), ..Rules::default() });
    head_when(&mut follower, |head| head.block().number == HEAD).await;
    assert_eq!(has_every_pool(&mut follower).await.last_error, None);
    assert_eq!(node.asked().ranges, before, "nothing is searched again");
}
