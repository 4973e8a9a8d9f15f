//! Tests of reorganisations, heads that go backwards, and nodes that fail, give wrong answers or end.

use std::time::Duration;

use braid_devnet::{Devnet, Options, tokens};
use braid_ethereum::{Follower, FollowerConfig, FollowerHandle, Node, NodeConfig, Phase};
use braid_primitives::{PoolKey, WETH};
use serde_json::json;

use crate::{
    acts::Acts,
    proxy::{Fault, Proxy},
    support::*,
    wire::Wire,
};

/// Replaces the newest blocks with the same number of empty ones.
async fn reorganise(chain: &Devnet, depth: u64) {
    chain.rpc().call("anvil_reorg", json!([depth, []])).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_every_reorganisation_the_market_equals_one_read_from_scratch() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 3);
    for url in [chain.ws_url(), chain.http_url()] {
        let mut follower = follow(&url).await;
        let mut market = at_head(&mut follower, &chain).await;
        // Tries the deepest over one source of heads, unless there is time: what follows a head is the same for both.
        let deepest = if url == chain.http_url() || is_long() { u64::MAX } else { 63 };
        for (round, depth) in depths().iter().copied().filter(|depth| *depth <= deepest).enumerate() {
            for _ in 0..depth {
                // One block at a time, so that each market is kept.
                acts.any(&market).await;
                market = at_head(&mut follower, &chain).await;
            }
            reorganise(&chain, depth).await;
            acts.several(&market, 3).await;
            market = assert_faithful(&mut follower, &chain).await;
            let seen = follower.status.borrow().reorganisations;
            assert!(seen > round as u64, "depth {depth}: {seen} seen");
        }
        follower.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reorganisation_deeper_than_what_is_kept_reads_the_pools_again() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 4);
    let config = FollowerConfig { reorganisation_depth: 3, ..quick() };
    let mut follower = follow_with(&chain.http_url(), config).await;
    let market = at_head(&mut follower, &chain).await;
    acts.several(&market, 12).await;
    at_head(&mut follower, &chain).await;
    reorganise(&chain, 9).await;
    acts.several(&market, 2).await;
    assert_faithful(&mut follower, &chain).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_of_a_replaced_block_is_gone_and_comes_back_when_it_is_made_again() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 5);
    let mut follower = follow(&chain.ws_url()).await;
    at_head(&mut follower, &chain).await;
    let [a, b] = ["LINK", "CRV"].map(|symbol| tokens::by_symbol(symbol).address);
    let pair = acts.new_pair(a, b).await;
    assert!(at_head(&mut follower, &chain).await.pool_id(pair).is_some());
    reorganise(&chain, 2).await;
    assert!(assert_faithful(&mut follower, &chain).await.pool_id(pair).is_none());
    assert_eq!(acts.new_pair(a, b).await, pair);
    assert!(assert_faithful(&mut follower, &chain).await.pool_id(pair).is_some());
}

