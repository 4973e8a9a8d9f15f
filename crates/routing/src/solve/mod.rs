//! The way of a request: potentials, the best single chain, splits, the exact route, the certificate. A stage a file.

mod held;
mod offer;
mod split;
mod universe;

use std::cell::Cell;
use std::sync::Arc;

use braid_primitives::{TokenId, U256};

use crate::basket;
use crate::candidates::{chunks, walk};
use crate::exact::valuation;
use crate::path::{self, Path};
use crate::plan;
use crate::prepare::active::ActiveTokens;
use crate::prepare::{index32, node};
use crate::problem::potentials::Potentials;
use crate::problem::support::Support;
use crate::problem::{Problem, Terms, closed_pairs};
use crate::tuning::Tuning;
use crate::witness::Recorder;
use crate::{Certificate, Excluded, Prepared, Request, Route, Solution, SolveError, Uncertified, Witness};

/// The best route for a request, with its certificate.
///
/// Deterministic: the same market, request and version give the same bytes.
///
/// # Errors
/// [`SolveError`] when there is no route, the market cannot take the amount, or an output would round to zero.
pub fn solve(prepared: &Prepared, request: &Request) -> Result<Solution, SolveError> {
    let ([(input, amount)], [(output, _)]) = (request.inputs.as_slice(), request.outputs.as_slice()) else {
        return basket::solve(prepared, request, None);
    };
    if node(*input) == node(*output) {
        return convert_only(prepared, request, *output);
    }
    let problem = Problem::single(prepared, request, *input, *amount, *output);
    Single::new(prepared, request, problem).solve(*output)
}

/// As [`solve`], with what a third party needs to work the bound out again; the route and the certificate are the same.
///
/// The witness's bound is a plain dual bound. The certificate's can be a little less, where counting pools closed the gap
/// further. `None` where there is no certificate, or only counting pools gave it.
///
/// # Errors
/// As [`solve`].
pub fn explain(prepared: &Prepared, request: &Request) -> Result<(Solution, Option<Witness>), SolveError> {
    let recorder = Recorder::default();
    let ([(input, amount)], [(output, _)]) = (request.inputs.as_slice(), request.outputs.as_slice()) else {
        let solution = basket::solve(prepared, request, Some(&recorder))?;
        let certificate = solution.certificate.as_ref().ok();
        let witness = recorder.replace(None).filter(|witness| certificate.is_some_and(|c| witness.says_something(c)));
        return Ok((solution, witness));
    };
    if node(*input) == node(*output) {
        return Ok((solve(prepared, request)?, None));
    }
    let mut problem = Problem::single(prepared, request, *input, *amount, *output);
    problem.recorder = Some(&recorder);
    let solution = Single::new(prepared, request, problem).solve(*output)?;
    let certificate = solution.certificate.as_ref().ok();
    let witness = recorder.replace(None).filter(|witness| certificate.is_some_and(|c| witness.says_something(c)));
    Ok((solution, witness))
}

/// Ether to wrapped ether or back: nothing to choose.
fn convert_only(prepared: &Prepared, request: &Request, output: TokenId) -> Result<Solution, SolveError> {
    let route = plan::replay(prepared, request, &[], &[]).map_err(|_| SolveError::NoRoute(output))?;
    let value = valuation::net_value_wei(prepared, request, &route);
    let excluded = Excluded { max_hops: request.max_hops, ..Excluded::default() };
    let certificate = value.ok_or(Uncertified::NoReferencePrice);
    let certificate =
        certificate.and_then(|achieved| Certificate::new(achieved, achieved, achieved.abs(), 1, excluded));
    Ok(Solution { route, certificate, pools_visited: 1 })
}

