//! Which tokens can lie on a route at all.

use crate::prepare::Arrow;
use crate::problem::Problem;

/// Whether each token lies on a chain from the input to the output that is short enough, through open pools.
pub(crate) fn reachable(problem: &Problem<'_>) -> Vec<bool> {
    let ahead = distances(problem, problem.source, problem.target, true);
    let behind = distances(problem, problem.target, problem.source, false);
    let within = |(a, b): (&u16, &u16)| usize::from(*a) + usize::from(*b) <= problem.hops;
    ahead.iter().zip(&behind).map(within).collect()
}

const FAR: u16 = u16::MAX / 2;

/// Fewest pools from `start` to each token, or from each token to `start`; never through `end`. Each round looks at the tokens that
/// are left, not at the arrows of those reached before: most have a neighbour among the first.
fn distances(problem: &Problem<'_>, start: usize, end: usize, forwards: bool) -> Vec<u16> {
    let graph = problem.prepared.graph();
    let pays = |arrow: &Arrow| {
        let rate = if forwards { arrow.back } else { arrow.spot };
        rate > 0.0 && problem.is_open(arrow.pair)
    };
    let mut distance = vec![FAR; graph.token_count()];
    distance[start] = 0;
    let mut left: Vec<usize> = (0..graph.token_count()).filter(|t| graph.is_inner(*t) && *t != start).collect();
    for (before, _) in (0_u16..).zip(0..problem.hops) {
        let all = left.len();
        left.retain(|&token| {
            let near = |arrow: &&Arrow| {
                let to = arrow.to as usize;
                distance[to] == before && to != end && pays(arrow)
            };
            let reached = graph.arrows(token).iter().any(|arrow| near(&arrow));
            if reached {
                distance[token] = before + 1;
            }
            !reached
        });
        if left.len() == all {
            break;
        }
    }
    if distance[end] == FAR {
        let before = graph.arrows(end).iter().filter(|arrow| pays(arrow));
        if let Some(least) = before.map(|arrow| distance[arrow.to as usize]).min() {
            distance[end] = least.saturating_add(1).min(FAR);
        }
    }
    distance
}
