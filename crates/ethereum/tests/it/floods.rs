//! Tests of factories that announce a thousand pools at once or invalid ones, and of tokens of every kind.

use alloy::primitives::{Address, B256, Bytes, U256, b256, bytes};
use braid_devnet::{Devnet, accounts, addresses, rpc::Tx, tokens};
use braid_ethereum::Phase;
use braid_market::Market;
use braid_primitives::PoolKey;
use braid_protocols::Product;

use crate::{acts::Acts, support::*};

alloy::sol! {
    function emitAll() external;
}

/// `PairCreated(address,address,address,uint256)`
const PAIR_CREATED: B256 = b256!("0d3648bd0f6ba80134a33ba9275ac585d9d315f0ad8355cddefde31afa28d0e9");
/// `PoolCreated(address,address,uint24,int24,address)`
const POOL_CREATED: B256 = b256!("783cca1c0412dd0d695e784568c96da2e9c22ff989357a2e8b1d9b2b4e6b7118");

/// Replaces a factory's code for one transaction.
async fn speaks(chain: &Devnet, factory: Address, code: Vec<u8>) {
    let before: Bytes = chain.rpc().get("eth_getCode", serde_json::json!([factory, "latest"])).await.unwrap();
    chain.set_code(factory, &code.into()).await.unwrap();
    chain.send(&Tx::call(accounts::TAKER, factory, &emitAllCall {}).gas(15_000_000)).await.unwrap();
    chain.set_code(factory, &before).await.unwrap();
}

/// Returns the pools whose state changes only with their logs.
fn timeless(market: &Market) -> Vec<PoolKey> {
    let moves = |pool: &braid_protocols::Pool| pool.depends_on_time() || pool.product.reads_each_block(&pool.state);
    market.pools().iter().filter(|pool| !moves(pool)).map(|pool| pool.key).collect()
}

fn push(code: &mut Vec<u8>, word: B256) {
    code.push(0x7f);
    code.extend(word);
}

/// Returns code that emits logs of at most four topics and a whole number of words.
fn emitting(logs: &[(Vec<B256>, Vec<B256>)]) -> Vec<u8> {
    let mut code = Vec::new();
    for (topics, data) in logs {
        for (index, word) in data.iter().enumerate() {
            push(&mut code, *word);
            code.extend([0x60, u8::try_from(index * 32).unwrap(), 0x52]);
        }
        topics.iter().rev().for_each(|topic| push(&mut code, *topic));
        code.extend([0x60, u8::try_from(data.len() * 32).unwrap(), 0x5f, 0xa0 + u8::try_from(topics.len()).unwrap()]);
    }
    code
}

