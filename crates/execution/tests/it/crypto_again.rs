//! Tests of routes that use a CryptoSwap pool more than once. Such a pool moves its price scale towards averages of
//! past prices, so the output of a second swap in a transaction may depend on the timestamp at which it is mined. The
//! quoted amount must be paid at every timestamp.

use alloy_sol_types::{SolCall, sol};
use braid_devnet::accounts::TAKER;
use braid_devnet::tokens;
use braid_primitives::{Address, Block, Bytes, NATIVE_ETHER, U256};
use braid_protocols::{After, Pool, PoolState, Product, curve::Model};
use braid_simulation::Fork;
use braid_simulation::evm::{Overlay, Transaction, run, view};
use braid_simulation::grant::{Grant, grant};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::json;

use crate::chain::Chain;
use crate::shared::simulator;
use crate::vaults::trade_later;

sol! {
    function exchange(uint256 i, uint256 j, uint256 dx, uint256 least) external;
}

const CRYPTO: [Product; 4] =
    [Product::CurveCryptoswap, Product::CurveTricrypto, Product::CurveTricryptoNg, Product::CurveTwocryptoNg];
/// Seconds after the timestamp that a quote is for.
const LATER: [u64; 4] = [0, 12, 1_212, 86_400];
const ROUNDS: usize = 8;
const SEQUENCES: usize = 5;

/// A swap: coins by position, and the amount in atomic units.
#[derive(Clone, Copy, Debug)]
struct Trade(u8, u8, U256);

fn crypto(pool: &Pool) -> &braid_protocols::curve::crypto::State {
    let PoolState::Curve(state) = &pool.state else { panic!("{}", pool.key.contract) };
    let Model::Crypto(state) = &state.model else { panic!("{}", pool.key.contract) };
    state
}

/// Returns a trade from a tiny amount to a twentieth of the pool's balance.
fn roll(pool: &Pool, dice: &mut StdRng) -> Trade {
    let coins = u8::try_from(pool.coins.len()).unwrap();
    let i = dice.random_range(0..coins);
    let j = (i + dice.random_range(1..coins)) % coins;
    let part = 10_f64.powf(dice.random_range(-6.0..-1.3));
    Trade(i, j, U256::from(f64::from(crypto(pool).balances[usize::from(i)]) * part).max(U256::from(1_000)))
}

fn crypto_pools(chain: &Chain) -> Vec<Pool> {
    let pools = chain.market.pools().iter().filter(|pool| CRYPTO.contains(&pool.product));
    pools.map(|pool| (**pool).clone()).collect()
}

fn coin(chain: &Chain, pool: &Pool, place: u8) -> Address {
    chain.market.tokens().get(pool.coins[usize::from(place)]).unwrap().address
}

fn call(Trade(i, j, dx): Trade) -> Bytes {
    exchangeCall { i: U256::from(i), j: U256::from(j), dx, least: U256::ZERO }.abi_encode().into()
}

/// Returns what the pool pays in the EVM; `None` if it reverts.
fn paid(overlay: &mut Overlay<'_>, pool: Address, [sold, bought]: [Address; 2], trade: Trade) -> Option<U256> {
    let held = |overlay: &mut Overlay<'_>| {
        let answer = view(overlay, bought, braid_execution::approvals::balance_calldata(TAKER)).unwrap();
        U256::from_be_slice(&answer.unwrap())
    };
    grant(overlay, &Grant::Balance { token: sold, owner: TAKER, amount: trade.2 }).unwrap();
    grant(overlay, &Grant::Allowance { token: sold, owner: TAKER, spender: pool, amount: trade.2 }).unwrap();
    let before = held(overlay);
    let message = Transaction { from: TAKER, to: pool, data: call(trade), value_wei: U256::ZERO, gas_limit: 5_000_000 };
    run(overlay, &message, true).unwrap().is_success().then(|| held(overlay) - before)
}

/// Counts of the compared swaps.
#[derive(Debug, Default)]
struct Seen {
    first: u32,
    again: u32,
    /// Second swaps that the model refuses, although the state after the first swap is known for the quoted timestamp.
    refused_again: u32,
    /// Those of these whose output differs at another timestamp.
    differs_later: u32,
}

/// Makes swaps of one pool in one block, each from the known state after the previous swap at the quoted timestamp.
/// Counts how many second swaps pay differently at later timestamps.
fn compare_known(chain: &Chain, forks: &[Fork], pool: &Pool, trades: &[Trade], seen: &mut Seen) {
    let at = chain.market.block().next();
    let mut overlays: Vec<Overlay<'_>> = forks.iter().map(Overlay::new).collect();
    let mut left = crypto(pool).clone();
    for (place, trade) in trades.iter().enumerate() {
        let Ok(swap) = left.swap(&at, trade.0, trade.1, trade.2) else { return };
        let coins = [coin(chain, pool, trade.0), coin(chain, pool, trade.1)];
        let paid: Vec<Option<U256>> =
            overlays.iter_mut().map(|overlay| paid(overlay, pool.key.contract, coins, *trade)).collect();
        assert_eq!(paid[0], Some(swap.amount_out), "{} swap {place} of {trades:?}: {left:?}", pool.product.id());
        if place > 0 {
            seen.refused_again += 1;
            seen.differs_later += u32::from(paid.iter().any(|other| *other != paid[0]));
        }
        let Some(after) = swap.after else { return };
        left = left.with(&after);
    }
}

