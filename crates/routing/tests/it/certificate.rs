//! Tests the claims of `docs/internals/certificate.md` on the pools of its figures.

use std::sync::Arc;

use crate::common::{block, request, token, tokens, wrapper};
use braid_market::Market;
use braid_primitives::{Address, U256, address};
use braid_protocols::{Pool, PoolState, Product, lido, uniswap_v2};
use braid_routing::{Prepared, Request, explain, solve};

/// Atomic units of a whole token; here both tokens have 18 decimals.
const WHOLE: u128 = 1_000_000_000_000_000_000;

/// Returns pools A and B, with ether at position 0 and dollars at position 1.
fn two_pools() -> Arc<Market> {
    let pair = |at: u8, ether: u128, dollars: u128| Pool {
        key: Address::repeat_byte(at).into(),
        product: Product::UniswapV2,
        coins: [token(0), token(1)].into_iter().collect(),
        state: PoolState::UniswapV2(uniswap_v2::State {
            reserve0: ether * WHOLE,
            reserve1: dollars * WHOLE,
            fee_bps: 30,
        }),
    };
    let pools = [wrapper(), pair(0xa0, 1_000, 2_000_000), pair(0xb0, 600, 1_206_000)];
    Arc::new(Market::new(block(), tokens(2), pools).unwrap())
}

/// The gas price at which a swap costs 25 dollars, at about 2,000 dollars per ether.
const GAS_PRICE_WEI: u64 = 12_500_000_000_000_000 / 66_100;

fn selling(ether: f64, gas_price_wei: u64) -> Request {
    request(token(0), U256::from(ether * WHOLE as f64), token(1), gas_price_wei)
}

/// Returns the dollars that a split pays: exact, in whole units.
fn paid(market: &Market, a: f64, b: f64) -> f64 {
    let out = |pool: usize, amount: f64| match market.pools()[pool].swap(
        &block().next(),
        0,
        1,
        U256::from(amount * WHOLE as f64),
    ) {
        Ok(swap) => f64::from(swap.amount_out) / WHOLE as f64,
        Err(_) => 0.0,
    };
    out(1, a) + out(2, b)
}

/// Returns the best of 20,001 splits, in dollars net of the gas of the used pools. `gas` is given in dollars.
fn best_split(market: &Market, amount: f64, gas: f64) -> f64 {
    let net = |k: u32| {
        let a = amount * f64::from(k) / 20_000.0;
        let used = f64::from(u8::from(k > 0) + u8::from(k < 20_000));
        paid(market, a, amount - a) - used * gas
    };
    (0..=20_000).map(net).fold(f64::NEG_INFINITY, f64::max)
}

#[test]
fn the_best_split_of_the_picture_is_found_and_the_bound_meets_it() {
    let market = two_pools();
    let best = best_split(&market, 50.0, 0.0);
    assert!((best - 96_873.40).abs() < 0.005, "the picture says 96,873.40, the pools {best}");
    let solution = solve(&Prepared::new(Arc::clone(&market)), &selling(50.0, 0)).unwrap();
    let received = f64::from(solution.route.amounts_out[0]) / WHOLE as f64;
    assert!(received >= best - 1e-6, "{received} is less than {best}");
    assert!(solution.certificate.unwrap().gap_bps < 1e-3);
}

#[test]
fn any_price_gives_a_bound_and_the_solver_names_the_least() {
    let market = two_pools();
    let prepared = Prepared::new(Arc::clone(&market));
    let (solution, witness) = explain(&prepared, &selling(50.0, 0)).unwrap();
    let witness = witness.unwrap();
    let value = f64::from(solution.certificate.unwrap().achieved_value_wei);
    let (ether, dollars) = (witness.of(token(0)).unwrap().price_wei, witness.of(token(1)).unwrap().price_wei);
    assert!((ether / dollars - 1_878.8).abs() < 0.1, "the picture's price, not {}", ether / dollars);
    // The closed-form profit of selling into a constant-product pool at a price.
    let profit = |reserves: (f64, f64), price: f64| {
        let gamma = 0.997;
        let amount = ((reserves.0 * reserves.1 * gamma / price).sqrt() - reserves.0).max(0.0) / gamma;
        reserves.1 * gamma * amount / (reserves.0 + gamma * amount) - price * amount
    };
    let bound = |price: f64| 50.0 * price + profit((1_000.0, 2e6), price) + profit((600.0, 1_206_000.0), price);
    let achieved = value / dollars / WHOLE as f64;
    for step in -100..=100 {
        let price = ether / dollars * (1.0 + f64::from(step) / 1_000.0);
        assert!(bound(price) >= achieved * (1.0 - 1e-12), "{price}: {} below {achieved}", bound(price));
        assert!(bound(price) >= bound(ether / dollars) * (1.0 - 1e-9), "{price} is a better price");
    }
}