/// A wrong state that was read again for a block came back when that block was replaced, and stayed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pools_that_were_read_again_for_a_replaced_block_are_read_again_after_it() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 8);
    let proxy = Proxy::before(chain.http_url()).await;
    let mut follower = follow_with(&proxy.url, FollowerConfig { compare_every_blocks: 0, ..quick() }).await;
    let [usdc, dai, a, b] = ["USDC", "DAI", "LINK", "CRV"].map(|symbol| tokens::by_symbol(symbol).address);
    acts.swap_through([usdc, WETH, dai], 1_000_000_000).await;
    at_head(&mut follower, &chain).await;
    // One of two logs is enough for a list to look whole, so that one pool becomes wrong.
    proxy.set(Fault::FewerLogs);
    acts.swap_through([usdc, WETH, dai], 1_000_000_000).await;
    let wrong = at_head(&mut follower, &chain).await;
    proxy.set(Fault::None);
    acts.new_pair(a, b).await;
    let market = at_head(&mut follower, &chain).await;
    let fresh = from_scratch(&chain).await;
    let doubted = content(&market).into_iter().filter(|(key, pool)| fresh.get(key) != Some(pool));
    let doubted: Vec<PoolKey> = doubted.map(|(key, _)| key).collect();
    assert!(!doubted.is_empty(), "a pool is wrong");
    for pool in doubted {
        follower.doubt.send(pool).await.unwrap();
    }
    head_when(&mut follower, |head| content(&head.market) == fresh).await;
    reorganise(&chain, market.block().number - wrong.block().number).await;
    let fresh = from_scratch(&chain).await;
    head_when(&mut follower, |head| content(&head.market) == fresh).await;
    assert!(follower.status.borrow().reorganisations >= 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_that_goes_backwards_takes_the_market_along() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 6);
    let mut follower = follow(&chain.http_url()).await;
    let market = at_head(&mut follower, &chain).await;
    let snapshot = chain.snapshot().await.unwrap();
    acts.several(&market, 5).await;
    at_head(&mut follower, &chain).await;
    chain.revert(snapshot).await.unwrap();
    let market = assert_faithful(&mut follower, &chain).await;
    acts.several(&market, 2).await;
    assert_faithful(&mut follower, &chain).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_fails_in_any_way_is_waited_for_and_the_market_catches_up() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 7);
    let proxy = Proxy::before(chain.http_url()).await;
    let mut follower = follow(&proxy.url).await;
    let mut market = at_head(&mut follower, &chain).await;
    let faults = [
        Fault::Refuse,
        Fault::Cut,
        Fault::Truncate,
        Fault::Status(429),
        Fault::Status(500),
        Fault::WrongId,
        Fault::Null,
        Fault::Error,
        Fault::Garbage,
    ];
    for fault in faults {
        proxy.set(fault);
        let status = status_when(&mut follower, |status| status.phase == Phase::Disconnected).await;
        assert!(status.last_error.is_some(), "{fault:?}");
        acts.several(&market, 4).await;
        let kept = follower.heads.borrow().clone().unwrap();
        assert_eq!(kept.block().hash, market.block().hash, "{fault:?}: the last market stands");
        proxy.set(Fault::None);
        market = assert_faithful(&mut follower, &chain).await;
        let status = status_when(&mut follower, is_following).await;
        assert_eq!(status.last_error, None, "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_whose_numbers_do_not_fit_together_once_stays_in_the_market() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 9);
    let proxy = Proxy::before(chain.http_url()).await;
    let mut follower = follow(&proxy.url).await;
    let market = at_head(&mut follower, &chain).await;
    proxy.set(Fault::OtherSecondOnce);
    acts.any(&market).await;
    let market = at_head(&mut follower, &chain).await;
    assert!(proxy.is_spent(), "no call told the second");
    let held: Vec<_> = content(&market).into_keys().collect();
    assert_eq!(held, from_scratch(&chain).await.into_keys().collect::<Vec<_>>());
    // Pools whose wrong values were consistent with each other are corrected with the next block.
    acts.any(&market).await;
    assert_faithful(&mut follower, &chain).await;
}

/// The first market is read at a head that the node may still be building.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_whose_numbers_did_not_fit_together_as_it_was_first_read_is_read_once_more() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 11);
    let everything: Vec<_> = from_scratch(&chain).await.into_keys().collect();
    let proxy = Proxy::before(chain.http_url()).await;
    proxy.set(Fault::OtherSecondOnce);
    let mut follower = follow(&proxy.url).await;
    let head = head_when(&mut follower, |head| head.market.pools().len() == everything.len()).await;
    assert!(proxy.is_spent(), "no call told the second");
    assert_eq!(content(&head.market).into_keys().collect::<Vec<_>>(), everything);
    assert_eq!(follower.status.borrow().excluded, 0);
    acts.any(&head.market).await;
    assert_faithful(&mut follower, &chain).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_websocket_that_is_cut_is_opened_again() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 10);
    let wire = Wire::to(chain.port()).await;
    let mut follower = follow(&format!("ws://127.0.0.1:{}", wire.port)).await;
    let mut market = at_head(&mut follower, &chain).await;
    for _ in 0..5 {
        wire.cut();
        acts.several(&market, 3).await;
        market = assert_faithful(&mut follower, &chain).await;
    }
}

/// Runs a complete start with a node at each distance: connection, first market, and the blocks after it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_over_a_node_at_any_distance_ends_with_the_chains_market() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 13);
    let wanted = from_scratch(&chain).await;
    let start = async |millis: u64| {
        let proxy = Proxy::before(chain.http_url()).await;
        proxy.set(Fault::Slow(millis));
        let begun = std::time::Instant::now();
        let mut follower = follow(&proxy.url).await;
        let market = at_head(&mut follower, &chain).await;
        eprintln!("{millis} ms away: the market after {:?}", begun.elapsed());
        assert_eq!(content(&market), wanted, "{millis} ms away");
        (proxy, follower, market)
    };
    let near = start(0).await;
    let far = futures::join!(start(10), start(100), start(500));
    for (_proxy, mut follower, market) in [near, far.0, far.1, far.2] {
        acts.any(&market).await;
        let market = at_head(&mut follower, &chain).await;
        assert_eq!(content(&market), from_scratch(&chain).await);
        let status = status_when(&mut follower, is_following).await;
        assert_eq!((status.leaps, status.reorganisations, status.last_error), (0, 0, None));
    }
}

