//! Tests of a first start from another server's snapshot: it must give the same market and accept nothing that the
//! chain does not confirm.

use std::{path::Path, sync::Arc};

use braid_devnet::{Devnet, tokens};
use braid_ethereum::{Follower, FollowerConfig, Node, SnapshotMismatch, check_snapshot};
use braid_primitives::{Address, Bytes, PoolKey};
use braid_protocols::Product;
use braid_store::{
    MarketStore,
    market::{Found, KnownPool, MARKET_FILE, Saved, Snapshot, SnapshotError},
};
use serde_json::json;

use crate::{
    acts::Acts,
    proxy::{Fault, Proxy},
    support::*,
};

/// Returns what a server has on disk after it has followed a chain for a while.
async fn followed(chain: &Devnet, dir: &Path) -> Saved {
    let (store, _) = MarketStore::open(dir).unwrap();
    let store = Arc::new(store);
    let node = Node::connect(&chain.http_url()).await.unwrap();
    let mut follower = Follower::spawn_with(node, quick(), Some((Arc::clone(&store), None)));
    at_head(&mut follower, chain).await;
    follower.shutdown().await;
    store.flush().unwrap();
    drop(store);
    match MarketStore::open(dir).unwrap().1 {
        Found::Market(saved) => *saved,
        other => panic!("{other:?}"),
    }
}

fn from(snapshot: &Snapshot) -> FollowerConfig {
    FollowerConfig { snapshot: Some(Arc::new(snapshot.clone())), largest_pools_first: false, ..quick() }
}

async fn check(chain: &Devnet, snapshot: &Snapshot) -> Result<(), SnapshotMismatch> {
    check_snapshot(&Node::connect(&chain.http_url()).await.unwrap(), snapshot).await
}

/// Returns the pools of a follower after it has read everything.
async fn pools_from(chain: &Devnet, snapshot: &Snapshot) -> Content {
    pools_over(&chain.http_url(), chain, snapshot).await
}

/// Does the same with a follower of the chain at this address.
async fn pools_over(url: &str, chain: &Devnet, snapshot: &Snapshot) -> Content {
    let mut follower = follow_with(url, from(snapshot)).await;
    let done = status_when(&mut follower, |status| {
        status.market_block.is_some() && status.discovery.is_none() && status.waiting == 0 && is_following(status)
    });
    let pools = done.await.pools;
    // The status is published a moment before the market.
    head_when(&mut follower, |head| head.market.pools().len() == pools).await;
    let market = at_head(&mut follower, chain).await;
    content(&market)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_from_a_snapshot_ends_with_the_market_of_one_that_searched_everything() {
    let chain = chain().await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.snapshot");
    let saved = followed(&chain, dir.path()).await;
    let market = Arc::clone(&saved.market);
    let written = Snapshot::save(saved.clone(), &file).unwrap();
    assert_eq!(Snapshot::load(&file).unwrap(), written);
    let again = dir.path().join("b.snapshot");
    assert_eq!(Snapshot::save(saved, &again).unwrap().digest, written.digest, "the same search is the same bytes");
    assert_eq!((written.searched_to(), written.pools), (market.block().number, market.pools().len()));

    let mut acts = Acts::on(&chain, 41);
    acts.several(&market, 5).await;
    chain.mine(200).await.unwrap();
    let [a, b] = ["LINK", "CRV"].map(|symbol| tokens::by_symbol(symbol).address);
    let pair = acts.new_pair(a, b).await;
    check(&chain, &written).await.unwrap();
    let mut follower = follow_with(&chain.http_url(), from(&written)).await;
    let first = head_when(&mut follower, |_| true).await;
    assert!(first.market.pools().len() < market.pools().len(), "answers come before everything is read");
    let everything = from_scratch(&chain).await;
    head_when(&mut follower, |head| head.market.pools().len() == everything.len()).await;
    let market = assert_faithful(&mut follower, &chain).await;
    assert!(market.pool_id(pair).is_some(), "announced after the snapshot");
    let searched = written.spans_to(market.block().number);
    assert!(searched.iter().all(|span| span.next_block == written.block.number + 1), "nothing is searched twice");
}

/// Forgeries that an attacker might try: an address that is not a pool, coins in another order, another coin, another
/// fee, another tick spacing, another product, and another block of the announcement. None may join a market, whether
/// or not the checked sample contains it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_snapshot_invents_never_joins_a_market() {
    let chain = chain().await;
    let dir = tempfile::tempdir().unwrap();
    chain.mine(3).await.unwrap();
    let honest = Snapshot::save(followed(&chain, dir.path()).await, &dir.path().join("a.snapshot")).unwrap();
    let known = || honest.search.known.iter().enumerate().filter(|(_, known)| known.excluded.is_none());
    let of = |product| known().find(|(_, known)| known.pool.product == product).unwrap().0;
    // For the last pool, no factory has a view that confirms it, so its log is looked up.
    let unasked = known().filter(|(_, known)| known.pool.product.confirmations(&known.pool).is_empty());
    let last = unasked.max_by_key(|(_, known)| known.announced_at).unwrap().0;
    let (v2, v3) = (of(Product::UniswapV2), of(Product::UniswapV3));
    // A pair's code at an address that no factory knows.
    let forged = Address::repeat_byte(0x66);
    let code: Bytes =
        chain.rpc().get("eth_getCode", json!([honest.search.known[v2].pool.key.contract, "latest"])).await.unwrap();
    chain.set_code(forged, &code).await.unwrap();
    type Forge<'a> = &'a dyn Fn(&mut Vec<KnownPool>);
    let forge: [Forge<'_>; 7] = [
        &|known| known[v2].pool.key = forged.into(),
        &|known| known[v2].pool.coins.reverse(),
        &|known| known[v2].pool.coins[1] = tokens::by_symbol("LINK").address,
        &|known| known[v3].pool.fee_pips += 1,
        &|known| known[v3].pool.tick_spacing += 1,
        &|known| known[v2].pool.product = Product::SushiswapV2,
        &|known| known[last].announced_at += 1,
    ];
    let everything = pools_from(&chain, &honest).await;
    assert_eq!(everything, from_scratch(&chain).await);
    for (round, change) in forge.into_iter().enumerate() {
        let mut hostile = honest.clone();
        change(&mut hostile.search.known);
        // In a complete file everything else is true, so the sample may miss the forgery.
        let pools = pools_from(&chain, &hostile).await;
        let invented = pools.iter().find(|(key, pool)| everything.get(*key) != Some(*pool));
        assert!(invented.is_none(), "{round}: {invented:?}");
        assert_eq!(pools.len() + 1, everything.len(), "{round}: no other pool is lost");
        // In a short file everything is in the sample.
        let mut place = 0..;
        hostile.search.known.retain(|known| {
            let here = place.next().unwrap_or(usize::MAX);
            [v2, v3, last].contains(&here) || (here < 60 && known.excluded.is_none())
        });
        let outcome = check(&chain, &hostile).await;
        assert!(matches!(outcome, Err(SnapshotMismatch::Refuted { .. })), "{round}: {outcome:?}");
    }
    // An additional pool, apparently excluded, so that it is checked when it emits a log.
    let mut hostile = honest.clone();
    let mut pool = hostile.search.known[v2].clone();
    pool.pool.key = PoolKey::from(forged);
    hostile.search.known.push(pool);
    assert_eq!(pools_from(&chain, &hostile).await, everything);
}

