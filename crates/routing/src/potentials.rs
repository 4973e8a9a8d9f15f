//! How much of each token a route can hold, and how much it can still be worth.
//!
//! Two sweeps over the graph, as many rounds as the route may have hops:
//! - forwards, the best chain of marginal rates from the input: rates only fall with the amount, so no route holds more of
//!   a token than the amount in times that product (`cap`);
//! - backwards, the most that a unit of a token is worth at the output when at most `cap` of it moves and every pool on the
//!   way has to earn its gas (`worth`).
//!
//! At prices `worth` no pool earns more than its gas, hence `worth(input) · amount` bounds the value of every route.

use crate::prepare::Arrow;
use crate::problem::Problem;

/// See the module's text. Zero where a token cannot lie on a route.
#[derive(Clone, Debug, Default)]
pub(crate) struct Potentials {
    pub(crate) cap: Vec<f64>,
    pub(crate) worth: Vec<f64>,
}

impl Potentials {
    /// `gas_share` scales the gas that pools have to earn: below 1 the worths stay bounds, and stay positive for a trade
    /// that is worth less than its gas.
    pub(crate) fn new(problem: &Problem<'_>, gas_share: f64) -> Self {
        let cap = caps(problem);
        let worth = worths(problem, &cap, gas_share);
        Self { cap, worth }
    }
}

/// Rounds up what floating point may have rounded down.
const OUTWARD: f64 = 1.0 + 1e-12;

/// The most of each token that any route can hold.
pub(crate) fn caps(problem: &Problem<'_>) -> Vec<f64> {
    let (source, target) = (problem.source, problem.target);
    let mut cap = vec![0.0; problem.prepared.graph().token_count()];
    cap[source] = problem.amount * OUTWARD;
    sweep(problem, source, target, |x, arrow| {
        let reached = cap[x] * arrow.spot * OUTWARD;
        let better = reached > cap[arrow.to as usize] && arrow.to as usize != source;
        if better {
            cap[arrow.to as usize] = reached;
        }
        better
    });
    cap
}

/// The most that a unit of each token is worth at the output.
fn worths(problem: &Problem<'_>, cap: &[f64], gas_share: f64) -> Vec<f64> {
    let (source, target) = (problem.source, problem.target);
    let mut worth = vec![0.0; cap.len()];
    worth[target] = problem.price_out;
    let gas_price = problem.gas_price * gas_share;
    sweep(problem, target, source, |x, arrow| {
        let (here, from) = (worth[x], arrow.to as usize);
        if here * arrow.back <= worth[from] || cap[from] <= 0.0 || from == target {
            return false;
        }
        let Some((curve, direction)) = problem.direction(arrow.pool, arrow.coin_to) else { return false };
        let rate = direction.average_rate(here, cap[from], curve.gas_units * gas_price) * OUTWARD;
        let better = rate > worth[from];
        if better {
            worth[from] = rate;
        }
        better
    });
    worth
}

/// Relaxes arrows round by round from `start`, through inner tokens, until `end`. `relax` says whether the token at the
/// arrow's other side improved.
fn sweep(problem: &Problem<'_>, start: usize, end: usize, mut relax: impl FnMut(usize, &Arrow) -> bool) {
    let graph = problem.prepared.graph();
    let mut queued = vec![false; graph.token_count()];
    let (mut frontier, mut next) = (vec![start], Vec::new());
    for _ in 0..problem.hops {
        for &x in &frontier {
            // An outer token's arrows all count at the ends of a route only.
            let arrows = if x == start { graph.arrows(x) } else { graph.inner_arrows(x) };
            for arrow in arrows.iter().filter(|arrow| problem.is_open(arrow.pool)) {
                let to = arrow.to as usize;
                let passable = to == end || graph.is_inner(to);
                if passable && relax(x, arrow) && to != end && !queued[to] {
                    queued[to] = true;
                    next.push(to);
                }
            }
        }
        if !graph.is_inner(end) {
            // Arrows into an outer end are found from its side.
            for arrow in graph.arrows(end).iter().filter(|arrow| problem.is_open(arrow.pool)) {
                let x = arrow.to as usize;
                if x != start && frontier.contains(&x) {
                    relax(x, &reversed(arrow, end));
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

/// The same pool from the other side; `here` is the token that the arrow leaves.
pub(crate) fn reversed(arrow: &Arrow, here: usize) -> Arrow {
    Arrow {
        pool: arrow.pool,
        to: crate::prepare::index32(here),
        coin: arrow.coin_to,
        coin_to: arrow.coin,
        spot: arrow.back,
        back: arrow.spot,
    }
}
