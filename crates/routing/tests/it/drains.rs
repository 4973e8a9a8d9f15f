//! Amounts beyond the market's liquidity: the gas that a transaction may use is then what limits a route.

use std::sync::Arc;

use braid_market::Market;
use braid_primitives::{Address, U256};
use braid_protocols::uniswap_v3::{State, Tick, tick_math};
use braid_protocols::{Pool, PoolState, Product};
use braid_routing::{MAX_ROUTE_GAS_UNITS, Prepared, Request, many_chunks, solve};

use crate::common::{Sketch, block, market, pool, request, token, tokens, worth, wrapper};
use crate::simple_plans::{Random, shallow};

const GWEI: u64 = 1_000_000_000;

/// Returns a pool with 1,000 ether of each coin within 10% of the price, and next to nothing at every other price. A swap
/// to the end passes 3,465 words of its tick bitmap, for 25 million gas.
fn endless(number: u8, coins: (usize, usize)) -> Pool {
    let ends = [(-887_272, 1_000_000_000), (-1_000, 20_000_000_000_000_000_000_000)];
    let mirrored = ends.iter().rev().map(|(tick, liquidity)| (-tick, -liquidity));
    let ticks = ends.iter().copied().chain(mirrored);
    let ticks: Vec<Tick> =
        ticks.map(|(at, net): (i32, i128)| Tick::new(at, net, net.unsigned_abs()).unwrap()).collect();
    let state = State {
        sqrt_price_x96: tick_math::sqrt_price_at_tick(0).unwrap() + U256::from(1),
        tick: 0,
        liquidity: 20_000_000_001_000_000_000_000,
        fee_pips: 500,
        fee_protocol: 0,
        tick_spacing: 1,
        ticks: ticks.into(),
    };
    Pool {
        key: Address::repeat_byte(number).into(),
        product: Product::UniswapV3,
        coins: [token(coins.0), token(coins.1)].into_iter().collect(),
        state: PoolState::UniswapV3(state),
    }
}

/// Solves a sale of a million ether of token 1 for token 0, where a pool of one ether takes what others leave.
fn sold(pools: Vec<Pool>, max_steps: u16) -> (f64, u64) {
    let thin = Sketch { coins: (1, 0), depth: 1.0, tilt: 1.0, concentrated: false, fee: 3000 };
    let tokens = tokens(3);
    let pools: Vec<Pool> = [wrapper(), pool(0, &thin)].into_iter().chain(pools).collect();
    let market = Market::empty(block(), Arc::clone(&tokens)).next(block(), tokens, pools).unwrap();
    let amount = U256::from(1_000_000) * U256::from(10).pow(U256::from(18));
    let request = Request { max_steps, ..request(token(1), amount, token(0), GWEI) };
    let route = solve(&Prepared::new(Arc::new(market)), &request).unwrap().route;
    (f64::from(route.amounts_out[0]) / 1e18, route.gas_units())
}

#[test]
fn a_pool_is_stopped_before_the_range_without_liquidity_that_costs_more_gas_than_a_transaction_may() {
    let (paid, gas_units) = sold(vec![endless(7, (1, 0))], 40);
    assert!(paid > 970.0, "{paid} of 975 and 1");
    assert!(gas_units <= MAX_ROUTE_GAS_UNITS, "{gas_units}");
}

#[test]
fn a_pool_behind_another_is_stopped_too() {
    // What the first pool pays is more than the second takes before its range without liquidity.
    let deep = Sketch { coins: (1, 2), depth: 50_000.0, tilt: 1.0, concentrated: false, fee: 3000 };
    let (paid, gas_units) = sold(vec![pool(1, &deep), endless(7, (2, 0))], 40);
    assert!(paid > 970.0, "{paid} of 975 and 1");
    assert!(gas_units <= MAX_ROUTE_GAS_UNITS, "{gas_units}");
}

/// Returns a pool with 1,000 ether of each coin within 10% of the price, and nothing at any other: it takes no more than about
/// 1,050 ether.
fn bounded(number: u8, coins: (usize, usize)) -> Pool {
    let mut pool = endless(number, coins);
    if let PoolState::UniswapV3(state) = &mut pool.state {
        let liquidity = 20_000_000_000_000_000_000_000_u128;
        state.liquidity = liquidity;
        let ends = [(-1_000, liquidity.cast_signed()), (1_000, -liquidity.cast_signed())];
        state.ticks = ends.map(|(at, net)| Tick::new(at, net, liquidity).unwrap()).into_iter().collect();
    }
    pool
}

