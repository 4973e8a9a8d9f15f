//! The way of a request: potentials, the best single chain, splits, the exact route, the certificate.

use braid_primitives::{TokenId, U256};

use crate::greedy;
use crate::path::{self, FULL, Path};
use crate::plan::{self, PlanError};
use crate::potentials::Potentials;
use crate::prepare::node;
use crate::problem::{Flow, Problem, closed_pools};
use crate::support::Support;
use crate::{Certificate, Prepared, Request, Route, Solution, SolveError, valuation};

/// How many single chains are replayed exactly; the best of them is the floor under the answer.
const CHAINS: usize = 3;
/// Equal parts of the first split.
const CHUNKS: u16 = 24;
/// How often a plan is mended after an exact pool refused an amount.
const REPAIRS: usize = 12;

/// The best route for a request, with its certificate.
///
/// Deterministic: the same market, request and version give the same bytes.
///
/// # Errors
/// [`SolveError`] when there is no route, the market cannot take the amount, or an output would round to zero.
pub fn solve(prepared: &Prepared, request: &Request) -> Result<Solution, SolveError> {
    let ([(input, amount)], [(output, _)]) = (request.inputs.as_slice(), request.outputs.as_slice()) else {
        return Err(SolveError::Basket { inputs: request.inputs.len(), outputs: request.outputs.len() });
    };
    if node(*input) == node(*output) {
        return convert_only(prepared, request, *output);
    }
    let problem = Problem::single(prepared, request, *input, *amount, *output);
    Single { prepared, request, problem }.solve(*output)
}

/// Ether to wrapped ether or back: nothing to choose.
fn convert_only(prepared: &Prepared, request: &Request, output: TokenId) -> Result<Solution, SolveError> {
    let route = plan::replay(prepared.market(), request, &[], &[]).map_err(|_| SolveError::NoRoute(output))?;
    let value = valuation::net_value_wei(prepared, request, &route);
    let certificate = value.map(|achieved| Certificate::new(achieved, achieved, achieved, 1));
    Ok(Solution { route, certificate, pools_visited: 1 })
}

impl<'a> Problem<'a> {
    fn single(prepared: &'a Prepared, request: &Request, input: TokenId, amount: U256, output: TokenId) -> Self {
        let price = prepared.wei_per_unit(node(output));
        #[allow(clippy::cast_precision_loss, reason = "a value, not an amount")]
        let gas_price = request.gas_price_wei as f64;
        Self {
            prepared,
            source: node(input),
            target: node(output),
            amount: f64::from(amount),
            // Without a price gas cannot be weighed against the output: it counts as free.
            price_out: price.unwrap_or(1.0),
            gas_price: price.map_or(0.0, |_| gas_price),
            hops: usize::from(request.max_hops),
            closed: closed_pools(prepared, &request.filter),
        }
    }
}

struct Single<'a> {
    prepared: &'a Prepared,
    request: &'a Request,
    problem: Problem<'a>,
}

/// A route and its value net of gas, in the problem's unit of value.
struct Candidate {
    route: Route,
    net: f64,
}

