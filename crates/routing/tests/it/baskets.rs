//! Compares baskets on small random markets with naive splitting over every combination of paths of pools that is
//! drawn.

use std::sync::Arc;

use crate::common::{Sketch, market, paths, request, run_route, token};
use braid_market::{Market, Tokens};
use braid_primitives::{PoolId, TokenId, U256};
use braid_protocols::{After, PoolState, uniswap_v2, uniswap_v3};
use braid_routing::{Prepared, Request, Route, SolveError, solve};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const TOKENS: usize = 7;

/// A request: inputs by token with the decimal logarithm of their amounts, and outputs by token with weights.
#[derive(Clone, Debug)]
struct Asked {
    inputs: Vec<(usize, f64)>,
    outputs: Vec<(usize, u16)>,
}

fn asked(amounts: std::ops::Range<f64>) -> impl Strategy<Value = Asked> {
    let order = Just((0..TOKENS).collect::<Vec<_>>()).prop_shuffle();
    let parts = (1..=3_usize, 1..=3_usize, prop::collection::vec(amounts, 3), prop::collection::vec(1_u16..2_000, 3));
    (order, parts).prop_map(|(tokens, (inputs, outputs, amounts, weights))| Asked {
        inputs: tokens[..inputs].iter().copied().zip(amounts).collect(),
        outputs: tokens[3..3 + outputs].iter().copied().zip(weights).collect(),
    })
}

impl Asked {
    fn request(&self, gas_price_wei: u64) -> Request {
        let total: u32 = self.outputs.iter().map(|(_, weight)| u32::from(*weight)).sum();
        let mut outputs: Vec<(TokenId, u16)> = self
            .outputs
            .iter()
            .map(|(at, weight)| (token(*at), u16::try_from(u32::from(*weight) * 10_000 / total).unwrap().max(1)))
            .collect();
        let sum: u16 = outputs.iter().skip(1).map(|(_, bps)| bps).sum();
        outputs[0].1 = 10_000 - sum;
        let amount = |exponent: f64| U256::from(10_f64.powf(exponent));
        Request {
            inputs: self.inputs.iter().map(|(at, exponent)| (token(*at), amount(*exponent))).collect(),
            outputs,
            ..request(token(0), U256::ONE, token(1), gas_price_wei)
        }
    }
}

/// Generates a market with a pool of every token with wrapped ether, and some other pools.
fn connected() -> impl Strategy<Value = Vec<Sketch>> {
    let depth = prop::collection::vec(1.5_f64..4.0, TOKENS - 1);
    let one =
        (0..TOKENS, 1..TOKENS, 1.0_f64..4.0, -0.01_f64..0.01, any::<bool>(), prop_oneof![Just(500_u32), Just(3000)]);
    let sketch = one.prop_map(|(a, step, magnitude, tilt, concentrated, fee)| Sketch {
        coins: (a, (a + step) % TOKENS),
        depth: 10_f64.powf(magnitude),
        tilt: tilt.exp(),
        concentrated,
        fee,
    });
    (depth, prop::collection::vec(sketch, 0..10)).prop_map(|(depths, mut more)| {
        let spoke = |(at, depth): (usize, &f64)| Sketch {
            coins: (0, at + 1),
            depth: 10_f64.powf(*depth),
            tilt: 1.0,
            concentrated: false,
            fee: 3000,
        };
        more.extend(depths.iter().enumerate().map(spoke));
        more
    })
}

/// How far the outputs are from the requested shares.
#[derive(Clone, Copy, Debug)]
struct Off {
    /// The largest deviation of a share, in basis points.
    bps: f64,
    /// The value in excess of the largest basket with exactly these shares.
    surplus_wei: f64,
}

