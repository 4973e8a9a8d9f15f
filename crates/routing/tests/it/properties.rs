//! Tests of properties that hold for every market: nothing exceeds a certificate's bound, and irrelevant changes have
//! no effect.

use std::sync::Arc;

use crate::common::{Sketch, TOKENS, block, market, paths, pool, request, run_path, sketch, token};
use braid_market::Market;
use braid_primitives::{PoolId, TokenId, U256};
use braid_protocols::{Pool, PoolState};
use braid_routing::{MAX_ROUTE_GAS_UNITS, Prepared, Request, SimplePlan, Solution, solve};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const GWEI: u64 = 1_000_000_000;

fn sketches(most: usize) -> impl Strategy<Value = Vec<Sketch>> {
    prop::collection::vec(sketch(), 2..most)
}

/// Generates amounts from a ten-thousandth of an ether to ten times the deepest pool.
fn amounts() -> impl Strategy<Value = U256> {
    (14.0_f64..23.0).prop_map(|exponent| U256::from(10_f64.powf(exponent)))
}

/// Generates gas prices from 0.05 to 100 gwei.
fn gas() -> impl Strategy<Value = u64> {
    (7.7_f64..11.0).prop_map(|exponent| 10_f64.powf(exponent).round() as u64)
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::with_cases(cases) }
}

/// Returns the value net of gas, in wei.
fn net(prepared: &Prepared, request: &Request, out: U256, gas_units: u64) -> f64 {
    prepared.value_wei(request.outputs[0].0, out).unwrap() - gas_units as f64 * request.gas_price_wei as f64
}

fn net_of(prepared: &Prepared, request: &Request, solution: &Solution) -> f64 {
    net(prepared, request, solution.route.amounts_out[0], solution.route.gas_units())
}

/// Returns the best value of splitting the amount over two paths without a common pool, in sixteenths.
fn best_split(market: &Arc<Market>, prepared: &Prepared, request: &Request) -> Option<f64> {
    let (input, amount) = request.inputs[0];
    let all = paths(market, input, request.outputs[0].0, 3);
    let part = |k: u64| amount * U256::from(k) / U256::from(16);
    let mut best: Option<f64> = None;
    for (at, first) in all.iter().enumerate() {
        for second in &all[..=at] {
            let shared = first.iter().any(|step| second.iter().any(|other| other.0 == step.0));
            for k in if shared { 16..=16 } else { 1..=15 } {
                let Some((mut out, mut units)) = run_path(market, first, part(k)) else { continue };
                if k < 16 {
                    let Some(rest) = run_path(market, second, amount - part(k)) else { continue };
                    out += rest.0;
                    units += rest.1;
                }
                let value = net(prepared, request, out, units);
                best = Some(best.map_or(value, |known: f64| known.max(value)));
            }
        }
    }
    best
}

/// Returns the pool with a token in units that are smaller by a factor.
fn in_finer_units(pool: &Pool, token: TokenId, factor: u128) -> Pool {
    let mut pool = pool.clone();
    if let PoolState::UniswapV2(state) = &mut pool.state {
        let times = |position: usize| if pool.coins[position] == token { factor } else { 1 };
        (state.reserve0, state.reserve1) = (state.reserve0 * times(0), state.reserve1 * times(1));
    }
    pool
}

