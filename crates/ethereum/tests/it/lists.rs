//! Tests of pools without a log that names them. They are found in the lists of factories, at the block in which they
//! are created.

use alloy::{
    primitives::{Address, Bytes, U256, bytes, hex},
    sol,
    sol_types::{SolCall, SolEvent},
};
use braid_devnet::{Devnet, accounts::MAKER, addresses as at, rpc::Tx, tokens};
use braid_ethereum::{Follower, FollowerHandle, Node};
use braid_market::Market;
use braid_protocols::{DecodeError, Discovered, Pool, Product, ReadProgress};
use braid_store::{
    MarketStore,
    market::{Found, MARKET_FILE},
};
use serde_json::json;

use crate::support::*;

sol! {
    struct Habits {
        uint256 precision; uint8 product; bool exchangeKeepsOne; bool viewKeepsOne; bool viewFeeAfterScaling; bool givesUnsettled; bool held;
        bool answersNothing;
    }
    struct Terms {
        address[] coins; uint256[] rates; uint256 amp; uint256 fee; uint256 adminFee; uint256 offpegFeeMultiplier; Habits habits;
    }
    function deployPlain(Terms terms, address implementation) external returns (address pool);
    function announcePlain(address pool, address[] coins, address implementation) external;
    function pool_count() external view returns (uint256);
    function pool_list(uint256 index) external view returns (address);
    function approve(address spender, uint256 value) external;
    function add_liquidity(uint256[2] amounts, uint256 least) external payable;
    function get_dy(int128 i, int128 j, uint256 dx) external view returns (uint256);
    interface Crypto { function get_dy(uint256 i, uint256 j, uint256 dx) external view returns (uint256); }
    event PlainPoolDeployed(address[4] coins, uint256 A, uint256 fee, address deployer);
}

const LISTED: [(Address, Product); 8] = [
    (at::CURVE_LISTED_PLAIN, Product::CurveStableswap),
    (at::CURVE_LISTED_META, Product::CurveMetapool),
    (at::CURVE_LISTED_NEXT, Product::CurveStableswapNg),
    (at::CURVE_LISTED_CRYPTO, Product::CurveCryptoswap),
    (at::CURVE_LISTED_NEXT_META, Product::CurveMetapool),
    (at::CURVE_LISTED_NEXT_META_ON_3POOL, Product::CurveMetapool),
    (at::CURVE_LISTED_HELD, Product::CurveStableswap),
    (at::CURVE_LISTED_META_ON_REN, Product::CurveMetapool),
];

fn pool(market: &Market, address: Address) -> Option<&Pool> {
    market.pool(market.pool_id(address)?)
}

const COINS: [&str; 2] = ["DAI", "LUSD"];

/// Makes the factory create a pool, and returns its address.
async fn make(chain: &Devnet) -> Address {
    make_that(chain, true).await
}

/// Does the same as [`make`] for a pool that keeps back one unit, as the pools of its implementation do, or does not.
async fn make_that(chain: &Devnet, keeps_one: bool) -> Address {
    let habits = Habits {
        precision: U256::from(100),
        product: 2,
        exchangeKeepsOne: keeps_one,
        viewKeepsOne: keeps_one,
        viewFeeAfterScaling: false,
        givesUnsettled: false,
        held: false,
        answersNothing: false,
    };
    let terms = Terms {
        coins: COINS.map(|symbol| tokens::by_symbol(symbol).address).to_vec(),
        rates: vec![U256::from(10).pow(U256::from(18)); 2],
        amp: U256::from(20_000),
        fee: U256::from(4_000_000),
        adminFee: U256::from(5_000_000_000_u64),
        offpegFeeMultiplier: U256::ZERO,
        habits,
    };
    let call = deployPlainCall { terms, implementation: at::CURVE_PLAIN_IMPLEMENTATION };
    chain.send(&Tx::call(MAKER, at::CURVE_STABLE_FACTORY, &call).gas(10_000_000)).await.unwrap();
    let count = chain.rpc().view(at::CURVE_STABLE_FACTORY, &pool_countCall {}).await.unwrap();
    chain.rpc().view(at::CURVE_STABLE_FACTORY, &pool_listCall { index: count - U256::ONE }).await.unwrap()
}

/// Deposits into a created pool.
async fn fill(chain: &Devnet, pool: Address) {
    let whole = U256::from(10).pow(U256::from(18));
    for symbol in COINS {
        let token = tokens::by_symbol(symbol).address;
        chain.fund(token, MAKER, whole * U256::from(10_000_000)).await.unwrap();
        let call = approveCall { spender: pool, value: U256::MAX };
        chain.send(&Tx::call(MAKER, token, &call)).await.unwrap();
    }
    let amounts = [U256::from(123_456), U256::from(110_011)].map(|amount| amount * whole);
    chain.send(&Tx::call(MAKER, pool, &add_liquidityCall { amounts, least: U256::ZERO })).await.unwrap();
}

