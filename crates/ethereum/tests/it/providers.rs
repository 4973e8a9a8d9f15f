//! Tests of the limits of providers: ranges, batches, rates, sizes, gas and history. Each limit must be learnt from few
//! refusals and then be kept.

use std::time::Duration;

use braid_ethereum::{
    Follower, FollowerConfig, FollowerHandle, LogFilter, Node, NodeError, Phase, SyncStatus, Urgency,
};
use braid_protocols::Product;
use futures::future::join_all;

use crate::{
    acts::Acts,
    proxy::{Fault, Proxy},
    restarting::follow_node_in,
    standin::{HEAD, Rules, StandIn, announced_from, first_from, listed_before},
    support::*,
};

fn of_pairs() -> LogFilter {
    let source = Product::UniswapV2.sources()[0];
    LogFilter { emitters: vec![source.emitter], topics: vec![source.topic0] }
}

async fn search(node: &Node, config: FollowerConfig) -> FollowerHandle {
    Follower::spawn(node.clone(), FollowerConfig { products: vec![Product::UniswapV2], ..config })
}

/// Waits until every block has been searched and every found pool has been read. The pools of an artificial chain
/// cannot be read, so all found pools are excluded.
async fn searched(follower: &mut FollowerHandle, found: usize) -> SyncStatus {
    let done = |status: &SyncStatus| {
        status.excluded == found
            && status.discovery.is_none()
            && status.phase == Phase::Following
            && status.waiting == 0
    };
    status_when(follower, done).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_of_ranges_is_learnt_from_few_refusals_whatever_they_say() {
    let says = [
        "query exceeds max block range {most}",
        "block range is too wide",
        "this block range should work: [{from}, {to}]",
        "query returned more than 10000 results",
    ];
    for most in [10_000, 2_000, 500, 10, 1] {
        for message in says {
            let message: &'static str = message.replace("{most}", &most.to_string()).leak();
            let node = StandIn::with(Rules { blocks: Some((most, message)), ..Rules::default() }).await;
            let client = Node::connect(&node.url).await.unwrap();
            let from = HEAD - most * 100;
            for _ in 0..2 {
                // A second search of the same node begins with the limits that the first one learnt.
                let found = client.logs_between(from, HEAD, &of_pairs()).await.unwrap();
                assert_eq!(found.len(), announced_from(from), "{most}: {message}");
                assert!(found.is_sorted_by_key(|log| log.block_number));
            }
            let asked = node.asked();
            assert!(asked.refused <= 24, "{most}: {message}: {} refusals", asked.refused);
            assert!(asked.calls["eth_getLogs"] <= 380, "{most}: {message}: {asked:?}");
            assert_eq!(faults(&client), ["ok"], "a limit is no fault");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_node_allows_is_known_after_a_restart_and_without_its_secrets() {
    const BATCH: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch too large"}}"#;
    let dir = tempfile::tempdir().unwrap();
    let rules =
        Rules { blocks: Some((700, "block range is too wide")), batch: Some((10, 200, BATCH)), ..Rules::default() };
    let node = StandIn::with(rules).await;
    let url = format!("{}/secret-path?key=secret-key", node.url);
    let mut refused = Vec::new();
    for start in 0..3 {
        if start == 2 {
            // A limit that was learnt long ago is not trusted any more.
            let file = dir.path().join("nodes.json");
            let mut kept: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
            kept[0]["learnt_at_s"] = 1_000_000_000.into();
            std::fs::write(&file, kept.to_string()).unwrap();
        }
        let before = node.asked().refused;
        let client = Node::connect(&url).await.unwrap();
        let limits = client.keep_limits_in(dir.path());
        let found = client.logs_between(HEAD - 50_000, HEAD, &of_pairs()).await.unwrap();
        assert_eq!(found.len(), announced_from(HEAD - 50_000));
        let accounts: Vec<_> = (0..40).map(|byte| (alloy::primitives::Address::repeat_byte(byte), None)).collect();
        // Often enough to find the size of batches.
        for _ in 0..8 {
            let _ = client.state(Default::default(), &accounts, &[]).await;
        }
        limits.keep(&client).await;
        refused.push(node.asked().refused - before);
    }
    assert!(refused[0] > 0 && refused[1] == 0 && refused[2] > 0, "{refused:?}");
    let kept = std::fs::read_to_string(dir.path().join("nodes.json")).unwrap();
    assert!(kept.contains(&node.url) && !kept.contains("secret"), "{kept}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_ranges_are_under_way_at_once_and_nothing_is_lost() {
    let rules = Rules {
        blocks: Some((10_000, "eth_getLogs is limited to a 10,000 range")),
        latency: Duration::from_millis(200),
        ..Rules::default()
    };
    let node = StandIn::with(rules).await;
    let client = Node::connect(&node.url).await.unwrap();
    let first = HEAD - 1_000_000;
    let config = FollowerConfig { start_block: Some(first), largest_pools_first: false, ..quick() };
    let mut follower = search(&client, config).await;
    let status = searched(&mut follower, announced_from(first)).await;
    assert_eq!(status.history_from, None);
    let asked = node.asked();
    assert!(asked.at_once >= 3, "{asked:?}");
    assert!(asked.ranges <= 115 && asked.calls["eth_getLogs"] <= 123, "{asked:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn history_that_a_node_has_pruned_is_noticed_whether_it_says_so_or_not() {
    for says_so in [true, false] {
        let floor = 20_000_000;
        let node = StandIn::with(Rules { history: Some((floor, says_so)), ..Rules::default() }).await;
        let client = Node::connect(&node.url).await.unwrap();
        let mut follower = search(&client, quick()).await;
        let status = searched(&mut follower, announced_from(floor) + listed_before(floor)).await;
        let first = if says_so { floor } else { first_from(floor) };
        let status = if status.history_from.is_some() {
            status
        } else {
            status_when(&mut follower, |status| status.history_from.is_some()).await
        };
        assert_eq!(status.history_from, Some(first), "said so: {says_so}");
        assert!(node.asked().calls["eth_getLogs"] <= 200, "{:?}", node.asked());
        assert_eq!(faults(&client), ["ok"]);
    }
    let whole = StandIn::with(Rules::default()).await;
    let client = Node::connect(&whole.url).await.unwrap();
    let mut follower = search(&client, quick()).await;
    assert_eq!(searched(&mut follower, announced_from(0)).await.history_from, None);
}

/// Ranges of a first search whose logs a node leaves out were believed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_leaves_out_logs_in_a_first_search_is_noticed() {
    let (first, last) = (HEAD - 400, HEAD - 300);
    for left_out in [None, Some((first, last))] {
        let rules = Rules { crowded_from: Some(HEAD - 600), left_out, ..Rules::default() };
        let node = StandIn::with(rules).await;
        let client = Node::connect(&node.url).await.unwrap();
        let config = FollowerConfig {
            start_block: Some(HEAD - 600),
            largest_pools_first: false,
            scan_before_serving_blocks: 0,
            ..quick()
        };
        let mut follower = search(&client, config).await;
        let status = match left_out {
            None => searched(&mut follower, 600).await,
            Some(_) => status_when(&mut follower, |status| status.history_from.is_some()).await,
        };
        let is_noticed = status.history_from.is_some_and(|from| (first + 1..=last + 1).contains(&from));
        assert_eq!(is_noticed, left_out.is_some(), "{status:?}");
        let headers = node.asked().calls["eth_getBlockByNumber"];
        assert!(headers < 100, "{headers} headers");
    }
}

/// A first search stopped for ever at a block whose logs the node failed at.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_passes_over_blocks_whose_logs_a_node_fails_at_and_reads_them_later() {
    let first = HEAD - 600;
    let block = |number: u64| (HEAD - number, HEAD - number);
    let whole = Rules { crowded_from: Some(first), ..Rules::default() };
    let config = || FollowerConfig { start_block: Some(first), largest_pools_first: false, ..quick() };
    // Single blocks are read by their hashes, and are missing only if that fails too.
    let failing = vec![block(600), block(500), block(499), block(497)];
    let node = StandIn::with(Rules { failing: failing.clone(), ..whole.clone() }).await;
    let client = Node::connect(&node.url).await.unwrap();
    let mut follower = search(&client, FollowerConfig { scan_before_serving_blocks: 0, ..config() }).await;
    assert_eq!(searched(&mut follower, 600).await.history_from, None);
    for stretch in [block(500), (HEAD - 450, HEAD - 301), (HEAD - 450, HEAD)] {
        for scan_before_serving_blocks in [0, 1_000] {
            let dir = tempfile::tempdir().unwrap();
            let rules = Rules { failing: vec![block(600), stretch], fails_by_hash: true, ..whole.clone() };
            let node = StandIn::with(rules.clone()).await;
            let client = Node::connect(&node.url).await.unwrap();
            let products = vec![Product::UniswapV2];
            let config = FollowerConfig { scan_before_serving_blocks, products, ..config() };
            let (mut follower, store, _) = follow_node_in(dir.path(), client.clone(), config.clone());
            let found = 600 - 1 - (stretch.1.min(HEAD - 1) - stretch.0 + 1) as usize;
            let passed_over = |status: &SyncStatus| {
                status.excluded == found && status.history_from == Some(stretch.1 + 1) && status.waiting == 0
            };
            status_when(&mut follower, passed_over).await;
            // A restart knows what is still to be read.
            follower.shutdown().await;
            drop(store);
            let (mut follower, ..) = follow_node_in(dir.path(), client.clone(), config);
            status_when(&mut follower, passed_over).await;
            node.set(whole.clone());
            assert_eq!(searched(&mut follower, 600).await.history_from, None, "{stretch:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_two_nodes_that_has_the_whole_history_is_enough() {
    let cut = StandIn::with(Rules { history: Some((20_000_000, true)), ..Rules::default() }).await;
    let whole = StandIn::with(Rules::default()).await;
    let client = connect_all(&[cut.url.clone(), whole.url.clone()]).await;
    let mut follower = search(&client, quick()).await;
    assert_eq!(searched(&mut follower, announced_from(0)).await.history_from, None);
    assert!(cut.asked().refused <= 60, "{:?}", cut.asked());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_that_are_refused_or_limited_are_sent_in_pieces_from_then_on() {
    const ERROR: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch too large"}}"#;
    const TOLD: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch limit of 10 exceeded"}}"#;
    for (most, status, body) in [
        (10, 200, ERROR),
        (10, 200, TOLD),
        (2, 200, ERROR),
        (1, 200, ERROR),
        (1, 403, "<html>forbidden</html>"),
        (1, 400, "no batches"),
        (0, 500, ERROR),
        (1, 200, "not even JSON"),
    ] {
        let node = StandIn::with(Rules { batch: Some((most, status, body)), ..Rules::default() }).await;
        let client = Node::connect(&node.url).await.unwrap();
        for _ in 0..4 {
            let heights: Vec<u64> =
                client.blocks_at(HEAD - 59..=HEAD).await.unwrap().iter().map(|block| block.number).collect();
            assert_eq!(heights, (HEAD - 59..=HEAD).collect::<Vec<_>>(), "at most {most}, {status} {body}");
        }
        let asked = node.asked();
        assert!(asked.refused <= 12, "at most {most}, {status} {body}: {asked:?}");
        assert_eq!(faults(&client), ["ok"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_lives_with_a_node_that_takes_no_batches() {
    for most in [1, 2] {
        let chain = chain().await;
        let mut acts = Acts::on(&chain, 81);
        let proxy = Proxy::before(chain.http_url()).await;
        proxy.set(Fault::Batch(most));
        let node = Node::connect(&proxy.url).await.unwrap();
        let mut follower = Follower::spawn(node.clone(), quick());
        let market = at_head(&mut follower, &chain).await;
        acts.several(&market, 4).await;
        assert_faithful(&mut follower, &chain).await;
        assert_eq!(faults(&node), ["ok"]);
        assert!(proxy.refused() <= 12, "{}", proxy.refused());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rate_that_a_node_allows_is_kept_to_and_quotes_go_first() {
    let node = StandIn::with(Rules { per_second: Some(25.0), ..Rules::default() }).await;
    let client = Node::connect(&node.url).await.unwrap();
    let patient = client.at_urgency(Urgency::Background);
    let flood = tokio::spawn(async move {
        loop {
            join_all((0..16).map(|_| patient.latest_block())).await;
        }
    });
    // The many calls are refused first, so that the rate is known by then.
    while node.asked().refused == 0 {
        client.height().await.unwrap();
    }
    for _ in 0..30 {
        client.height().await.expect("a quote's read is not refused while others could wait");
    }
    flood.abort();
    let asked = node.asked();
    let answered: u64 = asked.calls.values().sum();
    assert!(asked.refused * 5 <= answered, "{asked:?}");
    assert_eq!(faults(&client), ["ok"], "to be asked less often is no fault");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_gives_logs_only_of_named_contracts_is_followed_by_its_receipts() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 82);
    let proxy = Proxy::before(chain.http_url()).await;
    proxy.set(Fault::NeedEmitters);
    let node = Node::connect(&proxy.url).await.unwrap();
    let mut follower = Follower::spawn(node.clone(), quick());
    let market = at_head(&mut follower, &chain).await;
    acts.several(&market, 6).await;
    assert_faithful(&mut follower, &chain).await;
    assert_eq!(proxy.refused(), 1, "asked once");
    assert_eq!(faults(&node), ["ok"]);
    let logs = node.logs_between(0, 50, &LogFilter::default()).await.unwrap();
    let direct = Node::connect(&chain.http_url()).await.unwrap();
    assert_eq!(logs, direct.logs_between(0, 50, &LogFilter::default()).await.unwrap());
}

/// A provider without the count of a block's transactions stopped the following of blocks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_counts_no_transactions_is_asked_for_headers_instead() {
    const COUNT: &str = "eth_getBlockTransactionCountByHash";
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 83);
    for (fault, most_refused) in [
        (Fault::NoMethod(COUNT, -32_601, "the method does not exist/is not available"), 1),
        (Fault::NoMethod(COUNT, -32_001, "rpc method is not whitelisted"), 1),
        (Fault::NoMethod(COUNT, 35, "method is not available on freetier, please upgrade to paid tier"), 1),
        // The whole message is refused, so that its parts are tried.
        (Fault::Forbid(COUNT), 4),
    ] {
        let proxy = Proxy::before(chain.http_url()).await;
        proxy.set(fault);
        let node = Node::connect(&proxy.url).await.unwrap();
        let mut follower = Follower::spawn(node.clone(), quick());
        let market = at_head(&mut follower, &chain).await;
        acts.several(&market, 4).await;
        assert_faithful(&mut follower, &chain).await;
        let refused = proxy.refused();
        assert!((1..=most_refused).contains(&refused), "{fault:?}: {refused} refused");
        assert_eq!(faults(&node), ["ok"], "{fault:?}");
        follower.shutdown().await;
    }
}

/// The logs of such a block counted as a failure of the node, and were then asked for in other ways.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_gives_no_logs_of_a_block_that_it_does_not_know_is_behind_and_does_not_fail() {
    let standin = StandIn::with(Rules::default()).await;
    let proxy = Proxy::before(standin.url.clone()).await;
    let node = Node::connect(&proxy.url).await.unwrap();
    let block = node.latest_block().await.unwrap();
    for message in ["unknown block", "header for hash not found", "block 24700000 is not executed (last executed: 7)"] {
        proxy.set(Fault::NoMethod("eth_getLogs", -32_000, message));
        let error = node.block_logs(&block, &of_pairs(), false).await.unwrap_err();
        assert_eq!(error, NodeError::UnknownBlock { hash: block.hash }, "{message}");
        assert_eq!(faults(&node), ["ok"], "{message}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_are_as_long_as_a_node_takes_them() {
    let chain = chain().await;
    let proxy = Proxy::before(chain.http_url()).await;
    proxy.set(Fault::Body(12 << 10));
    let node = Node::connect(&proxy.url).await.unwrap();
    let mut follower = Follower::spawn(node.clone(), quick());
    let market = at_head(&mut follower, &chain).await;
    assert_eq!(content(&market).len(), from_scratch(&chain).await.len());
    let refused = proxy.refused();
    assert!((1..=16).contains(&refused), "{refused}: several at once learn the same");
    assert_eq!(faults(&node), ["ok"]);
    let other = Follower::spawn(node.clone(), quick());
    let mut other = other;
    at_head(&mut other, &chain).await;
    assert_eq!(proxy.refused(), refused, "it is remembered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_little_gas_are_made_smaller_and_that_is_remembered() {
    let chain = chain().await;
    let proxy = Proxy::before(chain.http_url()).await;
    proxy.set(Fault::Gas(10_000_000));
    let node = Node::connect(&proxy.url).await.unwrap();
    let mut follower = Follower::spawn(node.clone(), quick());
    let market = at_head(&mut follower, &chain).await;
    let sent = node.traffic().bytes_sent;
    let direct = Node::connect(&chain.http_url()).await.unwrap();
    let mut plain = Follower::spawn(direct.clone(), quick());
    let wanted = at_head(&mut plain, &chain).await;
    assert_eq!(content(&market).len(), content(&wanted).len());
    let without = direct.traffic().bytes_sent;
    println!("{sent} bytes sent with little gas, {without} without a limit, {} refused", proxy.refused());
    assert!(sent < without * 3, "{sent} and {without}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_nothing_happens_the_height_is_asked_for_and_seldom_the_header() {
    let node = StandIn::with(Rules::default()).await;
    let client = Node::connect(&node.url).await.unwrap();
    let config = FollowerConfig { start_block: Some(HEAD), largest_pools_first: false, ..quick() };
    let mut follower = search(&client, config).await;
    searched(&mut follower, announced_from(HEAD)).await;
    let before = node.asked();
    let of = |asked: &crate::standin::Asked, method| asked.calls.get(method).copied().unwrap_or_default();
    let heights = |asked: &crate::standin::Asked| of(asked, "eth_blockNumber");
    let headers = |asked: &crate::standin::Asked| of(asked, "eth_getBlockByNumber");
    while heights(&node.asked()) < heights(&before) + 80 {
        follower.status.changed().await.unwrap();
    }
    let after = node.asked();
    assert!(headers(&after) - headers(&before) <= 12, "{before:?} {after:?}");
}