/// Makes swaps of one pool in one block, with the model as in a route and on the chain at several timestamps. Returns
/// whether the model refused none.
fn compare(chain: &Chain, forks: &[Fork], pool: &Pool, trades: &[Trade], seen: &mut Seen) -> bool {
    let at = chain.market.block().next();
    let mut overlays: Vec<Overlay<'_>> = forks.iter().map(Overlay::new).collect();
    let mut after = After::Unchanged;
    for (place, trade) in trades.iter().enumerate() {
        let Ok(model) = pool.swap_after(&at, &after, trade.0, trade.1, trade.2) else {
            return false;
        };
        let coins = [coin(chain, pool, trade.0), coin(chain, pool, trade.1)];
        for (overlay, later) in overlays.iter_mut().zip(LATER) {
            let paid = paid(overlay, pool.key.contract, coins, *trade);
            let told = format!("{} {later} s later, swap {place} of {trades:?}", pool.product.id());
            assert_eq!(paid, Some(model.amount_out), "{told}: {:?}", pool.state);
        }
        *if place == 0 { &mut seen.first } else { &mut seen.again } += 1;
        after = model.after;
    }
    true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crypto_pool_met_again_pays_what_was_quoted_in_every_second() {
    let mut chain = Chain::start().await;
    let mut dice = StdRng::seed_from_u64(7);
    let mut seen: std::collections::BTreeMap<&str, Seen> = std::collections::BTreeMap::new();
    for _ in 0..ROUNDS {
        for pool in crypto_pools(&chain) {
            let trade = roll(&pool, &mut dice);
            let sold = coin(&chain, &pool, trade.0);
            chain.afford(sold, trade.2).await;
            chain.approve(sold, pool.key.contract, trade.2).await;
            assert!(chain.send(pool.key.contract, call(trade), U256::ZERO, 3_000_000).await.succeeded);
        }
        let seconds = [3_u64, 60, 700, 9_000][dice.random_range(0..4)];
        chain.rpc("evm_increaseTime", json!([seconds])).await;
        chain.rpc("evm_mine", json!([])).await;
        chain.refresh_only(|pool| CRYPTO.contains(&pool.product)).await;
        let (block, handle) = (*chain.market.block(), tokio::runtime::Handle::current());
        let fork = |later: u64| {
            // One block at several timestamps. Each fork has its own cache.
            simulator(&chain)
                .waiting_fork(&Block { timestamp: block.timestamp + later, ..block }, handle.clone())
                .unwrap()
        };
        let forks = LATER.map(fork);
        for pool in crypto_pools(&chain) {
            for _ in 0..SEQUENCES {
                let trades: Vec<Trade> = (0..3).map(|_| roll(&pool, &mut dice)).collect();
                let seen = seen.entry(pool.product.id()).or_default();
                tokio::task::block_in_place(|| {
                    if !compare(&chain, &forks, &pool, &trades, seen) {
                        compare_known(&chain, &forks, &pool, &trades, seen);
                    }
                });
            }
        }
    }
    println!("{seen:?}");
    assert!(
        seen["curve_tricrypto"].differs_later > 0,
        "what a second swap pays depends on the second, which is why it is refused"
    );
    assert!(seen.values().map(|seen| seen.first).sum::<u32>() >= 150 && seen.values().any(|seen| seen.again > 10));
}

/// Routes of the solver through pools of three coins must pay what was quoted at any timestamp after the quoted one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_route_through_crypto_pools_pays_what_was_quoted_in_every_second() {
    let mut chain = Chain::start().await;
    let by = [Product::CurveTricrypto, Product::CurveTricryptoNg, Product::CurveStableswap];
    let cases = [("ETH", "WBTC", 7_500), ("WETH", "WBTC", 120_000), ("WBTC", "USDT", 45), ("USDC", "ETH", 234_567_000)];
    for (place, later) in (0_u8..).zip([2, 12, 1_212]) {
        for (sold, bought, thousandths) in cases {
            let token = |symbol: &str| {
                if symbol == "ETH" { NATIVE_ETHER } else { tokens::by_symbol(symbol).address }
            };
            let decimals = if sold == "ETH" { 18 } else { tokens::by_symbol(sold).decimals };
            let amount = U256::from(thousandths) * U256::from(10).pow(U256::from(decimals - 3));
            let recipient = Address::left_padding_from(&[0xca, place]);
            trade_later(&mut chain, [token(sold), token(bought)], amount, &by, recipient, later).await;
        }
    }
}
