//! Tests on markets whose pools differ in price in the ways that occur on mainnet. No simpler router may pay more, and
//! none may exceed the certificate.

use std::sync::Arc;

use crate::common::{Sketch, market, request, token, worth};
use braid_primitives::U256;
use braid_routing::{Prepared, Request, Route, SimplePlan, explain, solve};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

const TOKENS: usize = 6;
const GWEI: u64 = 1_000_000_000;

fn pair(coins: (usize, usize), depth: f64, tilt: f64) -> Sketch {
    Sketch { coins, depth, tilt, concentrated: false, fee: 3000 }
}

/// Solves a request and compares the result with every simple plan. Returns the route and its gap.
fn held(sketches: &[Sketch], request: &Request) -> Result<Option<(Route, f64)>, TestCaseError> {
    let prepared = Prepared::new(market(TOKENS, sketches));
    let Ok(solution) = solve(&prepared, request) else { return Ok(None) };
    // Without a reference price of the output there is nothing to compare.
    let Ok(certificate) = solution.certificate else { return Ok(None) };
    prop_assert_eq!(usize::try_from(certificate.pools_covered).unwrap(), sketches.len(), "every pool is covered");
    prop_assert!(!certificate.is_exceeded, "{certificate:?}");
    let (net, gross) = worth(&prepared, request, &solution.route);
    let bound = f64::from(certificate.upper_bound_value_wei);
    for plan in SimplePlan::ALL {
        let Some(route) = plan.route(&prepared, request) else { continue };
        let (other, _) = worth(&prepared, request, &route);
        // A tolerance of a hundredth of a basis point and some wei of rounding.
        prop_assert!(other <= net + 1e-6 * gross.abs() + 1e4, "{plan:?} is worth {other}, ours {net}");
        prop_assert!(other <= bound + 1e-12 * bound + 2.0, "{plan:?} is worth {other}, the bound is {bound}");
    }
    Ok(Some((solution.route, certificate.gap_bps)))
}

fn ether(amount: f64) -> U256 {
    U256::from(amount * 1e18)
}

/// Returns a calm market: three hubs that trade with each other in two pools each, and two tokens that each trade
/// against two hubs.
fn calm() -> Vec<Sketch> {
    let hubs =
        [(0, 1), (0, 2), (1, 2)].into_iter().flat_map(|ends| [pair(ends, 3_000.0, 1.0), pair(ends, 800.0, 1.001)]);
    hubs.chain([(0, 3), (1, 3), (0, 4), (2, 4)].map(|ends| pair(ends, 200.0, 0.999))).collect()
}

/// Tries trades of all sizes between tokens of a market.
fn asked(sketches: &[Sketch]) {
    for (from, to) in [(0, 1), (1, 0), (1, 2), (3, 4), (4, 1)] {
        for amount in [0.01, 0.3, 10.0, 300.0, 9_000.0] {
            for gwei in [0, 1, 20] {
                let request = request(token(from), ether(amount), token(to), gwei * GWEI);
                assert!(held(sketches, &request).unwrap().is_some(), "{from} to {to}, {amount} ether, {gwei} gwei");
            }
        }
    }
}

/// Returns a market with two pools that have not been traded in for a while.
fn stale() -> Vec<Sketch> {
    let mut sketches = calm();
    sketches[1].tilt = 1.04;
    sketches[7].tilt = 0.95;
    sketches
}

/// Returns a market with two pools of tokens whose balances changed without a trade.
fn rebased() -> Vec<Sketch> {
    let mut sketches = calm();
    sketches[6].tilt = 2.0;
    sketches[9].tilt = 0.5;
    sketches
}

/// Returns a market in which half of a hub's pools have followed a price move.
fn shocked() -> Vec<Sketch> {
    let mut sketches = calm();
    for sketch in sketches.iter_mut().filter(|sketch| sketch.coins.0 == 0).step_by(2) {
        sketch.tilt *= 1.08;
    }
    sketches
}

/// Returns a market with additional tiny pools at absurd prices.
fn dusted() -> Vec<Sketch> {
    let mut sketches = calm();
    for (at, tilt) in [0.5, 0.7, 1.3, 1.6].into_iter().enumerate() {
        sketches.push(pair((at % 3, (at + 1) % 3), 0.004, tilt));
        sketches.push(pair((at % 3, 3 + at % 2), 0.02, tilt));
    }
    sketches
}

/// Returns a market with a twentieth of all depth.
fn thin() -> Vec<Sketch> {
    calm().into_iter().map(|sketch| Sketch { depth: sketch.depth / 20.0, ..sketch }).collect()
}

#[test]
fn a_pool_that_nobody_traded_with_for_a_while_is_used_and_covered() {
    asked(&stale());
}

#[test]
fn a_pool_whose_token_changed_its_balance_is_used_and_covered() {
    asked(&rebased());
}