/// Makes a follower miss what happens in the meantime.
async fn missing(follower: &mut FollowerHandle, proxy: &Proxy, happens: impl Future<Output = ()>) {
    proxy.set(Fault::Refuse);
    status_when(follower, |status| status.phase == Phase::Disconnected).await;
    happens.await;
    proxy.set(Fault::None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundreds_of_missed_blocks_are_caught_up_at_once_and_those_after_them_one_by_one() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 8);
    let proxy = Proxy::before(chain.http_url()).await;
    let mut follower = follow(&proxy.url).await;
    let market = at_head(&mut follower, &chain).await;
    let many = async {
        acts.several(&market, 10).await;
        chain.mine(300).await.unwrap();
        acts.several(&market, 3).await;
    };
    missing(&mut follower, &proxy, many).await;
    assert_faithful(&mut follower, &chain).await;
    assert_eq!(follower.status.borrow().leaps, 1);
    // Heads that do not follow each other directly, as with polling.
    for _ in 0..3 {
        let few = async {
            acts.several(&market, 2).await;
            chain.mine(2).await.unwrap();
        };
        missing(&mut follower, &proxy, few).await;
        assert_faithful(&mut follower, &chain).await;
    }
    let status = status_when(&mut follower, is_following).await;
    assert_eq!((status.leaps, status.reorganisations, status.catching_up), (1, 0, None));
}

/// An empty list of the logs of a range was believed: the market was published with the states of before the leap.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_of_ranges_that_a_node_leaves_out_are_read_block_by_block() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 14);
    let proxy = Proxy::before(chain.http_url()).await;
    let mut follower = follow(&proxy.url).await;
    let market = at_head(&mut follower, &chain).await;
    let [a, b] = ["LINK", "CRV"].map(|symbol| tokens::by_symbol(symbol).address);
    proxy.set(Fault::Refuse);
    status_when(&mut follower, |status| status.phase == Phase::Disconnected).await;
    // Far below the head, where blocks are not read alone at first.
    acts.several(&market, 6).await;
    let pair = acts.new_pair(a, b).await;
    chain.mine(200).await.unwrap();
    proxy.set(Fault::NoRangeLogs);
    let market = assert_faithful(&mut follower, &chain).await;
    assert!(market.pool_id(pair).is_some(), "announced in a block that was leapt over");
    assert_eq!(follower.status.borrow().leaps, 1);
}

/// A read between two blocks that did not end held up every block.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_between_blocks_that_does_not_end_is_dropped_for_the_next_block() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 15);
    let proxy = Proxy::before(chain.http_url()).await;
    let hour = Duration::from_secs(3_600);
    let config = NodeConfig { timeout: hour, ..NodeConfig::default() };
    let node = Node::connect_all(std::slice::from_ref(&proxy.url), config).await.unwrap();
    let mut follower = Follower::spawn(node, quick());
    let market = at_head(&mut follower, &chain).await;
    status_when(&mut follower, |status| is_following(status) && status.waiting == 0).await;
    proxy.set(Fault::NoCallsAt(market.block().hash));
    follower.doubt.send(market.pools()[0].key).await.unwrap();
    let is_held = async {
        while proxy.refused() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, is_held).await.unwrap();
    acts.several(&market, 2).await;
    assert_faithful(&mut follower, &chain).await;
    let status = status_when(&mut follower, |status| status.waiting == 0).await;
    assert_eq!((status.last_error, status.leaps, status.reorganisations), (None, 0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocks_that_were_leapt_over_and_then_replaced_leave_no_trace() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 12);
    let proxy = Proxy::before(chain.http_url()).await;
    let mut follower = follow(&proxy.url).await;
    let market = at_head(&mut follower, &chain).await;
    // A thousand blocks of the local chain take half a minute to make.
    let leaps: &[(u64, u64)] = if is_long() { &[(300, 2), (1_100, 1)] } else { &[(300, 2)] };
    for (missed, depth) in leaps.iter().copied() {
        let many = async {
            chain.mine(missed).await.unwrap();
            acts.several(&market, 3).await;
        };
        missing(&mut follower, &proxy, many).await;
        at_head(&mut follower, &chain).await;
        let before = follower.status.borrow().leaps;
        reorganise(&chain, depth).await;
        acts.several(&market, 2).await;
        assert_faithful(&mut follower, &chain).await;
        assert_eq!(follower.status.borrow().leaps, before + 1, "again from the market before them, not from nothing");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_killed_and_started_again_is_followed_again() {
    for ws in [true, false] {
        let first = chain().await;
        let port = first.port();
        let wire = Wire::to(port).await;
        let mut follower = follow(&format!("{}://127.0.0.1:{}", if ws { "ws" } else { "http" }, wire.port)).await;
        let market = at_head(&mut follower, &first).await;
        drop(first);
        status_when(&mut follower, |status| status.phase == Phase::Disconnected).await;
        assert_eq!(follower.heads.borrow().as_ref().unwrap().block().hash, market.block().hash);
        // The first block of the local chain is two years later than the world's last one. Rates that are read across
        // both fit no vault.
        wire.close(true);
        let second = Devnet::start(Options { port, ..Options::default() }).await.unwrap();
        wire.close(false);
        let mut acts = Acts::on(&second, 9);
        let [a, b] = ["LINK", "CRV"].map(|symbol| tokens::by_symbol(symbol).address);
        let pair = acts.new_pair(a, b).await;
        assert!(assert_faithful(&mut follower, &second).await.pool_id(pair).is_some());
        status_when(&mut follower, is_following).await;
        follower.shutdown().await;
    }
}