proptest! {
    #![proptest_config(config(64))]

    /// Each block changes some pools, empties others, fills them again, and may add a new one.
    #[test]
    fn a_market_prepared_block_by_block_is_the_one_prepared_anew(
        first in sketches(14),
        blocks in prop::collection::vec((prop::collection::vec((any::<prop::sample::Index>(), sketch()), 0..4), any::<u8>()), 1..6),
    ) {
        let (mut market, mut sketches) = (market(TOKENS, &first), first);
        let mut prepared = Prepared::new(Arc::clone(&market));
        for (changes, dice) in blocks {
            let mut changed = Vec::new();
            for (at, to) in changes {
                let at = at.index(sketches.len());
                let Sketch { coins, concentrated, fee, .. } = sketches[at];
                let depth = if dice.is_multiple_of(5) && !concentrated { 0.0 } else { to.depth };
                sketches[at] = Sketch { coins, concentrated, fee, depth, ..to };
                changed.push(pool(at, &sketches[at]));
            }
            if dice.is_multiple_of(4) {
                sketches.push(sketches[0].clone());
                changed.push(pool(sketches.len() - 1, &sketches[0]));
            }
            market = Arc::new(market.next(block(), Arc::clone(market.tokens()), changed).unwrap());
            prepared = prepared.next(Arc::clone(&market));
            prop_assert_eq!(format!("{prepared:?}"), format!("{:?}", Prepared::new(Arc::clone(&market))));
        }
    }
}

