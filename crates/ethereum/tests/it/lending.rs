//! Tests that Fluid's pools and fTokens and Morpho's Vault V2 stay equal to the chain. In a shared layer, every
//! transfer of a token changes the state of all pools with that token.

use std::time::Duration;

use alloy::{
    primitives::{Address, U256},
    sol,
    sol_types::SolCall,
};
use braid_devnet::{Devnet, accounts::MAKER, addresses as at, rpc::Tx, tokens};
use braid_ethereum::{Follower, FollowerConfig, Node, SyncStatus};
use braid_protocols::PoolState;

use crate::support::*;

sol! {
    function swapIn(bool zeroForOne, uint256 amountIn, uint256 least, address to) external payable returns (uint256);
    function shiftRange(uint256 upper, uint256 lower, uint256 duration) external;
    function deposit(uint256 assets, address receiver) external returns (uint256);
    function redeem(uint256 shares, address receiver, address owner) external returns (uint256);
    function transfer(address to, uint256 value) external returns (bool);
    function updateRates() external returns (uint256 tokenPrice, uint256 layerPrice);
}

/// Sends a transaction of the account that filled the pools. It must succeed.
async fn act<C: SolCall>(chain: &Devnet, to: Address, call: &C, value_wei: U256) {
    let mut tx = Tx::call(MAKER, to, call).gas(3_000_000);
    tx.value_wei = value_wei;
    chain.send(&tx).await.unwrap();
}

fn swap_in(zero_for_one: bool, amount: U256) -> swapInCall {
    swapInCall { zeroForOne: zero_for_one, amountIn: amount, least: U256::ZERO, to: MAKER }
}

async fn funded() -> Devnet {
    let chain = chain().await;
    for symbol in ["USDC", "USDT", "wstETH", "WETH"] {
        let token = tokens::by_symbol(symbol);
        chain.fund(token.address, MAKER, token.units(5_000_000)).await.unwrap();
    }
    chain.fund_ether(MAKER, tokens::by_symbol("WETH").units(5_000)).await.unwrap();
    chain
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_moves_at_fluid_and_in_a_vault_v2_is_in_the_market_of_its_block() {
    let chain = funded().await;
    let mut follower = follow(&chain.ws_url()).await;
    let market = at_head(&mut follower, &chain).await;
    let mut last = content(&market);
    let usdc = |whole: u64| tokens::by_symbol("USDC").units(whole);
    let ether = |whole: u64| tokens::by_symbol("WETH").units(whole);
    let shares = |symbol, whole: u64| tokens::by_symbol(symbol).units(whole);
    let none = U256::ZERO;
    let redeem = |shares| redeemCall { shares, receiver: MAKER, owner: MAKER };
    // The action, and the pools whose state it changes.
    for act_number in 0..9 {
        let changed: &[Address] = match act_number {
            0 => {
                act(&chain, at::FLUID_DEX_USDC_ETH, &swap_in(true, usdc(12_345)), none).await;
                &[
                    at::FLUID_DEX_USDC_ETH,
                    at::FLUID_DEX_USDC_USDT,
                    at::FLUID_DEX_WSTETH_ETH,
                    at::FLUID_FUSDC,
                    at::FLUID_FWETH,
                ]
            }
            1 => {
                act(&chain, at::FLUID_DEX_USDC_ETH, &swap_in(false, ether(3)), ether(3)).await;
                &[at::FLUID_DEX_USDC_ETH, at::FLUID_FUSDC, at::FLUID_FWETH]
            }
            2 => {
                act(&chain, at::FLUID_DEX_WSTETH_ETH, &swap_in(true, ether(5)), none).await;
                &[at::FLUID_DEX_WSTETH_ETH, at::FLUID_DEX_USDC_ETH, at::FLUID_FWETH]
            }
            3 => {
                act(&chain, at::FLUID_DEX_USDC_USDT, &swap_in(false, usdc(777)), none).await;
                &[at::FLUID_DEX_USDC_USDT, at::FLUID_FUSDC, at::FLUID_FUSDT]
            }
            4 => {
                act(&chain, at::FLUID_FUSDC, &depositCall { assets: usdc(9_999), receiver: MAKER }, none).await;
                &[at::FLUID_FUSDC, at::FLUID_DEX_USDC_ETH]
            }
            5 => {
                act(&chain, at::FLUID_FWETH, &redeem(shares("fWETH", 7)), none).await;
                &[at::FLUID_FWETH, at::FLUID_DEX_WSTETH_ETH]
            }
            6 => {
                chain.rpc().call("evm_increaseTime", serde_json::json!([86_400])).await.unwrap();
                act(&chain, at::FLUID_FUSDT, &updateRatesCall {}, none).await;
                &[at::FLUID_FUSDT]
            }
            7 => {
                let [upper, lower, duration] = [250_000_u64, 230_000, 604_800].map(U256::from);
                act(&chain, at::FLUID_DEX_USDC_ETH, &shiftRangeCall { upper, lower, duration }, none).await;
                &[at::FLUID_DEX_USDC_ETH]
            }
            _ => {
                act(&chain, at::VAULT_V2_USDC, &depositCall { assets: usdc(54_321), receiver: MAKER }, none).await;
                act(&chain, at::VAULT_V2_USDC, &redeem(shares("v2USDC", 321)), none).await;
                &[at::VAULT_V2_USDC]
            }
        };
        let market = assert_faithful(&mut follower, &chain).await;
        let now = content(&market);
        for pool in changed {
            let key = (*pool).into();
            assert_ne!(last[&key], now[&key], "act {act_number} changes {pool}");
        }
        last = now;
    }
    assert_eq!(follower.status.borrow().excluded, 0);
}

/// A gift to a vault causes no log of the vault. The market kept the state before it until the next trade.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gift_to_a_vault_v2_is_in_the_market_of_its_block() {
    let chain = funded().await;
    let mut follower = follow(&chain.ws_url()).await;
    let key = at::VAULT_V2_USDC.into();
    let market = at_head(&mut follower, &chain).await;
    let before = content(&market)[&key].clone();
    let usdc = tokens::by_symbol("USDC");
    act(&chain, usdc.address, &transferCall { to: at::VAULT_V2_USDC, value: usdc.units(1) }, U256::ZERO).await;
    let market = assert_faithful(&mut follower, &chain).await;
    assert_ne!(content(&market)[&key], before);
}

