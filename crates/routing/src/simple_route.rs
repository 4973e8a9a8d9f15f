//! Routes of simple plans, replayed in the same exact arithmetic as any other.

pub use crate::candidates::simple::SimplePlan;
use crate::exact::candidate::best_run;
use crate::problem::Problem;
use crate::problem::potentials::Potentials;
use crate::{MAX_ROUTE_GAS_UNITS, Prepared, Request, Route};

impl SimplePlan {
    /// Returns the plan's route; `None` if it finds none, for a basket, and without a reference price of the output.
    pub fn route(self, prepared: &Prepared, request: &Request) -> Option<Route> {
        let ([(input, amount)], [(output, _)]) = (request.inputs.as_slice(), request.outputs.as_slice()) else {
            return None;
        };
        prepared.value_wei(*output, *amount)?;
        if prepared.node(*input) == prepared.node(*output) {
            return None;
        }
        let problem = Problem::new(prepared, request).ok()?;
        let mut potentials = Potentials::new(&problem, 1.0);
        if potentials.worth[problem.source] <= 0.0 {
            potentials = Potentials::new(&problem, 0.0);
        }
        let flows = self.flows(&problem, &potentials, usize::MAX, &|_| f64::NEG_INFINITY)?;
        let route = best_run(&problem, request, &flows, None)?.route;
        let is_within = route.gas_units() <= MAX_ROUTE_GAS_UNITS && route.steps.len() <= usize::from(request.max_steps);
        is_within.then_some(route)
    }
}