impl<'a> Problem<'a> {
    pub(crate) fn single(
        prepared: &'a Prepared,
        request: &Request,
        input: TokenId,
        amount: U256,
        output: TokenId,
    ) -> Self {
        let price = prepared.wei_per_unit(node(output));
        #[allow(clippy::cast_precision_loss, reason = "a value, not an amount")]
        let gas_price = request.gas_price_wei as f64;
        let supplies = vec![(index32(node(input)), f64::from(amount))];
        let weights = vec![(index32(node(output)), 1.0 / price.unwrap_or(1.0))];
        Self {
            prepared,
            terms: Terms { supplies, weights },
            source: node(input),
            target: node(output),
            amount: f64::from(amount),
            // Without a price gas cannot be weighed against the output: it counts as free.
            price_out: price.unwrap_or(1.0),
            gas_price: price.map_or(0.0, |_| gas_price),
            hops: usize::from(request.max_hops),
            closed: closed_pairs(prepared, &request.filter),
            active: None,
            recorder: None,
        }
    }
}

pub(crate) struct Single<'a> {
    pub(crate) prepared: &'a Prepared,
    pub(crate) request: &'a Request,
    pub(crate) problem: Problem<'a>,
    /// Whether a flow was turned down because its route would use more gas than a transaction may.
    too_much_gas: Cell<bool>,
    /// Whether pools that were set aside would earn more than the gap at the prices found.
    excluded_would_pay: Cell<bool>,
}

/// A route and its value net of gas, in the problem's unit of value.
struct Candidate {
    route: Route,
    net: f64,
}

impl<'a> Single<'a> {
    pub(crate) fn new(prepared: &'a Prepared, request: &'a Request, problem: Problem<'a>) -> Self {
        Self { prepared, request, problem, too_much_gas: Cell::new(false), excluded_would_pay: Cell::new(false) }
    }

    /// The answer to a request from one token to one other: first through the core of the market, then, where that leads
    /// nowhere, through all of it.
    fn solve(mut self, output: TokenId) -> Result<Solution, SolveError> {
        let ends = [self.problem.source, self.problem.target];
        self.problem.active = ActiveTokens::new(self.prepared, &ends, self.problem.hops).map(Arc::new);
        if self.problem.active.is_some() {
            let potentials = Potentials::new(&self.problem, 1.0);
            let chains = self.chains(&potentials);
            if !chains.is_empty() && potentials.worth[self.problem.source] > 0.0 {
                return self.solve_from(&potentials, &chains, false);
            }
            self.problem.active = None;
        }
        let mut potentials = Potentials::new(&self.problem, 1.0);
        let mut chains = self.chains(&potentials);
        let mut below_gas = chains.is_empty() || potentials.worth[self.problem.source] <= 0.0;
        if below_gas {
            // A trade worth less than its gas is still answered: search without gas in the potentials.
            let without_gas = Potentials::new(&self.problem, 0.0);
            chains = self.chains(&without_gas);
            // Where that leads nowhere either, gas is not what is in the way: no single chain takes the amount.
            below_gas = !chains.is_empty() || potentials.worth[self.problem.source] <= 0.0;
            if below_gas {
                potentials = without_gas;
            }
        }
        if potentials.worth[self.problem.source] <= 0.0 {
            return Err(SolveError::NoRoute(output));
        }
        self.solve_from(&potentials, &chains, below_gas)
    }

