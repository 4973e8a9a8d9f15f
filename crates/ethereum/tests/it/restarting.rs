//! Tests of a follower that stores its market on disk. It is killed at any moment and started again, on the same chain
//! or on another.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    sync::Arc,
};

use alloy::{sol, sol_types::SolEvent};
use braid_devnet::{Devnet, accounts::TAKER, addresses::PUFETH, rpc::Tx, tokens};
use braid_ethereum::{Follower, FollowerConfig, FollowerHandle, Node, PoolRules};
use braid_market::Market;
use braid_primitives::{Address, Bytes, U256, WETH};
use braid_protocols::Product;
use braid_store::{
    MarketStore,
    market::{Found, MARKET_FILE},
};
use serde_json::json;

use crate::{acts::Acts, support::*};

sol! {
    function approve(address spender, uint256 value) external returns (bool);
    function deposit(uint256 assets, address receiver) external returns (uint256);
    event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares);
}

/// Variables that make the test `child_process` a follower: the node's URL and the data directory.
const ROLE: [&str; 2] = ["BRAID_TEST_CHILD_NODE", "BRAID_TEST_CHILD_DATA"];

/// Starts a follower with a store in this process.
async fn follow_in(dir: &Path, chain: &Devnet) -> (FollowerHandle, Arc<MarketStore>, bool) {
    follow_so_in(dir, chain, quick()).await
}

async fn follow_so_in(dir: &Path, chain: &Devnet, config: FollowerConfig) -> (FollowerHandle, Arc<MarketStore>, bool) {
    follow_node_in(dir, Node::connect(&chain.http_url()).await.unwrap(), config)
}

/// Follows a node with a store. Returns also whether the store held a market.
pub(crate) fn follow_node_in(
    dir: &Path,
    node: Node,
    config: FollowerConfig,
) -> (FollowerHandle, Arc<MarketStore>, bool) {
    let (store, found) = MarketStore::open(dir).unwrap();
    let saved = match found {
        Found::Market(saved) => Some(*saved),
        Found::Nothing => None,
        Found::Unusable(damage) => panic!("{damage}"),
    };
    let (store, had_one) = (Arc::new(store), saved.is_some());
    (Follower::spawn_with(node, config, Some((Arc::clone(&store), saved))), store, had_one)
}

/// Returns the market in a data directory that no process has open.
fn stored(dir: &Path) -> Option<Arc<Market>> {
    match MarketStore::open(dir).unwrap().1 {
        Found::Market(saved) => Some(saved.market),
        Found::Nothing => None,
        Found::Unusable(damage) => panic!("{damage}"),
    }
}

fn bytes(market: &Market) -> Vec<u8> {
    market.canonical().to_bytes().unwrap()
}

/// Returns the bytes of the market that a new follower reads at the head.
async fn fresh_bytes(chain: &Devnet) -> Vec<u8> {
    let mut fresh = follow(&chain.http_url()).await;
    let market = at_head(&mut fresh, chain).await;
    fresh.shutdown().await;
    bytes(&market)
}

/// The child process, which follows and prints every head. The parent kills it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_process() {
    let [Ok(url), Ok(dir)] = ROLE.map(std::env::var) else { return };
    let (store, found) = MarketStore::open(Path::new(&dir)).unwrap();
    println!("\n@opened");
    let saved = match found {
        Found::Market(saved) => Some(*saved),
        Found::Nothing => None,
        Found::Unusable(damage) => panic!("{damage}"),
    };
    let node = Node::connect(&url).await.unwrap();
    let mut follower = Follower::spawn_with(node, quick(), Some((Arc::new(store), saved)));
    while follower.heads.changed().await.is_ok() {
        let head = follower.heads.borrow_and_update().clone().unwrap();
        println!("\n@head {}", head.block().number);
    }
}

