//! The bound: the dual evaluated over every open pool, at prices for every token.
//!
//! For any prices at which the basket asked for costs one, `Σ price(input)·amount + Σ max(0, profit − gas)` is at least the
//! value of every route (`docs/certificate.md`). The second sum runs over all open pools between reachable tokens; nothing
//! flows into a lone input or out of a lone output; no pool takes more than the most that a route can hold of its coin. What
//! floating point may have lost is added back.

use braid_protocols::continuous::Direction;

use crate::basket;
use crate::problem::{NOWHERE, Problem};

/// Share of a pool's gas that counts as a crumb.
const CRUMB: f64 = 0.01;

/// Prices of all tokens: those given, and those worked out from them.
#[derive(Clone, Debug)]
pub(crate) struct PriceBoard {
    pub(crate) price: Vec<f64>,
    known: Vec<bool>,
}

impl PriceBoard {
    pub(crate) fn new(tokens: usize) -> Self {
        Self { price: vec![0.0; tokens], known: vec![false; tokens] }
    }

    pub(crate) fn set(&mut self, token: usize, price: f64) {
        self.price[token] = price;
        self.known[token] = true;
    }

    /// Fills in the prices of reachable tokens that are not known: each at its `guess`, moved into the interval in which no
    /// pool towards a known token earns more than a crumb of its gas, or, where there is none, more than its gas. Deep
    /// tokens come first and count as known for the others.
    pub(crate) fn fill(&mut self, problem: &Problem<'_>, alive: &[bool], guess: &[f64]) {
        for token in problem.prepared.deepest_first().iter().map(|token| *token as usize) {
            if alive[token] && !self.known[token] {
                let price = self.within(problem, token, guess[token]);
                self.set(token, price);
            }
        }
    }

    fn within(&self, problem: &Problem<'_>, token: usize, guess: f64) -> f64 {
        let (low, high) = self.at_rest(problem, token);
        if low <= high {
            return settle(guess, (low, high), (low, high));
        }
        self.within_gas(problem, token, guess)
    }

    /// The prices of a token at which no pool towards a known token trades at all; the first is above the second where there
    /// are none.
    fn at_rest(&self, problem: &Problem<'_>, token: usize) -> (f64, f64) {
        let (mut low, mut high) = (0.0_f64, f64::INFINITY);
        let (is_target, is_source) = (token == problem.target, token == problem.source);
        for arrow in problem.prepared.graph().arrows(token) {
            let to = arrow.to as usize;
            let other = self.price[to];
            if other <= 0.0 || !self.known[to] || !problem.is_open(arrow.pair) {
                continue;
            }
            if to != problem.source && !is_target {
                low = low.max(other * arrow.spot);
            }
            if to != problem.target && !is_source && other < high * arrow.back {
                high = other / arrow.back;
            }
        }
        (low, high)
    }

    fn within_gas(&self, problem: &Problem<'_>, token: usize, guess: f64) -> f64 {
        // Bounds by a crumb of gas, and the wider ones by all of it.
        let (mut low, mut high) = (0.0_f64, f64::INFINITY);
        let (mut low_gas, mut high_gas) = (0.0_f64, f64::INFINITY);
        // Pools that leave the guess where it is need no closer look.
        let (floor, ceiling) = if guess > 0.0 { (guess, guess) } else { (0.0, f64::INFINITY) };
        let crumb = problem.gas_price * CRUMB;
        for arrow in problem.prepared.graph().arrows(token) {
            let to = arrow.to as usize;
            if !self.known[to] || self.price[to] <= 0.0 || !problem.is_open(arrow.pair) {
                continue;
            }
            let other = self.price[to];
            let (lowest, highest) = (low_gas.min(low).max(floor), high_gas.max(high).min(ceiling));
            let may_raise = to != problem.source && other * arrow.spot > lowest;
            let may_lower = to != problem.target && other < highest * arrow.back;
            if !may_raise && !may_lower {
                continue;
            }
            let (part, whole) = ((crumb / other).sqrt(), (problem.gas_price / other).sqrt());
            let back = arrow.reversed(token);
            let may_raise = may_raise && other * arrow.spot_after_gas(part) > lowest;
            let may_lower = may_lower && other * back.cost_with_gas(part) < highest;
            if !may_raise && !may_lower {
                continue;
            }
            // One formula is exact for a pool of one stretch, and needs no look at its curve.
            let curve = problem.curve(arrow.pair).filter(|_| !arrow.is_plain);
            let gas = curve.map_or(0.0, |curve| curve.gas_units) * problem.gas_price;
            if may_raise {
                let direction = curve.and_then(|curve| curve.direction(arrow.side));
                let rate = |gas: f64, root: f64| match direction {
                    Some(direction) => direction.average_rate(other, f64::INFINITY, gas),
                    None => other * arrow.spot_after_gas(root),
                };
                low = low.max(rate(gas * CRUMB, part));
                low_gas = low_gas.max(rate(gas, whole));
            }
            if may_lower {
                let direction = curve.and_then(|curve| curve.direction(1 - arrow.side));
                let cost = |gas: f64, root: f64| match direction {
                    Some(direction) => direction.average_cost(other, f64::INFINITY, gas),
                    None => other * back.cost_with_gas(root),
                };
                high = high.min(cost(gas * CRUMB, part));
                high_gas = high_gas.min(cost(gas, whole));
            }
        }
        settle(guess, (low, high), (low_gas, high_gas))
    }
}