    fn solve_from(&self, potentials: &Potentials, chains: &[Path], below_gas: bool) -> Result<Solution, SolveError> {
        let problem = &self.problem;
        let mut best: Option<Candidate> = None;
        for chain in chains {
            self.offer(&mut best, &chain.flows);
        }
        let universe = self.universe(best.as_ref());
        let (universe, bound) = if below_gas {
            let bound = self.below_gas(&universe, best.as_ref());
            (universe, bound)
        } else {
            let (universe, bound) = self.split_and_reopen(universe, &mut best);
            self.missed_chain(potentials, &mut best);
            self.covered(universe, bound, &mut best)
        };
        // Where a route has all the steps that it may have, the distance is what that costs, and nothing simpler is better.
        let beyond = |found: &Candidate, share: f64| bound - found.net > share * bound.abs();
        let is_full =
            |found: &Candidate| found.route.steps.len() + Tuning::SPARE_STEPS > usize::from(self.request.max_steps);
        let is_off =
            |found: &Candidate, share: f64| beyond(found, if is_full(found) { Tuning::LOST_GAP } else { share });
        if best.as_ref().is_none_or(|found| is_off(found, Tuning::CHUNK_GAP)) {
            let potentials = Potentials::new(&universe, if below_gas { 0.0 } else { 1.0 });
            let pools = plan::most_pools(self.prepared, self.request);
            let cut = chunks::Cut { chunks: Tuning::CHUNKS, pools, chains: usize::MAX, quotes: Tuning::CHUNK_QUOTES };
            let flows = chunks::chunked(&universe, &potentials, cut);
            self.offer(&mut best, &flows);
        }
        let lost = best.as_ref().is_none_or(|found| beyond(found, Tuning::LOST_GAP));
        let excluded_would_pay = self.excluded_would_pay.get();
        let unsure = best.as_ref().is_none_or(|found| is_off(found, Tuning::WALK_GAP))
            || problem.amount < Tuning::WALK_DUST_UNITS
            || excluded_would_pay;
        if lost || excluded_would_pay {
            self.simpler_routers(potentials, &mut best);
        }
        if best.is_none() {
            for chain in path::narrowest_paths(problem, potentials, Tuning::FIRST_CHAINS) {
                self.offer(&mut best, &chain.flows);
            }
        }
        if unsure {
            let chain = walk::best_chain(problem, self.request, self.request.inputs[0].1).unwrap_or_default();
            self.offer(&mut best, &chain);
        }
        let (universe, bound) = if below_gas && !self.covers(&universe, best.as_ref()) {
            let wider = self.widened(universe, best.as_ref());
            let bound = self.below_gas(&wider, best.as_ref());
            (wider, bound)
        } else {
            self.covered(universe, bound, &mut best)
        };
        if self.too_much_gas.get() {
            self.save_gas(&universe, bound, &mut best);
        }
        let Some(found) = best else { return Err(self.why_nothing(potentials)) };
        let pools_visited = self.visited(&universe, potentials);
        let certificate = self.certificate(&universe, bound, &found);
        Ok(Solution { route: found.route, certificate, pools_visited })
    }

    fn chains(&self, potentials: &Potentials) -> Vec<Path> {
        let quotes = if self.problem.active.is_none() { Tuning::PATH_QUOTES } else { Tuning::FIRST_CHAIN_QUOTES };
        path::whole_paths(&self.problem, potentials, Tuning::FIRST_CHAINS, quotes)
    }

    fn why_nothing(&self, potentials: &Potentials) -> SolveError {
        // At the best rates not two atomic units would arrive; or what stands in the way is rounding: more would go through.
        let dust = potentials.bound(&self.problem) < 2.0 * self.problem.price_out;
        let goes = |times: f64| {
            let amount = self.problem.amount * times;
            !path::best_paths(&self.problem, potentials, amount, &Support::default(), 1).is_empty()
        };
        if dust || [1e3, 1e6, 1e9, 1e12].into_iter().any(goes) {
            SolveError::AmountTooSmall
        } else {
            SolveError::InsufficientLiquidity
        }
    }

    fn certificate(&self, universe: &Problem<'_>, bound: f64, found: &Candidate) -> Result<Certificate, Uncertified> {
        let gross = valuation::gross_value_wei(self.prepared, self.request, &found.route);
        let gross = gross.ok_or(Uncertified::NoReferencePrice)?;
        let [covered, open] = [universe, &self.problem].map(Problem::open_pools);
        let all = self.prepared.pool_count();
        let excluded = Excluded {
            standing_arbitrage: open.saturating_sub(covered),
            filtered: all.saturating_sub(open),
            max_hops: self.request.max_hops,
        };
        Certificate::new(bound, found.net, gross, covered, excluded)
    }

    /// How many open pools lie between tokens from which the output can be reached.
    fn visited(&self, universe: &Problem<'_>, potentials: &Potentials) -> u32 {
        let graph = self.prepared.graph();
        let leads_on = |end: &u32| potentials.worth.get(*end as usize).is_some_and(|worth| *worth > 0.0);
        let pairs = self.prepared.pairs();
        pairs.count_pools(|pair| universe.is_open(pair) && graph.ends(pair).iter().all(leads_on))
    }
}