/// Returns the value, net of gas, of the largest basket with exactly the requested shares that the amounts contain, and
/// how far the amounts are from these shares.
fn value(prepared: &Prepared, request: &Request, amounts: &[U256], gas_units: u64) -> (f64, Off) {
    let outputs = request.outputs.iter().zip(amounts);
    let values: Vec<(f64, f64)> = outputs
        .map(|((token, bps), amount)| (prepared.value_wei(*token, *amount).unwrap_or(0.0), f64::from(*bps) / 10_000.0))
        .collect();
    let total: f64 = values.iter().map(|(value, _)| value).sum();
    let basket = values.iter().map(|(value, share)| value / share).fold(f64::INFINITY, f64::min);
    let bps = values.iter().map(|(value, share)| (value / total - share).abs() * 1e4).fold(0.0, f64::max);
    (basket - gas_units as f64 * request.gas_price_wei as f64, Off { bps, surplus_wei: total - basket })
}

type Chain = Vec<(PoolId, u8, u8)>;

/// Returns whether paths together are a route: no pool in both directions, no cycle, and no path longer than `hops`.
fn is_route(market: &Market, paths: &[Chain], hops: usize) -> bool {
    let edge = |step: &(PoolId, u8, u8)| {
        let coins = &market.pool(step.0).unwrap().coins;
        (coins[usize::from(step.1)], coins[usize::from(step.2)])
    };
    let steps: Vec<_> = paths.iter().flatten().collect();
    if steps.iter().any(|a| steps.iter().any(|b| a.0 == b.0 && a.1 != b.1)) {
        return false;
    }
    let mut depth: Vec<(TokenId, usize)> = Vec::new();
    let of = |depth: &[(TokenId, usize)], token| depth.iter().find(|d| d.0 == token).map_or(0, |d| d.1);
    for _ in 0..=hops {
        let mut changed = false;
        for (from, to) in steps.iter().map(|step| edge(step)) {
            let reached = of(&depth, from) + 1;
            if reached > of(&depth, to) {
                depth.retain(|d| d.0 != to);
                depth.push((to, reached));
                changed = true;
            }
        }
        if !changed {
            return depth.iter().all(|d| d.1 <= hops);
        }
    }
    false
}

/// Splits every input over the outputs by the same shares, and sends each part down the path for its pair. Returns the
/// outputs and the gas. A pool that is used again has its state after the previous use, and its gas is counted once,
/// except for ticks.
fn run(market: &Market, request: &Request, plan: &[Vec<&Chain>], shares: &[f64]) -> Option<(Vec<U256>, u64)> {
    let mut states: Vec<(PoolId, After)> = Vec::new();
    let mut gas_units = 0;
    let mut arrived = vec![U256::ZERO; request.outputs.len()];
    for ((_, amount), row) in request.inputs.iter().zip(plan) {
        let mut left = *amount;
        for (k, path) in row.iter().enumerate() {
            let whole: f64 = shares[k..].iter().sum();
            let last = k + 1 == row.len();
            let part = if last { left } else { U256::from(f64::from(left) * (shares[k] / whole)).min(left) };
            left -= part;
            let mut held = part;
            for (id, coin_in, coin_out) in *path {
                let before = states.iter().find(|(used, _)| used == id).map_or(&After::Unchanged, |(_, after)| after);
                let swap = market.pool(*id)?.swap_after(&request.at, before, *coin_in, *coin_out, held).ok()?;
                held = swap.amount_out;
                match states.iter_mut().find(|(used, _)| used == id) {
                    Some((_, after)) => {
                        *after = swap.after;
                        // The gas of the swap is counted already, but not that of the ticks that it crosses.
                        gas_units += swap.gas_units.saturating_sub(least_gas(market, *id));
                    }
                    None => {
                        gas_units += swap.gas_units;
                        states.push((*id, swap.after));
                    }
                }
            }
            arrived[k] += held;
        }
    }
    Some((arrived, gas_units))
}

fn least_gas(market: &Market, id: PoolId) -> u64 {
    match market.pool(id).unwrap().state {
        PoolState::UniswapV3(_) => uniswap_v3::gas::SWAP_GAS_UNITS,
        _ => uniswap_v2::gas::SWAP_GAS_UNITS,
    }
}

