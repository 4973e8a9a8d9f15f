//! Compares routes on small random markets with exhaustive search.

use std::sync::Arc;

use crate::common::{Sketch, block, market, paths, request, run_path, run_route, token};
use braid_market::Tokens;
use braid_primitives::U256;
use braid_routing::{PoolFilter, Prepared, Request, SolveError, solve};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const TOKENS: usize = 5;

fn sketches() -> impl Strategy<Value = Vec<Sketch>> {
    let one =
        (0..TOKENS, 1..TOKENS, 1.0_f64..4.0, -0.03_f64..0.03, any::<bool>(), prop_oneof![Just(500_u32), Just(3000)]);
    let sketch = one.prop_map(|(a, step, magnitude, tilt, concentrated, fee)| Sketch {
        coins: (a, (a + step) % TOKENS),
        depth: 10_f64.powf(magnitude),
        tilt: tilt.exp(),
        concentrated,
        fee,
    });
    prop::collection::vec(sketch, 1..12)
}

/// Generates amounts from one wei to many times the liquidity.
fn amounts() -> impl Strategy<Value = U256> {
    (0.0_f64..24.0).prop_map(|exponent| U256::from(10_f64.powf(exponent)))
}

fn distinct_tokens(route: &braid_routing::Route) -> bool {
    // No token is spent before all steps that pay it have run.
    let steps = &route.steps;
    steps.iter().enumerate().all(|(at, step)| steps[at + 1..].iter().all(|later| later.token_out != step.token_in))
}

proptest! {
    // A fixed seed, so that every run tries the same cases.
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::with_cases(30_000) })]

    #[test]
    fn a_route_replays_wastes_nothing_and_beats_every_single_chain(
        sketches in sketches(), amount in amounts(), to in 1..TOKENS, gas in 0_u64..60_000_000_000,
    ) {
        let market = market(TOKENS, &sketches);
        let prepared = Prepared::new(Arc::clone(&market));
        let request = request(token(0), amount, token(to), gas);
        let all = paths(&market, token(0), token(to), 4);
        // Without a price, gas cannot be compared with the output, so it counts as free.
        let price = prepared.value_wei(token(to), U256::from(1e18)).map(|value| value / 1e18);
        let (price, gas) = price.map_or((1.0, 0.0), |price| (price, gas as f64));
        let worth = |out: U256, units: u64| f64::from(out) * price - units as f64 * gas;
        match solve(&prepared, &request) {
            Err(SolveError::NoRoute(_)) => prop_assert!(all.is_empty()),
            Err(error) => {
                let possible = all.iter().any(|path| run_path(&market, path, amount).is_some());
                prop_assert!(!possible, "{error}, yet a path takes it all");
            }
            Ok(solution) => {
                let route = &solution.route;
                let left = run_route(&market, &request, route);
                for (token, amount) in left {
                    let output = request.outputs[0].0;
                    prop_assert!(token == output || amount.is_zero(), "{amount} of {token:?} stays behind");
                    prop_assert!(token != output || amount == route.amounts_out[0]);
                }
                prop_assert!(distinct_tokens(route));
                let net = worth(route.amounts_out[0], route.gas_units());
                for path in &all {
                    if let Some((out, units)) = run_path(&market, path, amount) {
                        let other = worth(out, units);
                        prop_assert!(other <= net + 1e-9 * net.abs() + price * 2.0, "a path of {} pays {other}, not {net}", path.len());
                        if let Ok(certificate) = &solution.certificate {
                            prop_assert!(other <= f64::from(certificate.upper_bound_value_wei) * (1.0 + 1e-12));
                        }
                    }
                }
                if let Ok(certificate) = &solution.certificate {
                    prop_assert!(!certificate.is_exceeded, "{certificate:?}");
                    prop_assert!(certificate.gap_bps >= 0.0);
                }
                prop_assert_eq!(&solution, &solve(&prepared, &request).unwrap(), "the same question, another answer");
            }
        }
    }
}

fn plain(a: usize, b: usize, depth: f64) -> Sketch {
    Sketch { coins: (a, b), depth, tilt: 1.0, concentrated: false, fee: 3000 }
}

fn ether(amount: f64) -> U256 {
    U256::from(amount * 1e18)
}