/// Returns code that announces a number of pairs of two tokens, at consecutive addresses.
fn announcing(count: u16, [a, b]: [Address; 2], first: Address) -> Vec<u8> {
    let [high, low] = count.to_be_bytes();
    // index = 0; loop:
    let mut code = vec![0x5f, 0x5b];
    // memory[0] = first + index; memory[32] = index
    code.extend([0x80, 0x73]);
    code.extend(first);
    code.extend([0x01, 0x5f, 0x52, 0x80, 0x60, 0x20, 0x52]);
    for topic in [b.into_word(), a.into_word(), PAIR_CREATED] {
        push(&mut code, topic);
    }
    // log3(0, 64, ..); index += 1; repeat while count > index
    code.extend([0x60, 0x40, 0x5f, 0xa3, 0x60, 1, 0x01, 0x80, 0x61, high, low, 0x11, 0x60, 1, 0x57, 0x00]);
    code
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_pools_made_in_one_block_are_in_the_market_of_that_block() {
    let chain = chain().await;
    let mut follower = follow(&chain.http_url()).await;
    let before = at_head(&mut follower, &chain).await.pools().len();
    let [mut a, mut b] = ["LINK", "CRV"].map(|symbol| tokens::by_symbol(symbol).address);
    if b < a {
        (a, b) = (b, a);
    }
    let first = Address::left_padding_from(&[0x10, 0, 0, 0]);
    // A substitute for a pair: it answers every call with reserves of 2^40 and 2^41.
    let pair = bytes!("650100000000005f52650200000000006020525f60405260605ff3");
    for index in 0..1_000u32 {
        let address = Address::left_padding_from(&(0x1000_0000 + index).to_be_bytes());
        chain.set_code(address, &pair).await.unwrap();
    }
    speaks(&chain, addresses::UNISWAP_V2_FACTORY, announcing(1_000, [a, b], first)).await;
    let made_at = chain.rpc().block_number().await.unwrap();
    let head = head_when(&mut follower, |head| head.block().number >= made_at).await;
    assert_eq!((head.block().number, head.market.pools().len()), (made_at, before + 1_000));
    assert_faithful(&mut follower, &chain).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_factory_that_emits_nonsense_changes_nothing() {
    let chain = chain().await;
    let mut follower = follow(&chain.http_url()).await;
    let market = at_head(&mut follower, &chain).await;
    let before = content(&market);
    // A pool that was found by a log before the invalid ones. Pools of a list have no order relative to logs, so that a
    // new follower might meet the invalid log first.
    let by_a_log = [Product::UniswapV2, Product::UniswapV3];
    let known = before.keys().find(|pool| by_a_log.contains(&before[*pool].0)).unwrap().contract;
    let word = |address: Address| address.into_word();
    let (a, b) = (word(tokens::by_symbol("LINK").address), word(tokens::by_symbol("CRV").address));
    let nobody = word(Address::repeat_byte(0x99));
    let odd = B256::repeat_byte(0xff);
    let pairs = [
        // Without data; without topics; with words that are not addresses.
        (vec![PAIR_CREATED, a, b], vec![]),
        (vec![PAIR_CREATED], vec![nobody, B256::ZERO]),
        (vec![PAIR_CREATED, odd, odd], vec![odd, odd]),
        // The same token twice; a pair without code; the zero address; a pool that is known already.
        (vec![PAIR_CREATED, a, a], vec![nobody, B256::ZERO]),
        (vec![PAIR_CREATED, a, b], vec![nobody, B256::ZERO]),
        (vec![PAIR_CREATED, a, b], vec![B256::ZERO, B256::ZERO]),
        (vec![PAIR_CREATED, a, b], vec![word(known), B256::ZERO]),
        // A token as its own pair.
        (vec![PAIR_CREATED, a, b], vec![a, B256::ZERO]),
    ];
    speaks(&chain, addresses::UNISWAP_V2_FACTORY, emitting(&pairs)).await;
    let spacing = |spacing: U256| B256::from(spacing);
    let fee = B256::from(U256::from(3_000));
    let pools = [
        (vec![POOL_CREATED, a, b], vec![spacing(U256::from(60)), nobody]),
        (vec![POOL_CREATED, a, b, fee], vec![]),
        (vec![POOL_CREATED, a, b, fee], vec![spacing(U256::ZERO), nobody]),
        (vec![POOL_CREATED, a, b, fee], vec![spacing(U256::MAX), nobody]),
        (vec![POOL_CREATED, a, b, odd], vec![spacing(U256::from(60)), nobody]),
        (vec![POOL_CREATED, odd, odd, odd], vec![odd, odd]),
        (vec![POOL_CREATED, a, b, fee], vec![spacing(U256::from(60)), word(known)]),
    ];
    speaks(&chain, addresses::UNISWAP_V3_FACTORY, emitting(&pools)).await;
    let after = at_head(&mut follower, &chain).await;
    let pools = |content: &Content| content.keys().copied().collect::<Vec<_>>();
    let after = content(&after);
    assert_eq!(pools(&after), pools(&before), "the same pools");
    for pool in timeless(&market) {
        assert_eq!(after[&pool], before[&pool], "pool {pool}");
    }
    // States that change with time are compared at the same timestamp.
    assert_faithful(&mut follower, &chain).await;
    assert_eq!(follower.status.borrow().phase, Phase::Following);
}

/// Returns code that answers `decimals()` with a number, and every other call with `rest`.
fn token(decimals: u8, rest: &[u8]) -> Bytes {
    let mut code = vec![0x5f, 0x35, 0x60, 0xe0, 0x1c, 0x63, 0x31, 0x3c, 0xe5, 0x67, 0x14, 0x60, 0, 0x57];
    code.extend(rest);
    code[12] = u8::try_from(code.len()).unwrap();
    code.extend([0x5b, 0x60, decimals, 0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3]);
    code.into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_of_every_kind_are_taken_as_far_as_they_make_sense() {
    let chain = chain().await;
    let mut acts = Acts::on(&chain, 72);
    let mut follower = follow(&chain.http_url()).await;
    at_head(&mut follower, &chain).await;
    let link = tokens::by_symbol("LINK").address;
    // "BRAIDED", padded with zeros; a failure that burns all gas; ten million bytes.
    let mut short = vec![0x7f];
    short.extend(B256::right_padding_from(b"BRAIDED"));
    short.extend([0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3]);
    let burns: &[u8] = &[0xfe];
    let long: &[u8] = &[0x62, 0x98, 0x96, 0x80, 0x5f, 0xf3];
    let kinds = [
        (0, short.as_slice(), Some(("BRAIDED", 0))),
        (36, &short, Some(("BRAIDED", 36))),
        (77, &short, None),
        (18, burns, Some(("", 18))),
        (18, long, Some(("", 18))),
    ];
    for (byte, (decimals, rest, expected)) in (0xc1..).zip(kinds) {
        let address = Address::repeat_byte(byte);
        chain.set_code(address, &token(decimals, rest)).await.unwrap();
        let pair = acts.empty_pair(address, link).await;
        let market = at_head(&mut follower, &chain).await;
        let read = |market: &Market| {
            let token = market.tokens().get(market.tokens().id(address)?)?;
            Some((token.symbol.clone(), token.decimals))
        };
        let expected = expected.map(|(symbol, decimals)| (symbol.to_owned(), decimals));
        assert_eq!(read(&market), expected, "decimals {decimals}");
        assert_eq!(market.pool_id(pair).is_some(), expected.is_some(), "decimals {decimals}");
    }
    assert_faithful(&mut follower, &chain).await;
}
