//! Tests of Curve's lending pools on a local chain. Between the underlying coins, the recipient must receive what was
//! quoted, to the wei, also after a day of interest. A lender that accepts no deposits must close the directions that
//! need one. The modelled gas must be that of the receipts.

use std::sync::Arc;

use braid_devnet::accounts::OTHER;
use braid_devnet::{addresses as at, tokens};
use braid_primitives::{Address, Bytes, PoolKey, U256};
use braid_protocols::{Pool, PoolState, SwapError};
use serde_json::json;

use alloy_sol_types::{SolCall, sol};

use crate::chain::Chain;
use crate::shared;
use crate::vaults::trade_by;

sol! {
    function freeze(address asset, bool frozen) external;
    function setPause(bool paused) external;
    function _setMintPaused(address market, bool paused) external;
    function exchange_underlying(int128 i, int128 j, uint256 dx, uint256 least) external;
}

/// The tolerance of the modelled gas, relative to the receipt.
const TOLERANCE: f64 = 0.07;

const POOLS: [(Address, &[&str]); 4] = [
    (at::CURVE_AAVE, &["DAI", "USDC", "USDT"]),
    (at::CURVE_SAAVE, &["DAI", "sUSD"]),
    (at::CURVE_COMPOUND, &["DAI", "USDC"]),
    (at::CURVE_COMPOUND_USDT, &["DAI", "USDC", "USDT"]),
];

/// Returns a coin of a pool.
fn coin(pool: Address, place: usize) -> &'static tokens::Token {
    let (_, coins) = POOLS.iter().find(|(address, _)| *address == pool).unwrap();
    tokens::by_symbol(coins[place])
}

fn pool(chain: &Chain, address: Address) -> Arc<Pool> {
    Arc::clone(chain.market.pools().iter().find(|pool| pool.key.contract == address).unwrap())
}

