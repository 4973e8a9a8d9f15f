//! Tests of purchases: the smallest input that buys an amount, and the lower bound on the input of any route.

use std::sync::Arc;

use crate::common::{Sketch, TOKENS, market, request, sketch, token};
use crate::simple_plans::{Random, shallow};
use braid_market::{Market, Tokens};
use braid_primitives::{TokenId, U256};
use braid_routing::purchase::{Bought, InputCertificate, Purchase, along_one_path, buy, buy_along};
use braid_routing::{Prepared, Request, Route, SolveError, Uncertified, solve};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const GWEI: u64 = 1_000_000_000;

/// A market with its sketches.
#[derive(Clone)]
struct Made(Arc<Market>, Vec<Sketch>);

impl std::fmt::Debug for Made {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.1.fmt(f)
    }
}

/// Generates a market, the tokens sold and bought, and the amount bought: from a ten-thousandth of a token to a
/// thousand.
fn purchases() -> impl Strategy<Value = (Made, Request, U256)> {
    let sketches = prop::collection::vec(sketch(), 2..8);
    let ends = (0..TOKENS, 1..TOKENS);
    (sketches, ends, 14.0_f64..21.0, prop_oneof![Just(0), Just(GWEI), Just(50 * GWEI)]).prop_map(
        |(sketches, (from, step), exponent, gas_price_wei)| {
            let trade = request(token(from), U256::ZERO, token((from + step) % TOKENS), gas_price_wei);
            (Made(market(TOKENS, &sketches), sketches), trade, U256::from(10_f64.powf(exponent)))
        },
    )
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(11), ..ProptestConfig::with_cases(cases) }
}

fn is_enough(_: &Route) -> bool {
    true
}

fn purchase(trade: &Request, amount: U256) -> Purchase<'_> {
    Purchase { trade, amount, is_enough: &is_enough }
}

fn certificate(bought: &Bought) -> InputCertificate {
    bought.bound.clone().unwrap().certificate(bought.amount_in, &bought.route).unwrap()
}

/// Returns the value of a sale's output net of gas, as the bound counts it, in wei.
fn net(prepared: &Prepared, output: TokenId, made: U256, gas_wei: f64) -> f64 {
    prepared.value_wei(output, made).unwrap() - gas_wei
}

proptest! {
    #![proptest_config(config(128))]

    #[test]
    fn the_plan_makes_the_amount_and_for_one_wei_less_it_does_not((Made(market, _), trade, amount) in purchases()) {
        let prepared = Prepared::new(market);
        let purchase = purchase(&trade, amount);
        if let Ok(bought) = buy(&prepared, &purchase) {
            prop_assert!(bought.route.amounts_out[0] >= amount);
            prop_assert_eq!(bought.sell(&prepared, &purchase, bought.amount_in), Some(bought.route.clone()));
            let less = bought.sell(&prepared, &purchase, bought.amount_in - U256::ONE);
            prop_assert!(less.is_none_or(|route| route.amounts_out[0] < amount));
            prop_assert!(bought.solves <= 8);
        }
    }

    #[test]
    fn no_sale_of_less_than_the_bound_makes_the_amount((Made(market, _), trade, amount) in purchases()) {
        let prepared = Prepared::new(market);
        let purchase = purchase(&trade, amount);
        let Ok(bought) = buy(&prepared, &purchase) else { return Ok(()) };
        // A token without a path to ether has no price.
        prop_assume!(bought.bound != Err(Uncertified::NoReferencePrice));
        let found = certificate(&bought);
        let least = found.least_amount_in;
        prop_assert!(least <= bought.amount_in && found.certificate.gap_bps >= 0.0);
        prop_assert!(!found.certificate.is_exceeded, "{found:?}");
        let gas_wei = |route: &Route| route.gas_units() as f64 * trade.gas_price_wei as f64;
        let (output, own_gas) = (trade.outputs[0].0, gas_wei(&bought.route));
        let wanted = net(&prepared, output, amount, own_gas);
        for thousandths in [500_u64, 900, 990, 999, 1_000] {
            let less = least * U256::from(thousandths) / U256::from(1_000);
            let less = less.saturating_sub(U256::ONE);
            if less.is_zero() {
                continue;
            }
            // The best sale, and the sale with the largest output regardless of gas.
            for gas_price_wei in [trade.gas_price_wei, 0] {
                let sale = Request { gas_price_wei, ..purchase.sale_of(less) };
                let Ok(solution) = solve(&prepared, &sale) else { continue };
                let got = net(&prepared, output, solution.route.amounts_out[0], gas_wei(&solution.route));
                let made = solution.route.amounts_out[0];
                match &bought.witness {
                    Some(_) => prop_assert!(got < wanted, "{less} of at least {least}: {got} is not below {wanted}"),
                    // A bound with free gas makes no statement about values.
                    None => prop_assert!(made < amount, "{less} of at least {least} makes {made} of {amount}"),
                }
            }
        }
    }

    #[test]
    fn a_chain_asks_about_what_its_sale_takes_and_sells_to_the_wei((Made(market, _), trade, amount) in purchases()) {
        let prepared = Prepared::new(Arc::clone(&market));
        let purchase = purchase(&trade, amount);
        let Ok(bought) = buy(&prepared, &purchase) else { return Ok(()) };
        let Some((amount_in, route)) = along_one_path(&prepared, &purchase, (bought.amount_in, &bought.route)) else {
            return Ok(());
        };
        prop_assert_eq!(route.amounts_out[0], amount);
        prop_assert_eq!((route.steps[0].amount_in, route.steps.last().unwrap().amount_out), (amount_in, amount));
        prop_assert!(route.steps.windows(2).all(|pair| pair[0].amount_out == pair[1].amount_in));
        prop_assert_eq!(buy_along(&market, &trade.at, &route, amount), Some((amount_in, route.clone())));
        // A sale of the purchase's input must also pay the amount.
        let sold = crate::common::run_route(&market, &purchase.sale_of(amount_in), &sale_along(&market, &route, amount_in));
        prop_assert!(sold.iter().any(|(token, left)| *token == trade.outputs[0].0 && *left >= amount));
        // The bound must hold for the path too: nothing is cheaper.
        if let Ok(bound) = &bought.bound {
            prop_assert!(bound.certificate(amount_in, &route).unwrap().least_amount_in <= amount_in);
        }
    }
}

