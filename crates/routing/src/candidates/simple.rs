//! The plans of simpler routers, which the solver tries where an upper bound says little.
//!
//! Each plans in floating point and is replayed in the same exact arithmetic as any other flow.

use super::chunks::{Cut, PartSearch, chunked};
use crate::path::{Path, PathLimits, best_paths};
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
    /// A hundred equal parts, over as many paths as pay for their gas and fit the steps that a route may have.
    FineChunks,
}

impl SimplePlan {
    /// Every simple plan.
    pub const ALL: [Self; 4] = [Self::SinglePath, Self::Grid, Self::Chunks, Self::FineChunks];

    /// Computes the plan's flows. Excludes paths of the grid that are worth less than `least` for their share of the amount.
    pub(crate) fn flows(
        self,
        problem: &Problem<'_>,
        potentials: &Potentials,
        search: PartSearch,
        least: &dyn Fn(f64) -> f64,
    ) -> Option<Vec<Flow>> {
        match self {
            Self::SinglePath => {
                let limits = PathLimits::of_any_value(1);
                let paths = best_paths(problem, potentials, problem.amount, &Support::default(), limits);
                paths.into_iter().next().map(|path| path.flows)
            }
            Self::Grid => grid(problem, potentials, search.quotes, least),
            Self::Chunks => Some(chunked(
                problem,
                potentials,
                Cut { chunks: Tuning::SIMPLE_CHUNKS, paths: Tuning::SIMPLE_CHUNK_PATHS, search },
            )),
            Self::FineChunks => {
                Some(chunked(problem, potentials, Cut { chunks: Tuning::FINE_CHUNKS, paths: usize::MAX, search }))
            }
        }
    }
}

/// Some parts of the grid assigned to some paths.
#[derive(Clone, Copy)]
struct Combination {
    value: f64,
    left: u8,
    /// Paths with their parts; entries without parts are unused. In bytes, because a beam holds many.
    given: [(u8, u8); Tuning::GRID_PATHS],
    /// Paths that share no pool with those already used, as a set of bits.
    free: u128,
}

/// Computes the best assignment of the grid's parts to paths that share no pool, by beam search.
fn grid(
    problem: &Problem<'_>,
    potentials: &Potentials,
    quotes: usize,
    least: &dyn Fn(f64) -> f64,
) -> Option<Vec<Flow>> {
    let paths = candidates(problem, potentials, quotes, least);
    let table: Vec<Vec<f64>> =
        paths.iter().map(|path| (1..=Tuning::GRID_PARTS).map(|k| value(problem, path, k)).collect()).collect();
    // Ranks the paths for each number of parts, best first.
    let ranked: Vec<Vec<u8>> = (0..usize::from(Tuning::GRID_PARTS))
        .map(|k| {
            let mut order: Vec<u8> = (0..).take(paths.len()).collect();
            let value = |at: u8| table[usize::from(at)][k];
            order.sort_by(|a, b| value(*b).total_cmp(&value(*a)).then(b.cmp(a)));
            order
        })
        .collect();
    let paths_beside = |path: &Vec<Flow>| {
        let disjoint = (0..paths.len()).filter(|at| are_disjoint(&paths[*at], path));
        disjoint.fold(0_u128, |set, at| set | 1 << at)
    };
    let beside: Vec<u128> = paths.iter().map(paths_beside).collect();
    let nothing = [(0, 0); Tuning::GRID_PATHS];
    let mut beam = vec![Combination { value: 0.0, left: Tuning::GRID_PARTS, given: nothing, free: u128::MAX }];
    let mut best: Option<Combination> = None;
    for place in 0..Tuning::GRID_PATHS {
        let mut next = Vec::with_capacity(beam.len() * usize::from(Tuning::GRID_PARTS));
        for combination in &beam {
            for parts in 1..=combination.left {
                let is_free = |at: &&u8| combination.free & (1 << **at) != 0;
                let Some(&at) = ranked[usize::from(parts - 1)].iter().find(is_free) else { continue };
                let mut grown = *combination;
                grown.value += table[usize::from(at)][usize::from(parts - 1)];
                grown.left -= parts;
                grown.free &= beside[usize::from(at)];
                grown.given[place] = (at, parts);
                if grown.left > 0 {
                    next.push(grown);
                } else if best.is_none_or(|known| grown.value > known.value) {
                    best = Some(grown);
                }
            }
        }
        // Compares combinations by the value per assigned part.
        let rate = |c: &Combination| c.value / f64::from(Tuning::GRID_PARTS - c.left);
        if next.len() > Tuning::GRID_BEAM {
            next.select_nth_unstable_by(Tuning::GRID_BEAM, |a, b| rate(b).total_cmp(&rate(a)));
            next.truncate(Tuning::GRID_BEAM);
        }
        beam = next;
    }
    let mut flows = Vec::new();
    for (at, parts) in best?.given.into_iter().filter(|(_, parts)| *parts > 0) {
        flows.extend(amounts(problem, &paths[usize::from(at)], parts));
    }
    Some(flows)
}

/// Finds the paths of the grid: the best for each of four shares of the amount.
fn candidates(
    problem: &Problem<'_>,
    potentials: &Potentials,
    quotes: usize,
    least: &dyn Fn(f64) -> f64,
) -> Vec<Vec<Flow>> {
    let mut paths: Vec<Vec<Flow>> = Vec::new();
    for share in Tuning::GRID_SHARES {
        let quotes = quotes.min(Tuning::PATH_QUOTES);
        let limits = PathLimits { floor: least(share), keep: Tuning::GRID_CANDIDATES, quotes };
        let found = best_paths(problem, potentials, problem.amount * share, &Support::default(), limits);
        for Path { flows, .. } in found {
            let same = |known: &Vec<Flow>| known.iter().map(|f| f.pair).eq(flows.iter().map(|f| f.pair));
            if !paths.iter().any(same) {
                paths.push(flows);
            }
        }
    }
    paths
}

/// Computes the amounts along a path that takes `parts` parts of the grid.
fn amounts(problem: &Problem<'_>, path: &[Flow], parts: u8) -> Vec<Flow> {
    let mut amount = of_parts(problem, parts);
    let step = |flow: &Flow| {
        let flow = Flow { amount_in: amount, ..*flow };
        amount = problem.paid(&flow);
        flow
    };
    path.iter().map(step).collect()
}

/// Returns the amount of some parts of the grid.
fn of_parts(problem: &Problem<'_>, parts: u8) -> f64 {
    problem.amount * f64::from(parts) / f64::from(Tuning::GRID_PARTS)
}

/// Computes the value of some parts along a path, net of gas.
fn value(problem: &Problem<'_>, path: &[Flow], parts: u8) -> f64 {
    let (mut amount, mut gas) = (of_parts(problem, parts), 0.0);
    for flow in path {
        let Some((curve, direction)) = problem.direction(flow.pair, flow.side) else { continue };
        let (paid, on_the_way) = direction.quote(amount);
        gas += curve.gas_units + on_the_way;
        amount = paid;
    }
    amount * problem.price_out - gas * problem.gas_price
}

/// Returns whether two paths share no pool.
fn are_disjoint(a: &[Flow], b: &[Flow]) -> bool {
    a.iter().all(|flow| b.iter().all(|other| other.pair != flow.pair))
}
