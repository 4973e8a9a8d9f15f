//! Routes of simple plans, replayed in the same exact arithmetic as any other.

use crate::candidates::chunks::{Cut, PartSearch, chunked};
pub use crate::candidates::simple::SimplePlan;
use crate::exact::candidate::best_run;
use crate::problem::Problem;
use crate::problem::potentials::Potentials;
use crate::tuning::Tuning;
use crate::{MAX_ROUTE_GAS_UNITS, Prepared, Request, Route};

impl SimplePlan {
    /// Returns the plan's route; `None` if it finds none, for a basket, and without a reference price of the output.
    pub fn route(self, prepared: &Prepared, request: &Request) -> Option<Route> {
        let problem = pair(prepared, request)?;
        let potentials = potentials(&problem);
        let flows = self.flows(&problem, &potentials, PartSearch::EXHAUSTIVE, &|_| f64::NEG_INFINITY)?;
        within_limits(request, best_run(&problem, request, &flows, None)?.route)
    }
}

/// Returns the route of a split of a pair's amount by 400 chunks over shared pools, as if gas were as expensive as it must
/// be for the route to use no more of it than a transaction may. `None` if there is none, for a basket, and without a
/// reference price of the output.
pub fn many_chunks(prepared: &Prepared, request: &Request) -> Option<Route> {
    let problem = pair(prepared, request)?;
    let split = |problem: &Problem<'_>| {
        let search = PartSearch::with_tolerance(Tuning::CHUNK_TOLERANCE);
        let cut = Cut { chunks: Tuning::MOST_CHUNKS, paths: usize::MAX, search };
        chunked(problem, &potentials(problem), cut)
    };
    let at_its_price = best_run(&problem, request, &split(&problem), None)?;
    let value = at_its_price.gross;
    within_limits(request, at_its_price.route).or_else(|| {
        Tuning::CHUNKED_GAS_SHARES.into_iter().find_map(|share| {
            let flows = split(&problem.at_dearer_gas(value, share));
            within_limits(request, best_run(&problem, request, &flows, None)?.route)
        })
    })
}

/// Builds the problem of a request with one input and another output, which has a reference price.
fn pair<'a>(prepared: &'a Prepared, request: &Request) -> Option<Problem<'a>> {
    let ([(input, _)], [(output, _)]) = (request.inputs.as_slice(), request.outputs.as_slice()) else {
        return None;
    };
    prepared.wei_per_unit(prepared.node(*output))?;
    if prepared.node(*input) == prepared.node(*output) {
        return None;
    }
    Problem::new(prepared, request).ok()
}

/// Computes potentials; without gas if no path pays for its own.
fn potentials(problem: &Problem<'_>) -> Potentials {
    let potentials = Potentials::new(problem, 1.0);
    if potentials.worth[problem.source] > 0.0 { potentials } else { Potentials::new(problem, 0.0) }
}

/// Returns the route if a transaction may run it.
fn within_limits(request: &Request, route: Route) -> Option<Route> {
    let is_within = route.gas_units() <= MAX_ROUTE_GAS_UNITS && route.steps.len() <= usize::from(request.max_steps);
    is_within.then_some(route)
}
