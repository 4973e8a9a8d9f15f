//! What simpler routers would answer on the same pools: yardsticks for benchmarks.
//!
//! Each plans in floating point and is replayed by the same exact arithmetic as our own routes.

use crate::greedy::{Cut, chunked};
use crate::path::{Path, best_paths};
use crate::potentials::Potentials;
use crate::problem::{Flow, Problem};
use crate::solve::Single;
use crate::support::Support;
use crate::{Prepared, Request, Route};

/// A simple way to route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// All down the best single chain.
    SingleChain,
    /// A grid of 5% over at most seven chains that share no pool.
    Grid,
    /// Twenty equal parts, one after the other, over at most four chains; pools are shared honestly.
    Chunks,
}

impl Baseline {
    /// Every baseline.
    pub const ALL: [Self; 3] = [Self::SingleChain, Self::Grid, Self::Chunks];

    /// The name that tables use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SingleChain => "best single path",
            Self::Grid => "5% grid, disjoint",
            Self::Chunks => "20 chunks, 4 paths",
        }
    }

    /// Value net of gas of this baseline's route, in wei; `None` where it finds none, for a basket, and without a
    /// reference price.
    pub fn net_value_wei(self, prepared: &Prepared, request: &Request) -> Option<f64> {
        self.route(prepared, request).map(|(_, net_wei)| net_wei)
    }

    /// This baseline's route and its value net of gas, in wei; `None` as above.
    pub fn route(self, prepared: &Prepared, request: &Request) -> Option<(Route, f64)> {
        let ([(input, amount)], [(output, _)]) = (request.inputs.as_slice(), request.outputs.as_slice()) else {
            return None;
        };
        prepared.value_wei(*output, *amount)?;
        if crate::prepare::node(*input) == crate::prepare::node(*output) {
            return None;
        }
        let problem = Problem::single(prepared, request, *input, *amount, *output);
        let mut potentials = Potentials::new(&problem, 1.0);
        if potentials.worth[problem.source] <= 0.0 {
            potentials = Potentials::new(&problem, 0.0);
        }
        let flows = self.plan(&problem, &potentials)?;
        let single = Single::new(prepared, request, problem);
        let route = single.mended_replay(&flows)?;
        let net_wei = single.net(&route);
        Some((route, net_wei))
    }

    pub(crate) fn plan(self, problem: &Problem<'_>, potentials: &Potentials) -> Option<Vec<Flow>> {
        match self {
            Self::SingleChain => {
                let paths = best_paths(problem, potentials, problem.amount, &Support::default(), 1);
                paths.into_iter().next().map(|path| path.flows)
            }
            Self::Grid => grid(problem, potentials),
            Self::Chunks => {
                Some(chunked(problem, potentials, Cut { chunks: 20, pools: usize::MAX, chains: 4, quotes: usize::MAX }))
            }
        }
    }
}

/// Parts of the grid, and most chains at once.
const PARTS: usize = 20;
const CHAINS: usize = 7;
/// Chains considered for each of four amounts, so that all fit in a set of bits, and combinations kept at each step.
const CANDIDATES: usize = 20;
const BEAM: usize = 60;

/// Some parts of the grid given to some chains.
#[derive(Clone, Copy)]
struct Combination {
    value: f64,
    left: usize,
    /// Chains that share no pool with those that were given something, as a set of bits.
    free: u128,
    /// Chains with their parts; those with none are not given.
    given: [(usize, usize); CHAINS],
}

fn grid(problem: &Problem<'_>, potentials: &Potentials) -> Option<Vec<Flow>> {
    let chains = candidates(problem, potentials);
    let table: Vec<Vec<f64>> =
        chains.iter().map(|chain| (1..=PARTS).map(|k| value(problem, chain, k)).collect()).collect();
    // For each number of parts the chains, best first.
    let ranked: Vec<Vec<usize>> = (0..PARTS)
        .map(|k| {
            let mut order: Vec<usize> = (0..chains.len()).collect();
            order.sort_by(|a, b| table[*b][k].total_cmp(&table[*a][k]).then(b.cmp(a)));
            order
        })
        .collect();
    let with = |chain: &Vec<Flow>| {
        let apart = (0..chains.len()).filter(|at| disjoint(&chains[*at], chain));
        apart.fold(0_u128, |set, at| set | 1 << at)
    };
    let apart: Vec<u128> = chains.iter().map(with).collect();
    let mut beam = vec![Combination { value: 0.0, left: PARTS, free: u128::MAX, given: [(0, 0); CHAINS] }];
    let mut best: Option<Combination> = None;
    for place in 0..CHAINS {
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
        // Compared by what each part given so far yields.
        let rate = |c: &Combination| per_part(c.value, PARTS - c.left);
        next.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
        next.truncate(BEAM);
        beam = next;
    }
    let mut flows = Vec::new();
    for (at, parts) in best?.given.into_iter().filter(|(_, parts)| *parts > 0) {
        flows.extend(amounts(problem, &chains[at], parts));
    }
    Some(flows)
}

#[allow(clippy::cast_precision_loss, reason = "twenty parts")]
fn per_part(value: f64, parts: usize) -> f64 {
    value / parts as f64
}

fn candidates(problem: &Problem<'_>, potentials: &Potentials) -> Vec<Vec<Flow>> {
    let mut chains: Vec<Vec<Flow>> = Vec::new();
    for share in [1.0, 0.5, 0.2, 0.05] {
        let found = best_paths(problem, potentials, problem.amount * share, &Support::default(), CANDIDATES);
        for Path { flows, .. } in found {
            let same = |known: &Vec<Flow>| known.iter().map(|f| f.pair).eq(flows.iter().map(|f| f.pair));
            if !chains.iter().any(same) {
                chains.push(flows);
            }
        }
    }
    chains
}

/// A chain with the amounts of so many parts.
fn amounts(problem: &Problem<'_>, chain: &[Flow], parts: usize) -> Vec<Flow> {
    let mut amount = of_parts(problem, parts);
    let step = |flow: &Flow| {
        let amount_in = amount;
        amount = problem.direction(flow.pair, flow.side).map_or(0.0, |(_, direction)| direction.quote(amount_in).0);
        Flow { amount_in, ..*flow }
    };
    chain.iter().map(step).collect()
}

#[allow(clippy::cast_precision_loss, reason = "twenty parts")]
fn of_parts(problem: &Problem<'_>, parts: usize) -> f64 {
    problem.amount * parts as f64 / PARTS as f64
}

fn value(problem: &Problem<'_>, chain: &[Flow], parts: usize) -> f64 {
    let (mut amount, mut gas) = (of_parts(problem, parts), 0.0);
    for flow in chain {
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
