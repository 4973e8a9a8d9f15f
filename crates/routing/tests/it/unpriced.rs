//! Certificates of markets with a token that has no reference price: its pools pay in one direction only, so that no mid
//! price leads to it. A route may still pass through it, and gain by that.

use std::sync::Arc;

use braid_market::Market;
use braid_primitives::{Address, U256};
use braid_protocols::{Pool, PoolState, Product, uniswap_v3};
use braid_routing::{Prepared, solve};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::common::{TOKENS, block, paths, pool, request, run_path, sketch, token, tokens, wrapper};

/// The token without a reference price.
const UNPRICED: usize = TOKENS;

/// A pool that takes one token for another and not the reverse, because its liquidity is on one side of its price.
#[derive(Clone, Debug)]
struct OneWay {
    from: usize,
    to: usize,
    depth: f64,
    /// Amount out for one unit in, for small amounts.
    rate: f64,
}

#[allow(clippy::cast_possible_truncation)]
fn one_way(at: u8, of: &OneWay) -> Pool {
    let spacing = 60;
    let base = ((-of.rate.ln() / 1.0001_f64.ln()) as i32).div_euclid(spacing) * spacing;
    let liquidity = (of.depth * 1e18) as i128;
    let ticks = [(base + spacing, liquidity), (base + 100 * spacing, -liquidity)];
    let ticks: Vec<_> =
        ticks.into_iter().map(|(i, net)| uniswap_v3::Tick::new(i, net, net.unsigned_abs()).unwrap()).collect();
    let state = uniswap_v3::State {
        sqrt_price_x96: uniswap_v3::tick_math::sqrt_price_at_tick(base).unwrap() + U256::from(12_345),
        tick: base,
        liquidity: 0,
        fee_pips: 500,
        fee_protocol: 0,
        tick_spacing: spacing,
        ticks: ticks.into(),
    };
    let coins = [token(of.to), token(of.from)].into_iter().collect();
    Pool {
        key: Address::repeat_byte(at).into(),
        product: Product::UniswapV3,
        coins,
        state: PoolState::UniswapV3(state),
    }
}

fn through() -> impl Strategy<Value = [OneWay; 2]> {
    let ends = (0..TOKENS, 1..TOKENS);
    (ends, 1.0_f64..4.0, 1.0_f64..4.0, -0.05_f64..1.5).prop_map(|((a, step), first, second, gain)| {
        let [first, second] = [first, second].map(|magnitude| 10_f64.powf(magnitude));
        [
            OneWay { from: a, to: UNPRICED, depth: first, rate: 1.0 },
            OneWay { from: UNPRICED, to: (a + step) % TOKENS, depth: second, rate: gain.exp() },
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(3), ..ProptestConfig::with_cases(4_000) })]

    /// The bound counted no gain through such a token, and denied routes that had one.
    #[test]
    fn a_bound_counts_gains_through_tokens_without_a_reference_price(
        sketches in prop::collection::vec(sketch(), 3..10), ways in prop::collection::vec(through(), 1..3),
        exponent in 14.0_f64..23.0, to in 1..TOKENS, gas in 0_u64..60_000_000_000,
    ) {
        let mut pools = vec![wrapper()];
        pools.extend(sketches.iter().enumerate().map(|(at, sketch)| pool(at, sketch)));
        pools.extend((0xb0..).zip(ways.iter().flatten()).map(|(at, way)| one_way(at, way)));
        let market = Arc::new(Market::new(block(), tokens(TOKENS + 1), pools).unwrap());
        let prepared = Prepared::new(Arc::clone(&market));
        prop_assume!(prepared.reference_price(token(UNPRICED)).is_none());
        let amount = U256::from(10_f64.powf(exponent));
        let request = request(token(0), amount, token(to), gas);
        let Some(price) = prepared.value_wei(token(to), U256::from(1e18)) else { return Ok(()) };
        let price = price / 1e18;
        let Ok(solution) = solve(&prepared, &request) else { return Ok(()) };
        let Ok(certificate) = &solution.certificate else { return Ok(()) };
        prop_assert!(!certificate.is_exceeded, "{certificate:?}");
        let bound = f64::from(certificate.upper_bound_value_wei);
        for path in paths(&market, token(0), token(to), 4) {
            let Some((out, units)) = run_path(&market, &path, amount) else { continue };
            let net = f64::from(out) * price - units as f64 * gas as f64;
            prop_assert!(net <= bound * (1.0 + 1e-12), "a path of {} is worth {net}, the bound says {bound}", path.len());
        }
    }
}
