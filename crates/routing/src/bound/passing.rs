//! Gas that every route pays at a token that it passes: one pool leads to the token, and another leads on.
//!
//! The dual lets a pool that earns more than its gas earn by itself. But if its price disagrees with the other pools of
//! a token that is not an end of the trade, its profit is available only through one of those, whose gas has to be paid
//! as well. So the smallest loss of any pool in the missing direction is deducted from the profit of the token's pools,
//! at most all of it: a route either passes the token, and pays for both, or does not, and gets nothing. Each pool
//! counts for one of its tokens. If there are several inputs or outputs, pools that touch one count there, in `forced`.

use super::noise::noise;
use crate::prepare::Arrow;
use crate::problem::{NOWHERE, Problem};

/// Computes the deduction from the dual at the prices of all tokens, where `earning` lists the pools that earn more
/// than their gas.
pub(crate) fn passing(
    problem: &Problem<'_>,
    alive: &[bool],
    caps: &[f64],
    price: &[f64],
    earning: &[(f64, u32)],
) -> f64 {
    let graph = problem.prepared.graph();
    let ends = problem.terms.ends();
    let mut tokens: Vec<u32> = earning.iter().flat_map(|(_, pair)| graph.ends(*pair)).collect();
    tokens.sort_unstable();
    tokens.dedup();
    tokens.retain(|token| !ends.contains(&(*token as usize)) && alive[*token as usize]);
    let none: &[u32] = &[];
    let token_saves = |token: u32, counted: &[u32]| saved(problem, alive, caps, price, token, earning, counted);
    let mut order: Vec<(f64, u32)> = tokens.iter().map(|token| (token_saves(*token, none), *token)).collect();
    order.retain(|(saves, _)| *saves > 0.0);
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut counted: Vec<u32> = Vec::new();
    let mut sum = 0.0;
    for (_, token) in order {
        let saves = token_saves(token, &counted);
        if saves > 0.0 {
            sum += saves;
            counted.extend(graph.arrows(token as usize).iter().map(|arrow| arrow.pair));
        }
    }
    sum
}

/// Computes the deduction at one token, from pools that do not count for another.
fn saved(
    problem: &Problem<'_>,
    alive: &[bool],
    caps: &[f64],
    price: &[f64],
    token: u32,
    earning: &[(f64, u32)],
    counted: &[u32],
) -> f64 {
    let graph = problem.prepared.graph();
    let here = token as usize;
    let several = problem.source == NOWHERE || problem.target == NOWHERE;
    let is_counted = |pair: u32| counted.contains(&pair) || several && touches_end(problem, pair);
    let is_here = |pair: u32| graph.ends(pair).contains(&token) && !counted.contains(&pair);
    let earned: f64 = earning.iter().filter(|(_, pair)| is_here(*pair)).map(|(earned, _)| earned).sum();
    if earned <= 0.0 {
        return 0.0;
    }
    // The best of the pools that lead to the token, and of those that lead on; a direction lacks nothing if one of its
    // pools counts elsewhere.
    let mut best = [f64::NEG_INFINITY; 2];
    let is_open = |(to, arrow): &(usize, &Arrow)| alive[*to] && problem.is_open(arrow.pair);
    for (to, arrow) in problem.neighbours(here).filter(is_open) {
        if best == [0.0; 2] {
            return 0.0;
        }
        let open = problem.open_ways(graph.ends(arrow.pair));
        let ways = [(1 - arrow.side, to, here), (arrow.side, here, to)];
        for (best, (side, from, to)) in best.iter_mut().zip(ways).filter(|(_, (side, ..))| open[usize::from(*side)]) {
            if *best >= 0.0 {
                continue;
            }
            if is_counted(arrow.pair) {
                *best = 0.0;
                continue;
            }
            let Some((curve, direction)) = problem.direction(arrow.pair, side) else { continue };
            let gas = curve.gas_units * problem.gas_price;
            let term = if price[from] >= direction.spot() * price[to] {
                -gas
            } else {
                let earned = direction.most_earned(price[from], price[to], caps[from], 0.0, 0.0);
                earned + noise(direction, price[from], price[to], caps[from]) - gas
            };
            *best = best.max(term.min(0.0));
        }
    }
    let lacking: f64 = best.iter().map(|best| -best.min(0.0)).sum();
    lacking.min(earned)
}

fn touches_end(problem: &Problem<'_>, pair: u32) -> bool {
    let (terms, touches) = (&problem.terms, |token: u32| problem.prepared.graph().ends(pair).contains(&token));
    terms.supplies.iter().any(|(token, _)| touches(*token)) || terms.weights.iter().any(|(token, _)| touches(*token))
}
