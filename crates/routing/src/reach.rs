//! Which tokens can lie on a route at all.

use crate::problem::Problem;

/// Whether each token lies on a chain from the input to the output that is short enough, through open pools.
pub(crate) fn reachable(problem: &Problem<'_>) -> Vec<bool> {
    let ahead = distances(problem, problem.source, problem.target, true);
    let behind = distances(problem, problem.target, problem.source, false);
    let within = |(a, b): (&u16, &u16)| usize::from(*a) + usize::from(*b) <= problem.hops;
    ahead.iter().zip(&behind).map(within).collect()
}

const FAR: u16 = u16::MAX / 2;

/// Fewest pools from `start` to each token, or from each token to `start`; never through `end`.
fn distances(problem: &Problem<'_>, start: usize, end: usize, forwards: bool) -> Vec<u16> {
    let graph = problem.prepared.graph();
    let mut distance = vec![FAR; graph.token_count()];
    distance[start] = 0;
    let mut frontier = vec![start];
    for round in 1_u16.. {
        if usize::from(round) > problem.hops || frontier.is_empty() {
            break;
        }
        let mut next = Vec::new();
        for &x in &frontier {
            let arrows = if x == start { graph.arrows(x) } else { graph.inner_arrows(x) };
            for arrow in arrows {
                let to = arrow.to as usize;
                let rate = if forwards { arrow.spot } else { arrow.back };
                if distance[to] == FAR && rate > 0.0 && graph.is_inner(to) && problem.is_open(arrow.pair) {
                    distance[to] = round;
                    if to != end {
                        next.push(to);
                    }
                }
            }
        }
        frontier = next;
    }
    if distance[end] == FAR {
        let before = graph.arrows(end).iter().filter(|arrow| {
            let rate = if forwards { arrow.back } else { arrow.spot };
            rate > 0.0 && problem.is_open(arrow.pair)
        });
        if let Some(least) = before.map(|arrow| distance[arrow.to as usize]).min() {
            distance[end] = least.saturating_add(1).min(FAR);
        }
    }
    distance
}
