//! Tests of several nodes used as one: each fails, lags, contradicts the others or omits data in turn, and the market
//! stays equal to the chain.

use alloy::primitives::{Address, B256, Bytes, U256, bytes};
use braid_devnet::{accounts::TAKER, rpc::Tx, tokens};
use braid_ethereum::{Follower, FollowerConfig, LogFilter, Node, NodeConfig, NodeError, Phase};
use braid_primitives::WETH;
use braid_protocols::Product;
use tokio::time::Duration;

use crate::{
    acts::Acts,
    proxy::{Fault, Proxy},
    standin::{HEAD, Rules, StandIn},
    support::*,
    wire::Wire,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_one_of_two_nodes_does_the_market_goes_on_without_a_pause() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 51);
    let (bad, good) = (Proxy::before(chain.http_url()).await, Proxy::before(chain.http_url()).await);
    let faults_in_turn = [
        Fault::Refuse,
        Fault::Cut,
        Fault::CutBatch,
        Fault::Truncate,
        Fault::Status(429),
        Fault::Status(500),
        Fault::WrongId,
        Fault::Null,
        Fault::Error,
        Fault::Garbage,
        Fault::NoLogs,
    ];
    for fault in faults_in_turn {
        let node = connect_all(&[bad.url.clone(), good.url.clone()]).await;
        let mut follower = Follower::spawn(node.clone(), quick());
        let market = at_head(&mut follower, &chain).await;
        bad.set(fault);
        acts.several(&market, 3).await;
        assert_faithful(&mut follower, &chain).await;
        let (status, reports) = (follower.status.borrow().clone(), node.report());
        assert_ne!(status.phase, Phase::Disconnected, "{fault:?}");
        assert_eq!(status.reorganisations, 0, "{fault:?}");
        assert!(reports[0].failed > 0 && reports[1].failed == 0 && reports[1].leads, "{fault:?}: {reports:?}");
        follower.shutdown().await;
        bad.set(Fault::None);
        node.compare_nodes().await;
        assert_eq!(faults(&node), ["ok", "ok"], "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_of_another_chain_is_named_and_never_asked_for_more_than_its_chain() {
    let chain = chain().await;
    let (foreign, good) = (Proxy::before(chain.http_url()).await, Proxy::before(chain.http_url()).await);
    foreign.set(Fault::OtherChain);
    let secret = format!("{}/v3/0123456789abcdef?key=topsecret", foreign.url);
    let node = connect_all(&[secret, good.url.clone()]).await;
    assert_eq!(faults(&node), ["wrong_chain", "ok"]);
    let mut follower = Follower::spawn(node.clone(), quick());
    at_head(&mut follower, &chain).await;
    let reports = node.report();
    assert_eq!(reports[0].asked, 1);
    let told = format!("{reports:?}");
    assert!(told.contains(foreign.url.trim_start_matches("http://")), "{told}");
    assert!(!told.contains("0123456789abcdef") && !told.contains("topsecret"), "{told}");
    foreign.set(Fault::None);
    node.compare_nodes().await;
    assert_eq!(faults(&node), ["ok", "ok"]);
    foreign.set(Fault::OtherChain);
    good.set(Fault::OtherChain);
    let error = Node::connect_all(&[&foreign.url, &good.url], NodeConfig::default()).await.err().unwrap();
    assert!(matches!(error, NodeError::WrongChain { got: 5, .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_lags_is_asked_last_until_it_is_there() {
    let chain = chain().await;
    let (late, good) = (Proxy::before(chain.http_url()).await, Proxy::before(chain.http_url()).await);
    let node = connect_all(&[late.url.clone(), good.url.clone()]).await;
    let mut follower = Follower::spawn(node.clone(), quick());
    at_head(&mut follower, &chain).await;
    late.set(Fault::Lag(20));
    node.compare_nodes().await;
    assert_eq!(faults(&node), ["behind", "ok"]);
    assert!(node.report()[1].leads);
    chain.mine(3).await.unwrap();
    at_head(&mut follower, &chain).await;
    late.set(Fault::Lag(2));
    node.compare_nodes().await;
    assert_eq!(faults(&node), ["ok", "ok"], "two blocks are no lag");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_on_another_fork_is_outvoted_and_the_market_comes_back() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 52);
    let proxies = [
        Proxy::before(chain.http_url()).await,
        Proxy::before(chain.http_url()).await,
        Proxy::before(chain.http_url()).await,
    ];
    let node = connect_all(&proxies.each_ref().map(|proxy| proxy.url.clone())).await;
    let mut follower = Follower::spawn(node.clone(), quick());
    let market = at_head(&mut follower, &chain).await;
    proxies[0].set(Fault::Fork);
    acts.several(&market, 2).await;
    node.compare_nodes().await;
    assert_eq!(faults(&node), ["disagrees", "ok", "ok"]);
    assert_faithful(&mut follower, &chain).await;
    proxies[0].set(Fault::None);
    node.compare_nodes().await;
    assert_eq!(faults(&node), ["ok", "ok", "ok"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_false_header_of_one_node_convicts_no_logs_of_the_others() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 55);
    let mut proxies = Vec::new();
    for _ in 0..3 {
        proxies.push(Proxy::before(chain.http_url()).await);
    }
    let node = connect_all(&proxies.iter().map(|proxy| proxy.url.clone()).collect::<Vec<_>>()).await;
    let [usdc, dai] = ["USDC", "DAI"].map(|symbol| tokens::by_symbol(symbol).address);
    acts.swap_through([usdc, WETH, dai], 1_000_000_000).await;
    let traded = chain.rpc().block_number().await.unwrap();
    chain.mine(1).await.unwrap();
    // Before anyone has seen the block with the trade, the faulty node gives its hash to the empty block after it.
    proxies[0].set(Fault::Fork);
    node.compare_nodes().await;
    let block = node.blocks_at([traded]).await.unwrap()[0];
    let found = node.block_logs(&block, &LogFilter { emitters: vec![], topics: vec![] }, false).await.unwrap();
    assert!(found.logs.len() > 2, "two swaps and their transfers");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_nodes_that_disagree_the_one_named_first_is_believed() {
    let chain = chain().await;
    let (first, second) = (Proxy::before(chain.http_url()).await, Proxy::before(chain.http_url()).await);
    let node = connect_all(&[first.url.clone(), second.url.clone()]).await;
    second.set(Fault::Fork);
    node.compare_nodes().await;
    assert_eq!(faults(&node), ["ok", "disagrees"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_single_node_that_leaves_out_a_blocks_logs_is_not_believed() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 53);
    let proxy = Proxy::before(chain.http_url()).await;
    let node = Node::connect(&proxy.url).await.unwrap();
    let mut follower = Follower::spawn(node.clone(), quick());
    let market = at_head(&mut follower, &chain).await;
    proxy.set(Fault::NoLogs);
    acts.several(&market, 6).await;
    let status = status_when(&mut follower, |status| status.last_error.is_some()).await;
    assert!(status.last_error.unwrap().contains("left out logs of block"));
    assert_eq!(faults(&node), ["missing_logs"]);
    proxy.set(Fault::None);
    assert_faithful(&mut follower, &chain).await;
    assert_eq!(faults(&node), ["ok"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_leaves_out_some_logs_is_found_by_comparison_and_what_it_spoilt_is_read_again() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 54);
    let (sly, good) = (Proxy::before(chain.http_url()).await, Proxy::before(chain.http_url()).await);
    let node = connect_all(&[sly.url.clone(), good.url.clone()]).await;
    let mut follower = Follower::spawn(node.clone(), quick());
    at_head(&mut follower, &chain).await;
    sly.set(Fault::FewerLogs);
    let [usdc, dai] = ["USDC", "DAI"].map(|symbol| tokens::by_symbol(symbol).address);
    acts.swap_through([usdc, WETH, dai], 1_000_000_000).await;
    let market = at_head(&mut follower, &chain).await;
    assert_ne!(content(&market), from_scratch(&chain).await, "one of two logs is enough to look whole");
    // The comparison uses the block two below the head.
    chain.mine(2).await.unwrap();
    at_head(&mut follower, &chain).await;
    node.compare_nodes().await;
    assert_eq!(faults(&node), ["missing_logs", "ok"]);
    let fresh = from_scratch(&chain).await;
    head_when(&mut follower, |head| content(&head.market) == fresh).await;
    sly.set(Fault::None);
    node.compare_nodes().await;
    assert_eq!(faults(&node), ["ok", "ok"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_a_node_is_slow_for_once_a_second_one_answers() {
    let chain = chain().await;
    let (slow, good) = (Proxy::before(chain.http_url()).await, Proxy::before(chain.http_url()).await);
    let node = connect_all(&[slow.url.clone(), good.url.clone()]).await;
    // Enough answers to measure the node's usual speed.
    for _ in 0..12 {
        node.latest_block().await.unwrap();
    }
    // The delay is longer than this test may take, so the answer is the second node's.
    slow.set(Fault::Slow(3_600_000));
    let block = tokio::time::timeout(PATIENCE, node.latest_block()).await.unwrap().unwrap();
    assert_eq!(block.hash, head_hash(&chain).await);
    let reports = node.report();
    assert_eq!((reports[0].failed, reports[1].hedged), (0, 1), "{reports:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_websocket_a_follower_polls_another_node_until_heads_are_pushed_again() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 55);
    let wire = Wire::to(chain.port()).await;
    let node = connect_all(&[format!("ws://127.0.0.1:{}", wire.port), chain.http_url()]).await;
    // Polling is slow, so that the effect of pushes shows. A head that came while the socket opened is polled after a
    // time without heads.
    let config = FollowerConfig { silence: Duration::from_secs(5), ..quick() };
    let mut follower = Follower::spawn(node.clone(), config);
    let mut market = at_head(&mut follower, &chain).await;
    for _ in 0..3 {
        status_when(&mut follower, |status| status.heads_pushed).await;
        acts.several(&market, 2).await;
        at_head(&mut follower, &chain).await;
        wire.close(true);
        wire.cut();
        status_when(&mut follower, |status| !status.heads_pushed).await;
        acts.several(&market, 2).await;
        market = assert_faithful(&mut follower, &chain).await;
        assert_ne!(follower.status.borrow().phase, Phase::Disconnected);
        wire.close(false);
    }
    status_when(&mut follower, |status| status.heads_pushed).await;
}

/// A follower waited for the answer to its subscription, however long that took, and applied no block meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_websocket_that_does_not_answer_does_not_hold_up_the_blocks_of_another_node() {
    let chain = chain().await;
    let wire = Wire::to(chain.port()).await;
    let urls = [chain.http_url(), format!("ws://127.0.0.1:{}", wire.port)];
    let config = NodeConfig { timeout: PATIENCE * 2, check_every: PATIENCE * 2, attempts: 1, ..NodeConfig::default() };
    let node = Node::connect_all(&urls, config).await.unwrap();
    wire.hang();
    wire.cut();
    let mut follower = Follower::spawn(node, quick());
    let market = at_head(&mut follower, &chain).await;
    Acts::on(&chain, 56).several(&market, 3).await;
    assert_faithful(&mut follower, &chain).await;
}

/// An answer of more than 16 MiB in one frame broke the connection, so that the same was asked again for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_answer_over_a_websocket_is_read() {
    let chain = chain().await;
    let emitter = Address::repeat_byte(0x61);
    // log1(0, 1 MiB, 7)
    chain.set_code(emitter, &bytes!("6007621000005fa1")).await.unwrap();
    let first = chain.rpc().block_number().await.unwrap() + 1;
    for _ in 0..9 {
        let tx =
            Tx { from: TAKER, to: emitter, data: Bytes::new(), value_wei: U256::ZERO, gas_units: Some(14_000_000) };
        chain.send(&tx).await.unwrap();
    }
    let node = Node::connect(&chain.ws_url()).await.unwrap();
    let filter = LogFilter { emitters: vec![emitter], topics: vec![B256::with_last_byte(7)] };
    let logs = node.logs_between(first, first + 8, &filter).await.unwrap();
    assert_eq!(logs.iter().map(|log| log.log.data.data.len()).collect::<Vec<_>>(), [1 << 20; 9]);
}

/// Without receipts to compare with, an empty list was believed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_list_of_a_node_without_receipts_is_compared_with_the_logs_at_its_height() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 59);
    let proxy = Proxy::before(chain.http_url()).await;
    let node = Node::connect(&proxy.url).await.unwrap();
    let mut follower = Follower::spawn(node.clone(), quick());
    at_head(&mut follower, &chain).await;
    proxy.set(Fault::NoLogsByHash);
    let [usdc, dai] = ["USDC", "DAI"].map(|symbol| tokens::by_symbol(symbol).address);
    acts.swap_through([usdc, WETH, dai], 1_000_000_000).await;
    let status = status_when(&mut follower, |status| status.last_error.is_some()).await;
    assert!(status.last_error.unwrap().contains("left out logs of block"));
    proxy.set(Fault::None);
    assert_faithful(&mut follower, &chain).await;
}

/// A block at whose logs the node failed was not followed until 128 more had been missed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocks_at_whose_logs_a_node_fails_are_read_from_their_receipts() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 60);
    let proxy = Proxy::before(chain.http_url()).await;
    let mut follower = follow(&proxy.url).await;
    at_head(&mut follower, &chain).await;
    proxy.set(Fault::NoLogsByHashAtAll);
    let [usdc, dai] = ["USDC", "DAI"].map(|symbol| tokens::by_symbol(symbol).address);
    acts.swap_through([usdc, WETH, dai], 1_000_000_000).await;
    assert_faithful(&mut follower, &chain).await;
    let status = follower.status.borrow().clone();
    assert_eq!((status.phase, status.leaps), (Phase::Following, 0));
}

/// Of two nodes, one with an invented height made the other one count as late.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_invents_a_height_is_not_believed() {
    let config = || FollowerConfig {
        products: vec![Product::UniswapV2],
        start_block: Some(HEAD),
        largest_pools_first: false,
        ..quick()
    };
    let honest = StandIn::with(Rules { behind: 9, ..Rules::default() }).await;
    for claimed in [HEAD + 50_000, 1 << 60] {
        honest.set(Rules { behind: 9, ..Rules::default() });
        let liar = StandIn::with(Rules { behind: 9, ..Rules::default() }).await;
        let alone = Node::connect(&liar.url).await.unwrap();
        let both = connect_all(&[liar.url.clone(), honest.url.clone()]).await;
        let mut follower = Follower::spawn(both.clone(), config());
        let mut lost = Follower::spawn(alone, config());
        for follower in [&mut follower, &mut lost] {
            status_when(follower, |status| status.market_block == Some(HEAD - 9) && is_following(status)).await;
        }
        liar.set(Rules { behind: 9, claims: Some(claimed), ..Rules::default() });
        honest.set(Rules::default());
        if claimed < 1 << 40 {
            both.compare_nodes().await;
            assert_eq!(faults(&both), ["disagrees", "ok"]);
        }
        let status = status_when(&mut follower, |status| status.market_block == Some(HEAD)).await;
        assert_eq!(status.catching_up, None);
        let status = status_when(&mut lost, |status| status.last_error.is_some()).await;
        assert_eq!(status.market_block, Some(HEAD - 9), "{status:?}");
        liar.set(Rules::default());
        status_when(&mut lost, |status| status.market_block == Some(HEAD) && status.last_error.is_none()).await;
        both.compare_nodes().await;
        assert_eq!(faults(&both), ["ok", "ok"]);
        // No node at all with a height of this chain: a start waits, and searches nothing.
        liar.set(Rules { claims: Some(claimed), ..Rules::default() });
        let mut fresh = Follower::spawn(Node::connect(&liar.url).await.unwrap(), config());
        status_when(&mut fresh, |status| status.last_error.is_some()).await;
        liar.set(Rules::default());
        status_when(&mut fresh, |status| status.market_block == Some(HEAD)).await;
    }
}

/// Of a single node, a list that lacked some of a block's logs was believed for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pools_whose_logs_a_single_node_left_out_are_found_by_comparison_with_the_chain() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 58);
    let proxy = Proxy::before(chain.http_url()).await;
    let mut follower = follow_with(&proxy.url, FollowerConfig { compare_every_blocks: 40, ..quick() }).await;
    at_head(&mut follower, &chain).await;
    let [usdc, dai] = ["USDC", "DAI"].map(|symbol| tokens::by_symbol(symbol).address);
    acts.swap_through([usdc, WETH, dai], 1_000_000_000).await;
    at_head(&mut follower, &chain).await;
    proxy.set(Fault::FewerLogs);
    acts.swap_through([usdc, WETH, dai], 1_000_000_000).await;
    let market = at_head(&mut follower, &chain).await;
    proxy.set(Fault::None);
    assert_ne!(content(&market), from_scratch(&chain).await, "one of two logs is enough to look whole");
    chain.mine(40).await.unwrap();
    let fresh = from_scratch(&chain).await;
    head_when(&mut follower, |head| content(&head.market) == fresh).await;
}

/// A start with several nodes waited for the slowest of them, up to its time-out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_does_not_wait_for_a_node_that_hangs_and_the_node_joins_when_it_answers() {
    let chain = chain().await;
    let wire = Wire::to(chain.port()).await;
    wire.hang();
    let urls = [format!("http://127.0.0.1:{}", wire.port), chain.http_url()];
    let config = NodeConfig { timeout: PATIENCE * 2, check_every: PATIENCE * 2, attempts: 1, ..NodeConfig::default() };
    let node = tokio::time::timeout(PATIENCE, Node::connect_all(&urls, config)).await.unwrap().unwrap();
    let mut follower = Follower::spawn(node.clone(), quick());
    at_head(&mut follower, &chain).await;
    let [usdc, dai] = ["USDC", "DAI"].map(|symbol| tokens::by_symbol(symbol).address);
    Acts::on(&chain, 57).swap_through([usdc, WETH, dai], 1_000_000_000).await;
    assert_faithful(&mut follower, &chain).await;
    let reports = node.report();
    assert!(reports[1].leads && reports[0].asked == 0 && reports[0].hedged == 0, "{reports:?}");
    wire.answer();
    while node.report()[0].asked == 0 {
        node.height().await.unwrap();
    }
    node.compare_nodes().await;
    let reports = node.report();
    assert_eq!((reports[0].head, reports[0].failed), (reports[1].head, 0));
    assert_eq!(faults(&node), ["ok", "ok"]);
}