#[test]
fn ether_is_wrapped_on_the_way_in_and_unwrapped_on_the_way_out() {
    let market = market(2, &[plain(0, 1, 1e4)]);
    let prepared = Prepared::new(Arc::clone(&market));
    let sold = solve(&prepared, &request(Tokens::ETHER, ether(1.0), token(1), 0)).unwrap().route;
    assert_eq!(sold.steps.len(), 2);
    assert_eq!((sold.steps[0].token_in, sold.steps[0].token_out), (Tokens::ETHER, Tokens::WETH));
    let bought = solve(&prepared, &request(token(1), ether(1.0), Tokens::ETHER, 0)).unwrap().route;
    assert_eq!(bought.steps[1].token_out, Tokens::ETHER);
    assert_eq!(bought.amounts_out, [bought.steps[0].amount_out]);
    let wrapped = solve(&prepared, &request(Tokens::ETHER, ether(1.0), Tokens::WETH, 0)).unwrap().route;
    assert_eq!(wrapped.amounts_out, [ether(1.0)]);
}

#[test]
fn a_large_trade_is_split_over_two_like_pools_and_a_small_one_is_not() {
    let market = market(2, &[plain(0, 1, 1e4), plain(0, 1, 1e4)]);
    let prepared = Prepared::new(Arc::clone(&market));
    let large = solve(&prepared, &request(token(0), ether(500.0), token(1), 1_000_000_000)).unwrap();
    assert_eq!(large.route.steps.len(), 2);
    let small = solve(&prepared, &request(token(0), ether(0.01), token(1), 10_000_000_000)).unwrap();
    assert_eq!(small.route.steps.len(), 1);
}

#[test]
fn each_reason_for_no_route_has_its_own_error() {
    let market = market(4, &[plain(0, 1, 1e4), plain(2, 3, 1e4)]);
    let prepared = Prepared::new(Arc::clone(&market));
    let ask = |amount, to| solve(&prepared, &request(token(0), amount, token(to), 0));
    assert_eq!(ask(ether(1.0), 2), Err(SolveError::NoRoute(token(2))));
    assert_eq!(ask(U256::from(1), 1), Err(SolveError::AmountTooSmall));
    assert_eq!(ask(U256::MAX, 1), Err(SolveError::InsufficientLiquidity));
}

#[test]
fn a_trade_that_drains_the_market_uses_pools_that_are_out_of_line_by_little() {
    let pool = |coins, depth, tilt, concentrated| Sketch { coins, depth, tilt, concentrated, fee: 500 };
    let market = market(
        TOKENS,
        &[
            pool((4, 0), 185.0, 1.0, true),
            pool((2, 4), 143.0, 1.0, false),
            pool((3, 0), 172.0, 1.0, false),
            pool((4, 3), 9_372.0, 1.027_5, true),
            pool((4, 1), 4_936.0, 1.0, true),
            pool((2, 0), 150.0, 1.0, false),
            pool((2, 3), 10.0, 1.017, false),
            pool((3, 0), 3_757.0, 1.0, false),
        ],
    );
    let amount = ether(2_429.606_852_015);
    let solution = solve(&Prepared::new(Arc::clone(&market)), &request(token(0), amount, token(1), 31)).unwrap();
    let all = paths(&market, token(0), token(1), 4);
    let best = all.iter().filter_map(|path| run_path(&market, path, amount)).map(|(out, _)| out).max().unwrap();
    assert!(solution.route.amounts_out[0] >= best, "{} of {best}", solution.route.amounts_out[0]);
}

#[test]
fn a_chain_that_holds_more_for_more_gas_is_not_lost_to_a_cheaper_one() {
    // Gas is most of this trade's value: the pair saves gas at the first hop, and the concentrated pool pays more.
    let pair = Sketch { tilt: 0.971_825_654_483_235_5, depth: 40.232_181_624_379_244, ..plain(0, 2, 0.0) };
    let last = Sketch { coins: (2, 3), depth: 10.0, tilt: 1.0, concentrated: true, fee: 500 };
    let rich = Sketch {
        coins: (2, 0),
        depth: 338.137_780_127_015,
        tilt: 1.011_328_812_949_834_6,
        concentrated: true,
        fee: 500,
    };
    let market = market(4, &[pair, last, rich]);
    let prepared = Prepared::new(Arc::clone(&market));
    let amount = U256::from(7_041_671_047_686_534_u64);
    let gas = 39_268_014_616;
    let route = solve(&prepared, &request(token(0), amount, token(3), gas)).unwrap().route;
    let price = prepared.reference_price(token(3)).unwrap();
    let worth = |out: U256, units: u64| f64::from(out) * price - units as f64 * gas as f64;
    for path in paths(&market, token(0), token(3), 4) {
        let (out, units) = run_path(&market, &path, amount).unwrap();
        assert!(worth(out, units) <= worth(route.amounts_out[0], route.gas_units()) * (1.0 + 1e-9));
    }
}

