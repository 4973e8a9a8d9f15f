//! Which tokens can lie on a route at all.

use crate::prepare::Arrow;
use crate::problem::Problem;

/// Whether each token lies on a chain from an input to an output that is short enough, through open pools.
pub(crate) fn reachable(problem: &Problem<'_>) -> Vec<bool> {
    let tokens = |list: &[(u32, f64)]| list.iter().map(|(token, _)| *token as usize).collect::<Vec<_>>();
    let (inputs, outputs) = (tokens(&problem.terms.supplies), tokens(&problem.terms.weights));
    let ahead = distances(problem, &inputs, &outputs, true);
    let behind = distances(problem, &outputs, &inputs, false);
    let within = |(a, b): (&u16, &u16)| usize::from(*a) + usize::from(*b) <= problem.hops;
    ahead.iter().zip(&behind).map(within).collect()
}

const FAR: u16 = u16::MAX / 2;

/// Fewest pools from the nearest of `starts` to each token, or from each token to the nearest; never through a lone input or a lone
/// output. Each round looks at the tokens that are left, not at the arrows of those reached before: most have a neighbour
/// among the first.
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
    // An outer token can be an end, and nothing else.
    for end in ends.iter().copied().filter(|end| !graph.is_inner(*end)) {
        let before = graph.arrows(end).iter().filter(|arrow| pays(arrow)).map(|arrow| distance[arrow.to as usize]);
        let least = before.min().unwrap_or(FAR).saturating_add(1);
        distance[end] = distance[end].min(least);
    }
    distance
}
