//! Random trades in random markets: no simple plan may pay more than the answer. In a market of several thousand pools
//! searches pass through the core only; in a small one an amount can be beyond what most pools take.

use braid_primitives::U256;
use braid_routing::{Prepared, Request, Route, SimplePlan, solve};

use crate::common::{Sketch, market, request, token, worth};

const HUBS: usize = 8;
const TOKENS: usize = 700;
const POOLS: usize = 3_400;
const GWEI: u64 = 1_000_000_000;

/// A random number generator with a seed (a linear congruential one).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, most: usize) -> usize {
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

/// Compares the answer to a random trade with every simple plan; returns with how many.
fn compare(prepared: &Prepared, tokens: usize, most: f64, random: &mut Random) -> usize {
    let [from, to] = [random.below(tokens), random.below(tokens)];
    if from == to {
        return 0;
    }
    let amount = U256::from(1e17 * 10_f64.powf(most * random.unit()));
    let request = request(token(from), amount, token(to), GWEI);
    let Ok(solution) = solve(prepared, &request) else { return 0 };
    let (net, gross) = worth(prepared, &request, &solution.route);
    let routes = SimplePlan::ALL.into_iter().filter_map(|plan| Some((plan, plan.route(prepared, &request)?)));
    let compare = |(plan, route): (SimplePlan, _)| {
        let (other, _) = worth(prepared, &request, &route);
        assert!(other <= net + 1e-6 * gross, "{from} to {to}, {amount} of {tokens}: {plan:?} {other}, ours {net}");
    };
    routes.map(compare).count()
}

#[test]
fn no_simple_plan_pays_more_in_a_large_market() {
    for seed in [1, 2] {
        let prepared = Prepared::new(market(TOKENS, &disagreeing(seed)));
        let mut random = Random(seed + 100);
        let compared: usize = (0..60).map(|_| compare(&prepared, TOKENS, 2.5, &mut random)).sum();
        assert!(compared > 150, "{compared}");
    }
}

/// Returns a pool for every pair of tokens. Three in four are concentrated, and take little.
pub(crate) fn shallow(seed: u64, tokens: usize) -> Vec<Sketch> {
    let mut random = Random(seed);
    let pools = (0..tokens).flat_map(|a| (a + 1..tokens).map(move |b| (a, b)));
    let sketch = |coins| Sketch {
        coins,
        depth: 10_f64.powf(3.0 * random.unit()),
        tilt: (0.004 * (2.0 * random.unit() - 1.0)).exp(),
        concentrated: random.below(4) > 0,
        fee: 500,
    };
    pools.map(sketch).collect()
}

#[test]
fn no_simple_plan_pays_more_where_amounts_are_beyond_most_pools() {
    let mut compared = 0;
    for seed in 0..40 {
        let tokens = 4 + (seed as usize) % 5;
        let prepared = Prepared::new(market(tokens, &shallow(seed, tokens)));
        let mut random = Random(seed + 100);
        compared += (0..20).map(|_| compare(&prepared, tokens, 4.5, &mut random)).sum::<usize>();
    }
    assert!(compared > 1_000, "{compared}");
}

/// Returns pools from token 1 over 2 and 3, and from token 4 over 5 and 6, to token 7, and one that gives it a price.
/// Prices disagree by up to 1% each way.
fn side_by_side(seed: u64) -> Vec<Sketch> {
    let mut random = Random(seed);
    let sides = [(1, 2, 3), (4, 5, 6)].into_iter().flat_map(|(input, one, other)| {
        [(input, one), (input, other), (one, 7), (other, 7), (one, other), (input, 7)].into_iter().cycle().take(18)
    });
    let sketch = |coins: (usize, usize)| Sketch {
        coins,
        depth: if coins.0 == 0 { 1.0 } else { 10_f64.powf(3.0 * random.unit()) },
        tilt: (0.01 * (2.0 * random.unit() - 1.0)).exp(),
        concentrated: random.below(2) == 0,
        fee: 500,
    };
    sides.chain([(0, 7)]).map(sketch).collect()
}

#[test]
fn a_basket_pays_no_less_than_its_inputs_sold_one_by_one_through_other_pools() {
    let mut compared = 0;
    for seed in 0..60 {
        let prepared = Prepared::new(market(8, &side_by_side(seed)));
        let mut random = Random(seed + 300);
        for _ in 0..4 {
            let inputs = [1, 4].map(|at| (token(at), U256::from(1e18 * 10_f64.powf(3.0 * random.unit()))));
            let alone = inputs.map(|(from, amount)| request(from, amount, token(7), GWEI));
            let basket = Request { inputs: inputs.to_vec(), ..alone[0].clone() };
            let together = solve(&prepared, &basket).unwrap().route;
            let routes = [&alone[0], &alone[1]].map(|request| solve(&prepared, request).unwrap().route);
            let pools = |route: &Route| route.steps.iter().map(|step| step.pool).collect::<Vec<_>>();
            let [one, other] = [pools(&routes[0]), pools(&routes[1])];
            if one.iter().any(|pool| other.contains(pool)) {
                continue;
            }
            compared += 1;
            let (net, gross) = worth(&prepared, &basket, &together);
            let parts = worth(&prepared, &alone[0], &routes[0]).0 + worth(&prepared, &alone[1], &routes[1]).0;
            // Other plans of a basket are tried only above two basis points.
            assert!(net >= parts - 2e-4 * gross, "{basket:?}: {net} together, {parts} one by one");
        }
    }
    assert!(compared > 100, "{compared}");
}
