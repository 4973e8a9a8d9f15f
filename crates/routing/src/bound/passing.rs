//! Gas that every route pays at a token that it passes: one pool leads to the token, and another leads on.
//!
//! The dual lets a pool that earns more than its gas earn by itself. But if its price disagrees with the other pools of
//! a token that is not an end of the trade, its profit is available only through one of those, whose gas has to be paid
//! as well. So the smallest loss of any pool in the missing direction is deducted from the profit of the token's pools,
//! at most all of it: a route either passes the token, and pays for both, or does not, and gets nothing. Each pool
//! counts for one of its tokens. If there are several inputs or outputs, pools that touch one count there, in `forced`.

use super::profit::profit_after_gas;
use crate::prepare::Arrow;
use crate::problem::Problem;

/// Computes the deduction from the dual at the prices of all tokens, where `earning` lists the pools that earn more
/// than their gas.
pub(crate) fn passing(
    problem: &Problem<'_>,
    is_reachable: &[bool],
    caps: &[f64],
    price: &[f64],
    earning: &[(f64, u32)],
) -> f64 {
    let graph = problem.prepared.graph();
    let ends = problem.terms.ends();
    let mut tokens: Vec<u32> = earning.iter().flat_map(|(_, pair)| graph.ends(*pair)).collect();
    tokens.sort_unstable();
    tokens.dedup();
    tokens.retain(|token| !ends.contains(&(*token as usize)) && is_reachable[*token as usize]);
    let deducted = |token: u32, counted: &[u32]| at_token(problem, is_reachable, caps, price, token, earning, counted);
    let mut order: Vec<(f64, u32)> = tokens.iter().map(|token| (deducted(*token, &[]), *token)).collect();
    order.retain(|(amount, _)| *amount > 0.0);
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut counted: Vec<u32> = Vec::new();
    let mut sum = 0.0;
    for (_, token) in order {
        let amount = deducted(token, &counted);
        if amount > 0.0 {
            sum += amount;
            counted.extend(graph.arrows(token as usize).iter().map(|arrow| arrow.pair));
        }
    }
    sum
}

/// Computes the deduction at one token, from pools that do not count for another.
fn at_token(
    problem: &Problem<'_>,
    is_reachable: &[bool],
    caps: &[f64],
    price: &[f64],
    token: u32,
    earning: &[(f64, u32)],
    counted: &[u32],
) -> f64 {
    let graph = problem.prepared.graph();
    let here = token as usize;
    let is_counted = |pair: u32| counted.contains(&pair) || (!problem.is_pair() && touches_end(problem, pair));
    let is_here = |pair: u32| graph.ends(pair).contains(&token) && !counted.contains(&pair);
    let earned: f64 = earning.iter().filter(|(_, pair)| is_here(*pair)).map(|(earned, _)| earned).sum();
    if earned <= 0.0 {
        return 0.0;
    }
    // Finds the best of the pools that lead to the token, and of those that lead on; a direction lacks nothing if one of
    // its pools counts elsewhere.
    let mut best = [f64::NEG_INFINITY; 2];
    let is_open = |(to, arrow): &(usize, &Arrow)| is_reachable[*to] && problem.is_open(arrow.pair);
    for (to, arrow) in problem.neighbours(here).filter(is_open) {
        if best == [0.0; 2] {
            return 0.0;
        }
        let open = problem.open_directions(graph.ends(arrow.pair));
        let directions = [(1 - arrow.side, to, here), (arrow.side, here, to)];
        let directions = best.iter_mut().zip(directions).filter(|(_, (side, ..))| open[usize::from(*side)]);
        for (best, (side, from, to)) in directions {
            if *best >= 0.0 {
                continue;
            }
            if is_counted(arrow.pair) {
                *best = 0.0;
                continue;
            }
            let profit = profit_after_gas(problem, caps, price, (arrow.pair, side), [from, to]);
            *best = best.max(profit.min(0.0));
        }
    }
    let lacking: f64 = best.iter().map(|best| -best.min(0.0)).sum();
    lacking.min(earned)
}

/// Returns whether a pair has an input or an output as one of its tokens.
fn touches_end(problem: &Problem<'_>, pair: u32) -> bool {
    let (terms, touches) = (&problem.terms, |token: u32| problem.prepared.graph().ends(pair).contains(&token));
    terms.supplies.iter().any(|(token, _)| touches(*token)) || terms.weights.iter().any(|(token, _)| touches(*token))
}