/// Returns how many pools a new follower that reads at the head excludes.
async fn excluded_afresh(chain: &Devnet) -> usize {
    let mut fresh = follow(&chain.http_url()).await;
    at_head(&mut fresh, chain).await;
    let excluded = fresh.status.borrow().excluded;
    fresh.shutdown().await;
    excluded
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pools_of_lists_are_found_and_a_new_one_is_quoted_at_the_block_that_fills_it() {
    let chain = chain().await;
    let mut follower = follow(&chain.ws_url()).await;
    let market = at_head(&mut follower, &chain).await;
    for (address, product) in LISTED {
        assert_eq!(pool(&market, address).unwrap().product, product);
    }
    let made = make(&chain).await;
    let market = at_head(&mut follower, &chain).await;
    assert!(pool(&market, made).is_none(), "there is nothing in it");
    assert_eq!(status_when(&mut follower, |status| status.excluded == 1).await.excluded, 1);
    fill(&chain, made).await;
    let market = assert_faithful(&mut follower, &chain).await;
    assert_eq!(follower.status.borrow().excluded, 0);
    let state = pool(&market, made).expect("the pool that the factory made");
    for dx in [1_u64, 977, 54_321].map(|whole| U256::from(whole) * U256::from(10).pow(U256::from(18)) + U256::from(7)) {
        for (i, j) in [(0_u8, 1_u8), (1, 0)] {
            let call = get_dyCall { i: i.into(), j: j.into(), dx };
            let pays = chain.rpc().view(made, &call).await.unwrap();
            assert_eq!(state.swap(&market.block().next(), i, j, dx).unwrap().amount_out, pays);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listed_pool_that_pays_something_else_than_its_implementation_is_left_out() {
    let chain = chain().await;
    let mut follower = follow(&chain.http_url()).await;
    at_head(&mut follower, &chain).await;
    let made = make_that(&chain, false).await;
    fill(&chain, made).await;
    let market = assert_faithful(&mut follower, &chain).await;
    assert!(pool(&market, made).is_none());
    assert_eq!(follower.status.borrow().excluded, 1);
}

/// Reads a pool whose views of its output differ from what it pays by some atomic units.
async fn read_with(chain: &Devnet, pool: &Discovered, apart: u64) -> Result<(), DecodeError> {
    let mut reader = pool.product.reader(pool);
    let mut progress = reader.start();
    while let ReadProgress::Calls(calls) = progress {
        let mut answers = Vec::new();
        for call in calls {
            let asked = json!([{ "to": call.to, "data": call.data }, "latest"]);
            let answer: Option<Bytes> = chain.rpc().get("eth_call", asked).await.ok();
            let is_view = call.data.starts_with(&Crypto::get_dyCall::SELECTOR);
            let changed = |answer: Bytes| (U256::from_be_slice(&answer) + U256::from(apart)).to_be_bytes_vec().into();
            answers.push(if is_view { answer.map(changed) } else { answer });
        }
        progress = reader.feed(&answers)?;
    }
    Ok(())
}

/// The version that an announced pool tells was the only proof of its rules.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_announced_pool_that_shows_another_output_than_its_version_pays_is_left_out() {
    let chain = chain().await;
    for (address, product, coins) in [
        (at::CURVE_WETH_INV, Product::CurveTwocryptoNg, &["WETH", "INV"][..]),
        (at::CURVE_TRICRYPTO_USDC, Product::CurveTricryptoNg, &["USDC", "WBTC", "WETH"]),
    ] {
        let coins = coins.iter().map(|symbol| tokens::by_symbol(symbol).address).collect();
        let pool = Discovered { key: address.into(), product, coins, fee_pips: 0, tick_spacing: 0 };
        assert_eq!(read_with(&chain, &pool, 0).await, Ok(()));
        assert!(matches!(read_with(&chain, &pool, 1).await, Err(DecodeError::State { .. })), "{product:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_block_that_made_a_pool_is_replaced_the_pool_is_forgotten() {
    let chain = chain().await;
    let mut follower = follow(&chain.ws_url()).await;
    at_head(&mut follower, &chain).await;
    let whole = make(&chain).await;
    fill(&chain, whole).await;
    at_head(&mut follower, &chain).await;
    for depth in [1_u64, 3, 9] {
        let gone = make(&chain).await;
        at_head(&mut follower, &chain).await;
        chain.mine(depth - 1).await.unwrap();
        at_head(&mut follower, &chain).await;
        chain.rpc().call("anvil_reorg", json!([depth, []])).await.unwrap();
        let market = assert_faithful(&mut follower, &chain).await;
        assert!(pool(&market, whole).is_some() && pool(&market, gone).is_none(), "depth {depth}");
        // The status is not borrowed while something is waited for: the follower could not change it.
        let excluded = excluded_afresh(&chain).await;
        assert_eq!(follower.status.borrow().excluded, excluded, "depth {depth}");
        // Another pool gets the same position in the list.
        let other = make(&chain).await;
        fill(&chain, other).await;
        let market = assert_faithful(&mut follower, &chain).await;
        assert!(pool(&market, other).is_some(), "depth {depth}");
    }
}

/// Returns the code of a contract that emits a log after which a list may be longer. It answers every call with the
/// same word, or reverts.
fn nonsense(answer: Option<U256>) -> Bytes {
    let topic = PlainPoolDeployed::SIGNATURE_HASH;
    let end = answer.map_or_else(
        || bytes!("5f5ffd").to_vec(),
        |word| [&[0x7f][..], &word.to_be_bytes::<32>(), &hex!("5f5260205ff3")].concat(),
    );
    [&[0x7f][..], topic.as_slice(), &hex!("5f5fa1"), &end].concat().into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_factory_that_talks_nonsense_adds_nothing_and_harms_nothing() {
    let chain = chain().await;
    // The length of the list or an address: more pools than exist; two pools, both at one address without code; an
    // invalid address; a revert.
    let answers = [Some(U256::MAX), Some(U256::from(2)), Some(U256::from(90_000)), None];
    for answer in answers {
        let mut follower = follow(&chain.ws_url()).await;
        let before = at_head(&mut follower, &chain).await;
        let left_out = follower.status.borrow().excluded;
        chain.set_code(at::CURVE_STABLE_FACTORY, &nonsense(answer)).await.unwrap();
        // A contract that reverts emits no log either. Only a new follower meets it.
        let tx = Tx {
            from: MAKER,
            to: at::CURVE_STABLE_FACTORY,
            data: Bytes::new(),
            value_wei: U256::ZERO,
            gas_units: Some(100_000),
        };
        let _ = chain.send(&tx).await;
        let market = at_head(&mut follower, &chain).await;
        assert_eq!(market.pools().len(), before.pools().len(), "{answer:?}");
        let more = follower.status.borrow().excluded - left_out;
        assert!(more <= 1, "{answer:?}: {more} pools of a list that says one address");
        follower.shutdown().await;
        let mut fresh = follow(&chain.http_url()).await;
        let market = at_head(&mut fresh, &chain).await;
        assert!(pool(&market, at::CURVE_LISTED_NEXT).is_some() && pool(&market, at::CURVE_3POOL).is_some());
        assert!(pool(&market, at::CURVE_LISTED_PLAIN).is_none(), "{answer:?}: its factory says nothing of it any more");
        fresh.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_without_code_is_left_out_and_counted() {
    let chain = chain().await;
    let mut follower = follow(&chain.http_url()).await;
    let before = at_head(&mut follower, &chain).await;
    let coins = COINS.map(|symbol| tokens::by_symbol(symbol).address).to_vec();
    for _ in 0..2 {
        let call = announcePlainCall {
            pool: Address::repeat_byte(0xdd),
            coins: coins.clone(),
            implementation: at::CURVE_PLAIN_IMPLEMENTATION,
        };
        chain.send(&Tx::call(MAKER, at::CURVE_STABLE_FACTORY, &call).gas(1_000_000)).await.unwrap();
    }
    let market = assert_faithful(&mut follower, &chain).await;
    assert_eq!(market.pools().len(), before.pools().len());
    assert_eq!(follower.status.borrow().excluded, 1, "one address, listed twice");
}

async fn follow_in(dir: &std::path::Path, chain: &Devnet) -> (FollowerHandle, bool) {
    let (store, found) = MarketStore::open(dir).unwrap();
    let saved = match found {
        Found::Market(saved) => Some(*saved),
        Found::Nothing => None,
        Found::Unusable(damage) => panic!("{damage}"),
    };
    let (had_one, node) = (saved.is_some(), Node::connect(&chain.http_url()).await.unwrap());
    (Follower::spawn_with(node, quick(), Some((store.into(), saved))), had_one)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_goes_on_in_the_lists_where_it_stopped() {
    let chain = chain().await;
    let dir = tempfile::tempdir().unwrap();
    let (mut follower, _) = follow_in(dir.path(), &chain).await;
    at_head(&mut follower, &chain).await;
    let seen = make(&chain).await;
    at_head(&mut follower, &chain).await;
    status_when(&mut follower, |status| status.excluded == 1).await;
    follower.shutdown().await;
    let Found::Market(saved) = MarketStore::open(dir.path()).unwrap().1 else { panic!("nothing was stored") };
    let list = saved.lists.iter().find(|list| list.keeper == at::CURVE_STABLE_FACTORY).unwrap();
    assert_eq!(list.read.last().map(|(_, count)| *count), Some(5), "four of the world, and one that was made");
    // Without a follower, one pool is created and filled, and another is filled.
    let unseen = make(&chain).await;
    fill(&chain, unseen).await;
    fill(&chain, seen).await;
    let (mut follower, had_one) = follow_in(dir.path(), &chain).await;
    assert!(had_one && dir.path().join(MARKET_FILE).exists());
    let market = assert_faithful(&mut follower, &chain).await;
    assert!(pool(&market, seen).is_some() && pool(&market, unseen).is_some());
    assert_eq!(status_when(&mut follower, |status| status.waiting == 0).await.excluded, 0);
    follower.shutdown().await;
}