/// Returns the best value of a combination of paths while its shares are adjusted towards the requested ones.
fn naive(prepared: &Prepared, request: &Request, plan: &[Vec<&Chain>]) -> Option<f64> {
    let market = prepared.market();
    let mut shares: Vec<f64> = request.outputs.iter().map(|(_, bps)| f64::from(*bps)).collect();
    let mut best: Option<f64> = None;
    for _ in 0..12 {
        let (amounts, gas_units) = run(market, request, plan, &shares)?;
        let (net, _) = value(prepared, request, &amounts, gas_units);
        best = Some(best.map_or(net, |known| known.max(net)));
        for (share, ((token, bps), amount)) in shares.iter_mut().zip(request.outputs.iter().zip(&amounts)) {
            *share *= (f64::from(*bps) / prepared.value_wei(*token, *amount)?.max(1.0)).min(1e30);
        }
        let sum: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|share| *share /= sum);
    }
    best
}

/// Returns combinations of paths, one path per input and output: the shortest of each first, and then others by a
/// fixed random choice.
fn combinations(market: &Market, request: &Request, count: usize) -> Vec<Vec<Vec<Chain>>> {
    let all: Vec<Vec<Vec<Chain>>> = request
        .inputs
        .iter()
        .map(|(input, _)| {
            let outputs = request.outputs.iter();
            outputs
                .map(|(output, _)| {
                    let mut found = paths(market, *input, *output, 3);
                    found.sort_by_key(Vec::len);
                    found
                })
                .collect()
        })
        .collect();
    if all.iter().flatten().any(Vec::is_empty) {
        return Vec::new();
    }
    let mut dice = 0x9e37_79b9_7f4a_7c15_u64;
    let mut roll = |sides: usize| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(dice >> 33).unwrap() % sides
    };
    (0..count)
        .map(|round| {
            let pick = |found: &Vec<Chain>, roll: &mut dyn FnMut(usize) -> usize| {
                let among = if round % 2 == 0 { found.len().min(1 + round) } else { found.len() };
                found[roll(among)].clone()
            };
            all.iter().map(|row| row.iter().map(|found| pick(found, &mut roll)).collect()).collect()
        })
        .collect()
}