/// What vaults take of a block was bounded for each of them, and not for all together.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pools_for_which_a_block_has_no_calls_leave_the_market_and_the_others_are_followed() {
    let chain = funded().await;
    let config = FollowerConfig { calls_at_a_block: (0, 0), ..quick() };
    let mut follower = follow_with(&chain.ws_url(), config).await;
    let all = at_head(&mut follower, &chain).await.pools().len();
    for _ in 0..3 {
        act(&chain, at::FLUID_DEX_USDC_ETH, &swap_in(true, U256::from(12_345_678_901_u64)), U256::ZERO).await;
        let market = at_head(&mut follower, &chain).await;
        assert!((all / 2..all).contains(&market.pools().len()), "{} of {all}", market.pools().len());
    }
    let status = status_when(&mut follower, |status| is_following(status) && status.waiting == 0).await;
    assert!(status.excluded > 0 && status.excluded + status.pools == all, "{status:?}");
    let market = at_head(&mut follower, &chain).await;
    let fresh = from_scratch(&chain).await;
    for (pool, now) in content(&market) {
        assert_eq!(Some(&now), fresh.get(&pool), "pool {pool}");
    }
}

/// The limit of a block once held between blocks too. Over a node that lends no code a new Uniswap V3 pool takes hundreds of
/// calls: nearly all pools of each read were dropped half-read, and a market of mainnet's size took hours.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pools_that_wait_are_read_between_blocks_whatever_calls_a_block_has() {
    let chain = funded().await;
    let mut counts = Vec::new();
    for calls_at_a_block in [quick().calls_at_a_block, (0, 0)] {
        let node = Node::connect(&chain.ws_url()).await.unwrap();
        let behind = FollowerConfig { scan_before_serving_blocks: 0, largest_pools_first: false, ..quick() };
        let mut follower = Follower::spawn(node.clone(), FollowerConfig { calls_at_a_block, ..behind });
        let is_filled = |status: &SyncStatus| is_following(status) && status.discovery.is_none() && status.waiting == 0;
        let status = status_when(&mut follower, is_filled).await;
        counts.push((status.pools, status.excluded, node.traffic().calls));
    }
    let [(pools, excluded, calls), (also, also_excluded, limited)] = counts[..] else { unreachable!() };
    assert_eq!((pools, excluded), (also, also_excluded));
    assert!(limited < 2 * calls, "{limited} calls with a limit for blocks, {calls} without");
}

/// The words of all pools that a change concerns must be read together.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_in_which_fluid_moved_costs_one_read_more() {
    let chain = funded().await;
    let node = Node::connect(&chain.ws_url()).await.unwrap();
    let config = FollowerConfig { silence: Duration::from_secs(600), ..quick() };
    let mut follower = Follower::spawn(node.clone(), config);
    let market = at_head(&mut follower, &chain).await;
    status_when(&mut follower, |status| status.heads_pushed).await;
    let of_fluid = |state: &PoolState| matches!(state, PoolState::FluidDexT1(_) | PoolState::FluidFToken(_));
    assert_eq!(market.pools().iter().filter(|pool| of_fluid(&pool.state)).count(), 6);
    let mut calls = Vec::new();
    for quiet in [true, false] {
        let before = node.traffic();
        if quiet {
            chain.mine(1).await.unwrap();
        } else {
            act(&chain, at::FLUID_DEX_USDC_ETH, &swap_in(true, U256::from(12_345_678_901_u64)), U256::ZERO).await;
        }
        at_head(&mut follower, &chain).await;
        let after = node.traffic();
        println!("{} calls, {} bytes", after.calls - before.calls, after.bytes_received - before.bytes_received);
        calls.push(after.calls - before.calls);
    }
    // Five pools are read together with what is polled every block. One storage word for each of two fTokens is in a
    // batch next to it.
    assert_eq!(calls[1] - calls[0], 2);
}