#[test]
fn what_full_pools_do_not_take_is_sold_where_it_displaces_little() {
    let sketch = |coins, depth| Sketch { coins, depth, tilt: 1.0, concentrated: false, fee: 3000 };
    // The two pools that pay token 0 are full long before everything is sold. A path for the rest is a pool from the input, one
    // from a token on the way, or two pools through a token that no good route passes.
    let poor: [&[Pool]; 3] = [
        &[pool(2, &sketch((1, 3), 20.0))],
        &[pool(2, &sketch((2, 3), 20.0))],
        &[pool(2, &sketch((1, 4), 20.0)), pool(3, &sketch((4, 2), 20.0))],
    ];
    for pools in poor {
        for ether in [3_000_u64, 10_000, 100_000, 1_000_000] {
            let good = [wrapper(), pool(0, &sketch((1, 2), 50_000.0)), pool(1, &sketch((2, 3), 50_000.0))];
            let pools = good.iter().chain(pools).cloned().chain([bounded(8, (2, 0)), bounded(9, (3, 0))]);
            let tokens = tokens(5);
            let market = Market::empty(block(), Arc::clone(&tokens)).next(block(), tokens, pools).unwrap();
            let amount = U256::from(ether) * U256::from(10).pow(U256::from(18));
            let found = solve(&Prepared::new(Arc::new(market)), &request(token(1), amount, token(0), GWEI)).unwrap();
            let (paid, certificate) = (f64::from(found.route.amounts_out[0]) / 1e18, found.certificate.unwrap());
            assert!((1_900.0..2_000.0).contains(&paid), "{paid} for {ether}");
            assert!(certificate.gap_bps < 2.0, "{} basis points for {ether}", certificate.gap_bps);
        }
    }
}

#[test]
fn amounts_far_beyond_the_liquidity_pay_as_much_as_400_chunks() {
    let mut compared = 0;
    for seed in 0..60 {
        let tokens = 4 + (seed as usize) % 5;
        let prepared = Prepared::new(market(tokens, &shallow(seed, tokens)));
        let mut random = Random(seed + 500);
        for _ in 0..4 {
            let [from, to] = [random.below(tokens), random.below(tokens)];
            // Pools hold up to 1,000 ether of a token.
            let amount = U256::from(1e21 * 10_f64.powf(3.0 * random.unit()));
            let request = request(token(from), amount, token(to), GWEI);
            let Some(other) = (from != to).then(|| many_chunks(&prepared, &request)).flatten() else { continue };
            let route = solve(&prepared, &request).unwrap().route;
            let (net, gross) = worth(&prepared, &request, &route);
            let (chunks, _) = worth(&prepared, &request, &other);
            assert!(chunks <= net + 0.01 * gross, "seed {seed}, {from} to {to}, {amount}: {chunks}, ours {net}");
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn what_passes_a_pool_that_is_too_small_takes_the_best_route_from_there() {
    let mut compared = 0;
    for seed in 0..40 {
        // Token 1 is sold for token 2 only, in a pool of 10 ether.
        let tokens = 7;
        let narrow = Sketch { coins: (1, 2), depth: 10.0, tilt: 1.0, concentrated: false, fee: 500 };
        let others = shallow(seed, tokens).into_iter().filter(|sketch| sketch.coins.0 != 1 && sketch.coins.1 != 1);
        let prepared = Prepared::new(market(tokens, &std::iter::once(narrow).chain(others).collect::<Vec<_>>()));
        let mut random = Random(seed + 700);
        for to in [3, 4, 5] {
            let amount = U256::from(1e21 * 10_f64.powf(3.0 * random.unit()));
            let first = request(token(1), amount, token(2), GWEI);
            let Ok(passed) = solve(&prepared, &first) else { continue };
            let rest = Request { max_hops: 3, ..request(token(2), passed.route.amounts_out[0], token(to), GWEI) };
            let whole = Request { max_hops: 4, ..request(token(1), amount, token(to), GWEI) };
            let (Ok(rest_solved), Ok(solved)) = (solve(&prepared, &rest), solve(&prepared, &whole)) else { continue };
            let (rest_net, gross) = worth(&prepared, &rest, &rest_solved.route);
            let (net, _) = worth(&prepared, &whole, &solved.route);
            let gas = passed.route.gas_units() as f64 * GWEI as f64;
            assert!(
                net >= rest_net - gas - 1e-3 * gross,
                "seed {seed} to {to}: {net}, in two trades {}",
                rest_net - gas
            );
            compared += 1;
        }
    }
    assert!(compared > 60, "{compared}");
}