#[test]
fn dust_of_a_cheap_token_is_too_small_also_over_a_token_in_between() {
    // Like one wei of DAI for WBTC: a unit of token 1 is worth 10¹⁵ units of token 0.
    let dear = Sketch { tilt: 1e-15, ..plain(0, 1, 1e9) };
    let market = market(3, &[dear, plain(1, 2, 1e-6)]);
    let prepared = Prepared::new(Arc::clone(&market));
    for (to, gas) in [(1, 0), (2, 0), (2, 50_000_000_000)] {
        for amount in [1_u64, 1_000_000, 1_000_000_000_000] {
            let answer = solve(&prepared, &request(token(0), U256::from(amount), token(to), gas));
            assert_eq!(answer, Err(SolveError::AmountTooSmall), "{amount} to {to}");
        }
    }
}

#[test]
fn a_closed_pool_is_not_used() {
    let market = market(2, &[plain(0, 1, 1e4), plain(0, 1, 1e2)]);
    let prepared = Prepared::new(Arc::clone(&market));
    let deep = market.pool_id(crate::common::pool(0, &plain(0, 1, 1e4)).key.contract).unwrap();
    let mut filter = PoolFilter::default();
    filter.exclude_pool(deep);
    let request = Request { filter, ..request(token(0), ether(1.0), token(1), 0) };
    let solution = solve(&prepared, &request).unwrap();
    assert!(solution.route.steps.iter().all(|step| step.pool != deep));
    assert_eq!(solution.certificate.unwrap().pools_covered, 1);
}

#[test]
fn preparing_the_next_block_is_the_same_as_preparing_it_from_nothing() {
    let before = market(3, &[plain(0, 1, 1e4), plain(1, 2, 1e4)]);
    let moved = crate::common::pool(1, &plain(1, 2, 2e4));
    let after = Arc::new(before.next(block(), Arc::clone(before.tokens()), [moved]).unwrap());
    let (next, fresh) = (Prepared::new(before).next(Arc::clone(&after)), Prepared::new(after));
    let request = request(token(0), ether(3.0), token(2), 1_000_000_000);
    assert_eq!(solve(&next, &request), solve(&fresh, &request));
}

#[test]
fn a_trade_that_no_pool_takes_alone_is_split_and_its_bound_is_as_close() {
    let limited = |coins, depth| Sketch { coins, depth, tilt: 1.0, concentrated: true, fee: 500 };
    let market = market(4, &[limited((0, 1), 100.0), limited((0, 1), 80.0), limited((1, 2), 50.0), plain(0, 2, 1e4)]);
    let prepared = Prepared::new(Arc::clone(&market));
    let split = solve(&prepared, &request(token(1), ether(25.0), token(0), 1_000_000_000)).unwrap();
    assert!(split.route.steps.iter().filter(|step| step.token_in == token(1)).count() > 1);
    let gap_bps = split.certificate.unwrap().gap_bps;
    assert!(gap_bps < 0.1, "{gap_bps}");
}

fn pool_of(coins: (usize, usize), depth: f64, tilt: f64, concentrated: bool) -> Sketch {
    Sketch { coins, depth, tilt, concentrated, fee: 500 }
}

