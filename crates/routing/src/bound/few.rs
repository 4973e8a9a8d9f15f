//! An upper bound for trades whose gas matters: routes of few pools are enumerated, routes of many are bounded by their
//! gas.
//!
//! A route is a single path, or two pools side by side, or it has at least `k` pools, where `k` is one more than the
//! fewest pools that lead from the input to the output, and at least three. Single paths are searched completely. Two
//! pools side by side are bounded by the better rate. Routes of `k` pools or more pay the gas of at least `k`; so the
//! dual bounds them if its `k` largest terms count even when they are negative.

use super::dual_prices::DualPrices;
use super::evaluate;
use crate::path::EXACT_BELOW;
use crate::prepare::Arrow;
use crate::problem::{Flow, Problem};
use crate::tuning::Tuning;

/// Limits of what a token can become on its way to the output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Worth<'a> {
    /// Most value per unit of each token, net of the gas of the remaining pools …
    pub(crate) unit: &'a [f64],
    /// … apart from this much more in all.
    pub(crate) spare: f64,
    /// Share of the gas of the remaining pools that `unit` leaves out.
    pub(crate) gas_left_out: f64,
    /// The most of each token that a route can hold.
    pub(crate) cap: &'a [f64],
    /// Most pools priced by the search for the best path.
    pub(crate) quotes: usize,
}

impl<'a> Worth<'a> {
    /// Takes the limits from dual prices at which the dual has the value `dual`: a unit can become no more than its
    /// price, except for what pools earn.
    pub(crate) fn of_dual_prices(
        problem: &Problem<'_>,
        dual: f64,
        dual_prices: &'a DualPrices,
        cap: &'a [f64],
    ) -> Self {
        let spare = (dual - dual_prices.price[problem.source] * problem.amount).max(0.0);
        Self { unit: &dual_prices.price, spare, gas_left_out: 0.0, cap, quotes: Tuning::COUNTING_QUOTES }
    }
}

/// Computes a bound on every route over the problem's pools; `None` if the search for the best path does not end in
/// time.
///
/// `net` is the value of the best path known. Routes of many pools are bounded at each of the `price_sets`.
pub(crate) fn bound(
    problem: &Problem<'_>,
    worth: Worth<'_>,
    alive: &[bool],
    price_sets: &[DualPrices],
    net: f64,
) -> Option<f64> {
    let single = best_path(problem, worth, net)?;
    let pairs = best_pair(problem);
    let fewest = fewest_pools(problem, alive)?;
    let many = |dual_prices| evaluate::evaluate_at_least(problem, alive, worth.cap, dual_prices, fewest.max(2) + 1);
    let many = price_sets.iter().map(many).min_by(f64::total_cmp)?;
    Some(single.max(pairs).max(many))
}

/// Computes the value of the best single path, or returns `floor` if none is better.
fn best_path(problem: &Problem<'_>, worth: Worth<'_>, floor: f64) -> Option<f64> {
    let toll = worth.gas_left_out * problem.prepared.least_gas_units() * problem.gas_price;
    let visited = vec![problem.source];
    let extra = most_profit(problem);
    let (unit, spare) = (worth.unit, worth.spare);
    let mut search = Exhaustive { problem, worth: unit, spare, toll, extra, best: floor, left: worth.quotes, visited };
    search.extend(problem.source, problem.amount, 0.0)?;
    Some(search.best)
}

struct Exhaustive<'a, 'p> {
    problem: &'a Problem<'p>,
    worth: &'a [f64],
    spare: f64,
    /// Least cost of one more pool, as far as the worths leave it out.
    toll: f64,
    /// The most that a pool adds to the value at prices without arbitrage.
    extra: f64,
    best: f64,
    left: usize,
    visited: Vec<usize>,
}

impl Exhaustive<'_, '_> {
    fn extend(&mut self, at: usize, amount: f64, gas: f64) -> Option<()> {
        let problem = self.problem;
        let (graph, target) = (problem.prepared.graph(), problem.target);
        for arrow in graph.between(at, target) {
            self.step(&arrow, amount, gas)?;
        }
        if self.visited.len() >= problem.hops {
            return Some(());
        }
        for arrow in graph.inner_arrows(at) {
            let to = arrow.to as usize;
            if to != target && !self.visited.contains(&to) {
                self.step(arrow, amount, gas)?;
            }
        }
        Some(())
    }

    /// Computes the most that an amount of a token can become, by two limits: its worth; and its price without
    /// arbitrage plus what the remaining pools can add.
    fn promise(&self, token: usize, amount: f64, worth: f64) -> f64 {
        let (problem, standing) = (self.problem, self.problem.prepared.standing());
        let (price, price_out) = (standing.price(token), standing.price(problem.target));
        if token == problem.target {
            return amount * worth;
        }
        let by_worth = amount * worth + self.spare;
        if price <= 0.0 || price_out <= 0.0 {
            return by_worth;
        }
        #[allow(clippy::cast_precision_loss, reason = "a handful of hops")]
        let left = (problem.hops - self.visited.len()) as f64;
        let accounted = (amount * price + left * self.extra) * (problem.price_out / price_out) * Tuning::FAR_OUTWARD;
        accounted.min(by_worth)
    }