impl Single<'_> {
    fn solve(&self, output: TokenId) -> Result<Solution, SolveError> {
        let problem = &self.problem;
        let mut potentials = Potentials::new(problem, 1.0);
        let mut chains = self.chains(&potentials);
        if chains.is_empty() || potentials.worth[problem.source] <= 0.0 {
            // A trade worth less than its gas is still answered: search without gas in the potentials.
            potentials = Potentials::new(problem, 0.0);
            chains = self.chains(&potentials);
        }
        if potentials.worth[problem.source] <= 0.0 {
            return Err(SolveError::NoRoute(output));
        }
        let bound = potentials.worth[problem.source] * problem.amount;
        let mut best: Option<Candidate> = None;
        for chain in &chains {
            self.offer(&mut best, &chain.flows);
        }
        let certified = best.as_ref().is_some_and(|found| bound - found.net <= 2e-6 * bound.abs());
        if !certified {
            let flows = greedy::chunked(problem, &potentials, CHUNKS, usize::from(self.request.max_steps));
            self.offer(&mut best, &flows);
        }
        if best.is_none() {
            for chain in path::narrowest_paths(problem, &potentials, CHAINS) {
                self.offer(&mut best, &chain.flows);
            }
        }
        let Some(found) = best else { return Err(self.why_nothing(&potentials)) };
        let visited = potentials.worth.iter().filter(|worth| **worth > 0.0).count();
        let certificate = self.certificate(bound, &found);
        Ok(Solution { route: found.route, certificate, pools_visited: crate::prepare::index32(visited) })
    }

    fn chains(&self, potentials: &Potentials) -> Vec<Path> {
        path::best_paths(&self.problem, potentials, self.problem.amount, &Support::default(), CHAINS)
    }

    /// Keeps the exact route of a flow if it is better than what there is.
    fn offer(&self, best: &mut Option<Candidate>, flows: &[Flow]) {
        if flows.is_empty() {
            return;
        }
        let Some(route) = self.mended_replay(flows) else { return };
        let net = self.net(&route);
        if best.as_ref().is_none_or(|known| net > known.net) {
            *best = Some(Candidate { route, net });
        }
    }

    fn net(&self, route: &Route) -> f64 {
        let out = route.amounts_out.iter().map(|amount| f64::from(*amount)).sum::<f64>();
        #[allow(clippy::cast_precision_loss, reason = "a value, not an amount")]
        let gas = route.gas_units() as f64 * self.problem.gas_price;
        out * self.problem.price_out - gas
    }

    /// Replays a flow; where a pool refuses its amount, the others at that token take the difference.
    fn mended_replay(&self, flows: &[Flow]) -> Option<Route> {
        let mut flows = flows.to_vec();
        for _ in 0..REPAIRS {
            match plan::replay(self.prepared.market(), self.request, &flows, &[]) {
                Ok(route) if route.steps.len() <= usize::from(self.request.max_steps) => return Some(route),
                Err(PlanError::Refused { flow, at_most }) => shift(&mut flows, &flow, at_most)?,
                Ok(_) | Err(_) => return None,
            }
        }
        None
    }

    fn why_nothing(&self, potentials: &Potentials) -> SolveError {
        let more = self.problem.amount * 1e9;
        let found = path::best_paths(&self.problem, potentials, more, &Support::default(), 1);
        if self.problem.amount < 1e6 && !found.is_empty() {
            SolveError::AmountTooSmall
        } else {
            SolveError::InsufficientLiquidity
        }
    }

    fn certificate(&self, bound: f64, found: &Candidate) -> Option<Certificate> {
        let gross = valuation::gross_value_wei(self.prepared, self.request, &found.route)?;
        let open = (0_u32..).zip(0..self.prepared.pool_count());
        let covered = open.filter(|(id, _)| self.problem.is_open(*id) && self.problem.curve(*id).is_some()).count();
        Some(Certificate::new(bound, found.net, gross, crate::prepare::index32(covered)))
    }
}

/// Moves what a flow cannot take to the other flows out of the same token; `None` if there is no other.
fn shift(flows: &mut Vec<Flow>, refused: &Flow, at_most: Option<f64>) -> Option<()> {
    let keep = at_most.map_or(0.0, |most| (most * FULL).min(refused.amount_in * 0.999));
    let others: f64 =
        flows.iter().filter(|f| f.from == refused.from && f.pool != refused.pool).map(|f| f.amount_in).sum();
    if others <= 0.0 {
        return None;
    }
    let factor = 1.0 + (refused.amount_in - keep) / others;
    for flow in flows.iter_mut().filter(|flow| flow.from == refused.from) {
        flow.amount_in = if flow.pool == refused.pool { keep } else { flow.amount_in * factor };
    }
    flows.retain(|flow| flow.amount_in > 0.0);
    Some(())
}