/// Swaps whole coins and a few atomic units through one pool. Returns the gas, modelled and used.
async fn swap(chain: &mut Chain, pool: Address, [i, j]: [usize; 2], whole: u64, recipient: Address) -> (u64, u64) {
    let amount = coin(pool, i).units(whole) + U256::from(12_345 + i);
    let what = format!("{pool} {i} to {j}");
    let pair = [i, j].map(|place| coin(pool, place).address);
    trade_by(chain, pair, amount, (&what, |own: &Pool| own.key.contract == pool), recipient, 0).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lending_pools_pay_what_was_quoted_for_the_second() {
    let mut chain = Chain::start().await;
    chain.settle_in(OTHER).await;
    let mut off = Vec::new();
    for day in 0..2 {
        for (pool, coins) in POOLS {
            let places = 0..coins.len();
            for [i, j] in places.clone().flat_map(|i| places.clone().map(move |j| [i, j])).filter(|[i, j]| i != j) {
                let (modelled, used) = swap(&mut chain, pool, [i, j], 23_456 + 1_000 * i as u64, OTHER).await;
                let error = (modelled as f64 / used as f64 - 1.0) * 100.0;
                let row = format!("{pool} day {day} {i} to {j}: {modelled} modelled {used} used {error:.1}%");
                println!("{row}");
                if error.abs() > TOLERANCE * 100.0 {
                    off.push(row);
                }
            }
        }
        if day == 0 {
            chain.rpc("evm_increaseTime", json!([86_400 + 77])).await;
            chain.rpc("anvil_mine", json!(["0x65"])).await;
        }
    }
    assert!(off.is_empty(), "gas off by more than {TOLERANCE}: {off:#?}");
}

/// Returns whether the pool accepts a trade of a thousand whole coins, with the model's result.
async fn told(chain: &Chain, address: Address, [i, j]: [u8; 2]) -> (bool, Result<U256, SwapError>) {
    let dx = coin(address, usize::from(i)).units(1_000);
    let call = exchange_underlyingCall { i: i.into(), j: j.into(), dx, least: U256::ZERO };
    let answer = chain.why(address, Bytes::from(call.abi_encode()), U256::ZERO).await;
    let modelled = pool(chain, address).swap(&chain.market.block().next(), i, j, dx).map(|swap| swap.amount_out);
    (answer.contains("nothing"), modelled)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lender_that_takes_no_deposits_closes_the_directions_that_need_one() {
    let mut chain = Chain::start().await;
    // The action on the lender, a pool of its tokens, and the directions that are still open.
    type Act = (Option<(Address, Vec<u8>)>, Address, fn([u8; 2]) -> bool);
    let frozen = freezeCall { asset: coin(at::CURVE_AAVE, 1).address, frozen: true }.abi_encode();
    let paused = setPauseCall { paused: true }.abi_encode();
    let unminted = _setMintPausedCall { market: at::C_DAI, paused: true }.abi_encode();
    let frozen_too = freezeCall { asset: tokens::by_symbol("sUSD").address, frozen: true }.abi_encode();
    let acts: [Act; 6] = [
        (Some((at::AAVE, frozen)), at::CURVE_AAVE, |[i, _]| i != 1),
        (Some((at::AAVE, frozen_too)), at::CURVE_SAAVE, |[i, _]| i != 1),
        (Some((at::AAVE, paused)), at::CURVE_AAVE, |_| false),
        (None, at::CURVE_SAAVE, |_| false),
        (Some((at::COMPOUND, unminted)), at::CURVE_COMPOUND, |[i, _]| i != 0),
        (None, at::CURVE_COMPOUND_USDT, |[i, _]| i != 0),
    ];
    for (address, coins) in POOLS {
        for coin in coins.iter().map(|symbol| tokens::by_symbol(symbol)) {
            chain.afford(coin.address, coin.units(10_000)).await;
            chain.approve(coin.address, address, coin.units(10_000)).await;
        }
    }
    for (act, address, open) in acts {
        if let Some((lender, act)) = act {
            assert!(chain.send(lender, act.into(), U256::ZERO, 200_000).await.succeeded);
        }
        chain.refresh_only(|pool| pool.key.contract == address).await;
        let coins = u8::try_from(pool(&chain, address).coins.len()).unwrap();
        for pair in (0..coins).flat_map(|i| (0..coins).map(move |j| [i, j])).filter(|[i, j]| i != j) {
            let (paid, modelled) = told(&chain, address, pair).await;
            assert_eq!(paid, open(pair), "{address} {pair:?}: the chain");
            assert_eq!(modelled == Err(SwapError::Closed), !paid, "{address} {pair:?}: {modelled:?}");
            assert_eq!(modelled.is_ok(), paid, "{address} {pair:?}: {modelled:?}");
        }
    }
}

/// A lender's cash must limit what the pool pays, and a route must not use a lender twice.
#[test]
fn a_pool_pays_no_more_than_lies_at_the_lender_and_is_met_once() {
    let chain = &shared::unused().chain;
    let at = chain.market.block().next();
    for (address, _) in POOLS {
        let pool = pool(chain, address);
        let PoolState::Curve(state) = &pool.state else { panic!("{address}") };
        let amount = coin(address, 0).units(1_000);
        let first = pool.swap(&at, 0, 1, amount).unwrap();
        assert_eq!(pool.swap_after(&at, &first.after, 1, 0, first.amount_out), Err(SwapError::Closed));
        assert_eq!(Some(pool.shares_state_at()), state.shared_contract().map(PoolKey::from));
        let mut poor = (**state).clone();
        let braid_protocols::curve::Model::Lending(lent) = &mut poor.model else { panic!("{address}") };
        lent.markets[1].cash = first.amount_out;
        let poor_pool = |state| Pool { state: PoolState::Curve(Arc::new(state)), ..(*pool).clone() };
        assert_eq!(poor_pool(poor.clone()).swap(&at, 0, 1, amount).unwrap().amount_out, first.amount_out);
        let braid_protocols::curve::Model::Lending(lent) = &mut poor.model else { panic!("{address}") };
        lent.markets[1].cash -= U256::ONE;
        let refused = poor_pool(poor).swap(&at, 0, 1, amount);
        assert!(matches!(refused, Err(SwapError::InsufficientLiquidity { .. })), "{refused:?}");
    }
}