#[test]
fn gas_decides_how_many_pools_and_the_bound_holds_around_the_turn() {
    let market = two_pools();
    let prepared = Prepared::new(Arc::clone(&market));
    let mut counts = Vec::new();
    for ether in [0.5, 1.0, 2.0, 3.0, 4.0, 4.5, 5.0, 5.5, 6.0, 8.0, 16.0, 64.0] {
        let request = selling(ether, GAS_PRICE_WEI);
        let solution = solve(&prepared, &request).unwrap();
        let certificate = solution.certificate.unwrap();
        let price =
            f64::from(certificate.achieved_value_wei) + solution.route.gas_units() as f64 * GAS_PRICE_WEI as f64;
        let wei_per_dollar = price / (f64::from(solution.route.amounts_out[0]) / WHOLE as f64);
        let gas = 66_100.0 * GAS_PRICE_WEI as f64 / wei_per_dollar;
        let best = best_split(&market, ether, gas) * wei_per_dollar;
        let bound = f64::from(certificate.upper_bound_value_wei);
        assert!(best <= bound * (1.0 + 1e-12), "{ether} ether: a split is worth {best}, the bound says {bound}");
        assert!(f64::from(certificate.achieved_value_wei) >= best - 1e-9 * best.abs(), "{ether} ether: below {best}");
        counts.push(solution.route.steps.len());
    }
    assert_eq!(counts.first(), Some(&1), "a small trade pays for one pool");
    assert_eq!(counts.last(), Some(&2), "a large one for two");
    assert!(counts.is_sorted(), "{counts:?}");
}

#[test]
fn nobody_is_above_the_bound_and_nobody_is_above_the_gap() {
    let market = two_pools();
    let solution = solve(&Prepared::new(Arc::clone(&market)), &selling(20.0, GAS_PRICE_WEI)).unwrap();
    let certificate = solution.certificate.unwrap();
    let (bound, achieved) = (f64::from(certificate.upper_bound_value_wei), f64::from(certificate.achieved_value_wei));
    assert!(achieved <= bound);
    let gross = achieved + solution.route.gas_units() as f64 * GAS_PRICE_WEI as f64;
    assert!(((bound - achieved) / gross * 1e4 - certificate.gap_bps).abs() < 1e-6, "the gap is a share of the output");
}

/// A wrapper of shares takes any amount; its curve ends at four times what exists, or at a million tokens. A sale of
/// five million pays for its gas with all of them.
#[test]
fn a_bound_covers_a_sale_beyond_what_a_wrapper_is_assumed_to_take() {
    let pool = |at: u8, product, coins: [usize; 2], state| Pool {
        key: Address::repeat_byte(at).into(),
        product,
        coins: coins.map(token).into_iter().collect(),
        state,
    };
    let pair =
        |reserve1| PoolState::UniswapV2(uniswap_v2::State { reserve0: WHOLE, reserve1: reserve1 * WHOLE, fee_bps: 30 });
    let stake_limit = lido::StakeLimit::Unlimited;
    let shares = lido::State {
        total_pooled_ether_wei: U256::from(12_000 * WHOLE),
        total_shares: U256::from(10_000 * WHOLE),
        stake_limit,
        stopped: false,
    };
    let wrapping = Pool {
        key: address!("7f39C581F595B53c5cb19bD0b3f8dA6c935E2Ca0").into(),
        ..pool(1, Product::LidoWsteth, [1, 2], PoolState::Lido(shares))
    };
    let pools = [
        wrapper(),
        pool(0xa0, Product::UniswapV2, [0, 1], pair(1_200_000)),
        pool(0xb0, Product::UniswapV2, [0, 2], pair(1_000_000)),
        wrapping,
    ];
    let prepared = Prepared::new(Arc::new(Market::new(block(), tokens(3), pools).unwrap()));
    let request = request(token(1), U256::from(5_000_000 * WHOLE), token(2), 10_000_000_000);
    let solution = solve(&prepared, &request).unwrap();
    let certificate = solution.certificate.unwrap();
    assert_eq!(solution.route.steps.len(), 1);
    assert!(!certificate.is_exceeded, "{certificate:?}");
}