/// Checks everything that holds for any result: it can be replayed, it leaves nothing behind, and its bound covers
/// every other combination that is tried.
fn check(
    market: &Arc<Market>,
    prepared: &Prepared,
    request: &Request,
    count: usize,
) -> Result<Option<Off>, TestCaseError> {
    let solution = match solve(prepared, request) {
        Ok(solution) => solution,
        Err(_) => return Ok(None),
    };
    let route = &solution.route;
    for (token, amount) in run_route(market, request, route) {
        let output = request.outputs.iter().position(|(output, _)| *output == token);
        match output {
            Some(at) => prop_assert_eq!(amount, route.amounts_out[at]),
            None => prop_assert!(amount.is_zero(), "{amount} of {token:?} stays behind"),
        }
    }
    prop_assert!(route.steps.len() <= usize::from(request.max_steps));
    let steps = &route.steps;
    let ordered = |at: usize| steps[at + 1..].iter().all(|later| later.token_out != steps[at].token_in);
    prop_assert!((0..steps.len()).all(ordered), "a token is spent before all of it is there");
    let (net, off) = value(prepared, request, &route.amounts_out, route.gas_units());
    // The certificate counts the excess over the shares on both sides, and its values are zero where gas costs more
    // than the output.
    let bound = solution.certificate.as_ref().ok().map(|certificate| {
        let [bound, achieved] = [certificate.upper_bound_value_wei, certificate.achieved_value_wei].map(f64::from);
        if achieved > 0.0 { net + bound - achieved } else { bound }
    });
    if let Ok(certificate) = &solution.certificate {
        prop_assert!(certificate.gap_bps >= 0.0);
        prop_assert!(!certificate.is_exceeded, "{certificate:?}");
    }
    for plan in combinations(market, request, count) {
        let union: Vec<Chain> = plan.iter().flatten().cloned().collect();
        if !is_route(market, &union, 4) {
            continue;
        }
        let plan: Vec<Vec<&Chain>> = plan.iter().map(|row| row.iter().collect()).collect();
        let Some(other) = naive(prepared, request, &plan) else { continue };
        match bound {
            // Three values are rounded to a wei.
            Some(bound) => {
                prop_assert!(
                    other <= bound + 1e-12 * bound.abs() + 3.0,
                    "{other} is above the bound {bound}, ours {net}"
                )
            }
            None => prop_assert!(other <= net + 0.02 * net.abs() + 1e15, "naive splitting pays {other}, not {net}"),
        }
    }
    prop_assert_eq!(&solution, &solve(prepared, request).unwrap(), "the same question, another answer");
    Ok(Some(off))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::with_cases(1_500) })]

    #[test]
    fn a_basket_meets_its_shares_and_no_naive_split_beats_the_bound(
        sketches in connected(), asked in asked(15.0..20.0), gas in 0_u64..30_000_000_000,
    ) {
        let market = market(TOKENS, &sketches);
        let prepared = Prepared::new(Arc::clone(&market));
        let request = asked.request(gas);
        let off = check(&market, &prepared, &request, 12)?;
        prop_assert!(off.is_some(), "every token is connected: {:?}", solve(&prepared, &request).err());
        let Off { bps, surplus_wei } = off.unwrap();
        // A small basket may miss its shares if the swaps that would correct them cost more than the excess is worth.
        let mended_for = (3 * uniswap_v3::gas::SWAP_GAS_UNITS * gas) as f64;
        prop_assert!(bps <= 1.0 || surplus_wei <= mended_for, "a share is {bps} bps off, {surplus_wei} wei too much");
    }

    #[test]
    fn dust_and_floods_are_answered_or_refused_but_never_wrong(
        sketches in connected(), asked in asked(0.0..26.0), gas in 0_u64..30_000_000_000,
    ) {
        let market = market(TOKENS, &sketches);
        let prepared = Prepared::new(Arc::clone(&market));
        check(&market, &prepared, &asked.request(gas), 6)?;
    }
}

fn spoke(to: usize, depth: f64) -> Sketch {
    Sketch { coins: (0, to), depth, tilt: 1.0, concentrated: false, fee: 3000 }
}

fn ether(amount: f64) -> U256 {
    U256::from(amount * 1e18)
}

fn basket(inputs: &[(TokenId, f64)], outputs: &[(TokenId, u16)], gas_price_wei: u64) -> Request {
    Request {
        inputs: inputs.iter().map(|(token, amount)| (*token, ether(*amount))).collect(),
        outputs: outputs.to_vec(),
        ..request(token(0), U256::ONE, token(1), gas_price_wei)
    }
}

fn solved(market: &Arc<Market>, request: &Request) -> Route {
    solve(&Prepared::new(Arc::clone(market)), request).unwrap().route
}

#[test]
fn ether_and_wrapped_ether_are_both_paid_out_by_their_shares() {
    let market = market(2, &[spoke(1, 1e4)]);
    let request = basket(&[(token(1), 10.0)], &[(Tokens::ETHER, 2_500), (Tokens::WETH, 7_500)], 1_000_000_000);
    let route = solved(&market, &request);
    let total = route.amounts_out[0] + route.amounts_out[1];
    assert!(
        route.amounts_out[0] * U256::from(4) <= total + U256::from(8)
            && route.amounts_out[0] * U256::from(4) + U256::from(8) >= total
    );
    let single = solved(&market, &basket(&[(token(1), 10.0)], &[(Tokens::WETH, 10_000)], 1_000_000_000));
    assert_eq!(total, single.amounts_out[0]);
}