fn settle(guess: f64, (low, high): (f64, f64), (low_gas, high_gas): (f64, f64)) -> f64 {
    let guessed = guess > 0.0 && guess.is_finite();
    if low <= high {
        return match (guessed, low > 0.0, high.is_finite()) {
            (true, _, _) => guess.clamp(low, high),
            (false, true, true) => (low * high).sqrt(),
            (false, true, false) => low,
            (false, false, true) => high,
            (false, false, false) => 0.0,
        };
    }
    if low_gas <= high_gas && guessed { guess.clamp(low_gas, high_gas) } else { (low_gas * high_gas).sqrt() }
}

/// The bound at a board's prices, and the pools that earn more than `least`, with what they earn.
pub(crate) struct Evaluation {
    pub(crate) bound: f64,
    pub(crate) earning: Vec<(f64, u32)>,
}

/// Evaluates the dual over every open pool; see the module's text.
pub(crate) fn evaluate(
    problem: &Problem<'_>,
    alive: &[bool],
    caps: &[f64],
    board: &PriceBoard,
    least: f64,
) -> Evaluation {
    let graph = problem.prepared.graph();
    let mut sum = Sum { problem, caps, price: &board.price, least, bound: 0.0, noise: 0.0, earning: Vec::new() };
    sum.bound = problem.terms.supplied_value(&board.price);
    let gas_root = problem.gas_price.sqrt();
    for pair in graph.inner_pairs() {
        let [a, b] = pair.ends.map(|end| end as usize);
        if !alive[a] || !alive[b] || !problem.is_open(pair.id) {
            continue;
        }
        let (pa, pb) = (board.price[a], board.price[b]);
        let (best_a, best_b) = (pair.spot[0] * pb, pair.spot[1] * pa);
        if pa < best_a {
            let f = 1.0 - pair.reject[0] * pair.gas_root * gas_root / pb.sqrt();
            if f <= 0.0 || pa < best_a * f * f {
                sum.add(pair.id, 0, a, b);
            }
        } else if pb < best_b {
            let f = 1.0 - pair.reject[1] * pair.gas_root * gas_root / pa.sqrt();
            if f <= 0.0 || pb < best_b * f * f {
                sum.add(pair.id, 1, b, a);
            }
        }
    }
    let ends = problem.terms.ends();
    for (at, end) in ends.iter().enumerate() {
        sum.add_outer_end(*end, &ends[..at], alive);
    }
    let bound = sum.bound + sum.noise;
    let bound = bound + 1e-12 * bound.abs();
    if let Some(recorder) = problem.recorder {
        recorder.note(problem, alive, caps, &board.price, bound);
    }
    let several = problem.source == NOWHERE || problem.target == NOWHERE;
    let bound = if several { bound + basket::forced(problem, alive, caps, &board.price) } else { bound };
    Evaluation { bound, earning: sum.earning }
}

/// As [`evaluate`], for routes of at least `count` pools: the `count` largest terms count even where they are negative.
pub(crate) fn evaluate_at_least(
    problem: &Problem<'_>,
    alive: &[bool],
    caps: &[f64],
    board: &PriceBoard,
    count: usize,
) -> f64 {
    let graph = problem.prepared.graph();
    let mut many =
        Many { problem, caps, price: &board.price, bound: 0.0, noise: 0.0, top: vec![f64::NEG_INFINITY; count] };
    many.bound = board.price[problem.source] * problem.amount;
    for pair in graph.inner_pairs() {
        if pair.ends.iter().all(|end| alive[*end as usize]) && problem.is_open(pair.id) {
            many.add(pair.id, pair.ends, pair.spot, pair.gas_root * pair.gas_root);
        }
    }
    for end in [problem.source, problem.target] {
        if graph.is_inner(end) {
            continue;
        }
        for arrow in graph.arrows(end).iter().filter(|arrow| alive[arrow.to as usize] && problem.is_open(arrow.pair)) {
            let both_outer = !graph.is_inner(arrow.to as usize);
            if !(both_outer && end == problem.target) {
                let Some(curve) = problem.curve(arrow.pair) else { continue };
                let spot = [0, 1].map(|side| curve.direction(side).map_or(0.0, |direction| direction.spot()));
                many.add(arrow.pair, graph.ends(arrow.pair), spot, curve.gas_units);
            }
        }
    }
    // Where there are fewer pools, there is no such route.
    let forced: f64 = many.top.iter().map(|term| term.min(0.0)).sum();
    let bound = many.bound + forced + many.noise;
    bound + 1e-12 * (bound.abs() + many.bound.abs())
}

