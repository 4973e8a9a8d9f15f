//! Tests of connecting to a node and reading from it.

use std::time::Duration;

use alloy::{
    primitives::{Address, Bytes, U256, bytes},
    sol_types::SolCall,
};
use braid_devnet::tokens;
use braid_ethereum::{Follower, FollowerConfig, Node, NodeConfig, NodeError};
use braid_protocols::{Call, Product};

use crate::{
    proxy::{Fault, Proxy},
    support::*,
};

alloy::sol! {
    function decimals() external view returns (uint8);
    function transfer(address to, uint256 value) external;
}

fn decimals_of(token: Address) -> Call {
    Call { to: token, data: decimalsCall {}.abi_encode().into() }
}

#[tokio::test]
async fn a_node_that_is_not_there_is_told_without_the_secrets_of_its_url() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for scheme in ["http", "ws"] {
        let url = format!("{scheme}://user:hunter22@{free}/v2/0123456789abcdef?token=topsecret");
        let error = Node::connect(&url).await.err().unwrap();
        let text = format!("{error} {error:?}");
        assert!(matches!(error, NodeError::Unreachable { .. }), "{text}");
        assert!(text.contains(&format!("{scheme}://{free}")), "{text}");
        for secret in ["hunter22", "0123456789abcdef", "topsecret"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
    let error = Node::connect("/nonexistent/node.ipc").await.err().unwrap();
    assert!(matches!(error, NodeError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn a_node_that_speaks_no_tls_is_an_error() {
    let chain = chain().await;
    for scheme in ["https", "wss"] {
        let error = Node::connect(&format!("{scheme}://127.0.0.1:{}", chain.port())).await.err().unwrap();
        assert!(matches!(error, NodeError::Unreachable { .. }), "{scheme}: {error}");
    }
}

#[tokio::test]
async fn a_node_of_another_chain_is_refused() {
    let chain = chain().await;
    let proxy = Proxy::before(chain.http_url()).await;
    proxy.set(Fault::OtherChain);
    let error = Node::connect(&proxy.url).await.err().unwrap();
    assert!(matches!(error, NodeError::WrongChain { got: 5, expected: 1, .. }), "{error}");
}

#[tokio::test]
async fn every_spoilt_answer_is_an_error_that_says_what_is_wrong() {
    let chain = chain().await;
    let proxy = Proxy::before(chain.http_url()).await;
    let once = |timeout| NodeConfig { timeout, attempts: 1, ..NodeConfig::default() };
    let node = Node::connect_with(&proxy.url, once(PATIENCE)).await.unwrap();
    for fault in [Fault::Refuse, Fault::Cut] {
        proxy.set(fault);
        let error = node.latest_block().await.unwrap_err();
        assert!(matches!(error, NodeError::Unreachable { .. }), "{fault:?}: {error}");
    }
    for fault in [Fault::Truncate, Fault::WrongId, Fault::Null, Fault::Garbage] {
        proxy.set(fault);
        let error = node.latest_block().await.unwrap_err();
        assert!(matches!(error, NodeError::Malformed { .. }), "{fault:?}: {error}");
        assert!(error.is_transient());
    }
    proxy.set(Fault::Status(500));
    assert!(matches!(node.latest_block().await.unwrap_err(), NodeError::Http { status: 500, .. }));
    proxy.set(Fault::Error);
    assert!(matches!(node.latest_block().await.unwrap_err(), NodeError::Rpc { code: -32005, .. }));
    proxy.set(Fault::None);
    node.latest_block().await.unwrap();
    proxy.set(Fault::Status(429));
    assert!(matches!(node.latest_block().await.unwrap_err(), NodeError::Http { status: 429, .. }));
    proxy.set(Fault::None);
    let impatient = Node::connect_with(&proxy.url, once(Duration::from_secs(5))).await.unwrap();
    proxy.set(Fault::Silence);
    assert!(matches!(impatient.latest_block().await.unwrap_err(), NodeError::Timeout { timeout_ms: 5_000, .. }));
}

#[tokio::test]
async fn answers_of_a_batch_are_matched_by_id_and_not_by_place() {
    let chain = chain().await;
    let proxy = Proxy::before(chain.http_url()).await;
    let node = Node::connect(&proxy.url).await.unwrap();
    proxy.set(Fault::Shuffle);
    let heights: Vec<u64> = node.blocks_at(3..=20).await.unwrap().iter().map(|block| block.number).collect();
    assert_eq!(heights, (3..=20).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_call_that_fails_or_burns_all_gas_does_not_spoil_its_neighbours() {
    let chain = chain().await;
    let burner = Address::repeat_byte(0xfe);
    chain.set_code(burner, &Bytes::from_static(&[0xfe])).await.unwrap();
    chain.mine(1).await.unwrap();
    let node = Node::connect(&chain.http_url()).await.unwrap();
    let head = node.latest_block().await.unwrap().hash;
    let usdc = tokens::by_symbol("USDC").address;
    let refused = Call { to: usdc, data: transferCall { to: usdc, value: U256::from(1) }.abi_encode().into() };
    let (six, burn, nobody) = (decimals_of(usdc), decimals_of(burner), decimals_of(Address::repeat_byte(0x77)));
    let calls = vec![burn.clone(), six.clone(), refused, six.clone(), nobody, burn, six];
    let answers = node.read(head, calls).await.unwrap();
    let kinds: Vec<Option<usize>> = answers.iter().map(|answer| answer.as_ref().map(|bytes| bytes.len())).collect();
    assert_eq!(kinds, [None, Some(32), None, Some(32), Some(0), None, Some(32)]);
}

/// A node with state overrides must be asked once for all calls, and once more for those that failed. No call may use
/// up the gas of those after it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_burn_all_gas_cost_one_message_more_however_many_they_are() {
    let chain = chain().await;
    let burner = Address::repeat_byte(0xfe);
    chain.set_code(burner, &bytes!("fe")).await.unwrap();
    chain.mine(1).await.unwrap();
    let node = Node::connect(&chain.http_url()).await.unwrap();
    let head = node.latest_block().await.unwrap().hash;
    let (burn, six) = (decimals_of(burner), decimals_of(tokens::by_symbol("USDC").address));
    assert!(node.supports_overrides(head).await.unwrap());
    let calls: Vec<Call> = (0..400).map(|index| if index % 100 == 7 { burn.clone() } else { six.clone() }).collect();
    let before = node.traffic();
    let answers = node.read(head, calls.clone()).await.unwrap();
    let messages = node.traffic().messages - before.messages;
    for (call, answer) in calls.iter().zip(answers) {
        assert_eq!(answer.map(|answer| answer.len()), (call.to != burner).then_some(32));
    }
    assert!(messages <= 3, "all of them, the four alone, and whether the block is there: {messages}");
}

/// Calls of every form must give the same answers together through the lens, together through Multicall3, and alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_and_answers_of_any_length_are_the_same_in_every_way_of_asking() {
    let chain = chain().await;
    let (echo, refuser, burner) = (Address::repeat_byte(0xec), Address::repeat_byte(0xed), Address::repeat_byte(0xfe));
    // Returns its calldata; reverts with its calldata; burns all gas.
    chain.set_code(echo, &bytes!("365f5f37365ff3")).await.unwrap();
    chain.set_code(refuser, &bytes!("365f5f37365ffd")).await.unwrap();
    chain.set_code(burner, &bytes!("fe")).await.unwrap();
    chain.mine(1).await.unwrap();
    let proxy = Proxy::before(chain.http_url()).await;
    proxy.set(Fault::NoOverride);
    let [lending, plain] = [chain.http_url(), proxy.url.clone()];
    let (lending, plain) = (Node::connect(&lending).await.unwrap(), Node::connect(&plain).await.unwrap());
    let head = lending.latest_block().await.unwrap().hash;
    // No selector; only a selector; words of every length; one byte more than whole words; as many words as the short
    // form allows, and one more.
    let lengths = [0, 1, 3, 4, 5, 31, 32, 35, 36, 37, 68, 253 * 32, 4 + 253 * 32, 4 + 254 * 32, 4 + 255 * 32, 254 * 32];
    let word = |bytes: usize| [&[1, 2, 3, 4][..], &vec![0; 32 - bytes], &vec![0xff; bytes]].concat();
    let datas = lengths.iter().map(|length| vec![0xab; *length]).chain((0..=32).map(word)).chain([vec![0; 64]]);
    let datas: Vec<Vec<u8>> = datas.collect();
    let nobody = Address::repeat_byte(0x77);
    let to = |to: Address| datas.iter().map(move |data| Call { to, data: data.clone().into() });
    let calls: Vec<Call> = to(echo).chain(to(refuser)).chain(to(nobody)).chain(to(burner).take(2)).collect();
    let together = lending.read(head, calls.clone()).await.unwrap();
    // Calls that are too long for the short form.
    let long = vec![Call { to: echo, data: vec![7; 70_000].into() }; 9];
    assert!(lending.read(head, long).await.unwrap().iter().flatten().all(|answer| answer.len() == 70_000));
    assert_eq!(together, plain.read(head, calls.clone()).await.unwrap());
    for (call, answer) in calls.iter().zip(&together) {
        let expected = if call.to == echo { Some(call.data.clone()) } else { (call.to == nobody).then(Bytes::new) };
        assert_eq!(*answer, expected, "{} bytes to {}", call.data.len(), call.to);
    }
}

#[tokio::test]
async fn thousands_of_calls_come_back_in_order() {
    let chain = chain().await;
    let node = Node::connect(&chain.ws_url()).await.unwrap();
    let head = node.latest_block().await.unwrap().hash;
    let tokens = chain.tokens();
    let asked: Vec<_> = (0..2_500).map(|index| &tokens[index % tokens.len()]).collect();
    let answers = node.read(head, asked.iter().map(|token| decimals_of(token.address)).collect()).await.unwrap();
    for (token, answer) in asked.iter().zip(answers) {
        assert_eq!(U256::from_be_slice(&answer.unwrap()), U256::from(token.decimals), "{}", token.symbol);
    }
}

#[tokio::test]
async fn a_block_that_the_node_does_not_have_is_named() {
    let chain = chain().await;
    let node = Node::connect(&chain.http_url()).await.unwrap();
    let hash = alloy::primitives::B256::repeat_byte(9);
    let calls = vec![decimals_of(tokens::by_symbol("USDC").address); 3];
    assert_eq!(node.read(hash, calls).await.unwrap_err(), NodeError::UnknownBlock { hash });
    let mut block = node.latest_block().await.unwrap();
    block.hash = hash;
    let error = node.block_logs(&block, &Default::default(), false).await.unwrap_err();
    assert_eq!(error, NodeError::UnknownBlock { hash }, "no logs is not an answer for a block that is not there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lens_and_plain_calls_read_the_same_and_the_lens_takes_fewer() {
    let chain = chain().await;
    let proxy = Proxy::before(chain.http_url()).await;
    // A node without state overrides.
    proxy.set(Fault::NoOverride);
    let mut read = Vec::new();
    let mut calls = Vec::new();
    for url in [proxy.url.clone(), chain.http_url()] {
        let node = Node::connect(&url).await.unwrap();
        // Few pools are enough: read call by call, all of them would take a hundred megabytes.
        let config = FollowerConfig { products: vec![Product::SushiswapV3], ..quick() };
        let mut follower = Follower::spawn(node.clone(), config);
        let market = at_head(&mut follower, &chain).await;
        follower.shutdown().await;
        let traffic = node.traffic();
        let bytes = traffic.bytes_sent + traffic.bytes_received;
        eprintln!(
            "{} pools: {} messages, {} calls, {bytes} bytes",
            market.pools().len(),
            traffic.messages,
            traffic.calls
        );
        assert_eq!(node.supports_overrides(market.block().hash).await.unwrap(), !read.is_empty());
        read.push(content(&market));
        calls.push((traffic.messages, bytes));
    }
    assert_eq!(read[0], read[1]);
    assert!(read[0].len() > 3);
    // With so few pools, most messages are those of any start, but the bytes depend on the pools.
    assert!(calls[1].0 < calls[0].0 && calls[1].1 * 50 < calls[0].1, "{calls:?}");
}
