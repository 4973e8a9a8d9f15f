//! Tests of faults between a service and its only node, one at a time, and of chains that change while a market is
//! read.

use std::time::Duration;

use braid_ethereum::{Follower, FollowerHandle, Node, NodeConfig, Phase};
use serde_json::json;

use crate::{
    acts::Acts,
    proxy::{Fault, Proxy},
    support::*,
};

/// Starts a follower behind a proxy that makes no second attempt.
async fn once(proxy: &Proxy, timeout: Duration) -> FollowerHandle {
    let config = NodeConfig { timeout, attempts: 1, ..NodeConfig::default() };
    Follower::spawn(Node::connect_with(&proxy.url, config).await.unwrap(), quick())
}

/// Starts a follower that waits for any answer, however slow the machine is.
async fn patient(proxy: &Proxy) -> FollowerHandle {
    once(proxy, PATIENCE).await
}

/// Mines blocks while a fault lasts. After the fault, the follower's market must equal the chain's. `noticed` states
/// whether the follower must report the fault meanwhile.
async fn survives(seed: u64, fault: Fault, noticed: bool) {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, seed);
    let proxy = Proxy::before(chain.http_url()).await;
    // An answer that never comes is waited for until a timeout.
    let late = matches!(fault, Fault::Slow(_));
    let mut follower = once(&proxy, if late { Duration::from_secs(5) } else { PATIENCE }).await;
    let market = at_head(&mut follower, &chain).await;
    proxy.set(fault);
    acts.several(&market, 4).await;
    if noticed {
        let status = status_when(&mut follower, |status| status.phase == Phase::Disconnected).await;
        assert!(status.last_error.is_some());
        let kept = follower.heads.borrow().clone().unwrap();
        assert_eq!(kept.block().hash, market.block().hash, "the last market stands");
    } else {
        assert_faithful(&mut follower, &chain).await;
    }
    proxy.set(Fault::None);
    acts.several(&market, 2).await;
    assert_faithful(&mut follower, &chain).await;
    assert_eq!(follower.status.borrow().reorganisations, 0);
    status_when(&mut follower, is_following).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_is_cut_in_the_middle_of_every_batch() {
    survives(61, Fault::CutBatch, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_come_an_hour_late() {
    survives(62, Fault::Slow(3_600_000), true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_are_reordered_and_repeated() {
    survives(63, Fault::Shuffle, false).await;
}

/// One answer in a hundred is lost, from the first start on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_are_lost_now_and_then() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 67);
    let proxy = Proxy::before(chain.http_url()).await;
    proxy.set(Fault::Lose(100));
    let mut follower = follow(&proxy.url).await;
    let mut market = at_head(&mut follower, &chain).await;
    let begun = proxy.asked();
    while proxy.asked() < begun + 300 {
        acts.several(&market, 3).await;
        market = assert_faithful(&mut follower, &chain).await;
    }
    let status = follower.status.borrow().clone();
    assert_eq!((status.leaps, status.reorganisations), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocks_that_are_null() {
    survives(64, Fault::NullBlocks, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_newest_block_that_is_an_old_one_for_a_while() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 65);
    let proxy = Proxy::before(chain.http_url()).await;
    let mut follower = patient(&proxy).await;
    let market = at_head(&mut follower, &chain).await;
    acts.several(&market, 6).await;
    let before = at_head(&mut follower, &chain).await;
    for blocks in [1, 5, 40] {
        proxy.set(Fault::Lag(blocks));
        let told = before.block().number - blocks;
        status_when(&mut follower, |status| status.node_block == Some(told)).await;
        let kept = follower.heads.borrow().clone().unwrap();
        assert_eq!(kept.block().hash, before.block().hash, "the node still knows our block: it only lags");
    }
    proxy.set(Fault::None);
    acts.several(&before, 2).await;
    assert_faithful(&mut follower, &chain).await;
    assert_eq!(follower.status.borrow().reorganisations, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_that_is_replaced_while_its_first_market_is_read() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 66);
    let mut follower = follow(&chain.http_url()).await;
    let market = at_head(&mut follower, &chain).await;
    follower.shutdown().await;
    // Every answer is delayed a little, so that the blocks are replaced between two of them.
    let proxy = Proxy::before(chain.http_url()).await;
    proxy.set(Fault::Slow(5));
    for depth in depths().iter().copied() {
        chain.mine(depth).await.unwrap();
        acts.several(&market, 3).await;
        let mut follower = patient(&proxy).await;
        status_when(&mut follower, |status| status.phase != Phase::Connecting).await;
        chain.rpc().call("anvil_reorg", json!([depth, []])).await.unwrap();
        acts.any(&market).await;
        let market = assert_faithful(&mut follower, &chain).await;
        // The same once more while blocks are followed.
        chain.mine(depth).await.unwrap();
        acts.several(&market, 3).await;
        chain.rpc().call("anvil_reorg", json!([depth, []])).await.unwrap();
        acts.any(&market).await;
        assert_faithful(&mut follower, &chain).await;
        follower.shutdown().await;
    }
}
