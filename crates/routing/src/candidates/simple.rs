//! The plans of simpler routers, which the solver tries where an upper bound says little.
//!
//! Each plans in floating point and is replayed in the same exact arithmetic as any other flow.

use super::chunks::{Cut, chunked};
use crate::path::{Path, Within, best_paths, paths_above};
use crate::problem::potentials::Potentials;
use crate::problem::support::Support;
use crate::problem::{Flow, Problem};
use crate::tuning::Tuning;

/// A simple way to route one token to one other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimplePlan {
    /// The whole amount along the best single path.
    SinglePath,
    /// A grid of 5% over at most seven paths that share no pool.
    Grid,
    /// Twenty equal parts, one after the other, over at most four paths; a shared pool is priced after the earlier
    /// parts.
    Chunks,
    /// A hundred equal parts, over as many paths as pay for their gas.
    FineChunks,
}

impl SimplePlan {
    /// Every simple plan.
    pub const ALL: [Self; 4] = [Self::SinglePath, Self::Grid, Self::Chunks, Self::FineChunks];

    /// Computes the plan's flows, with at most so many pools priced for each part. Paths of the grid that are worth
    /// less than `least` for their share of the amount are excluded.
    pub(crate) fn flows(
        self,
        problem: &Problem<'_>,
        potentials: &Potentials,
        quotes: usize,
        least: &dyn Fn(f64) -> f64,
    ) -> Option<Vec<Flow>> {
        match self {
            Self::SinglePath => {
                let paths = best_paths(problem, potentials, problem.amount, &Support::default(), 1);
                paths.into_iter().next().map(|path| path.flows)
            }
            Self::Grid => grid(problem, potentials, quotes, least),
            Self::Chunks => Some(chunked(
                problem,
                potentials,
                Cut { chunks: Tuning::SIMPLE_CHUNKS, pools: usize::MAX, paths: Tuning::SIMPLE_CHUNK_PATHS, quotes },
            )),
            Self::FineChunks => Some(chunked(
                problem,
                potentials,
                Cut { chunks: Tuning::FINE_CHUNKS, pools: usize::MAX, paths: usize::MAX, quotes },
            )),
        }
    }
}

/// Some parts of the grid assigned to some paths.
#[derive(Clone, Copy)]
struct Combination {
    value: f64,
    left: usize,
    /// Paths that share no pool with those already used, as a set of bits.
    free: u128,
    /// Paths with their parts; entries without parts are unused.
    given: [(usize, usize); Tuning::GRID_PATHS],
}

fn grid(
    problem: &Problem<'_>,
    potentials: &Potentials,
    quotes: usize,
    least: &dyn Fn(f64) -> f64,
) -> Option<Vec<Flow>> {
    let paths = candidates(problem, potentials, quotes, least);
    let table: Vec<Vec<f64>> =
        paths.iter().map(|path| (1..=Tuning::GRID_PARTS).map(|k| value(problem, path, k)).collect()).collect();
    // For each number of parts the paths, best first.
    let ranked: Vec<Vec<usize>> = (0..Tuning::GRID_PARTS)
        .map(|k| {
            let mut order: Vec<usize> = (0..paths.len()).collect();
            order.sort_by(|a, b| table[*b][k].total_cmp(&table[*a][k]).then(b.cmp(a)));
            order
        })
        .collect();
    let with = |path: &Vec<Flow>| {
        let apart = (0..paths.len()).filter(|at| disjoint(&paths[*at], path));
        apart.fold(0_u128, |set, at| set | 1 << at)
    };
    let apart: Vec<u128> = paths.iter().map(with).collect();
    let mut beam = vec![Combination {
        value: 0.0,
        left: Tuning::GRID_PARTS,
        free: u128::MAX,
        given: [(0, 0); Tuning::GRID_PATHS],
    }];
    let mut best: Option<Combination> = None;
    for place in 0..Tuning::GRID_PATHS {
        let mut next = Vec::new();
        for combination in &beam {
            for parts in 1..=combination.left {
                let is_free = |at: &&usize| combination.free & (1 << **at) != 0;
                let Some(&at) = ranked[parts - 1].iter().find(is_free) else { continue };
                let mut grown = *combination;
                grown.value += table[at][parts - 1];
                grown.left -= parts;
                grown.free &= apart[at];
                grown.given[place] = (at, parts);
                if grown.left > 0 {
                    next.push(grown);
                } else if best.is_none_or(|known| grown.value > known.value) {
                    best = Some(grown);
                }
            }
        }
        // Compares combinations by the value per assigned part.
        let rate = |c: &Combination| per_part(c.value, Tuning::GRID_PARTS - c.left);
        if next.len() > Tuning::GRID_BEAM {
            next.select_nth_unstable_by(Tuning::GRID_BEAM, |a, b| rate(b).total_cmp(&rate(a)));
            next.truncate(Tuning::GRID_BEAM);
        }
        beam = next;
    }
    let mut flows = Vec::new();
    for (at, parts) in best?.given.into_iter().filter(|(_, parts)| *parts > 0) {
        flows.extend(amounts(problem, &paths[at], parts));
    }
    Some(flows)
}

#[allow(clippy::cast_precision_loss, reason = "twenty parts")]
fn per_part(value: f64, parts: usize) -> f64 {
    value / parts as f64
}

fn candidates(
    problem: &Problem<'_>,
    potentials: &Potentials,
    quotes: usize,
    least: &dyn Fn(f64) -> f64,
) -> Vec<Vec<Flow>> {
    let mut paths: Vec<Vec<Flow>> = Vec::new();
    for share in Tuning::GRID_SHARES {
        let within =
            Within { floor: least(share), keep: Tuning::GRID_CANDIDATES, quotes: quotes.min(Tuning::PATH_QUOTES) };
        let found = paths_above(problem, potentials, problem.amount * share, &Support::default(), within);
        for Path { flows, .. } in found {
            let same = |known: &Vec<Flow>| known.iter().map(|f| f.pair).eq(flows.iter().map(|f| f.pair));
            if !paths.iter().any(same) {
                paths.push(flows);
            }
        }
    }
    paths
}

/// Computes the amounts along a path for so many parts.
fn amounts(problem: &Problem<'_>, path: &[Flow], parts: usize) -> Vec<Flow> {
    let mut amount = of_parts(problem, parts);
    let step = |flow: &Flow| {
        let amount_in = amount;
        amount = problem.direction(flow.pair, flow.side).map_or(0.0, |(_, direction)| direction.quote(amount_in).0);
        Flow { amount_in, ..*flow }
    };
    path.iter().map(step).collect()
}

#[allow(clippy::cast_precision_loss, reason = "twenty parts")]
fn of_parts(problem: &Problem<'_>, parts: usize) -> f64 {
    problem.amount * parts as f64 / Tuning::GRID_PARTS as f64
}

fn value(problem: &Problem<'_>, path: &[Flow], parts: usize) -> f64 {
    let (mut amount, mut gas) = (of_parts(problem, parts), 0.0);
    for flow in path {
        let Some((curve, direction)) = problem.direction(flow.pair, flow.side) else { continue };
        let (paid, on_the_way) = direction.quote(amount);
        gas += curve.gas_units + on_the_way;
        amount = paid;
    }
    amount * problem.price_out - gas * problem.gas_price
}

fn disjoint(a: &[Flow], b: &[Flow]) -> bool {
    a.iter().all(|flow| b.iter().all(|other| other.pair != flow.pair))
}
