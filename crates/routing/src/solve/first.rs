//! The first routes, before anything is split: the best single chains of a pair, or chains that pair inputs with outputs.

use braid_primitives::TokenId;

use super::Solver;
use crate::SolveError;
use crate::candidates::plans::{self, Plan};
use crate::candidates::simple::SimplePlan;
use crate::candidates::{chunks, walk};
use crate::exact::candidate::{Candidate, completed};
use crate::path::{self, Path};
use crate::plan;
use crate::prepare::index32;
use crate::problem::Problem;
use crate::problem::potentials::Potentials;
use crate::problem::support::Support;
use crate::tuning::Tuning;

impl Solver<'_> {
    /// Keeps the best of the first routes.
    ///
    /// # Errors
    /// [`SolveError::NoRoute`] where an output cannot be reached, or an input leads to none.
    pub(super) fn first(&mut self, best: &mut Option<Candidate>) -> Result<(), SolveError> {
        if !self.problem.is_pair() {
            self.reached()?;
            self.offer_plans(&plans::plans(&self.problem, &self.potentials, 1), best);
            return Ok(());
        }
        let mut chains = self.chains();
        if chains.is_empty() || self.potentials.worth[self.problem.source] <= 0.0 {
            if self.problem.active.is_some() {
                // Through all of the market there may be a way.
                return Err(self.no_route());
            }
            // A trade worth less than its gas is still answered: search without gas in the potentials.
            let with_gas = std::mem::replace(&mut self.potentials, Potentials::new(&self.problem, 0.0));
            chains = self.chains();
            // Where that leads nowhere either, gas is not what is in the way: no single chain takes the amount.
            self.is_below_gas = !chains.is_empty() || with_gas.worth[self.problem.source] <= 0.0;
            if !self.is_below_gas {
                self.potentials = with_gas;
            }
        }
        self.reached()?;
        for chain in chains {
            self.offer(best, &chain.flows);
        }
        Ok(())
    }

    fn chains(&self) -> Vec<Path> {
        let is_whole = self.problem.active.is_none();
        let quotes = if is_whole { Tuning::PATH_QUOTES } else { Tuning::FIRST_CHAIN_QUOTES };
        path::whole_paths(&self.problem, &self.potentials, Tuning::FIRST_CHAINS, quotes)
    }

    /// Whether every output can be reached from an input, and every input leads to an output.
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

    fn no_route(&self) -> SolveError {
        let outputs = self.request.outputs.iter().map(|(token, _)| *token);
        let output = self.problem.terms.weights.first().map_or(0, |(output, _)| *output);
        SolveError::NoRoute(self.named(output, outputs))
    }

    /// Balances the pools of each plan, and keeps the best exact route; a plan that does not balance runs as it is.
    fn offer_plans(&self, plans: &[Plan], best: &mut Option<Candidate>) {
        let start = self.potentials.start_prices(&self.problem);
        let value = self.supplied_value();
        let mut search = self.search(&self.problem, &self.potentials, &[], &start, value);
        let guesses: Vec<f64> = (0..search.node_count()).map(|token| search.guess(token)).collect();
        let mut tried: Vec<Vec<u32>> = Vec::new();
        for plan in plans {
            let mut pools: Vec<u32> = plan.flows.iter().map(|flow| flow.pair).collect();
            pools.sort_unstable();
            if tried.contains(&pools) {
                continue;
            }
            if let Some(fixed) = search.fixed(&pools, &|token| guesses[token as usize], Tuning::BALANCED_SHARE * value)
            {
                let flows = completed(&self.problem, &fixed.flows, &plan.flows);
                self.offer_kept(best, &flows, None);
            }
            self.offer_kept(best, &plan.flows, Some(&plan.kept));
            tried.push(pools);
        }
    }

    /// The best chains of a pair over other pools, or at another price of gas.
    pub(super) fn offer_chains(&self, problem: &Problem<'_>, best: &mut Option<Candidate>) {
        if !problem.is_pair() {
            return;
        }
        let potentials = Potentials::new(problem, 1.0);
        for chain in path::best_paths(problem, &potentials, problem.amount, &Support::default(), Tuning::FIRST_CHAINS) {
            self.offer(best, &chain.flows);
        }
    }

    /// Looks again for a single chain better than the best flow where the first search may have been cut short: most are out
    /// of the question now. It may be better than a flow of many pools too, by one that stands apart in the place of several.
    pub(super) fn offer_missed_chain(&self, best: &mut Option<Candidate>) {
        let is_cut = self.problem.active.is_some() && self.problem.is_pair();
        let Some(net) = best.as_ref().map(|found| found.net).filter(|_| is_cut) else { return };
        let floor = net + Tuning::MISSED_CHAIN_GAIN * net.abs();
        let chain = path::better_path(&self.problem, &self.potentials, floor, Tuning::MISSED_CHAIN_QUOTES);
        self.offer(best, &chain.map_or_else(Vec::new, |chain| chain.flows));
    }

    /// The first plans again in parts, for amounts beyond the market's liquidity; whether that is better.
    pub(super) fn offer_parts(&self, best: &mut Option<Candidate>) -> bool {
        let before = best.as_ref().map(|found| found.net);
        if self.problem.is_pair() {
            let pools = plan::most_pools(self.prepared, self.request);
            let cut = chunks::Cut { chunks: Tuning::CHUNKS, pools, chains: usize::MAX, quotes: Tuning::CHUNK_QUOTES };
            self.offer(best, &chunks::chunked(&self.problem, &self.potentials, cut));
        } else {
            self.offer_plans(&plans::plans(&self.problem, &self.potentials, Tuning::PLAN_PARTS), best);
        }
        best.as_ref().map(|found| found.net) > before
    }

    /// What simple plans make of a pair: a floor under the answer where the bound says little.
    pub(super) fn offer_simple(&self, best: &mut Option<Candidate>, plans: &[SimplePlan], quotes: usize) {
        // Where searches were not cut short, the best chains were asked already.
        let searched = self.problem.active.is_none();
        for plan in plans.iter().filter(|plan| !searched || **plan != SimplePlan::SinglePath) {
            let net = best.as_ref().map_or(f64::NEG_INFINITY, |found| found.net);
            let least = self.least_of_share(net);
            self.offer(best, &plan.flows(&self.problem, &self.potentials, quotes, &least).unwrap_or_default());
        }
    }

    /// Whether an open pool between tokens of a route stands apart in price by more than a trifle of its gas.
    pub(super) fn meets_pools_apart(&self, found: &Candidate) -> bool {
        let (graph, flows) = (self.prepared.graph(), self.flows_of(Some(found)));
        let mut tokens: Vec<u32> = flows.iter().flat_map(|flow| [flow.from, flow.to]).collect();
        tokens.sort_unstable();
        tokens.dedup();
        let pairs =
            tokens.iter().enumerate().flat_map(|(at, one)| tokens[..at].iter().map(move |other| (*one, *other)));
        pairs.into_iter().any(|(one, other)| {
            graph
                .between(one as usize, other as usize)
                .any(|arrow| self.is_apart(arrow.pair) && self.problem.is_open(arrow.pair))
        })
    }

    /// Whether what a pool earned when prices were settled without it is more than a trifle of its gas.
    fn is_apart(&self, pair: u32) -> bool {
        let gas = self.problem.curve(pair).map_or(0.0, |curve| curve.gas_units) * self.problem.gas_price;
        self.prepared.standing().out_of_line(pair as usize) > gas * Tuning::IN_LINE_GAS_SHARE
    }

    /// The best flow over the pools that are in line with the market: where prices stand apart, what the dual earns by that leads a search
    /// astray.
    pub(super) fn offer_in_line(&self, best: &mut Option<Candidate>) {
        let pairs = 0..index32(self.prepared.pair_count());
        let closed: Vec<bool> = pairs.map(|pair| !self.problem.is_open(pair) || self.is_apart(pair)).collect();
        let problem = Problem { closed, recorder: None, ..self.problem.clone() };
        if problem.open_pools() < self.problem.open_pools() {
            self.split(&problem, best);
        }
    }

    /// Better flows over the tokens of the best route, each sought from the one before on, until one brings nothing more.
    pub(super) fn offer_refined(&self, best: &mut Option<Candidate>) {
        let start = self.potentials.start_prices(&self.problem);
        for _ in 0..Tuning::REFINEMENTS {
            let Some(net) = best.as_ref().map(|found| found.net) else { return };
            let chain = self.flows_of(best.as_ref());
            let tokens = chain.iter().flat_map(|flow| [flow.from, flow.to]);
            let flows = self.search(&self.problem, &self.potentials, &[], &start, net).among(tokens, &chain);
            self.offer(best, &flows);
            if best.as_ref().is_none_or(|found| found.net <= net) {
                return;
            }
        }
    }

    /// Chains of a pair that hold as little as can be, where nothing else takes the amount.
    pub(super) fn offer_narrowest(&self, best: &mut Option<Candidate>) {
        for chain in path::narrowest_paths(&self.problem, &self.potentials, Tuning::FIRST_CHAINS) {
            self.offer(best, &chain.flows);
        }
    }

    /// The best exact chain of a pair that a short walk meets.
    pub(super) fn offer_walk(&self, best: &mut Option<Candidate>) {
        let amounts = self.request.inputs.iter().map(|(_, amount)| *amount);
        let Some(amount) = amounts.reduce(|sum, amount| sum.saturating_add(amount)) else { return };
        self.offer(best, &walk::best_chain(&self.problem, self.request, amount).unwrap_or_default());
    }

    /// The token of a request that sits at a node.
    fn named(&self, at: u32, mut tokens: impl Iterator<Item = TokenId>) -> TokenId {
        tokens.find(|token| self.prepared.node(*token) == at as usize).unwrap_or(self.prepared.token(at))
    }
}