#[test]
fn half_of_a_hubs_pools_after_a_shock_are_used_and_covered() {
    asked(&shocked());
}

#[test]
fn dust_at_absurd_prices_is_used_where_it_pays_and_covered() {
    asked(&dusted());
}

#[test]
fn a_thin_market_is_drained_as_well_as_by_simple_plans() {
    asked(&thin());
}

/// Compares with the file that `scripts/figures.py` draws: each of these markets with one trade, the share of its value
/// through each pool, and how far the bound with one price per token and the certificate's bound exceed its value, in
/// tenths of a basis point.
#[test]
fn the_pictures_show_what_the_solver_does() {
    let markets = [
        ("calm", calm(), 0, 1, 20.0),
        ("stale", stale(), 3, 2, 20.0),
        ("rebased", rebased(), 0, 1, 20.0),
        ("shocked", shocked(), 4, 1, 10.0),
        ("dusted", dusted(), 3, 2, 20.0),
        ("thin", thin(), 0, 1, 20.0),
    ];
    let drawn: Vec<_> = markets.map(|(kind, sketches, from, to, sold)| drawn(kind, &sketches, from, to, sold)).into();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/figures/apart.json");
    let text = serde_json::to_string_pretty(&drawn).unwrap() + "\n";
    if std::env::var_os("BRAID_DRAW").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap();
    assert_eq!(kept, text, "BRAID_DRAW=1 writes it anew; scripts/figures.py draws it");
}

#[allow(clippy::cast_possible_truncation)]
fn drawn(kind: &str, sketches: &[Sketch], from: usize, to: usize, sold: f64) -> Value {
    let prepared = Prepared::new(market(TOKENS, sketches));
    let request = request(token(from), ether(sold), token(to), GWEI);
    let (solution, witness) = explain(&prepared, &request).unwrap();
    let (net, gross) = worth(&prepared, &request, &solution.route);
    let value = |token, amount| prepared.value_wei(token, amount).unwrap();
    let share = |at: usize| -> f64 {
        let steps = solution.route.steps.iter().filter(|step| step.pool.index() == at + 1);
        steps.map(|step| value(step.token_in, step.amount_in)).sum::<f64>() / value(token(from), ether(sold))
    };
    let pools = sketches.iter().enumerate().map(|(at, sketch)| {
        let (coins, depth, tilt) = (sketch.coins, sketch.depth, sketch.tilt);
        json!({"coins": [coins.0, coins.1], "depth": depth, "tilt": tilt, "percent": (share(at) * 100.0).round() as i64})
    });
    let tenths = |bps: f64| (bps * 10.0).round() / 10.0;
    json!({
        "kind": kind,
        "from": from,
        "to": to,
        "sold": sold,
        "pools": pools.collect::<Vec<_>>(),
        "plain_gap_bps": tenths((witness.unwrap().bound_value_wei - net) / gross * 1e4),
        "gap_bps": tenths(solution.certificate.unwrap().gap_bps),
    })
}

#[test]
fn what_a_pool_apart_earns_is_had_only_for_the_gas_of_another_and_comes_off_the_bound() {
    // One deep pool, and a token next to it whose two pools differ by a percent, which is worth less than the gas of
    // both.
    let sketches = [pair((0, 1), 5_000.0, 1.0), pair((0, 2), 5.0, 1.0), pair((1, 2), 5.0, 0.985)];
    let request = request(token(0), ether(0.2), token(1), GWEI);
    let (route, gap_bps) = held(&sketches, &request).unwrap().unwrap();
    assert_eq!(route.steps.len(), 1);
    assert!(gap_bps < 1.0, "{gap_bps}");
}

/// Returns what a single trade pays, in ether at reference prices.
fn paid(sketches: &[Sketch], sold: f64, to: usize, gas_price_wei: u64) -> f64 {
    let request = request(token(0), ether(sold), token(to), gas_price_wei);
    let (route, _) = held(sketches, &request).unwrap().unwrap();
    worth(&Prepared::new(market(TOKENS, sketches)), &request, &route).1 / 1e18
}

fn concentrated(coins: (usize, usize), depth: f64, tilt: f64) -> Sketch {
    Sketch { concentrated: true, ..pair(coins, depth, tilt) }
}

