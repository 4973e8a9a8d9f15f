//! Which tokens can lie on a route at all.

use crate::prepare::Arrow;
use crate::problem::Problem;

/// Returns whether each token lies on a short enough path of open pools from an input to an output.
pub(crate) fn reachable(problem: &Problem<'_>) -> Vec<bool> {
    let tokens = |list: &[(u32, f64)]| list.iter().map(|(token, _)| *token as usize).collect::<Vec<_>>();
    let (inputs, outputs) = (tokens(&problem.terms.supplies), tokens(&problem.terms.weights));
    let ahead = distances(problem, &inputs, &outputs, true);
    let behind = distances(problem, &outputs, &inputs, false);
    let within = |(a, b): (&u16, &u16)| usize::from(*a) + usize::from(*b) <= problem.hops;
    ahead.iter().zip(&behind).map(within).collect()
}

/// Computes the fewest pools from an input to each token.
pub(crate) fn hops_ahead(problem: &Problem<'_>) -> Vec<u16> {
    let tokens = |list: &[(u32, f64)]| list.iter().map(|(token, _)| *token as usize).collect::<Vec<_>>();
    distances(problem, &tokens(&problem.terms.supplies), &tokens(&problem.terms.weights), true)
}

const FAR: u16 = u16::MAX / 2;

/// Computes the fewest pools from the nearest of `starts` to each token, or from each token to the nearest; never
/// through a single input or a single output. Each round scans the tokens not yet reached, not the arrows of those
/// reached before: most have a neighbour among the first, so that this is less work.
fn distances(problem: &Problem<'_>, starts: &[usize], ends: &[usize], forwards: bool) -> Vec<u16> {
    let graph = problem.prepared.graph();
    let lone = if forwards { problem.target } else { problem.source };
    let pays = |arrow: &Arrow| {
        let rate = if forwards { arrow.back } else { arrow.spot };
        rate > 0.0 && problem.is_open(arrow.pair)
    };
    let mut distance = vec![FAR; graph.token_count()];
    for start in starts {
        distance[*start] = 0;
    }
    let mut left: Vec<usize> = (0..distance.len()).filter(|t| graph.is_inner(*t) && distance[*t] == FAR).collect();
    for (before, _) in (0_u16..).zip(0..problem.hops) {
        let all = left.len();
        left.retain(|&token| {
            let is_next = |arrow: &Arrow| {
                let to = arrow.to as usize;
                distance[to] == before && to != lone && pays(arrow)
            };
            let reached = graph.arrows(token).iter().any(is_next);
            if reached {
                distance[token] = before + 1;
            }
            !reached
        });
        if left.len() == all {
            break;
        }
    }
    // An outer token can only be an end.
    for end in ends.iter().copied().filter(|end| !graph.is_inner(*end)) {
        let before = graph.arrows(end).iter().filter(|arrow| pays(arrow)).map(|arrow| distance[arrow.to as usize]);
        let least = before.min().unwrap_or(FAR).saturating_add(1);
        distance[end] = distance[end].min(least);
    }
    distance
}

#[cfg(test)]
mod tests {
    use braid_primitives::U256;

    use super::*;
    use crate::testing::{prepared, problem, token};

    #[test]
    fn only_tokens_on_a_path_that_is_short_enough_are_reachable() {
        const ETHER: u128 = 10_u128.pow(18);
        // 1 – 2 – 3 – 4, the detour 2 – 5 – 6 – 3, and 7 that leads nowhere; 0 has no pools.
        let line = [(1, 2), (2, 3), (3, 4), (2, 5), (5, 6), (6, 3), (2, 7)];
        let market = prepared(&line.map(|ends| (ends, [ETHER; 2])));
        let mut problem = problem(&market, token(1), U256::from(ETHER), token(4));
        let alive = |problem: &Problem<'_>| {
            let alive = reachable(problem);
            (0..8).filter(|position| alive[token(*position).index()]).collect::<Vec<_>>()
        };
        problem.hops = 2;
        assert!(alive(&problem).is_empty());
        problem.hops = 4;
        assert_eq!(alive(&problem), [1, 2, 3, 4]);
        problem.hops = 5;
        assert_eq!(alive(&problem), [1, 2, 3, 4, 5, 6]);
    }
}