/// An error of the node's own to a request for logs was taken for a lack of them: pools stayed out for good.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_pool_of_a_snapshot_is_lost_to_an_error_of_the_node() {
    let chain = chain().await;
    let dir = tempfile::tempdir().unwrap();
    let snapshot = Snapshot::save(followed(&chain, dir.path()).await, &dir.path().join("a.snapshot")).unwrap();
    let proxy = Proxy::before(chain.http_url()).await;
    proxy.set(Fault::NoRangesFor(3));
    let pools = pools_over(&proxy.url, &chain, &snapshot).await;
    assert!(proxy.is_spent());
    assert_eq!(pools, from_scratch(&chain).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_of_another_chain_or_of_a_later_block_is_told_apart() {
    let (one, other) = (chain().await, other_chain().await);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.snapshot");
    one.mine(5).await.unwrap();
    let mut saved = followed(&one, dir.path()).await;
    let snapshot = Snapshot::save(saved.clone(), &file).unwrap();
    assert!(matches!(check(&other, &snapshot).await, Err(SnapshotMismatch::Ahead { .. })));
    let market = Arc::clone(&saved.market);
    Acts::on(&other, 42).several(&market, 3).await;
    other.mine(5).await.unwrap();
    assert!(matches!(check(&other, &snapshot).await, Err(SnapshotMismatch::OtherChain { .. })));
    // If the chain is replaced after the snapshot, the search starts again.
    let mut follower = follow_with(&other.http_url(), from(&snapshot)).await;
    assert_faithful(&mut follower, &other).await;
    let last = saved.known.iter_mut().find(|known| known.pool.product == Product::UniswapV2).unwrap();
    last.announced_at = snapshot.block.number + 1;
    Snapshot::save(saved, &file).unwrap();
    assert!(matches!(Snapshot::load(&file), Err(SnapshotError::Impossible { .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_snapshot_is_one_error() {
    let chain = chain().await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.snapshot");
    let saved = followed(&chain, dir.path()).await;
    Snapshot::save(saved.clone(), &file).unwrap();
    let bytes = std::fs::read(&file).unwrap();
    let step = (bytes.len() / 200).max(1);
    for at in (0..bytes.len()).step_by(step) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        std::fs::write(&file, damaged).unwrap();
        assert!(matches!(Snapshot::load(&file), Err(SnapshotError::File(_))), "byte {at}");
        std::fs::write(&file, &bytes[..at]).unwrap();
        assert!(matches!(Snapshot::load(&file), Err(SnapshotError::File(_))), "cut at {at}");
    }
    saved.market.save(&file).unwrap();
    assert_eq!(Snapshot::load(&file), Err(SnapshotError::NoSearch), "a market alone");
    std::fs::copy(dir.path().join(MARKET_FILE), &file).unwrap();
    assert!(matches!(Snapshot::load(&file), Err(SnapshotError::File(_))), "a database");
}
