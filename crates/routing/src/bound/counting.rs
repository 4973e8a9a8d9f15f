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

/// Limits of what an amount of each token can become on its way to the output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits<'a> {
    /// Most value of a unit of each token, net of the gas of the remaining pools and without `spare`.
    unit: &'a [f64],
    /// Value that the remaining pools can add to that in all.
    spare: f64,
    /// The most of each token that a route can hold.
    cap: &'a [f64],
    /// Most pools priced by the search for the best path.
    quotes: usize,
}

impl<'a> Limits<'a> {
    /// Takes the limits from dual prices at which the dual has the value `dual`: a unit can become no more than its
    /// price, except for what pools earn.
    pub(crate) fn of_dual_prices(
        problem: &Problem<'_>,
        dual: f64,
        dual_prices: &'a DualPrices,
        cap: &'a [f64],
        quotes: usize,
    ) -> Self {
        let spare = (dual - dual_prices.price[problem.source] * problem.amount).max(0.0);
        Self { unit: &dual_prices.price, spare, cap, quotes }
    }
}

/// Computes a bound on every route over the problem's pools; `None` if the search for the best path reaches its limit
/// of priced pools.
///
/// `net` is the value of the best path known. Routes of many pools are bounded at each of the `price_sets`.
pub(crate) fn bound(
    problem: &Problem<'_>,
    limits: Limits<'_>,
    is_reachable: &[bool],
    price_sets: &[DualPrices],
    net: f64,
) -> Option<f64> {
    let single = best_path(problem, limits, net)?;
    let pairs = best_pair(problem);
    let fewest = fewest_pools(problem, is_reachable)?;
    let many =
        |dual_prices| evaluate::evaluate_at_least(problem, is_reachable, limits.cap, dual_prices, fewest.max(2) + 1);
    let many = price_sets.iter().map(many).min_by(f64::total_cmp)?;
    Some(single.max(pairs).max(many))
}

/// Computes the value of the best single path, or returns `floor` if none is better.
fn best_path(problem: &Problem<'_>, limits: Limits<'_>, floor: f64) -> Option<f64> {
    let (left, visited, most_profit) = (limits.quotes, vec![problem.source], most_profit(problem, limits.cap));
    let mut search = Exhaustive { problem, limits, most_profit, best: floor, left, visited };
    search.extend(problem.source, problem.amount, 0.0)?;
    Some(search.best)
}

/// A depth-first search over all paths that can be worth more than the best one.
struct Exhaustive<'a, 'p> {
    problem: &'a Problem<'p>,
    limits: Limits<'a>,
    /// The most that a pool adds to the value at prices without arbitrage.
    most_profit: f64,
    /// Value of the best path so far, net of gas.
    best: f64,
    /// Number of pools that may still be priced.
    left: usize,
    /// Tokens of the present path.
    visited: Vec<usize>,
}

impl Exhaustive<'_, '_> {
    /// Extends the present path, which holds an amount of token `at` and has cost `gas`, by every pool; `None` if no
    /// more pools may be priced.
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
    fn most_value(&self, token: usize, amount: f64, worth: f64) -> f64 {
        let (problem, standing) = (self.problem, self.problem.prepared.standing());
        let (price, price_out) = (standing.price(token), standing.price(problem.target));
        if token == problem.target {
            return amount * worth;
        }
        let by_worth = amount * worth + self.limits.spare;
        if price <= 0.0 || price_out <= 0.0 {
            return by_worth;
        }
        #[allow(clippy::cast_precision_loss, reason = "a handful of hops")]
        let left = (problem.hops - self.visited.len()) as f64;
        let by_price = (amount * price + left * self.most_profit) * (problem.price_out / price_out);
        (by_price * Tuning::FAR_OUTWARD).min(by_worth)
    }

