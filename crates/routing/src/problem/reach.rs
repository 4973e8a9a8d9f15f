//! What can be reached from where: how much of each token a route can hold, and what it is worth towards each output.

use crate::prepare::Arrow;
use crate::problem::Problem;
use crate::problem::potentials::{Potentials, Through};
use crate::problem::reachable::reachable;
use crate::tuning::Tuning;

/// See the module's text.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    /// The most of each token that a route can hold: what marginal rates make of all inputs.
    pub(crate) cap: Vec<f64>,
    /// For each output, what a unit of each token is worth there at marginal rates and the output's reference price, through
    /// tokens that are active.
    pub(crate) towards: Vec<Vec<f64>>,
    /// The best of those.
    pub(crate) worth: Vec<f64>,
    /// Whether a token lies on a chain from an input to an output that is short enough.
    pub(crate) alive: Vec<bool>,
}

impl Reach {
    pub(crate) fn new(problem: &Problem<'_>) -> Self {
        let terms = &problem.terms;
        let count = problem.prepared.graph().token_count();
        let mut cap = vec![0.0; count];
        for (input, amount) in &terms.supplies {
            let held = caps(problem, *input as usize, amount * Tuning::OUTWARD);
            cap.iter_mut().zip(held).for_each(|(sum, held)| *sum += held);
        }
        let towards: Vec<Vec<f64>> = terms
            .weights
            .iter()
            .map(|(output, _)| worths(problem, *output as usize, reference(problem, *output), problem.hops))
            .collect();
        let worth = (0..count).map(|t| towards.iter().map(|worth| worth[t]).fold(0.0, f64::max)).collect();
        let alive = reachable(problem);
        Self { cap, towards, worth, alive }
    }

    pub(crate) fn potentials(&self) -> Potentials {
        Potentials::of_parts(self.cap.clone(), self.worth.clone())
    }

    /// Prices without arbitrage, in the problem's unit of value, and where there are none what marginal rates say; scaled so
    /// that the basket costs one.
    pub(crate) fn start_prices(&self, problem: &Problem<'_>) -> Vec<f64> {
        let standing = problem.prepared.standing();
        let known = |token: usize| Some(standing.price(token)).filter(|price| *price > 0.0);
        let any = problem.terms.weights.iter().all(|(token, _)| known(*token as usize).is_some());
        let price = |token: usize| known(token).filter(|_| any).unwrap_or(self.worth[token]);
        let mut prices: Vec<f64> = (0..self.worth.len()).map(price).collect();
        let unit = problem.terms.unit_price(&prices);
        if unit > 0.0 && unit.is_finite() {
            prices.iter_mut().for_each(|price| *price /= unit);
        }
        prices
    }
}

/// An output's value per atomic unit in the problem's unit of value.
pub(crate) fn reference(problem: &Problem<'_>, output: u32) -> f64 {
    problem.prepared.wei_per_unit(output as usize).unwrap_or(1.0)
}

/// The most of each token that an amount of one input can become.
fn caps(problem: &Problem<'_>, input: usize, amount: f64) -> Vec<f64> {
    let mut cap = vec![0.0; problem.prepared.graph().token_count()];
    cap[input] = amount;
    sweep(
        problem,
        input,
        Through::All,
        problem.hops,
        &|to| problem.terms.weights.iter().any(|(t, _)| *t as usize == to),
        |x, arrow| {
            let to = arrow.to as usize;
            let reached = cap[x] * arrow.spot * Tuning::OUTWARD;
            let better = reached > cap[to]
                && to != input
                && to != problem.source
                && x != problem.target
                && problem.is_open(arrow.pair);
            if better {
                cap[to] = reached;
            }
            better
        },
    );
    cap
}

/// What a unit of each token is worth at one output, of value `price`, at marginal rates.
pub(crate) fn worths(problem: &Problem<'_>, output: usize, price: f64, hops: usize) -> Vec<f64> {
    let mut worth = vec![0.0; problem.prepared.graph().token_count()];
    worth[output] = price;
    sweep(
        problem,
        output,
        Through::Active,
        hops,
        &|to| problem.terms.supplies.iter().any(|(t, _)| *t as usize == to),
        |x, arrow| {
            let from = arrow.to as usize;
            let rate = worth[x] * arrow.back * Tuning::OUTWARD;
            let better = rate > worth[from]
                && from != output
                && from != problem.target
                && x != problem.source
                && problem.is_open(arrow.pair);
            if better {
                worth[from] = rate;
            }
            better
        },
    );
    worth
}

/// Relaxes arrows round by round from `start` through inner tokens; into other tokens only where `is_end` says so. `relax`
/// says whether the token at the arrow's other side improved.
fn sweep(
    problem: &Problem<'_>,
    start: usize,
    through: Through,
    hops: usize,
    is_end: &dyn Fn(usize) -> bool,
    mut relax: impl FnMut(usize, &Arrow) -> bool,
) {
    let graph = problem.prepared.graph();
    let outer: Vec<usize> =
        problem.terms.ends().into_iter().filter(|end| !graph.is_inner(*end) && is_end(*end)).collect();
    let mut queued = vec![false; graph.token_count()];
    let (mut frontier, mut next) = (vec![start], Vec::new());
    for _ in 0..hops {
        for &x in &frontier {
            let mut relax = |arrow: &Arrow| {
                let to = arrow.to as usize;
                if relax(x, arrow) && !queued[to] {
                    queued[to] = true;
                    next.push(to);
                }
            };
            match through {
                Through::All => graph.inner_arrows(x).iter().for_each(&mut relax),
                Through::Active => problem.ways(x).for_each(&mut relax),
            }
        }
        // Arrows into an outer end are found from its side.
        for end in outer.iter().copied() {
            for arrow in graph.arrows(end) {
                if frontier.contains(&(arrow.to as usize)) {
                    relax(arrow.to as usize, &arrow.reversed(end));
                }
            }
        }
        frontier.clear();
        std::mem::swap(&mut frontier, &mut next);
        for &x in &frontier {
            queued[x] = false;
        }
        if frontier.is_empty() {
            break;
        }
    }
}