#[test]
fn where_the_last_pool_of_a_chain_is_full_less_is_sent_down_the_chain() {
    // At most four units come through token 4. The marginal value of what the direct pool takes in addition is almost
    // zero.
    let sketches = [
        Sketch { fee: 500, ..concentrated((4, 2), 25.133, 0.997) },
        Sketch { fee: 500, ..concentrated((4, 0), 89.69, 0.803) },
        Sketch { fee: 500, ..pair((0, 2), 10.457, 1.0) },
        Sketch { fee: 500, ..concentrated((0, 3), 1433.382, 0.999) },
        Sketch { fee: 500, ..pair((3, 1), 117.83, 0.803) },
        Sketch { fee: 500, ..pair((1, 0), 33.893, 1.003) },
    ];
    let alone = paid(&sketches[2..], 8_565.5, 2, 0);
    for gas_price_wei in [0, 50_000_000, GWEI, 30 * GWEI] {
        let both = paid(&sketches, 8_565.5, 2, gas_price_wei);
        assert!(both > 1.05 * alone, "{both} with the path, {alone} without, at {gas_price_wei} wei");
    }
}

#[test]
fn what_is_worth_next_to_nothing_at_the_margin_is_not_what_carries_next_to_nothing() {
    // Everything that token 2 receives through 3 and 5 passes tokens of which far too much is available.
    let sketches = [
        pair((2, 3), 0.002, 1.52),
        concentrated((1, 4), 61.0, 1.0),
        Sketch { fee: 500, ..concentrated((2, 1), 490.0, 1.0) },
        pair((3, 5), 5_700.0, 1.0),
        Sketch { fee: 500, ..pair((2, 0), 0.02, 0.88) },
        concentrated((3, 4), 0.005, 0.735),
        Sketch { fee: 500, ..concentrated((3, 0), 131.0, 1.25) },
        Sketch { fee: 500, ..concentrated((5, 1), 54.0, 1.0) },
    ];
    for gas_price_wei in [0, GWEI, 10 * GWEI] {
        let paid = paid(&sketches, 3_970.0, 4, gas_price_wei);
        assert!(paid > 8.0, "{paid} at {gas_price_wei} wei");
    }
}

#[test]
fn a_step_that_brings_next_to_nothing_is_not_taken() {
    // Gas is free. A pool with a ten-millionth of the depth reduces slippage by as little.
    let sketches = [pair((0, 1), 10_000.0, 1.0), pair((0, 1), 0.001, 1.0)];
    let request = request(token(0), ether(10.0), token(1), 0);
    let (route, gap_bps) = held(&sketches, &request).unwrap().unwrap();
    assert_eq!(route.steps.len(), 1);
    assert!(gap_bps < 0.01, "{gap_bps}");
}

#[test]
fn a_route_has_no_more_steps_than_asked_for() {
    let sketches = calm();
    let mut before = 0.0;
    for max_steps in 1..=12 {
        let request = Request { max_steps, ..request(token(3), ether(30.0), token(4), GWEI) };
        let Ok(solution) = solve(&Prepared::new(market(TOKENS, &sketches)), &request) else {
            assert_eq!(max_steps, 1, "two pools lead there");
            continue;
        };
        assert!(solution.route.steps.len() <= usize::from(max_steps));
        let paid = f64::from(solution.route.amounts_out[0]);
        assert!(paid >= before * (1.0 - 1e-3), "{max_steps} steps pay {paid}, one less {before}");
        before = paid;
    }
}

/// Pools as in a calm market, and disturbed ones.
fn disturbed() -> impl Strategy<Value = Vec<Sketch>> {
    let calm = (1.0_f64..4.0, -0.003_f64..0.003);
    let stale = (1.0_f64..4.0, -0.1_f64..0.1);
    let rebased = (1.0_f64..3.0, prop_oneof![Just(-0.69), Just(-0.22), Just(0.22), Just(0.69)]);
    let dust = (-3.0_f64..0.0, -0.7_f64..0.7);
    let kind = prop_oneof![6 => calm, 1 => stale, 1 => rebased, 2 => dust];
    let one = (0..TOKENS, 1..TOKENS, kind, any::<bool>(), prop_oneof![Just(500_u32), Just(3000)]);
    let sketch = one.prop_map(|(a, step, (magnitude, tilt), concentrated, fee)| Sketch {
        coins: (a, (a + step) % TOKENS),
        depth: 10_f64.powf(magnitude),
        tilt: tilt.exp(),
        concentrated,
        fee,
    });
    prop::collection::vec(sketch, 4..16)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(19), ..ProptestConfig::with_cases(1_000) })]

    #[test]
    fn no_simple_plan_pays_more_or_is_beyond_the_certificate(
        sketches in disturbed(), exponent in 15.0_f64..22.5, to in 1..TOKENS, gas in 0_u64..30_000_000_000,
    ) {
        held(&sketches, &request(token(0), U256::from(10_f64.powf(exponent)), token(to), gas))?;
    }

    #[test]
    fn the_same_market_and_request_give_the_same_answer(sketches in disturbed(), to in 1..TOKENS) {
        let prepared = Prepared::new(Arc::clone(&market(TOKENS, &sketches)));
        let request = request(token(0), ether(3.0), token(to), GWEI);
        prop_assert_eq!(solve(&prepared, &request), solve(&prepared, &request));
    }
}
