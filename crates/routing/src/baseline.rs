//! What simpler routers would answer on the same pools: yardsticks for benchmarks.

use crate::candidates::simple::SimplePlan;
use crate::problem::Problem;
use crate::problem::potentials::Potentials;
use crate::solve::Single;
use crate::{Prepared, Request, Route};

/// A simple way to route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Baseline(SimplePlan);

impl Baseline {
    /// Every baseline.
    pub const ALL: [Self; 3] = [Self(SimplePlan::SingleChain), Self(SimplePlan::Grid), Self(SimplePlan::Chunks)];

    /// The name that tables use.
    pub const fn name(self) -> &'static str {
        match self.0 {
            SimplePlan::SingleChain => "best single path",
            SimplePlan::Grid => "5% grid, disjoint",
            SimplePlan::Chunks => "20 chunks, 4 paths",
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
        let flows = self.0.flows(&problem, &potentials)?;
        let single = Single::new(prepared, request, problem);
        let route = single.mended_replay(&flows)?;
        let net_wei = single.net(&route);
        Some((route, net_wei))
    }
}