proptest! {
    #![proptest_config(config(1_500))]

    #[test]
    fn no_split_over_two_chains_and_no_simple_plan_is_worth_more_than_the_bound(
        sketches in sketches(9), amount in amounts(), to in 1..TOKENS, gas in gas(),
    ) {
        let market = market(TOKENS, &sketches);
        let prepared = Prepared::new(Arc::clone(&market));
        let request = Request { max_hops: 3, ..request(token(0), amount, token(to), gas) };
        let Ok(solution) = solve(&prepared, &request) else { return Ok(()) };
        let Ok(certificate) = &solution.certificate else { return Ok(()) };
        let bound = f64::from(certificate.upper_bound_value_wei);
        let slack = 2.0 + bound * 1e-12;
        if let Some(split) = best_split(&market, &prepared, &request) {
            prop_assert!(split <= bound + slack, "a split is worth {split}, above the bound {bound}");
        }
        for plan in SimplePlan::ALL {
            if let Some(route) = plan.route(&prepared, &request) {
                let value = net(&prepared, &request, route.amounts_out[0], route.gas_units());
                prop_assert!(value <= bound + slack, "{plan:?} is worth {value}, above {bound}");
            }
        }
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn one_more_pool_costs_no_more_than_the_gap(
        sketches in sketches(9), amount in amounts(), to in 1..TOKENS, gas in gas(),
    ) {
        let (fewer, more) = (market(TOKENS, &sketches[1..]), market(TOKENS, &sketches));
        let (fewer, more) = (Prepared::new(fewer), Prepared::new(more));
        let request = request(token(0), amount, token(to), gas);
        let (Ok(before), Ok(after)) = (solve(&fewer, &request), solve(&more, &request)) else { return Ok(()) };
        let Ok(certificate) = &after.certificate else { return Ok(()) };
        // Both are valued at the prices of the larger market.
        let (before, bound) = (net_of(&more, &request, &before), f64::from(certificate.upper_bound_value_wei));
        prop_assert!(before <= bound + 2.0 + bound * 1e-12, "{before} without the pool, at most {bound} with it");
    }

    #[test]
    fn two_halves_of_a_pool_trade_as_the_whole_where_gas_is_free(
        sketches in sketches(7), amount in amounts(), to in 1..TOKENS,
    ) {
        let mut halves = sketches.clone();
        let half = Sketch { depth: sketches[0].depth / 2.0, ..sketches[0].clone() };
        halves[0] = half.clone();
        halves.push(half);
        let (whole, halves) = (Prepared::new(market(TOKENS, &sketches)), Prepared::new(market(TOKENS, &halves)));
        let request = request(token(0), amount, token(to), 0);
        let (Ok(one), Ok(two)) = (solve(&whole, &request), solve(&halves, &request)) else { return Ok(()) };
        let (Ok(a), Ok(b)) = (&one.certificate, &two.certificate) else { return Ok(()) };
        let (first, second) = (net_of(&whole, &request, &one), net_of(&whole, &request, &two));
        let bound = f64::from(a.upper_bound_value_wei);
        prop_assert!(second <= bound * (1.0 + 1e-9) + 100.0, "the halves give {second}, the whole at most {bound}");
        let reach = second * (1.0 + b.gap_bps / 1e4 + 1e-9) + 100.0;
        prop_assert!(first <= reach, "the whole gives {first}, the halves at most {reach}");
    }

    #[test]
    fn removing_a_pool_that_the_route_does_not_use_changes_nothing(
        sketches in sketches(9), amount in amounts(), to in 1..TOKENS, gas in gas(), which in 0_usize..9,
    ) {
        let market = market(TOKENS, &sketches);
        let whole = Prepared::new(Arc::clone(&market));
        let request = request(token(0), amount, token(to), gas);
        let Ok(with) = solve(&whole, &request) else { return Ok(()) };
        let unused = |pool: &PoolId| with.route.steps.iter().all(|step| step.pool != *pool);
        let pools: Vec<PoolId> = (1..=sketches.len() as u32).map(PoolId).filter(unused).collect();
        let Some(removed) = pools.get(which % pools.len().max(1)) else { return Ok(()) };
        let fewer = Prepared::new(Arc::new(market.without(&[market.pool(*removed).unwrap().key])));
        let without = solve(&fewer, &request);
        prop_assert!(without.is_ok(), "the route is still there: {:?}", without.err());
        let without = without.unwrap();
        // Both routes exist in both markets. Each is valued at the prices of the market whose certificate is compared.
        for (prepared, other, solution) in [(&fewer, &with, &without), (&whole, &without, &with)] {
            let Ok(certificate) = &solution.certificate else { continue };
            let (value, own) = (net_of(prepared, &request, other), net_of(prepared, &request, solution));
            let gap = f64::from(certificate.upper_bound_value_wei) - own + 2.0 + own.abs() * 1e-12;
            prop_assert!(value - own <= gap, "{value} without the pool or with it, {own} here, a gap of {gap} wei");
        }
    }

    #[test]
    fn counting_a_token_in_other_units_changes_nothing(
        sketches in sketches(9), amount in amounts(), to in 1..TOKENS, gas in gas(), which in 1..TOKENS, power in 1_u32..8,
    ) {
        // Only pairs, because the ticks of concentrated pools cannot be scaled by an arbitrary factor.
        let sketches: Vec<Sketch> = sketches.into_iter().map(|sketch| Sketch { concentrated: false, ..sketch }).collect();
        let factor = 10_u128.pow(power);
        let plain = market(TOKENS, &sketches);
        let finer = plain.pools().iter().map(|pool| in_finer_units(pool, token(which), factor));
        let finer = plain.next(block(), Arc::clone(plain.tokens()), finer.collect::<Vec<_>>()).unwrap();
        let (plain, finer) = (Prepared::new(plain), Prepared::new(Arc::new(finer)));
        let request = request(token(0), amount, token(to), gas);
        let (first, second) = (solve(&plain, &request), solve(&finer, &request));
        if let (Ok(first), Ok(second)) = (&first, &second) {
            // The loss by integer rounding: some units of the coarser market.
            let grain = 1e4;
            let (a, b) = (net_of(&plain, &request, first), net_of(&finer, &request, second));
            let gap = |solution: &Solution| {
                let bound = |c: &braid_routing::Certificate| f64::from(c.upper_bound_value_wei);
                solution.certificate.as_ref().ok().map(|certificate| bound(certificate) + grain + a.abs() * 1e-11)
            };
            prop_assert!(gap(first).is_none_or(|bound| b <= bound), "{a}, in finer units {b}");
            prop_assert!(gap(second).is_none_or(|bound| a <= bound), "{a}, in finer units {b}");
            let (one, other) = (first.certificate.is_ok(), second.certificate.is_ok());
            prop_assert_eq!(one, other, "one has a certificate: {:?} {:?}", &first.certificate, &second.certificate);
        } else {
            prop_assert_eq!(first.is_ok(), second.is_ok(), "{:?} {:?}", first.err(), second.err());
        }
    }

    #[test]
    fn preparing_block_after_block_is_as_preparing_each_from_nothing(
        sketches in sketches(12), moves in prop::collection::vec((0_usize..12, 0.5_f64..2.0), 1..12),
    ) {
        let mut state = market(TOKENS, &sketches);
        let mut prepared = Prepared::new(Arc::clone(&state));
        for (at, factor) in moves {
            let at = at % sketches.len();
            let moved = Sketch { tilt: sketches[at].tilt * factor, ..sketches[at].clone() };
            state = Arc::new(state.next(block(), Arc::clone(state.tokens()), [pool(at, &moved)]).unwrap());
            prepared = prepared.next(Arc::clone(&state));
            let fresh = Prepared::new(Arc::clone(&state));
            prop_assert_eq!(format!("{prepared:?}"), format!("{fresh:?}"));
        }
    }
}

#[test]
fn a_route_never_needs_more_gas_than_a_transaction_may_use() {
    // Every interval of sixty ticks has different liquidity, so draining the pool crosses 1,200 ticks.
    let deep = Sketch { coins: (0, 1), depth: 10.0, tilt: 1.0, concentrated: true, fee: 3000 };
    let mut rough = pool(0, &deep);
    if let PoolState::UniswapV3(state) = &mut rough.state {
        let liquidity = 1_000_000_000_000_000_000_i128;
        let edges = (-600..=600).filter(|k| *k != 0).map(|k: i32| {
            braid_protocols::uniswap_v3::Tick::new(k * 60, -liquidity * i128::from(k.signum()), 1_u128 << 60)
        });
        let mut ticks: Vec<_> = edges.flatten().collect();
        ticks.sort_by_key(|tick| tick.index);
        state.liquidity = 600 * liquidity as u128;
        state.ticks = ticks.into();
    }
    let plain = Sketch { concentrated: false, depth: 1e5, ..deep.clone() };
    let other = Sketch { coins: (0, 2), ..plain.clone() };
    let empty = market(3, &[]);
    let pools = [rough, pool(1, &plain), pool(2, &other)];
    let state = empty.next(block(), Arc::clone(empty.tokens()), pools).unwrap();
    let prepared = Prepared::new(Arc::new(state));
    for ether in [1.0, 1e3, 1e5, 1e7] {
        for gas in [0, GWEI / 20, 100 * GWEI] {
            let single = request(token(0), U256::from(ether * 1e18), token(1), gas);
            let basket = Request { outputs: vec![(token(1), 9_000), (token(2), 1_000)], ..single.clone() };
            for request in [single, basket] {
                let units = solve(&prepared, &request).unwrap().route.gas_units();
                assert!(units <= MAX_ROUTE_GAS_UNITS, "{units} gas units for {ether} ether at {gas} wei: {request:?}");
            }
        }
    }
}

/// Returns a V3 pool with a range end every sixty ticks, at each of which liquidity falls or rises a little, and little
/// liquidity beyond, down to a rate of almost zero.
fn stepped(at: usize, steps: i32, per_step: i128) -> Pool {
    let sketch = Sketch { coins: (0, 1), depth: 1.0, tilt: 1.0, concentrated: true, fee: 3000 };
    let mut pool = pool(at, &sketch);
    if let PoolState::UniswapV3(state) = &mut pool.state {
        let wide = per_step / 10;
        let tick = |index, net: i128| braid_protocols::uniswap_v3::Tick::new(index, net, net.unsigned_abs()).unwrap();
        let edges = (-steps..=steps).filter(|k| *k != 0);
        let mut ticks: Vec<_> = edges.map(|k| tick(k * 60, -per_step * i128::from(k.signum()))).collect();
        ticks.extend([tick(-887_220, wide), tick(887_220, -wide)]);
        ticks.sort_by_key(|tick| tick.index);
        state.liquidity = (i128::from(steps) * per_step + wide) as u128;
        state.ticks = ticks.into();
    }
    pool
}

#[test]
fn a_trade_over_many_ticks_is_split_as_far_as_the_gas_of_a_transaction_goes() {
    let plain = Sketch { coins: (0, 1), depth: 4e3, tilt: 1.0, concentrated: false, fee: 3000 };
    let empty = market(2, &[]);
    let pools =
        (0..12).map(|at| stepped(at, 60, 400_000_000_000_000_000_000)).chain((12..16).map(|at| pool(at, &plain)));
    let state = empty.next(block(), Arc::clone(empty.tokens()), pools).unwrap();
    let prepared = Prepared::new(Arc::new(state));
    // The whole first amount crosses as many ticks as the gas allows; more than that goes to the plain pools, at a loss.
    for (ether, most_bps) in [(12e3, 0.01), (16e3, 150.0), (20e3, 800.0)] {
        let request = request(token(0), U256::from(ether * 1e18), token(1), GWEI / 10);
        let solution = solve(&prepared, &request).unwrap();
        let (gas_units, gap_bps) = (solution.route.gas_units(), solution.certificate.unwrap().gap_bps);
        assert!(gas_units <= MAX_ROUTE_GAS_UNITS, "{gas_units} gas units for {ether} ether");
        assert!(gap_bps < most_bps, "{ether} ether is {gap_bps} basis points below the bound");
    }
}

#[test]
fn a_pool_stops_short_of_a_tick_that_costs_more_than_it_earns() {
    // A pool in which every interval of sixty ticks has different liquidity, so that each crossing costs gas, next to a
    // plain one.
    let rough = Sketch { coins: (0, 1), depth: 10.0, tilt: 1.0, concentrated: true, fee: 3000 };
    let mut stepped = pool(0, &rough);
    if let PoolState::UniswapV3(state) = &mut stepped.state {
        let liquidity = 2_000_000_000_000_000_000_i128;
        let edges = (-200..=200).filter(|k| *k != 0).map(|k: i32| {
            braid_protocols::uniswap_v3::Tick::new(k * 60, -liquidity * i128::from(k.signum()), 1_u128 << 60)
        });
        let mut ticks: Vec<_> = edges.flatten().collect();
        ticks.sort_by_key(|tick| tick.index);
        state.liquidity = 200 * liquidity as u128;
        state.ticks = ticks.into();
    }
    let plain = Sketch { concentrated: false, depth: 500.0, ..rough.clone() };
    let empty = market(2, &[]);
    let state = Arc::new(empty.next(block(), Arc::clone(empty.tokens()), [stepped, pool(1, &plain)]).unwrap());
    let prepared = Prepared::new(Arc::clone(&state));
    let ids = [0, 1].map(|at| state.pool_id(pool(at, &rough).key).unwrap());
    let gas = 20 * GWEI;
    for ether in [3.0, 7.0, 11.0, 16.0, 23.0, 31.0] {
        let amount = U256::from(ether * 1e18);
        let request = request(token(0), amount, token(1), gas);
        let price = prepared.value_wei(token(1), U256::from(1e18)).unwrap() / 1e18;
        let net = |out: U256, units: u64| f64::from(out) * price - units as f64 * gas as f64;
        let found = solve(&prepared, &request).unwrap().route;
        let found = net(found.amounts_out[0], found.gas_units());
        // All splits in steps of one two-thousandth.
        let paid = |id: PoolId, amount: U256| {
            if amount.is_zero() {
                return Some((U256::ZERO, 0));
            }
            let swap = state.pool(id)?.swap(&block().next(), 0, 1, amount).ok()?;
            Some((swap.amount_out, swap.gas_units))
        };
        let splits = (0..=2_000_u64).filter_map(|share| {
            let first = amount * U256::from(share) / U256::from(2_000);
            let [(a, gas_a), (b, gas_b)] = [paid(ids[0], first)?, paid(ids[1], amount - first)?];
            Some(net(a + b, gas_a + gas_b))
        });
        let best = splits.fold(f64::NEG_INFINITY, f64::max);
        assert!(found >= best - 2e-6 * best.abs(), "{ether} ether: {found} wei, and {best} by a split of two");
    }
}