/// Returns the steps of a path with the amounts of a sale.
fn sale_along(market: &Market, route: &Route, amount_in: U256) -> Route {
    let mut at_hand = amount_in;
    let mut sold = route.clone();
    for step in &mut sold.steps {
        let pool = market.pool(step.pool).unwrap();
        let swap = pool.swap(&crate::common::block().next(), step.coin_in, step.coin_out, at_hand).unwrap();
        (step.amount_in, step.amount_out, step.gas_units) = (at_hand, swap.amount_out, swap.gas_units);
        at_hand = swap.amount_out;
    }
    sold
}

fn two_pools() -> Arc<Market> {
    let pool = |depth, concentrated| Sketch { coins: (0, 1), depth, tilt: 1.0, concentrated, fee: 3_000 };
    market(2, &[pool(1_000.0, false), pool(600.0, false)])
}

const WHOLE: u128 = 1_000_000_000_000_000_000;

#[test]
fn a_large_purchase_splits_and_is_as_cheap_as_the_best_of_all_splits() {
    let market = two_pools();
    let prepared = Prepared::new(Arc::clone(&market));
    let trade = request(token(0), U256::ZERO, token(1), 0);
    let amount = U256::from(100 * WHOLE);
    let bought = buy(&prepared, &purchase(&trade, amount)).unwrap();
    assert_eq!(bought.route.steps.len(), 2);
    // The input that each pool requires for a part, by its own formula.
    let asked = |pool: usize, part: U256| market.pools()[pool].amount_in_for(0, 1, part).unwrap();
    let splits = (1..10_000_u32).map(|k| {
        let part = amount * U256::from(k) / U256::from(10_000);
        asked(1, part) + asked(2, amount - part)
    });
    let best = splits.min().unwrap();
    let off = f64::from(bought.amount_in) / f64::from(best) - 1.0;
    assert!(off < 1e-9, "{} is more than the best split's {best}", bought.amount_in);
    let found = certificate(&bought);
    assert!(found.least_amount_in <= best && found.certificate.gap_bps < 1e-3, "{found:?}");
}

#[test]
fn ether_is_wrapped_one_to_one() {
    let prepared = Prepared::new(two_pools());
    let trade = request(Tokens::ETHER, U256::ZERO, Tokens::WETH, GWEI);
    let bought = buy(&prepared, &purchase(&trade, U256::from(7 * WHOLE))).unwrap();
    assert_eq!(bought.amount_in, U256::from(7 * WHOLE));
    assert!(certificate(&bought).certificate.gap_bps < 1e-6);
}

#[test]
fn one_atomic_unit_can_be_bought() {
    let prepared = Prepared::new(two_pools());
    let trade = request(token(0), U256::ZERO, token(1), 0);
    let bought = buy(&prepared, &purchase(&trade, U256::ONE)).unwrap();
    assert!(bought.amount_in <= U256::from(3) && bought.route.amounts_out[0] >= U256::ONE);
}

#[test]
fn more_than_the_pools_hold_is_refused_and_nearly_all_of_it_is_sold_dearly() {
    let prepared = Prepared::new(two_pools());
    let trade = request(token(0), U256::ZERO, token(1), 0);
    let refused = buy(&prepared, &purchase(&trade, U256::from(1_601 * WHOLE)));
    assert_eq!(refused.err(), Some(SolveError::InsufficientLiquidity));
    let bought = buy(&prepared, &purchase(&trade, U256::from(1_500 * WHOLE))).unwrap();
    assert!(bought.amount_in > U256::from(15_000 * WHOLE), "{}", bought.amount_in);
    let prepared = Prepared::new(market(3, &[]));
    let trade = request(token(0), U256::ZERO, token(1), 0);
    assert!(matches!(buy(&prepared, &purchase(&trade, U256::from(WHOLE))), Err(SolveError::NoRoute(_))));
}

/// The amount is nearly all that the market pays, so that several sales are planned before one makes it. Three of these
/// purchases once kept such a plan, whose solve finds no prices for a bound.
#[test]
fn a_purchase_that_is_hard_to_plan_has_prices_for_its_bound_too() {
    let mut many = 0;
    for (seed, ether) in [(5, 1e22), (54, 1e20), (78, 1e20)] {
        let tokens = 4 + (seed as usize) % 5;
        let prepared = Prepared::new(market(tokens, &shallow(seed, tokens)));
        let mut random = Random(seed + 900);
        for _ in 0..4 {
            let [from, to] = [random.below(tokens), random.below(tokens)];
            let sale = request(token(from), U256::from(ether), token(to), 1_000_000_000);
            let Some(most) = (from != to).then(|| solve(&prepared, &sale).ok()).flatten() else { continue };
            for thousandths in [995, 1_000] {
                let amount = most.route.amounts_out[0] * U256::from(thousandths) / U256::from(1_000);
                let Ok(bought) = buy(&prepared, &purchase(&sale, amount)) else { continue };
                assert!(bought.bound.is_err() || bought.witness.is_some(), "seed {seed}, {from} to {to}, {amount}");
                many += usize::from(bought.solves > 3);
            }
        }
    }
    assert!(many >= 3, "{many}");
}
