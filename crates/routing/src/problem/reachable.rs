//! Finds the tokens that can lie on a route at all.

use crate::prepare::Arrow;
use crate::problem::Problem;
use crate::tuning::Tuning;

/// Returns whether each token lies on a short enough path of open pools from an input to an output.
pub(crate) fn reachable(problem: &Problem<'_>) -> Vec<bool> {
    let tokens = |list: &[(u32, f64)]| list.iter().map(|(token, _)| *token as usize).collect::<Vec<_>>();
    let (inputs, outputs) = (tokens(&problem.terms.supplies), tokens(&problem.terms.weights));
    let ahead = distances(problem, &inputs, &outputs, true);
    let behind = distances(problem, &outputs, &inputs, false);
    let within = |(a, b): (&u16, &u16)| usize::from(*a) + usize::from(*b) <= problem.hops;
    ahead.iter().zip(&behind).map(within).collect()
}

/// Distance of a token that cannot be reached; the sum of two does not overflow.
const FAR: u16 = u16::MAX / 2;

/// Computes the fewest pools from the nearest of `starts` to each token, or from each token to the nearest; never
/// through a single input or a single output.
///
/// Each round starts from the tokens that the last one reached, while these have few pools. Later it starts from the
/// tokens that are not reached yet: most have a pool with one of the last round, which is often among their first.
fn distances(problem: &Problem<'_>, starts: &[usize], ends: &[usize], forwards: bool) -> Vec<u16> {
    let graph = problem.prepared.graph();
    let lone = if forwards { problem.target } else { problem.source };
    // Tells whether the pool of an arrow out of a token pays in the direction of the search: towards the token, or away.
    let pays = |arrow: &Arrow, towards: bool| {
        let rate = if forwards == towards { arrow.back } else { arrow.spot };
        rate > 0.0 && problem.is_open(arrow.pair)
    };
    let mut distance = vec![FAR; problem.token_count];
    for start in starts {
        distance[*start] = 0;
    }
    let mut last: Vec<usize> = starts.to_vec();
    let mut left: Option<Vec<usize>> = None;
    for (before, _) in (0_u16..).zip(0..problem.hops) {
        let mut reached = Vec::new();
        let leaving: usize = last.iter().map(|token| graph.inner_arrows(*token).len()).sum();
        if leaving < graph.arrow_count() / Tuning::LEAVING_ONE_IN {
            for &token in last.iter().filter(|token| **token != lone) {
                for (to, arrow) in graph.to_inner(token).neighbours() {
                    if distance[to] == FAR && pays(arrow, false) {
                        distance[to] = before + 1;
                        reached.push(to);
                    }
                }
            }
        } else {
            let inner = || (0..distance.len()).filter(|token| graph.is_inner(*token)).collect();
            let left = left.get_or_insert_with(inner);
            left.retain(|token| distance[*token] == FAR);
            for &token in left.iter() {
                let mut neighbours = problem.neighbours(token);
                if neighbours.any(|(to, arrow)| distance[to] == before && to != lone && pays(arrow, true)) {
                    distance[token] = before + 1;
                    reached.push(token);
                }
            }
        }
        if reached.is_empty() {
            break;
        }
        last = reached;
    }
    // Adds outer tokens, which can only be ends.
    for end in ends.iter().copied().filter(|end| !graph.is_inner(*end)) {
        let arrows = problem.neighbours(end).filter(|(_, arrow)| pays(arrow, true));
        let least = arrows.map(|(to, _)| distance[to]).min().unwrap_or(FAR).saturating_add(1);
        distance[end] = distance[end].min(least);
    }
    distance
}

#[cfg(test)]
mod tests {
    use braid_primitives::U256;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;
    use crate::testing::{prepared, problem, token};

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::with_cases(500) })]

        #[test]
        fn a_search_from_either_side_reaches_the_same_tokens(
            ends in prop::collection::vec((0_u32..24, 1_u32..24), 10..80),
            hops in 1_usize..6,
        ) {
            // Gives a hub many of the pools, as on mainnet.
            let ends: Vec<(u32, u32)> = ends.iter().map(|(a, step)| (if a % 3 == 0 { 2 } else { *a }, *step)).collect();
            let ends = ends.iter().map(|(a, step)| (*a, (a + step) % 24));
            let ends: Vec<(u32, u32)> = ends.chain([(1, 22), (23, 0)]).collect();
            let market = prepared(&ends.iter().map(|ends| (*ends, [10_u128.pow(18); 2])).collect::<Vec<_>>());
            let problem = Problem { hops, ..problem(&market, token(1), U256::from(10_u128.pow(15)), token(0)) };
            let far = |from: u32, never_through: u32| {
                let mut distance = [FAR; 24];
                distance[from as usize] = 0;
                for before in 0..24 {
                    for (a, b) in ends.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]) {
                        if distance[a as usize] == before && a != never_through {
                            distance[b as usize] = distance[b as usize].min(before + 1);
                        }
                    }
                }
                distance
            };
            let (ahead, behind) = (far(1, 0), far(0, 1));
            let found = reachable(&problem);
            for position in 0..24_usize {
                let node = market.node(token(u32::try_from(position).unwrap()));
                if node < found.len() && (market.graph().is_inner(node) || position < 2) {
                    let is_near = usize::from(ahead[position]) + usize::from(behind[position]) <= hops;
                    prop_assert_eq!(found[node], is_near, "{} of {:?} in {} pools", position, ends, hops);
                }
            }
        }
    }

    #[test]
    fn only_tokens_on_a_path_that_is_short_enough_are_reachable() {
        const ETHER: u128 = 10_u128.pow(18);
        // 1 – 2 – 3 – 4, the detour 2 – 5 – 6 – 3, and 7 that leads nowhere; 0 has no pools.
        let line = [(1, 2), (2, 3), (3, 4), (2, 5), (5, 6), (6, 3), (2, 7)];
        let market = prepared(&line.map(|ends| (ends, [ETHER; 2])));
        let mut problem = problem(&market, token(1), U256::from(ETHER), token(4));
        let is_reachable = |problem: &Problem<'_>| {
            let is_reachable = reachable(problem);
            (0..8).filter(|position| is_reachable.get(market.node(token(*position))) == Some(&true)).collect::<Vec<_>>()
        };
        problem.hops = 2;
        assert!(is_reachable(&problem).is_empty());
        problem.hops = 4;
        assert_eq!(is_reachable(&problem), [1, 2, 3, 4]);
        problem.hops = 5;
        assert_eq!(is_reachable(&problem), [1, 2, 3, 4, 5, 6]);
    }
}