#[test]
fn wrapped_ether_in_and_ether_out_is_unwrapped_and_the_rest_swapped() {
    let market = market(3, &[spoke(1, 1e4), spoke(2, 1e4)]);
    let request = basket(&[(Tokens::WETH, 10.0)], &[(Tokens::ETHER, 5_000), (token(1), 5_000)], 1_000_000_000);
    let route = solved(&market, &request);
    assert_eq!(route.steps.len(), 2, "{route:?}");
    let prepared = Prepared::new(Arc::clone(&market));
    let (_, off) = value(&prepared, &request, &route.amounts_out, 0);
    assert!(off.bps < 0.1, "{off:?}");
    let both =
        basket(&[(Tokens::WETH, 4.0), (Tokens::ETHER, 6.0)], &[(token(1), 4_000), (token(2), 6_000)], 1_000_000_000);
    let route = solved(&market, &both);
    let left = run_route(&market, &both, &route);
    assert!(left.iter().all(|(token, amount)| *token == TokenId(2) || *token == TokenId(3) || amount.is_zero()));
}

#[test]
fn each_input_goes_to_the_output_that_it_pays_best() {
    // Token 1 trades with 3, and 2 with 4, in deep pools; the path through ether is shallow.
    let direct = |a, b| Sketch { coins: (a, b), depth: 1e5, tilt: 1.0, concentrated: true, fee: 500 };
    let market =
        market(5, &[direct(1, 3), direct(2, 4), spoke(1, 100.0), spoke(2, 100.0), spoke(3, 100.0), spoke(4, 100.0)]);
    let request = basket(&[(token(1), 5.0), (token(2), 5.0)], &[(token(3), 5_000), (token(4), 5_000)], 1_000_000_000);
    let prepared = Prepared::new(Arc::clone(&market));
    let solution = solve(&prepared, &request).unwrap();
    assert!(solution.route.steps.iter().any(|step| step.token_in == token(1) && step.token_out == token(3)));
    assert!(solution.route.steps.iter().any(|step| step.token_in == token(2) && step.token_out == token(4)));
    assert!(solution.certificate.unwrap().gap_bps < 20.0);
}

#[test]
fn an_output_without_a_reference_price_is_named() {
    // A depth of a million wei: too little for a reference price.
    let market = market(3, &[spoke(1, 1e4), spoke(2, 1e-12)]);
    let request = basket(&[(token(0), 1.0)], &[(token(1), 5_000), (token(2), 5_000)], 1_000_000_000);
    assert_eq!(solve(&Prepared::new(market), &request), Err(SolveError::NoReferencePrice(token(2))));
}

#[test]
fn an_output_that_nothing_leads_to_is_named() {
    let island = Sketch { coins: (2, 3), depth: 1e4, tilt: 1.0, concentrated: false, fee: 3000 };
    let market = market(4, &[spoke(1, 1e4), island]);
    let one = basket(&[(token(0), 1.0), (token(1), 1.0)], &[(token(2), 10_000)], 1_000_000_000);
    assert_eq!(solve(&Prepared::new(market), &one), Err(SolveError::NoRoute(token(2))));
}

#[test]
fn six_inputs_to_six_outputs_in_at_most_forty_steps() {
    let market = market(13, &(1..13).map(|at| spoke(at, 1e4)).collect::<Vec<_>>());
    let inputs: Vec<_> = (1..7).map(|at| (token(at), at as f64)).collect();
    let outputs: Vec<_> = (7..13).map(|at| (token(at), if at == 7 { 5_000 } else { 1_000 })).collect();
    let request = basket(&inputs, &outputs, 1_000_000_000);
    let prepared = Prepared::new(Arc::clone(&market));
    let solution = solve(&prepared, &request).unwrap();
    assert_eq!(solution.route.steps.len(), 12);
    let (_, off) = value(&prepared, &request, &solution.route.amounts_out, 0);
    assert!(off.bps < 0.1, "{off:?}");
    // Every pool is the only one of its token, so the bound also counts its gas in full.
    assert!(solution.certificate.unwrap().gap_bps < 0.1);
}

