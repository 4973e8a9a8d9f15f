//! Tests of nodes that answer calls with errors of their own for a while. Nothing may be learnt from such errors: no
//! limit, no missing feature, and nothing of a pool.

use std::{sync::Arc, time::SystemTime};

use alloy::primitives::{Address, Bytes};
use braid_devnet::tokens;
use braid_ethereum::{Follower, Node, Phase};
use braid_protocols::Call;
use braid_store::{MarketStore, market::Found};
use serde_json::json;

use crate::{
    acts::Acts,
    proxy::{Fault, Proxy},
    support::*,
};

/// Returns as many calls that succeed.
fn calls(count: usize) -> Vec<Call> {
    let decimals = Bytes::from_static(&[0x31, 0x3c, 0xe5, 0x67]);
    vec![Call { to: tokens::by_symbol("USDC").address, data: decimals }; count]
}

/// Makes calls at the newest block; returns the messages that they take.
async fn messages_of(node: &Node, count: usize) -> u64 {
    let head = node.latest_block().await.unwrap().hash;
    let before = node.traffic().messages;
    let answers = node.read(head, calls(count)).await.unwrap();
    assert!(answers.iter().all(Option::is_some));
    node.traffic().messages - before
}

/// A hiccup took 36 of 191 pools from the market for good, and made every later read one call at a time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_fail_for_a_while_cost_no_pool_and_teach_no_limit() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 91);
    let proxy = Proxy::before(chain.http_url()).await;
    let dir = tempfile::tempdir().unwrap();
    let node = Node::connect(&proxy.url).await.unwrap();
    let limits = node.keep_limits_in(dir.path());
    // The first read finds out what the node supports.
    messages_of(&node, 900).await;
    let usual = messages_of(&node, 900).await;
    let mut follower = Follower::spawn(node.clone(), quick());
    let market = at_head(&mut follower, &chain).await;
    let excluded = follower.status.borrow().excluded;
    proxy.set(Fault::NoCalls);
    acts.several(&market, 6).await;
    let status = status_when(&mut follower, |status| status.phase == Phase::Disconnected).await;
    assert!(status.last_error.unwrap().contains("Internal error"));
    let kept = follower.heads.borrow().clone().unwrap();
    assert_eq!(kept.market.pools().len(), market.pools().len(), "the last market stands");
    proxy.set(Fault::None);
    assert_faithful(&mut follower, &chain).await;
    assert_eq!(follower.status.borrow().excluded, excluded);
    follower.shutdown().await;
    assert_eq!(messages_of(&node, 900).await, usual);
    limits.keep(&node).await;
    let kept = std::fs::read_to_string(dir.path().join("nodes.json")).unwrap_or_default();
    assert!(!kept.contains("accepted"), "{kept}");
}

/// The parts of an aggregate that failed for a moment seemed to prove that it was too large.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_aggregate_that_fails_once_is_not_too_large() {
    let chain = chain().await;
    let proxy = Proxy::before(chain.http_url()).await;
    let node = Node::connect(&proxy.url).await.unwrap();
    messages_of(&node, 900).await;
    let usual = messages_of(&node, 900).await;
    for _ in 0..4 {
        proxy.set(Fault::NoCallsFor(1));
        messages_of(&node, 900).await;
        assert!(proxy.is_spent());
    }
    assert_eq!(messages_of(&node, 900).await, usual);
}

/// Calls made alone did not count as answers to a limit of one, which therefore stood for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stored_limit_of_one_call_is_outgrown() {
    let chain = chain().await;
    let dir = tempfile::tempdir().unwrap();
    #[expect(clippy::disallowed_methods, reason = "stored limits have a time")]
    let learnt_at_s = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let limit = json!({ "accepted": 1, "refused": 2 });
    let stored = json!([{
        "node": chain.http_url(), "learnt_at_s": learnt_at_s, "aggregated_calls": limit, "requests": limit
    }]);
    std::fs::write(dir.path().join("nodes.json"), stored.to_string()).unwrap();
    let node = Node::connect(&chain.http_url()).await.unwrap();
    let _limits = node.keep_limits_in(dir.path());
    assert!(messages_of(&node, 1_100).await >= 1_100);
    for _ in 0..12 {
        messages_of(&node, 1_000).await;
    }
    assert!(messages_of(&node, 1_000).await <= 3);
    let head = node.latest_block().await.unwrap().number;
    for _ in 0..1_100 {
        node.blocks_at([head]).await.unwrap();
    }
    for _ in 0..8 {
        node.blocks_at([head; 100]).await.unwrap();
    }
    let before = node.traffic().messages;
    node.blocks_at([head; 100]).await.unwrap();
    assert!(node.traffic().messages - before <= 3);
}