    fn step(&mut self, arrow: &Arrow, amount: f64, gas: f64) -> Option<()> {
        let (problem, to) = (self.problem, arrow.to as usize);
        let worth = self.worth[to];
        let toll = if to == problem.target { 0.0 } else { self.toll };
        let leads_nowhere = worth <= 0.0 && self.spare <= 0.0;
        let most = amount * arrow.spot * worth + self.spare - gas - toll;
        if leads_nowhere || most <= self.best || !problem.is_open(arrow.pair) {
            return Some(());
        }
        self.left = self.left.checked_sub(1)?;
        let Some((curve, direction)) = problem.direction(arrow.pair, arrow.side) else { return Some(()) };
        let (out, on_the_way) = direction.quote(amount);
        let out = outward(out);
        let gas = gas + (curve.gas_units + on_the_way) * problem.gas_price;
        let promise = self.promise(to, out, worth) - gas - toll;
        if promise <= self.best || out <= 0.0 {
            return Some(());
        }
        if to == problem.target {
            self.best = promise;
            return Some(());
        }
        self.visited.push(to);
        let done = self.extend(to, out, gas);
        self.visited.pop();
        done
    }
}

/// Computes the most that any open pool earns at prices without arbitrage.
fn most_profit(problem: &Problem<'_>) -> f64 {
    let standing = problem.prepared.standing();
    let open = standing.earning().iter().filter(|pair| problem.is_open(**pair));
    open.map(|pair| standing.profit(*pair as usize)).fold(0.0, f64::max)
}

/// Rounds an output so that it is at least what the contract pays: adds what floating point may have lost, then drops
/// the fraction.
fn outward(out: f64) -> f64 {
    let out = out * (1.0 + 1e-13);
    if out < EXACT_BELOW { out.floor() } else { out }
}

/// Computes a bound on two pools side by side from the input to the output.
fn best_pair(problem: &Problem<'_>) -> f64 {
    let graph = problem.prepared.graph();
    let direct = graph.between(problem.source, problem.target);
    let direct = direct.filter(|arrow| arrow.spot > 0.0 && problem.is_open(arrow.pair));
    let costs: Vec<(f64, f64)> = direct
        .filter_map(|arrow| Some((arrow.spot, problem.curve(arrow.pair)?.gas_units * problem.gas_price)))
        .collect();
    let mut best = f64::NEG_INFINITY;
    for (k, (rate, gas)) in costs.iter().enumerate() {
        for (other_rate, other_gas) in &costs[..k] {
            let value = problem.amount * rate.max(*other_rate) * problem.price_out;
            best = best.max(value - gas - other_gas);
        }
    }
    best
}

/// Computes the fewest pools from the input to the output.
fn fewest_pools(problem: &Problem<'_>, alive: &[bool]) -> Option<usize> {
    let mut frontier = vec![problem.source];
    let mut seen = vec![false; alive.len()];
    for hop in 1..=problem.hops {
        let mut next = Vec::new();
        for &x in &frontier {
            let pays = |(to, arrow): &(usize, &Arrow)| arrow.spot > 0.0 && alive[*to] && problem.is_open(arrow.pair);
            for (to, _) in problem.neighbours(x).filter(pays) {
                if to == problem.target {
                    return Some(hop);
                }
                if !std::mem::replace(&mut seen[to], true) {
                    next.push(to);
                }
            }
        }
        frontier = next;
    }
    None
}

/// Returns marginal prices along a path, as if gas were free, with other tokens at prices without arbitrage relative to
/// these.
pub(crate) fn path_prices(problem: &Problem<'_>, alive: &[bool], path: &[Flow]) -> Option<DualPrices> {
    let mut dual_prices = DualPrices::new(alive.len());
    let standing = problem.prepared.standing();
    let mut price = problem.price_out;
    dual_prices.set(problem.target, price);
    for flow in path.iter().rev() {
        let (_, direction) = problem.direction(flow.pair, flow.side)?;
        price *= direction.marginal(flow.amount_in);
        dual_prices.set(flow.from as usize, price);
    }
    let scale = price / standing.price(problem.source);
    let guess: Vec<f64> = (0..alive.len()).map(|token| standing.price(token) * scale).collect();
    dual_prices.fill(problem, alive, &guess);
    Some(dual_prices)
}

/// Returns prices without arbitrage, at which few pools earn anything; `None` if an end has none.
pub(crate) fn standing_prices(problem: &Problem<'_>, alive: &[bool]) -> Option<DualPrices> {
    let standing = problem.prepared.standing();
    let (price_in, price_out) = (standing.price(problem.source), standing.price(problem.target));
    if price_in <= 0.0 || price_out <= 0.0 {
        return None;
    }
    let scale = problem.price_out / price_out;
    let guess: Vec<f64> = (0..alive.len()).map(|token| standing.price(token) * scale).collect();
    let mut dual_prices = DualPrices::new(alive.len());
    for (token, price) in guess.iter().enumerate().filter(|(token, price)| alive[*token] && **price > 0.0) {
        dual_prices.set(token, *price);
    }
    dual_prices.fill(problem, alive, &guess);
    Some(dual_prices)
}