#[test]
fn excluded_pools_and_short_chains_are_honoured() {
    let direct = Sketch { coins: (1, 2), depth: 50.0, tilt: 1.0, concentrated: false, fee: 3000 };
    let market = market(4, &[spoke(1, 1e4), spoke(2, 1e4), spoke(3, 1e4), direct]);
    let prepared = Prepared::new(Arc::clone(&market));
    let mut request = basket(&[(token(1), 1.0), (token(3), 1.0)], &[(Tokens::WETH, 5_000), (token(2), 5_000)], 0);
    request.max_hops = 1;
    let route = solve(&prepared, &request).unwrap().route;
    assert!(route.steps.iter().all(|step| step.token_in != Tokens::WETH), "{route:?}");
    let direct = market.pool_id(crate::common::pool(3, &direct_sketch()).key.contract).unwrap();
    request.max_hops = 4;
    request.filter.exclude_pool(direct);
    let route = solve(&prepared, &request).unwrap().route;
    assert!(route.steps.iter().all(|step| step.pool != direct));
}

fn direct_sketch() -> Sketch {
    Sketch { coins: (1, 2), depth: 50.0, tilt: 1.0, concentrated: false, fee: 3000 }
}

#[test]
fn a_draining_basket_that_misses_its_shares_is_worth_more_in_all_and_less_as_a_basket() {
    // Half of the value is requested in a token of which pools hold a hundred ether.
    let market = market(3, &[spoke(1, 100.0), spoke(2, 1e6)]);
    let prepared = Prepared::new(Arc::clone(&market));
    let request = basket(&[(token(0), 1_000.0)], &[(token(1), 5_000), (token(2), 5_000)], 1_000_000_000);
    let solution = solve(&prepared, &request).unwrap();
    let (ours, off) = value(&prepared, &request, &solution.route.amounts_out, solution.route.gas_units());
    assert!(off.bps < 1.0, "{off:?}");
    // The alternative: half of the input each way, whatever the output.
    let half = U256::from(500_u64) * U256::from(10_u64).pow(U256::from(18_u64));
    let arrives = |pool: u32| {
        let swap = market.pool(PoolId(pool)).unwrap().swap(&request.at, 0, 1, half).unwrap();
        (swap.amount_out, swap.gas_units)
    };
    let ((thin, gas), (deep, more_gas)) = (arrives(1), arrives(2));
    let gross = prepared.value_wei(token(1), thin).unwrap() + prepared.value_wei(token(2), deep).unwrap();
    let (other, other_off) = value(&prepared, &request, &[thin, deep], gas + more_gas);
    let bound = f64::from(solution.certificate.unwrap().upper_bound_value_wei);
    assert!(other_off.bps > 1_000.0 && gross > 2.0 * bound, "{gross} in all, {other_off:?}, bound {bound}");
    assert!(other < ours && other < bound, "as a basket {other}, ours {ours}, bound {bound}");
}

#[test]
fn an_output_of_a_few_basis_points_does_not_keep_a_basket_from_its_route() {
    let pool = |coins, depth, tilt, concentrated, fee| Sketch { coins, depth, tilt, concentrated, fee };
    let out_of_line = [
        pool((5, 0), 230.68, 1.004_77, true, 500),
        pool((5, 2), 1959.85, 1.0, true, 500),
        pool((2, 0), 10.0, 0.994_42, false, 500),
    ];
    let spokes =
        [(1, 31.6), (2, 9715.9), (3, 31.6), (4, 31.6), (5, 31.6), (6, 6200.2)].map(|(to, depth)| spoke(to, depth));
    let sketches: Vec<Sketch> = out_of_line.into_iter().chain(spokes).collect();
    let request = basket(
        &[(token(2), 3.545), (token(4), 0.001), (token(6), 0.001)],
        &[(token(0), 9_992), (token(5), 8)],
        15_082_765_794,
    );
    let route = solved(&market(TOKENS, &sketches), &request);
    assert!(route.amounts_out.iter().all(|amount| !amount.is_zero()), "{route:?}");
}