    /// Extends the present path by one pool, and from there on; returns as [`Self::extend`] does.
    fn step(&mut self, arrow: &Arrow, amount: f64, gas: f64) -> Option<()> {
        let (problem, to, spare) = (self.problem, arrow.to as usize, self.limits.spare);
        let worth = self.limits.unit[to];
        let leads_nowhere = worth <= 0.0 && spare <= 0.0;
        let most = amount * arrow.spot * worth + spare - gas;
        if leads_nowhere || most <= self.best || !problem.is_open(arrow.pair) {
            return Some(());
        }
        self.left = self.left.checked_sub(1)?;
        let Some((curve, direction)) = problem.direction(arrow.pair, arrow.side) else { return Some(()) };
        let (out, on_the_way) = direction.quote(amount);
        let [_, beyond] = direction.best_beyond(0.0, 1.0, amount);
        let out = outward(out + beyond);
        let gas = gas + (curve.gas_units + on_the_way) * problem.gas_price;
        let most = self.most_value(to, out, worth) - gas;
        if most <= self.best || out <= 0.0 {
            return Some(());
        }
        if to == problem.target {
            self.best = most;
            return Some(());
        }
        self.visited.push(to);
        let done = self.extend(to, out, gas);
        self.visited.pop();
        done
    }
}

/// Computes the most that any open pool earns at prices without arbitrage, if no more than `caps` can reach it.
fn most_profit(problem: &Problem<'_>, caps: &[f64]) -> f64 {
    let (graph, standing) = (problem.prepared.graph(), problem.prepared.standing());
    let cap = |token: usize| caps.get(token).copied().unwrap_or(0.0);
    let earned = |pair: u32| match problem.curve(pair) {
        Some(curve) if curve.is_continued() => standing.profit_within(curve, graph.ends(pair), cap),
        _ => standing.profit(pair as usize),
    };
    let open = standing.earning().iter().filter(|pair| problem.is_open(**pair));
    open.map(|pair| earned(*pair)).fold(0.0, f64::max)
}

/// Share of an output that floating point may have lost: hundreds of operations of 2⁻⁵³ each.
const QUOTE_ROUNDING: f64 = 1e-13;

/// Rounds an output so that it is at least what the contract pays: adds what floating point may have lost, then drops
/// the fraction.
fn outward(out: f64) -> f64 {
    let out = out * (1.0 + QUOTE_ROUNDING);
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
fn fewest_pools(problem: &Problem<'_>, is_reachable: &[bool]) -> Option<usize> {
    let mut frontier = vec![problem.source];
    let mut seen = vec![false; is_reachable.len()];
    for hop in 1..=problem.hops {
        let mut next = Vec::new();
        for &x in &frontier {
            let pays =
                |(to, arrow): &(usize, &Arrow)| arrow.spot > 0.0 && is_reachable[*to] && problem.is_open(arrow.pair);
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
pub(crate) fn path_prices(problem: &Problem<'_>, is_reachable: &[bool], path: &[Flow]) -> Option<DualPrices> {
    let standing = problem.prepared.standing();
    let mut price = problem.price_out;
    let mut along = vec![(problem.target, price)];
    for flow in path.iter().rev() {
        let (_, direction) = problem.direction(flow.pair, flow.side)?;
        price *= direction.marginal(flow.amount_in);
        along.push((flow.from as usize, price));
    }
    let scale = price / standing.price(problem.source);
    let guess: Vec<f64> = (0..is_reachable.len()).map(|token| standing.price(token) * scale).collect();
    Some(DualPrices::of(problem, is_reachable, along.into_iter(), &guess))
}

/// Returns prices without arbitrage, at which few pools earn anything; `None` if an end has none.
pub(crate) fn standing_prices(problem: &Problem<'_>, is_reachable: &[bool]) -> Option<DualPrices> {
    let standing = problem.prepared.standing();
    let (price_in, price_out) = (standing.price(problem.source), standing.price(problem.target));
    if price_in <= 0.0 || price_out <= 0.0 {
        return None;
    }
    let scale = problem.price_out / price_out;
    let prices: Vec<f64> = (0..is_reachable.len()).map(|token| standing.price(token) * scale).collect();
    Some(DualPrices::of_all(problem, is_reachable, &prices))
}
