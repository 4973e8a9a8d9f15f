//! Tests of answers that are not quite JSON-RPC, and of nodes that refuse or spoil one method of several.

use braid_ethereum::{Follower, FollowerConfig, Node, NodeConfig, NodeError, Phase, SyncStatus};

use crate::{
    acts::Acts,
    proxy::{Fault, Proxy},
    support::*,
};

/// Follows a node behind a proxy with a fault.
async fn is_followed(seed: u64, faults_of_node: &[Fault]) {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, seed);
    for fault in faults_of_node.iter().copied() {
        let proxy = Proxy::before(chain.http_url()).await;
        proxy.set(fault);
        let node = Node::connect_with(&proxy.url, NodeConfig { attempts: 1, ..NodeConfig::default() }).await.unwrap();
        let mut follower = Follower::spawn(node.clone(), quick());
        let market = at_head(&mut follower, &chain).await;
        acts.several(&market, 4).await;
        assert_faithful(&mut follower, &chain).await;
        assert_eq!(faults(&node), ["ok"], "{fault:?}");
        follower.shutdown().await;
    }
}

/// An error in another form was an answer that cannot be read: a rate limit told so was taken for a broken node.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_in_another_form_is_the_nodes_error() {
    let chain = chain().await;
    let proxy = Proxy::before(chain.http_url()).await;
    let node = Node::connect_with(&proxy.url, NodeConfig { attempts: 1, ..NodeConfig::default() }).await.unwrap();
    for (body, code, message) in [
        (r#"{"error":"no credit left"}"#, 0, "no credit left"),
        (
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":"-32010","message":"no credit left"}}"#,
            -32_010,
            "no credit left",
        ),
        (r#"{"jsonrpc":"2.0","id":null,"error":{"code":"NO_CREDIT","message":"left"}}"#, 0, "NO_CREDIT: left"),
        (r#"{"jsonrpc":"2.0","id":-1,"error":{"code":-32010,"message":"no credit left"}}"#, -32_010, "no credit left"),
        (r#"{"jsonrpc":"2.0","id":null,"result":null,"error":{"code":-32010,"message":"x"}}"#, -32_010, "x"),
        (r#"{"jsonrpc":"2.0","id":null,"error":{"message":"no credit left"}}"#, 0, "no credit left"),
    ] {
        proxy.set(Fault::Says(body));
        for error in [node.height().await.unwrap_err(), node.blocks_at([1, 2]).await.unwrap_err()] {
            let NodeError::Rpc { code: got, message: said, .. } = &error else { panic!("{body}: {error:?}") };
            assert_eq!((*got, said.as_str()), (code, message), "{body}");
        }
    }
    // A batch refused by one error with an id of its own.
    proxy.set(Fault::Says(r#"{"jsonrpc":"2.0","id":987654321,"error":{"code":-32010,"message":"no credit left"}}"#));
    let error = node.blocks_at([1, 2]).await.unwrap_err();
    assert!(matches!(error, NodeError::Rpc { code: -32_010, .. }), "{error:?}");
    for body in [r#"{"error":null}"#, r#"{"result":null,"error":null}"#, "{}", "[]", "null", r#"{"error":{}}"#] {
        proxy.set(Fault::Says(body));
        node.height().await.unwrap_err();
        node.blocks_at([1, 2]).await.unwrap_err();
    }
}

/// One null made every answer of such a node unreadable.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_that_is_null_is_none() {
    is_followed(101, &[Fault::NullErrors]).await;
}

/// A node that takes no batches and forbids the fee history was not followed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fee_history_that_is_forbidden_stops_nothing() {
    is_followed(102, &[Fault::Forbid("eth_feeHistory")]).await;
}

/// Only a JSON-RPC error led to the receipts. A null list, or a connection that was closed, stopped the following.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_that_a_node_spoils_are_read_from_receipts() {
    is_followed(103, &[Fault::NullLogsByHash, Fault::CutLogsByHash]).await;
}

/// Erigon answers for a block that it has just got with no logs and no receipts. That was believed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_whose_receipts_are_not_there_yet_is_waited_for() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 104);
    let proxy = Proxy::before(chain.http_url()).await;
    // Only logs show what changed: nothing is compared with the chain meanwhile.
    let config = FollowerConfig { compare_every_blocks: 0, ..quick() };
    let mut follower = follow_with(&proxy.url, config).await;
    let market = at_head(&mut follower, &chain).await;
    for fails in [false, true] {
        proxy.set(Fault::NoLogsYet { fails });
        acts.several(&market, 3).await;
        let waits = |status: &SyncStatus| status.last_error.as_ref().is_some_and(|e| e.contains("does not know block"));
        let status = status_when(&mut follower, waits).await;
        assert_eq!(status.phase, Phase::Following, "that is no failure of the node");
        proxy.set(Fault::None);
        assert_faithful(&mut follower, &chain).await;
    }
}

/// The logs of many blocks took a slow node too long for one answer, and were asked for in one message again and again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_of_missed_blocks_are_read_in_parts_if_they_are_too_much_for_one_answer() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 105);
    let proxy = Proxy::before(chain.http_url()).await;
    let node = Node::connect_with(&proxy.url, NodeConfig { attempts: 1, ..NodeConfig::default() }).await.unwrap();
    let mut follower = Follower::spawn(node, quick());
    let market = at_head(&mut follower, &chain).await;
    proxy.set(Fault::Refuse);
    status_when(&mut follower, |status| status.phase == Phase::Disconnected).await;
    acts.several(&market, 20).await;
    proxy.set(Fault::CutLogsOfMany(1));
    assert_faithful(&mut follower, &chain).await;
    assert!((1..100).contains(&proxy.refused()), "{}", proxy.refused());
}

/// A node without the state of a block answered every call with no bytes, and every pool left the market.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_a_node_answers_with_nothing_cost_no_pool() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 106);
    let proxy = Proxy::before(chain.http_url()).await;
    proxy.set(Fault::NoOverride);
    let mut follower = follow(&proxy.url).await;
    let market = at_head(&mut follower, &chain).await;
    proxy.set(Fault::EmptyCalls);
    acts.several(&market, 3).await;
    status_when(&mut follower, |status| status.phase == Phase::Disconnected).await;
    let kept = follower.heads.borrow().clone().unwrap();
    assert_eq!(kept.market.pools().len(), market.pools().len(), "the last market stands");
    proxy.set(Fault::NoOverride);
    assert_faithful(&mut follower, &chain).await;
}
