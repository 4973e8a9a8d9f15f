//! The upper bound: the dual evaluated over every open pool, at prices for every token.
//!
//! For any prices at which the requested basket costs one, `Σ price(input)·amount + Σ max(0, profit − gas)` is at least
//! the value of every route (`docs/internals/certificate.md`). The second sum runs over all open pools between
//! reachable tokens. Nothing flows into a single input or out of a single output, and no pool takes more than the most
//! that a route can hold of its coin. What floating point may have lost is added back.

use super::dual_prices::DualPrices;
use super::forced::forced;
use super::profit::noise;
use crate::problem::Problem;
use crate::tuning::Tuning;

/// The bound at given prices, and the pools that earn more than `least`, each with its profit.
pub(crate) struct Evaluation {
    pub(crate) bound: f64,
    pub(crate) earning: Vec<(f64, u32)>,
}

/// Evaluates the dual over every open pool (see the module's text).
pub(crate) fn evaluate(
    problem: &Problem<'_>,
    is_reachable: &[bool],
    caps: &[f64],
    dual_prices: &DualPrices,
    least: f64,
) -> Evaluation {
    let graph = problem.prepared.graph();
    let price = &dual_prices.price;
    let bound = problem.terms.supplied_value(price);
    let mut sum = Sum { problem, caps, price, least, bound, noise: 0.0, earning: Vec::new() };
    for (token, arrow) in dual_prices.may_earn() {
        let (arrow, to) = (graph.arrow(*arrow), graph.arrow(*arrow).to as usize);
        if !is_reachable[*token] || !is_reachable[to] {
            continue;
        }
        let (here, there) = (price[*token], price[to]);
        if here < there * arrow.spot {
            if here < there * arrow.spot_after_gas((problem.gas_price / there).sqrt()) {
                sum.add(arrow.pair, arrow.side, *token, to);
            }
        } else if there < here * arrow.back_after_gas((problem.gas_price / here).sqrt()) {
            sum.add(arrow.pair, 1 - arrow.side, to, *token);
        }
    }
    let bound = sum.bound + sum.noise;
    let bound = bound + Tuning::BOUND_ROUNDING * bound.abs();
    if let Some(recorder) = problem.recorder {
        recorder.note(problem.prepared, is_reachable, caps, price, bound, || problem.closed_pools());
    }
    let bound = if problem.is_pair() { bound } else { bound + forced(problem, is_reachable, caps, price) };
    Evaluation { bound, earning: sum.earning }
}

/// Evaluates the same for routes of at least `count` pools: the `count` largest terms count even if they are negative.
pub(crate) fn evaluate_at_least(
    problem: &Problem<'_>,
    is_reachable: &[bool],
    caps: &[f64],
    dual_prices: &DualPrices,
    count: usize,
) -> f64 {
    let graph = problem.prepared.graph();
    let price = &dual_prices.price;
    let bound = price[problem.source] * problem.amount;
    let mut sum = SumAtLeast { problem, caps, price, bound, noise: 0.0, largest: vec![f64::NEG_INFINITY; count] };
    for pair in graph.inner_pairs() {
        if pair.ends.iter().all(|end| is_reachable[*end as usize]) && problem.is_open(pair.id) {
            sum.add(pair.id, pair.ends, pair.spot, pair.gas_units);
        }
    }
    for end in [problem.source, problem.target] {
        if graph.is_inner(end) {
            continue;
        }
        for arrow in
            graph.arrows(end).iter().filter(|arrow| is_reachable[arrow.to as usize] && problem.is_open(arrow.pair))
        {
            let both_outer = !graph.is_inner(arrow.to as usize);
            if !(both_outer && end == problem.target) {
                let Some(curve) = problem.curve(arrow.pair) else { continue };
                let spot = [0, 1].map(|side| curve.direction(side).map_or(0.0, |direction| direction.spot()));
                sum.add(arrow.pair, graph.ends(arrow.pair), spot, curve.gas_units);
            }
        }
    }
    // Becomes negative infinity if there are fewer pools: then there is no such route.
    let forced: f64 = sum.largest.iter().map(|term| term.min(0.0)).sum();
    let bound = sum.bound + forced + sum.noise;
    bound + Tuning::BOUND_ROUNDING * (bound.abs() + sum.bound.abs())
}