#[test]
fn a_chain_that_holds_less_is_found_where_a_pool_takes_no_more() {
    // Token 4 can be bought with 0 in two pools. The better one pays more of it than the pool from 4 to 1 takes.
    let sketches = [
        pool_of((1, 0), 10.0, 1.0218385877145886, false),
        pool_of((1, 4), 32.24658975295817, 1.0172674757367486, true),
        pool_of((0, 4), 40.55355839470598, 1.0231898085542745, true),
        pool_of((4, 0), 95.70665391313631, 1.009646508609185, true),
        pool_of((0, 2), 8694.025722583936, 1.0, true),
    ];
    let market = market(TOKENS, &sketches);
    let request = request(token(0), U256::from(4_903_447_357_039_924_224_u128), token(1), 1);
    let best = paths(&market, token(0), token(1), 4).into_iter();
    let best = best.filter_map(|path| Some(run_path(&market, &path, request.inputs[0].1)?.0)).max().unwrap();
    let solution = solve(&Prepared::new(market), &request).unwrap();
    assert!(solution.route.amounts_out[0] > best, "{} where one path pays {best}", solution.route.amounts_out[0]);
}

#[test]
fn a_chain_that_holds_neither_most_nor_least_is_found_where_a_pool_takes_no_more() {
    // Token 3 can be bought with 1 in two pools, and only the output of the worse one is not too much for the pool from
    // 3 to 4.
    let sketches = [
        pool_of((2, 4), 1015.6527781947406, 0.9978410073442503, false),
        pool_of((0, 1), 10.0, 1.0, false),
        pool_of((2, 0), 219.32399088582991, 1.025851486125783, false),
        pool_of((3, 1), 808.9428484199318, 1.0, false),
        pool_of((1, 3), 1341.4258000717025, 1.0, false),
        pool_of((2, 4), 220.53133533413003, 1.0, false),
        pool_of((4, 3), 2140.82757291596, 1.0164485207009106, true),
        pool_of((0, 1), 4274.680243240087, 1.0172231732622605, false),
    ];
    no_chain_is_better(&sketches, 500_016_282_929_688_608_768, 2);
}

#[test]
fn a_chain_that_holds_less_is_found_where_the_other_may_not_go_on() {
    // More of token 2 arrives through 3 than through 1, but that part cannot continue to 3 and from there to 4.
    let sketches = [
        pool_of((3, 4), 20.909864923379985, 1.0085629036710455, true),
        pool_of((3, 2), 2025.2073876776124, 0.9739684924780249, false),
        pool_of((2, 3), 4647.615667824964, 0.9742884435330827, false),
        pool_of((3, 0), 189.94512348395287, 1.0, false),
        pool_of((1, 0), 817.3523468072683, 0.9780189105288615, false),
        pool_of((1, 2), 779.2451131290242, 1.0, false),
        pool_of((3, 4), 1063.1374042809816, 0.9850272975949129, true),
    ];
    no_chain_is_better(&sketches, 812_427_601_030_067_840, 4);
}

/// Sells token 0 for another with free gas. No single path may pay more than the route.
fn no_chain_is_better(sketches: &[Sketch], amount: u128, to: usize) {
    let market = market(TOKENS, sketches);
    let request = request(token(0), U256::from(amount), token(to), 0);
    let best = paths(&market, token(0), token(to), 4).into_iter();
    let best = best.filter_map(|path| Some(run_path(&market, &path, request.inputs[0].1)?.0)).max().unwrap();
    let solution = solve(&Prepared::new(market), &request).unwrap();
    assert!(solution.route.amounts_out[0] >= best, "{} where one path pays {best}", solution.route.amounts_out[0]);
}

#[test]
fn nothing_of_a_token_on_the_way_stays_behind() {
    // The amount exceeds what the market can take: token 0 buys more of 2 than the pools from 2 to 4 take.
    let sketches = [
        pool_of((2, 0), 18.33224516246422, 1.0, false),
        pool_of((2, 1), 14.669442264741603, 1.0, false),
        pool_of((4, 2), 81.65713495364574, 1.0, true),
        pool_of((0, 1), 7029.191846501721, 1.0, false),
        pool_of((2, 4), 91.92764313496545, 1.0, true),
        pool_of((4, 0), 376.3642585870203, 1.0, true),
    ];
    let market = market(TOKENS, &sketches);
    let request = request(token(0), U256::from(339_466_724_175_021_211_648_u128), token(4), 31_852_066_115);
    let solution = solve(&Prepared::new(Arc::clone(&market)), &request).unwrap();
    let left = run_route(&market, &request, &solution.route);
    assert!(left.iter().all(|(at, amount)| *at == token(4) || amount.is_zero()), "{left:?}");
}