struct Many<'a, 'p> {
    problem: &'a Problem<'p>,
    caps: &'a [f64],
    price: &'a [f64],
    bound: f64,
    noise: f64,
    /// The largest terms, falling.
    top: Vec<f64>,
}

impl Many<'_, '_> {
    fn add(&mut self, pair: u32, ends: [u32; 2], spot: [f64; 2], gas_units: f64) {
        let problem = self.problem;
        let gas = gas_units * problem.gas_price;
        let open = problem.open_ways(ends);
        let mut earned = 0.0_f64;
        for side in 0..2_u8 {
            let at = usize::from(side);
            let (from, to) = (ends[at] as usize, ends[1 - at] as usize);
            let (price_in, price_out) = (self.price[from], self.price[to]);
            if !open[at] || price_in >= spot[at] * price_out {
                continue;
            }
            let Some((_, direction)) = problem.direction(pair, side) else { continue };
            // Gas on the way is left out: it would only lower the term.
            earned = earned.max(direction.most_earned(price_in, price_out, self.caps[from], 0.0, 0.0));
            self.noise += noise(direction, price_in, price_out, self.caps[from]);
        }
        let mut term = earned - gas;
        if term > 0.0 {
            self.bound += term;
        }
        for place in &mut self.top {
            if term > *place {
                std::mem::swap(place, &mut term);
            }
        }
    }
}

/// What a pair adds to the bound at a board's prices: where it may be left unused, and where it is used for certain. `None`
/// for one that is not counted.
pub(crate) fn terms(
    problem: &Problem<'_>,
    alive: &[bool],
    caps: &[f64],
    board: &PriceBoard,
    pair: u32,
) -> Option<(f64, f64)> {
    let ends = problem.prepared.graph().ends(pair);
    let curve = problem.curve(pair)?;
    if !problem.is_open(pair) || !ends.iter().all(|end| alive[*end as usize]) {
        return None;
    }
    let open = problem.open_ways(ends);
    let earned = (0..2_usize).filter(|side| open[*side]).filter_map(|side| {
        let (from, to) = (ends[side] as usize, ends[1 - side] as usize);
        let direction = curve.directions[side].as_ref()?;
        Some(direction.most_earned(board.price[from], board.price[to], caps[from], 0.0, problem.gas_price))
    });
    let used = earned.fold(0.0, f64::max) - curve.gas_units * problem.gas_price;
    Some((used.max(0.0), used))
}

/// Open pairs of `all` that `universe` leaves out and that earn more than their gas at a board's prices, with what they
/// earn.
pub(crate) fn earning_outside(
    all: &Problem<'_>,
    universe: &Problem<'_>,
    caps: &[f64],
    price: &[f64],
) -> Vec<(f64, u32)> {
    let graph = all.prepared.graph();
    let pools = all.prepared.standing().removed().iter().copied();
    let outside =
        pools.filter(|pair| !universe.is_open(*pair) && all.is_open(*pair) && graph.ends(*pair)[0] != u32::MAX);
    let earns = |pair: u32| {
        let (ends, curve) = (graph.ends(pair), all.curve(pair)?);
        let open = all.open_ways(ends);
        let gas = curve.gas_units * all.gas_price;
        let side = |side: usize| {
            let (from, to) = (ends[side] as usize, ends[1 - side] as usize);
            let direction =
                curve.directions[side].as_ref().filter(|_| open[side] && price[from] > 0.0 && price[to] > 0.0)?;
            Some(direction.most_earned(price[from], price[to], caps[from], gas, all.gas_price))
        };
        let earned = [side(0), side(1)].into_iter().flatten().fold(0.0, f64::max);
        (earned > 0.0).then_some((earned, pair))
    };
    outside.filter_map(earns).collect()
}

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

    /// The pools of an input or output that is not inner; those between two such ends count once, for the `earlier` one.
    fn add_outer_end(&mut self, end: usize, earlier: &[usize], alive: &[bool]) {
        let graph = self.problem.prepared.graph();
        if graph.is_inner(end) {
            return;
        }
        for arrow in graph.arrows(end) {
            let to = arrow.to as usize;
            let counted = earlier.contains(&to) && !graph.is_inner(to);
            if !alive[to] || !self.problem.is_open(arrow.pair) || counted {
                continue;
            }
            if self.price[end] < arrow.spot * self.price[to] {
                self.add(arrow.pair, arrow.side, end, to);
            } else if self.price[to] < arrow.back * self.price[end] {
                self.add(arrow.pair, 1 - arrow.side, to, end);
            }
        }
    }
}

pub(crate) fn noise(direction: &Direction, price_in: f64, price_out: f64, cap: f64) -> f64 {
    direction
        .best_trade(price_in, price_out, cap, 0.0)
        .map_or(0.0, |trade| direction.noise(price_in, price_out, &trade))
}
