//! Tests that the market stays equal to the chain, block after block.

use std::sync::Arc;

use alloy::primitives::{Address, bytes};
use braid_devnet::tokens;
use braid_ethereum::{FLOORS_WEI, Follower, FollowerConfig, Node, PoolRules};
use braid_market::Market;
use braid_primitives::GasTier;
use braid_protocols::Pool;

use crate::{
    acts::Acts,
    proxy::{Fault, Proxy},
    support::*,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_random_swaps_mints_and_burns_the_market_equals_one_read_from_scratch() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 1);
    for (round, url) in [chain.ws_url(), chain.http_url()].iter().enumerate() {
        let mut follower = follow(url).await;
        let mut market = at_head(&mut follower, &chain).await;
        assert!(market.pools().len() > 60, "round {round}: {} pools", market.pools().len());
        for _ in 0..4 {
            acts.several(&market, 12).await;
            market = assert_faithful(&mut follower, &chain).await;
        }
        let status = status_when(&mut follower, is_following).await;
        assert_eq!((status.excluded, status.reorganisations, status.last_error), (0, 0, None));
        follower.shutdown().await;
    }
}

/// Makes swaps, deposits and ramps in every kind of Curve pool, with seconds to hours between them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_in_curves_pools_the_market_equals_one_read_from_scratch() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 4);
    let mut follower = follow(&chain.ws_url()).await;
    let mut market = at_head(&mut follower, &chain).await;
    for seconds in [3, 700, 12, 20_000] {
        acts.every_curve_pool(&market).await;
        market = assert_faithful(&mut follower, &chain).await;
        chain.rpc().call("evm_increaseTime", serde_json::json!([seconds])).await.unwrap();
    }
    assert_eq!(follower.status.borrow().excluded, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_is_in_the_market_of_the_very_block_that_made_it() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 2);
    let mut follower = follow(&chain.ws_url()).await;
    at_head(&mut follower, &chain).await;
    let [a, b] = ["LINK", "CRV"].map(|symbol| tokens::by_symbol(symbol).address);
    let (pair, pool) = (acts.new_pair(a, b).await, acts.new_pool(a, b, 500).await);
    let market = assert_faithful(&mut follower, &chain).await;
    assert!(market.pool_id(pair).is_some() && market.pool_id(pool).is_some());
    acts.gift(pair, a).await;
    assert_faithful(&mut follower, &chain).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hostile_token_is_left_out_with_its_pools_and_harms_no_other() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 3);
    let mut follower = follow(&chain.http_url()).await;
    let market = at_head(&mut follower, &chain).await;
    let symbol = |market: &Market, token| market.tokens().get(market.tokens().id(token)?).map(|t| t.symbol.clone());
    assert_eq!(symbol(&market, tokens::by_symbol("MKR").address).as_deref(), Some("MKR"), "its symbol is a bytes32");
    let link = tokens::by_symbol("LINK").address;
    // The answers to any call: 77; ten megabytes; none, with all gas burnt; none, because there is no code.
    let codes = [bytes!("604d5f5260205ff3"), bytes!("629896805ff3"), bytes!("fe"), bytes!("")];
    for (byte, code) in (0xa1..).zip(codes) {
        let token = Address::repeat_byte(byte);
        chain.set_code(token, &code).await.unwrap();
        let pair = acts.empty_pair(token, link).await;
        let market = at_head(&mut follower, &chain).await;
        assert!(market.pool_id(pair).is_none() && market.tokens().id(token).is_none(), "token {token}");
    }
    // Six decimals and no readable symbol: such a token must be accepted.
    let plain = Address::repeat_byte(0xb1);
    chain.set_code(plain, &bytes!("60065f5260205ff3")).await.unwrap();
    let pair = acts.empty_pair(plain, link).await;
    assert!(at_head(&mut follower, &chain).await.pool_id(pair).is_some());
    assert_eq!(follower.status.borrow().excluded, 4);
    assert_faithful(&mut follower, &chain).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fees_follow_the_chain_and_never_fall_below_their_floors() {
    let chain = chain().await;
    let mut follower = follow(&chain.http_url()).await;
    at_head(&mut follower, &chain).await;
    chain.mine(1).await.unwrap();
    at_head(&mut follower, &chain).await;
    let head = follower.heads.borrow().clone().unwrap();
    assert_eq!(head.fees.next_base_fee_per_gas_wei, head.block().next_base_fee_per_gas_wei());
    for (tier, floor) in GasTier::ALL.into_iter().zip(FLOORS_WEI) {
        assert!(head.fees.priority_fee_wei(tier) >= floor, "{tier:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scan_behind_the_first_market_finds_every_pool_whatever_the_node_allows() {
    let chain = chain().await;
    let proxy = Proxy::before(chain.http_url()).await;
    let config = FollowerConfig { scan_before_serving_blocks: 0, largest_pools_first: false, ..quick() };
    proxy.set(Fault::LogRange(7));
    let mut follower = follow_with(&proxy.url, config).await;
    let first = head_when(&mut follower, |_| true).await;
    let everything = from_scratch(&chain).await;
    let announced = |pool: &Arc<Pool>| {
        let record = pool.product;
        let fixed = record.fixed_pools().iter().any(|fixed| fixed.key.contract == pool.key.contract);
        !record.sources().is_empty() && !fixed
    };
    assert!(!first.market.pools().iter().any(announced), "served at once, with pools that need no announcement alone");
    let everything = everything.len();
    head_when(&mut follower, |head| head.market.pools().len() == everything).await;
    assert_faithful(&mut follower, &chain).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_costs_three_calls_and_one_batched_read_whatever_the_market_holds() {
    let chain = chain().await;
    let node = Node::connect(&chain.ws_url()).await.unwrap();
    // Heads are pushed, and no polling happens in between.
    let config = FollowerConfig { silence: std::time::Duration::from_secs(600), ..quick() };
    let mut follower = Follower::spawn(node.clone(), config);
    at_head(&mut follower, &chain).await;
    status_when(&mut follower, |status| status.heads_pushed).await;
    chain.mine(1).await.unwrap();
    let market = at_head(&mut follower, &chain).await;
    let before = node.traffic();
    let mut newest = 0;
    for _ in 0..10 {
        chain.mine(1).await.unwrap();
        newest = at_head(&mut follower, &chain).await.block().number;
    }
    let after = node.traffic();
    // A pushed head must be in the node's report.
    assert_eq!(node.report()[0].head, Some(newest));
    // The header, the logs, the gas price and one aggregate of calls; and in a batch with it the two storage words of
    // sGHO for which there is no view.
    assert_eq!(after.calls - before.calls, 10 * (4 + 2));
    let bytes = (after.bytes_sent - before.bytes_sent + after.bytes_received - before.bytes_received) / 10;
    let polled = |pool: &&Arc<Pool>| pool.product.reads_each_block(&pool.state);
    let (curve, others): (Vec<&Arc<Pool>>, Vec<&Arc<Pool>>) =
        market.pools().iter().filter(polled).partition(|pool| pool.product.family() == "curve");
    // A vault takes eight calls and a Curve pool twenty or more. In the lens's short form they take thirty bytes each
    // on average.
    let most = 60_000;
    assert!(bytes < most, "{bytes} bytes a block");
    eprintln!(
        "{bytes} bytes a block without logs; read each block: {} of Curve's, {} others",
        curve.len(),
        others.len()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_largest_pools_are_served_before_the_search_for_pools_gets_anywhere() {
    let chain = chain().await;
    let everything = from_scratch(&chain).await;
    let proxy = Proxy::before(chain.http_url()).await;
    let config = FollowerConfig { scan_before_serving_blocks: 0, ..quick() };
    // The node answers no range of blocks.
    proxy.set(Fault::LogRange(0));
    let mut follower = follow_with(&proxy.url, config).await;
    let first = content(&head_when(&mut follower, |_| true).await.market);
    assert!(first.len() > 5 && first.len() < everything.len(), "{} pools", first.len());
    assert!(
        first.iter().all(|(pool, content)| everything.get(pool) == Some(content)),
        "pools of the list, and no others"
    );
    proxy.set(Fault::None);
    head_when(&mut follower, |head| head.market.pools().len() == everything.len()).await;
    assert_faithful(&mut follower, &chain).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_configuration_does_not_want_is_left_out_and_said_so() {
    let chain = chain().await;
    let everything = from_scratch(&chain).await;
    let usdc = tokens::by_symbol("USDC").address;
    let named = everything.iter().find(|(_, (_, coins, _))| coins.iter().any(|coin| coin.0 == usdc)).unwrap().0;
    let rules = PoolRules {
        min_ether: 1_000.0,
        deny_tokens: [usdc].into(),
        allow_pools: [*named].into(),
        ..PoolRules::default()
    };
    let mut follower = follow_with(&chain.http_url(), FollowerConfig { rules, ..quick() }).await;
    let market = at_head(&mut follower, &chain).await;
    let with_usdc = market.pools_of(market.tokens().id(usdc).unwrap());
    assert_eq!(with_usdc.len(), 1);
    assert_eq!(market.pool(with_usdc[0]).unwrap().key, *named);
    assert_eq!(market.pools().len() + follower.status.borrow().excluded, everything.len());
    assert!(market.pools().len() > 2 && follower.status.borrow().excluded > 2);
}
