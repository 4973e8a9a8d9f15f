//! Trades in markets of several thousand pools, where searches pass through the core only.

use braid_primitives::U256;
use braid_routing::{Prepared, SimplePlan, solve};

use crate::common::{Sketch, market, request, token, worth};

const HUBS: usize = 8;
const TOKENS: usize = 700;
const POOLS: usize = 3_400;
const GWEI: u64 = 1_000_000_000;

/// A random number generator with a seed (a linear congruential one).
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, most: usize) -> usize {
        (self.unit() * most as f64) as usize
    }
}

/// Returns deep pools between the hubs, and others of 1 to 100 ether, two in three with a hub and the rest with any
/// token. Prices disagree by up to 1.5% each way.
fn disagreeing(seed: u64) -> Vec<Sketch> {
    let mut random = Random(seed);
    let mut sketches = Vec::with_capacity(POOLS);
    for at in 0..POOLS {
        let is_between_hubs = at < 80;
        let first = if is_between_hubs { random.below(HUBS) } else { HUBS + at % (TOKENS - HUBS) };
        let others = if is_between_hubs || random.below(3) > 0 { HUBS } else { TOKENS };
        let second = (first + 1 + random.below(others - 1)) % others;
        let depth = if is_between_hubs { 2_000.0 } else { 1.0 } * 10_f64.powf(2.0 * random.unit());
        let spread = if is_between_hubs { 0.002 } else { 0.015 };
        sketches.push(Sketch {
            coins: (first, if second == first { (first + 1) % HUBS } else { second }),
            depth,
            tilt: (spread * (2.0 * random.unit() - 1.0)).exp(),
            concentrated: random.below(2) == 0,
            fee: if is_between_hubs { 500 } else { 3000 },
        });
    }
    sketches
}

#[test]
fn no_simple_plan_pays_more_in_a_large_market() {
    for seed in [1, 2] {
        let prepared = Prepared::new(market(TOKENS, &disagreeing(seed)));
        let mut random = Random(seed + 100);
        let mut compared = 0;
        for _ in 0..60 {
            let [from, to] = [random.below(TOKENS), random.below(TOKENS)];
            if from == to {
                continue;
            }
            let amount = U256::from(1e18 * 10_f64.powf(2.5 * random.unit() - 1.0));
            let request = request(token(from), amount, token(to), GWEI);
            let Ok(solution) = solve(&prepared, &request) else { continue };
            let (net, gross) = worth(&prepared, &request, &solution.route);
            for plan in SimplePlan::ALL {
                let Some(route) = plan.route(&prepared, &request) else { continue };
                let (other, _) = worth(&prepared, &request, &route);
                assert!(
                    other <= net + 1e-6 * gross,
                    "seed {seed}, {from} to {to}, {amount}: {plan:?} {other}, ours {net}"
                );
                compared += 1;
            }
        }
        assert!(compared > 150, "{compared}");
    }
}
