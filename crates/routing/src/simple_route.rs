//! Routes of simple plans, replayed by the same exact arithmetic as any other.

pub use crate::candidates::simple::SimplePlan;
use crate::problem::Problem;
use crate::problem::potentials::Potentials;
use crate::solve::Single;
use crate::{Prepared, Request, Route};

impl SimplePlan {
    /// Returns the plan's route; `None` where it finds none, for a basket, and without a reference price.
    pub fn route(self, prepared: &Prepared, request: &Request) -> Option<Route> {
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
        let flows = self.flows(&problem, &potentials)?;
        Single::new(prepared, request, problem).mended_replay(&flows)
    }
}
