//! Tests of ether and WETH: the graph treats them as one token, and pools do not.

use std::sync::Arc;

use braid_market::{Market, Tokens};
use braid_primitives::{Address, TokenId, U256};
use braid_protocols::{Pool, PoolState, Product, uniswap_v2};
use braid_routing::{Prepared, Request, Solution, solve};

use crate::common::{block, request, token, tokens, wrapper};

/// Returns a pool with equal reserves. V2 pools of native ether do not exist; here they stand for Curve's and Fluid's,
/// which do.
fn pool(at: u8, a: TokenId, b: TokenId, depth: u64) -> Pool {
    let reserve = u128::from(depth) * 10_u128.pow(18);
    let state = uniswap_v2::State { reserve0: reserve, reserve1: reserve, fee_bps: 30 };
    let coins = [a, b].into_iter().collect();
    Pool {
        key: Address::with_last_byte(at).into(),
        product: Product::UniswapV2,
        coins,
        state: PoolState::UniswapV2(state),
    }
}

fn sell(pools: Vec<Pool>, from: TokenId, to: TokenId, amount: u64) -> Solution {
    sell_within(40, pools, from, to, amount)
}

fn sell_within(max_steps: u16, pools: Vec<Pool>, from: TokenId, to: TokenId, amount: u64) -> Solution {
    let tokens = tokens(4);
    let pools: Vec<Pool> = std::iter::once(wrapper()).chain(pools).collect();
    let market = Market::empty(block(), Arc::clone(&tokens)).next(block(), tokens, pools).unwrap();
    let amount = U256::from(amount) * U256::from(10).pow(U256::from(18));
    let request = Request { max_steps, ..request(from, amount, to, 1_000_000_000) };
    solve(&Prepared::new(Arc::new(market)), &request).unwrap()
}

/// Returns the input token of each conversion in a solution.
fn conversions(solution: &Solution) -> Vec<TokenId> {
    let is_ether = |token| token == Tokens::ETHER || token == Tokens::WETH;
    let steps = solution.route.steps.iter().filter(|step| is_ether(step.token_in) && is_ether(step.token_out));
    steps.map(|step| step.token_in).collect()
}

fn gap_bps(solution: &Solution) -> f64 {
    solution.certificate.as_ref().unwrap().gap_bps
}

#[test]
fn ether_that_one_pool_makes_another_takes_though_wrapped_ether_joins_it() {
    let made = [pool(1, token(1), Tokens::ETHER, 5_000), pool(2, token(1), Tokens::WETH, 5_000)];
    let taken = pool(3, Tokens::ETHER, token(2), 20_000);
    let sold = sell(made.into_iter().chain([taken]).collect(), token(1), token(2), 500);
    assert_eq!(sold.route.steps.len(), 4, "two pools, a conversion, the last pool: {:?}", sold.route.steps);
    assert_eq!(conversions(&sold), [Tokens::WETH]);
    assert!(gap_bps(&sold) < 1.0, "{}", gap_bps(&sold));
}

#[test]
fn what_pools_of_either_form_take_is_converted_once() {
    let pools = vec![
        pool(1, token(1), Tokens::WETH, 50_000),
        pool(2, Tokens::ETHER, token(2), 10_000),
        pool(3, Tokens::WETH, token(2), 10_000),
        pool(4, Tokens::ETHER, token(2), 10_000),
    ];
    for (from, converted) in [(token(1), Tokens::WETH), (Tokens::WETH, Tokens::WETH), (Tokens::ETHER, Tokens::ETHER)] {
        let sold = sell(pools.clone(), from, token(2), 500);
        assert_eq!(conversions(&sold), [converted]);
        assert_eq!(sold.route.steps.iter().filter(|step| step.token_out == token(2)).count(), 3);
        assert!(gap_bps(&sold) < 1.0, "{}", gap_bps(&sold));
    }
}

#[test]
fn ether_is_not_converted_where_nothing_wants_its_other_form() {
    let pools = vec![pool(1, token(1), Tokens::ETHER, 10_000), pool(2, Tokens::ETHER, token(2), 10_000)];
    for (from, to) in [(token(1), token(2)), (token(1), Tokens::ETHER), (Tokens::ETHER, token(2))] {
        assert!(conversions(&sell(pools.clone(), from, to, 100)).is_empty());
    }
    assert_eq!(conversions(&sell(pools.clone(), token(1), Tokens::WETH, 100)), [Tokens::ETHER]);
    assert_eq!(conversions(&sell(pools, Tokens::WETH, token(2), 100)), [Tokens::WETH]);
}

#[test]
fn a_step_is_kept_for_a_conversion_only_if_the_route_converts() {
    let pools = vec![
        pool(1, token(1), token(2), 5_000),
        pool(2, token(1), token(2), 5_000),
        pool(3, Tokens::ETHER, token(2), 5_000),
        pool(4, Tokens::WETH, token(2), 5_000),
        pool(5, Tokens::ETHER, token(3), 5_000),
    ];
    let steps = |max_steps, from, to| sell_within(max_steps, pools.clone(), from, to, 500).route.steps.len();
    // No ether on the way: both pools are taken, though pools of both forms of ether exist.
    assert_eq!(steps(2, token(1), token(2)), 2);
    // Two pools and a conversion, or one pool of the form that is sold.
    for form in [Tokens::ETHER, Tokens::WETH] {
        assert_eq!([1, 2, 3].map(|most| steps(most, form, token(2))), [1, 1, 3]);
    }
}