/// The sum of the dual's terms over the pools added so far, for [`evaluate_at_least`].
struct SumAtLeast<'a, 'p> {
    problem: &'a Problem<'p>,
    caps: &'a [f64],
    price: &'a [f64],
    bound: f64,
    noise: f64,
    /// The largest terms, in falling order.
    largest: Vec<f64>,
}

impl SumAtLeast<'_, '_> {
    /// Adds the term of a pair, whichever of its coins is sold.
    fn add(&mut self, pair: u32, ends: [u32; 2], spot: [f64; 2], gas_units: f64) {
        let problem = self.problem;
        let gas = gas_units * problem.gas_price;
        let open = problem.open_directions(ends);
        let mut earned = 0.0_f64;
        for side in 0..2_u8 {
            let at = usize::from(side);
            let (from, to) = (ends[at] as usize, ends[1 - at] as usize);
            let (price_in, price_out) = (self.price[from], self.price[to]);
            if !open[at] || price_in >= spot[at] * price_out {
                continue;
            }
            let Some((_, direction)) = problem.direction(pair, side) else { continue };
            // Gas of crossed ticks is left out: it would only lower the term.
            earned = earned.max(direction.most_earned(price_in, price_out, self.caps[from], 0.0, 0.0));
            self.noise += noise(direction, price_in, price_out, self.caps[from]);
        }
        let mut term = earned - gas;
        if term > 0.0 {
            self.bound += term;
        }
        for place in &mut self.largest {
            if term > *place {
                std::mem::swap(place, &mut term);
            }
        }
    }
}

/// Computes a pair's term in the bound at given prices: if the pair may stay unused, and if it is certainly used.
/// `None` for a pair that the bound does not count.
pub(crate) fn terms(
    problem: &Problem<'_>,
    is_reachable: &[bool],
    caps: &[f64],
    dual_prices: &DualPrices,
    pair: u32,
) -> Option<(f64, f64)> {
    let ends = problem.prepared.graph().ends(pair);
    let curve = problem.curve(pair)?;
    if !problem.is_open(pair) || !ends.iter().all(|end| is_reachable[*end as usize]) {
        return None;
    }
    let open = problem.open_directions(ends);
    let earned = (0..2_usize).filter(|side| open[*side]).filter_map(|side| {
        let (from, to) = (ends[side] as usize, ends[1 - side] as usize);
        let direction = curve.directions[side].as_ref()?;
        Some(direction.most_earned(dual_prices.price[from], dual_prices.price[to], caps[from], 0.0, problem.gas_price))
    });
    let used = earned.fold(0.0, f64::max) - curve.gas_units * problem.gas_price;
    Some((used.max(0.0), used))
}

/// The sum of the dual's terms over the pools added so far, for [`evaluate`].
struct Sum<'a, 'p> {
    problem: &'a Problem<'p>,
    caps: &'a [f64],
    price: &'a [f64],
    least: f64,
    bound: f64,
    noise: f64,
    earning: Vec<(f64, u32)>,
}

impl Sum<'_, '_> {
    /// Adds the term of a pair that sells its coin `side`.
    fn add(&mut self, pair: u32, side: u8, from: usize, to: usize) {
        let problem = self.problem;
        if from == problem.target || to == problem.source {
            return;
        }
        let Some((curve, direction)) = problem.direction(pair, side) else { return };
        let gas = curve.gas_units * problem.gas_price;
        let (price_in, price_out) = (self.price[from], self.price[to]);
        let earned = direction.most_earned(price_in, price_out, self.caps[from], gas, problem.gas_price);
        self.noise += noise(direction, price_in, price_out, self.caps[from]);
        self.bound += earned;
        if earned > self.least {
            self.earning.push((earned, pair));
        }
    }
}