struct Killable {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Killable {
    fn start(url: &str, dir: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "restarting::child_process", "--nocapture"])
            .env(ROLE[0], url)
            .env(ROLE[1], dir)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Waits for a line in which the child reports its state.
    fn hear(&mut self) -> String {
        let said = self.lines.by_ref().map(Result::unwrap).find(|line| line.starts_with('@'));
        said.unwrap_or_else(|| panic!("the child ended by itself"))
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_instant_the_next_start_has_the_market_of_one_that_never_knew_anything() {
    let chain = chain().await;
    let dir = tempfile::tempdir().unwrap();
    let mut acts = Acts::on(&chain, 31);
    let mut scratch = follow(&chain.http_url()).await;
    let market = at_head(&mut scratch, &chain).await;
    scratch.shutdown().await;
    let mut survived = 0;
    for round in 0..10u64 {
        let mut child = Killable::start(&chain.http_url(), dir.path());
        // The child is killed while it opens, reads, follows and writes. Meanwhile blocks are mined and replaced.
        for _ in 0..round {
            child.hear();
            acts.any(&market).await;
        }
        if round % 3 == 2 {
            chain.rpc().call("anvil_reorg", json!([round / 2, []])).await.unwrap();
            acts.any(&market).await;
        }
        child.kill();
        survived += u32::from(stored(dir.path()).is_some());
    }
    assert!(survived >= 5, "{survived}: nothing was ever stored");
    let (mut follower, store, had_one) = follow_in(dir.path(), &chain).await;
    assert!(had_one);
    let market = at_head(&mut follower, &chain).await;
    let fresh = fresh_bytes(&chain).await;
    assert_eq!(bytes(&market), fresh);
    follower.shutdown().await;
    store.flush().unwrap();
    drop(store);
    assert_eq!(bytes(&stored(dir.path()).unwrap()), fresh, "and so has the disk");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_reads_only_what_changed_meanwhile() {
    let chain = chain().await;
    let dir = tempfile::tempdir().unwrap();
    let mut acts = Acts::on(&chain, 32);
    let (mut follower, store, _) = follow_in(dir.path(), &chain).await;
    let market = at_head(&mut follower, &chain).await;
    follower.shutdown().await;
    drop(store);
    acts.several(&market, 3).await;
    let (store, found) = MarketStore::open(dir.path()).unwrap();
    let Found::Market(saved) = found else { panic!("{found:?}") };
    // Heads are pushed, so that the number of calls does not depend on how long the machine takes.
    let config = FollowerConfig { silence: std::time::Duration::from_secs(600), ..quick() };
    let node = Node::connect(&chain.ws_url()).await.unwrap();
    let mut follower = Follower::spawn_with(node.clone(), config, Some((Arc::new(store), Some(*saved))));
    let market = at_head(&mut follower, &chain).await;
    assert_eq!(bytes(&market), fresh_bytes(&chain).await);
    let messages = node.traffic().messages;
    eprintln!("{messages} messages");
    assert!(messages < 40, "{messages} messages: the whole market takes more than a hundred");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocks_that_were_replaced_while_nobody_looked_leave_no_trace() {
    let chain = chain().await;
    let dir = tempfile::tempdir().unwrap();
    let mut acts = Acts::on(&chain, 33);
    let depths: &[(u64, usize)] =
        if is_long() { &[(1, 2), (7, 0), (31, 4), (64, 1)] } else { &[(1, 2), (7, 0), (64, 4)] };
    for (depth, lost) in depths.iter().copied() {
        let (mut follower, store, _) = follow_in(dir.path(), &chain).await;
        let mut market = at_head(&mut follower, &chain).await;
        for block in 0..depth {
            // Something changes in every fourth block. Each block gives a market.
            if block % 4 == 0 {
                acts.any(&market).await;
            } else {
                chain.mine(1).await.unwrap();
            }
            market = at_head(&mut follower, &chain).await;
        }
        let pair_blocks = chain.rpc().block_number().await.unwrap();
        follower.shutdown().await;
        store.flush().unwrap();
        assert_eq!(store.stored_block(), Some(pair_blocks));
        drop(store);
        chain.rpc().call("anvil_reorg", json!([depth, []])).await.unwrap();
        acts.several(&market, lost).await;
        let (mut follower, store, had_one) = follow_in(dir.path(), &chain).await;
        assert!(had_one);
        let market = at_head(&mut follower, &chain).await;
        assert_eq!(bytes(&market), fresh_bytes(&chain).await, "depth {depth}");
        follower.shutdown().await;
        drop(store);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stored_market_of_another_chain_is_given_up() {
    let (one, other) = (chain().await, other_chain().await);
    let dir = tempfile::tempdir().unwrap();
    let (mut follower, store, _) = follow_in(dir.path(), &one).await;
    let market = at_head(&mut follower, &one).await;
    Acts::on(&one, 34).several(&market, 2).await;
    at_head(&mut follower, &one).await;
    follower.shutdown().await;
    drop(store);
    Acts::on(&other, 35).several(&market, 4).await;
    let before = stored(dir.path()).unwrap();
    let (mut follower, _store, _) = follow_in(dir.path(), &other).await;
    let market = at_head(&mut follower, &other).await;
    assert_eq!(bytes(&market), fresh_bytes(&other).await);
    let aside = tempfile::tempdir().unwrap();
    std::fs::copy(dir.path().join("market.redb.replaced"), aside.path().join(MARKET_FILE)).unwrap();
    assert_eq!(bytes(&stored(aside.path()).unwrap()), bytes(&before), "a copy is kept");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_damage_the_market_is_read_again_and_stored_again() {
    let chain = chain().await;
    let dir = tempfile::tempdir().unwrap();
    let (mut follower, store, _) = follow_in(dir.path(), &chain).await;
    at_head(&mut follower, &chain).await;
    follower.shutdown().await;
    drop(store);
    let path = dir.path().join(MARKET_FILE);
    let mut content = std::fs::read(&path).unwrap();
    let at = content.windows(9).position(|window| window == b"\"reserve0").unwrap() + 12;
    content[at] ^= 1;
    std::fs::write(&path, content).unwrap();
    let (store, found) = MarketStore::open(dir.path()).unwrap();
    let Found::Unusable(damage) = found else { panic!("{found:?}") };
    assert!(damage.to_string().contains("damaged"));
    let node = Node::connect(&chain.http_url()).await.unwrap();
    let mut follower = Follower::spawn_with(node, quick(), Some((Arc::new(store), None)));
    let market = at_head(&mut follower, &chain).await;
    assert_eq!(bytes(&market), fresh_bytes(&chain).await);
    follower.shutdown().await;
    assert_eq!(bytes(&stored(dir.path()).unwrap()), bytes(&market));
}

/// Balancer's vaults announce the pools of all their products with the same event. Disabling a product must remove its
/// pools and no others, and enabling it again must bring them back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denied_product_takes_its_pools_out_and_no_others() {
    let chain = chain().await;
    let dir = tempfile::tempdir().unwrap();
    let all = quick().products;
    let denied = [Product::BalancerV2Weighted, Product::BalancerV3Stable];
    let allowed: Vec<Product> = all.iter().copied().filter(|product| !denied.contains(product)).collect();
    let everything = from_scratch(&chain).await;
    let kept = everything.values().filter(|(product, ..)| allowed.contains(product)).count();
    assert!(kept < everything.len());
    for (products, expected) in [(&allowed, kept), (&all, everything.len()), (&allowed, kept)] {
        let config = FollowerConfig { products: products.clone(), ..quick() };
        let (mut follower, store, _) = follow_so_in(dir.path(), &chain, config).await;
        let head = head_when(&mut follower, |head| head.market.pools().len() == expected).await;
        for (key, (product, ..)) in content(&head.market) {
            assert!(products.contains(&product), "{key} of {product:?}");
        }
        follower.shutdown().await;
        store.flush().unwrap();
    }
}

/// Lists of tokens and pools that came or went with a restart had no effect on pools of the stored market, and ended no
/// exclusion.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denied_token_takes_its_pools_out_at_the_next_start_and_allowed_again_brings_them_back() {
    let chain = chain().await;
    let dir = tempfile::tempdir().unwrap();
    let everything = from_scratch(&chain).await;
    let usdc = tokens::by_symbol("USDC").address;
    let others = everything.values().filter(|(_, coins, _)| coins.iter().all(|coin| coin.0 != usdc)).count();
    assert!(others < everything.len());
    for (deny_tokens, expected) in [(None, everything.len()), (Some(usdc), others), (None, everything.len())] {
        let rules = PoolRules { deny_tokens: deny_tokens.into_iter().collect(), ..PoolRules::default() };
        let (mut follower, store, _) = follow_so_in(dir.path(), &chain, FollowerConfig { rules, ..quick() }).await;
        head_when(&mut follower, |head| head.market.pools().len() == expected).await;
        status_when(&mut follower, |status| status.waiting == 0).await;
        assert_eq!(follower.heads.borrow().as_ref().unwrap().market.pools().len(), expected);
        follower.shutdown().await;
        store.flush().unwrap();
    }
}

/// A vault must be in the market for as long as the configuration names it, whether it was named at the first start or
/// later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_named_vault_comes_and_goes_with_its_name() {
    let chain = chain().await;
    let named = Address::repeat_byte(0x76);
    let code: Bytes = chain.rpc().get("eth_getCode", json!([PUFETH, "latest"])).await.unwrap();
    chain.set_code(named, &code).await.unwrap();
    let pools = from_scratch(&chain).await.len();
    for first in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        for is_named in [first, !first, first] {
            let vaults = is_named.then_some(named).into_iter().collect();
            let (mut follower, store, _) = follow_so_in(dir.path(), &chain, FollowerConfig { vaults, ..quick() }).await;
            let expected = pools + usize::from(is_named);
            let head = head_when(&mut follower, |head| head.market.pools().len() == expected).await;
            assert_eq!(head.market.pool_id(named).is_some(), is_named);
            follower.shutdown().await;
            store.flush().unwrap();
        }
    }
}

/// A vault must be found by its trades if that is enabled, and be removed after a start in which it is not. A contract
/// that only emits such logs must stay out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_vault_that_trades_is_found_where_that_is_wanted() {
    let chain = chain().await;
    let (vault, shouter) = (Address::repeat_byte(0x76), Address::repeat_byte(0x77));
    let code: Bytes = chain.rpc().get("eth_getCode", json!([PUFETH, "latest"])).await.unwrap();
    chain.set_code(vault, &code).await.unwrap();
    // log3(0, 0, DEPOSIT, 0, 0)
    let shouts = [&[0x5f, 0x5f, 0x7f][..], Deposit::SIGNATURE_HASH.as_slice(), &[0x5f, 0x5f, 0xa3]].concat();
    chain.set_code(shouter, &shouts.into()).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    for wanted in [false, true, false] {
        let config = FollowerConfig { find_vaults: wanted, ..quick() };
        let (mut follower, store, _) = follow_so_in(dir.path(), &chain, config).await;
        at_head(&mut follower, &chain).await;
        if wanted {
            let assets = U256::from(1_000_000);
            chain.fund(WETH, TAKER, assets).await.unwrap();
            let approve = approveCall { spender: vault, value: assets };
            chain.send(&Tx::call(TAKER, WETH, &approve)).await.unwrap();
            let deposit = depositCall { assets, receiver: TAKER };
            for target in [vault, shouter] {
                chain.send(&Tx::call(TAKER, target, &deposit)).await.unwrap();
            }
        }
        let market = at_head(&mut follower, &chain).await;
        assert_eq!(market.pool_id(vault).is_some(), wanted);
        assert!(market.pool_id(shouter).is_none());
        follower.shutdown().await;
        store.flush().unwrap();
    }
}