/// One error of the node's own was taken for a lack of code overrides, for the life of the process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_says_nothing_about_code_overrides() {
    let chain = chain().await;
    let proxy = Proxy::before(chain.http_url()).await;
    let node = Node::connect(&proxy.url).await.unwrap();
    let head = node.latest_block().await.unwrap().hash;
    proxy.set(Fault::NoCalls);
    assert!(node.supports_overrides(head).await.is_err());
    proxy.set(Fault::NoCallsFor(1));
    assert!(node.supports_overrides(head).await.unwrap());
    let without = Node::connect(&proxy.url).await.unwrap();
    proxy.set(Fault::NoOverride);
    assert!(!without.supports_overrides(head).await.unwrap());
    proxy.set(Fault::None);
    assert!(!without.supports_overrides(head).await.unwrap(), "it said so");
}

/// Besu answers a call that burns all gas with its word for any internal error. Such a call must not hold up the market.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_fails_again_and_again_while_others_are_answered_has_failed() {
    let chain = chain().await;
    let burner = Address::repeat_byte(0xfe);
    chain.set_code(burner, &Bytes::from_static(&[0xfe])).await.unwrap();
    chain.mine(1).await.unwrap();
    let proxy = Proxy::before(chain.http_url()).await;
    proxy.set(Fault::BluntCalls);
    let node = Node::connect(&proxy.url).await.unwrap();
    let head = node.latest_block().await.unwrap().hash;
    let mut asked = calls(3);
    asked[1].to = burner;
    let kinds = |answers: Vec<Option<Bytes>>| answers.iter().map(Option::is_some).collect::<Vec<_>>();
    assert_eq!(kinds(node.read(head, asked.clone()).await.unwrap()), [true, false, true]);
    assert_eq!(kinds(node.read(head, asked[1..2].to_vec()).await.unwrap()), [false]);
    proxy.set(Fault::NoCalls);
    assert!(node.read(head, asked).await.is_err(), "now every call fails");
}

/// A node that failed at every call and answered everything else was shown as healthy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_whose_calls_fail_is_shown_as_faulty_and_another_is_asked() {
    let chain = chain().await;
    let (bad, good) = (Proxy::before(chain.http_url()).await, Proxy::before(chain.http_url()).await);
    let node = connect_all(&[bad.url.clone(), good.url.clone()]).await;
    let alone = Node::connect(&bad.url).await.unwrap();
    let head = node.latest_block().await.unwrap().hash;
    bad.set(Fault::NoCalls);
    for _ in 0..6 {
        alone.latest_block().await.unwrap();
        alone.read(head, calls(20)).await.unwrap_err();
        assert!(node.read(head, calls(20)).await.unwrap().iter().all(Option::is_some));
    }
    alone.latest_block().await.unwrap();
    assert_eq!(faults(&alone), ["calls_fail"]);
    let why = alone.report()[0].fault.as_ref().unwrap().to_string();
    assert!(why.contains("Internal error"), "{why}");
    bad.set(Fault::None);
    for _ in 0..12 {
        alone.read(head, calls(20)).await.unwrap();
    }
    assert_eq!(faults(&alone), ["ok"]);
}

/// A pool that could not be read stayed excluded after a restart, although the node had been at fault.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_that_could_not_be_read_is_read_again_at_the_next_start() {
    let chain = chain().await;
    let dir = tempfile::tempdir().unwrap();
    let start = || async {
        let (store, found) = MarketStore::open(dir.path()).unwrap();
        let saved = if let Found::Market(saved) = found { Some(*saved) } else { None };
        let store = Arc::new(store);
        let node = Node::connect(&chain.http_url()).await.unwrap();
        (Follower::spawn_with(node, quick(), Some((Arc::clone(&store), saved))), store)
    };
    let (mut follower, store) = start().await;
    let market = at_head(&mut follower, &chain).await;
    let pool = market.pools().iter().map(|pool| pool.key).find(|key| key.id.is_none()).unwrap();
    let code = chain.rpc().call("eth_getCode", json!([pool.contract, "latest"])).await.unwrap();
    chain.set_code(pool.contract, &Bytes::from_static(&[0xfe])).await.unwrap();
    chain.mine(1).await.unwrap();
    at_head(&mut follower, &chain).await;
    follower.doubt.send(pool).await.unwrap();
    head_when(&mut follower, |head| head.market.pool_id(pool).is_none()).await;
    status_when(&mut follower, |status| status.waiting == 0).await;
    follower.shutdown().await;
    store.flush().unwrap();
    drop(store);
    chain.set_code(pool.contract, &code.as_str().unwrap().parse().unwrap()).await.unwrap();
    let (mut follower, _store) = start().await;
    head_when(&mut follower, |head| head.market.pool_id(pool).is_some()).await;
    follower.shutdown().await;
}
