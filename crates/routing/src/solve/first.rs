//! The first routes, before anything is split: the best single paths of a pair, or paths from inputs to outputs of a
//! basket. Also the repeated searches that the solver tries later.

use std::sync::Arc;

use braid_primitives::TokenId;

use super::{Solver, net_of};
use crate::SolveError;
use crate::candidates::plans::{self, Plan};
use crate::candidates::{chunks, walk};
use crate::exact::candidate::{Candidate, completed};
use crate::path::{Path, PathLimits, best_paths, smallest_paths, whole_paths};
use crate::prepare::index32;
use crate::problem::Problem;
use crate::problem::potentials::Potentials;
use crate::problem::support::Support;
use crate::tuning::Tuning;

impl Solver<'_> {
    /// Finds the first routes, and keeps the best. Tries more plans of a basket if `is_thorough`.
    ///
    /// # Errors
    /// [`SolveError::NoRoute`] if an output cannot be reached, or an input leads to no output.
    pub(super) fn first(&mut self, is_thorough: bool, best: &mut Option<Candidate>) -> Result<(), SolveError> {
        if !self.problem.is_pair() {
            self.reached()?;
            let plans = plans::plans(&self.problem, &self.potentials, 1, is_thorough);
            self.offer_plans(&plans, best);
            return Ok(());
        }
        let mut paths = self.paths();
        if paths.is_empty() || self.potentials.worth[self.problem.source] <= 0.0 {
            if self.problem.active.is_some() {
                // Leaves the trade to a search through the whole market, which may find a route.
                return Err(self.no_route());
            }
            // Searches without gas in the potentials: a trade worth less than its gas is still answered.
            let with_gas = std::mem::replace(&mut self.potentials, Arc::new(Potentials::new(&self.problem, 0.0)));
            paths = self.paths();
            // Takes gas for the obstacle only if that finds a path: otherwise no single path takes the amount.
            self.is_below_gas = !paths.is_empty() || with_gas.worth[self.problem.source] <= 0.0;
            if !self.is_below_gas {
                self.potentials = with_gas;
            }
        }
        self.reached()?;
        for path in paths {
            self.offer(best, &path.flows);
        }
        Ok(())
    }

    /// Finds the best single paths of a pair.
    fn paths(&self) -> Vec<Path> {
        let is_whole = self.problem.active.is_none();
        let quotes = if is_whole { Tuning::PATH_QUOTES } else { Tuning::FIRST_PATH_QUOTES };
        whole_paths(&self.problem, &self.potentials, Tuning::FIRST_PATHS, quotes)
    }

    /// Checks that every output can be reached from an input, and that every input leads to an output.
    fn reached(&self) -> Result<(), SolveError> {
        let terms = &self.problem.terms;
        for (at, (output, _)) in terms.weights.iter().enumerate() {
            let worth = self.potentials.towards(at);
            if !terms.supplies.iter().any(|(input, _)| worth[*input as usize] > 0.0) {
                let outputs = self.request.outputs.iter().map(|(token, _)| *token);
                return Err(SolveError::NoRoute(self.named(*output, outputs)));
            }
        }
        match terms.supplies.iter().find(|(input, _)| self.potentials.worth[*input as usize] <= 0.0) {
            Some((input, _)) => {
                let inputs = self.request.inputs.iter().map(|(token, _)| *token);
                Err(SolveError::NoRoute(self.named(*input, inputs)))
            }
            None => Ok(()),
        }
    }

    /// Returns the error that the first output cannot be reached.
    fn no_route(&self) -> SolveError {
        let outputs = self.request.outputs.iter().map(|(token, _)| *token);
        let output = self.problem.terms.weights.first().map_or(0, |(output, _)| *output);
        SolveError::NoRoute(self.named(output, outputs))
    }

    /// Balances the pools of each plan, and keeps the best exact route; a plan that does not balance runs as it is.
    pub(super) fn offer_plans(&self, plans: &[Plan], best: &mut Option<Candidate>) {
        let start = self.potentials.start_prices(&self.problem);
        let value = self.supplied_value();
        let mut search = self.search(&self.problem, &self.potentials, &[], &start, value);
        let guesses = search.guesses();
        let mut tried: Vec<Vec<u32>> = Vec::new();
        for plan in plans {
            let mut pools: Vec<u32> = plan.flows.iter().map(|flow| flow.pair).collect();
            pools.sort_unstable();
            if tried.contains(&pools) {
                continue;
            }
            if let Some(fixed) = search.fixed(&pools, &guesses, Tuning::BALANCED_SHARE * value) {
                let flows = completed(&self.problem, &fixed.flows, &plan.flows);
                self.offer_kept(best, &flows, None);
            }
            self.offer_kept(best, &plan.flows, Some(&plan.kept));
            tried.push(pools);
        }
    }

    /// Tries the best paths of a pair over other pools, or at another gas price.
    pub(super) fn offer_paths(&self, problem: &Problem<'_>, best: &mut Option<Candidate>) {
        if !problem.is_pair() {
            return;
        }
        let potentials = Potentials::new(problem, 1.0);
        let limits = PathLimits::of_any_value(Tuning::FIRST_PATHS);
        for path in best_paths(problem, &potentials, problem.amount, &Support::default(), limits) {
            self.offer(best, &path.flows);
        }
    }

    /// Searches again for a single path that is better than the best flow, if the first search may have been cut short:
    /// most paths can be ruled out now. Such a path may also beat a flow of many pools, if one pool that is out of line
    /// replaces several.
    pub(super) fn offer_missed_path(&self, best: &mut Option<Candidate>) {
        let is_cut = self.problem.active.is_some() && self.problem.is_pair();
        let Some(net) = net_of(best.as_ref()).filter(|_| is_cut) else { return };
        let floor = net + Tuning::MISSED_PATH_GAIN * net.abs();
        let limits = PathLimits { floor, keep: 1, quotes: Tuning::MISSED_PATH_QUOTES };
        let (problem, used) = (&self.problem, Support::default());
        for path in best_paths(problem, &self.potentials, problem.amount, &used, limits) {
            self.offer(best, &path.flows);
        }
    }

    /// Tries the first plans again in parts, for amounts beyond the market's liquidity; returns whether that is better.
    pub(super) fn offer_parts(&self, best: &mut Option<Candidate>) -> bool {
        let before = net_of(best.as_ref());
        if self.problem.is_pair() {
            let search = chunks::PartSearch::with_tolerance(Tuning::CHUNK_TOLERANCE);
            let search = chunks::PartSearch { quotes: Tuning::CHUNK_QUOTES, ..search };
            let cut = chunks::Cut { chunks: Tuning::CHUNKS, paths: usize::MAX, search };
            self.offer(best, &chunks::chunked(&self.problem, &self.potentials, cut));
        } else {
            let plans = plans::plans(&self.problem, &self.potentials, Tuning::PLAN_PARTS, best.is_some());
            self.offer_plans(&plans, best);
        }
        net_of(best.as_ref()) > before
    }

    /// Returns whether a pool's profit, at prices settled without it, is more than a negligible share of its gas.
    fn is_out_of_line(&self, pair: u32) -> bool {
        let gas = self.problem.curve(pair).map_or(0.0, |curve| curve.gas_units) * self.problem.gas_price;
        self.prepared.standing().out_of_line(pair as usize) > gas * Tuning::IN_LINE_GAS_SHARE
    }

    /// Tries the best flow over the pools in line with the market: if prices disagree, the profit that the dual makes
    /// from that misleads a search.
    pub(super) fn offer_in_line(&self, best: &mut Option<Candidate>) {
        let pairs = 0..index32(self.prepared.pair_count());
        let closed: Vec<bool> = pairs.map(|pair| !self.problem.is_open(pair) || self.is_out_of_line(pair)).collect();
        let problem = Problem { closed, recorder: None, ..self.problem.clone() };
        if problem.open_pools() < self.problem.open_pools() {
            self.split(&problem, best);
        }
    }

    /// Tries better flows over the tokens of the best route, each starting from the previous one, until one brings
    /// nothing more.
    pub(super) fn offer_refined(&self, best: &mut Option<Candidate>) {
        let settled = self.settled_guesses(&self.problem, &self.potentials);
        let start = settled.unwrap_or_else(|| self.potentials.start_prices(&self.problem));
        let potentials = self.searched_caps();
        for _ in 0..Tuning::REFINEMENTS {
            let Some(net) = net_of(best.as_ref()) else { return };
            let incumbent = self.flows_of(best.as_ref());
            let tokens = incumbent.iter().flat_map(|flow| [flow.from, flow.to]);
            let flows = self.search(&self.problem, &potentials, &[], &start, net).among(tokens, &incumbent);
            self.offer(best, flows.first().map_or(&[], Vec::as_slice));
            if best.as_ref().is_none_or(|found| found.net <= net) {
                return;
            }
        }
    }

    /// Tries paths of a pair that hold as little as possible of each token, if nothing else takes the amount.
    pub(super) fn offer_narrowest(&self, best: &mut Option<Candidate>) {
        for path in smallest_paths(&self.problem, &self.potentials, Tuning::FIRST_PATHS) {
            self.offer(best, &path.flows);
        }
    }

    /// Tries the best exact path of a pair that a short search finds.
    pub(super) fn offer_walk(&self, best: &mut Option<Candidate>) {
        let floor = net_of(best.as_ref()).unwrap_or(f64::NEG_INFINITY);
        let path = walk::best_path(&self.problem, &self.potentials, self.request, self.sold(), floor);
        self.offer(best, &path.unwrap_or_default());
    }

    /// Returns the token of a request at a node.
    fn named(&self, at: u32, mut tokens: impl Iterator<Item = TokenId>) -> TokenId {
        tokens.find(|token| self.prepared.node(*token) == at as usize).unwrap_or(self.prepared.token(at))
    }
}
