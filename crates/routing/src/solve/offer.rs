//! From flows to exact routes within the limits of a transaction, the best of which is kept.

use super::{Candidate, Single};
use crate::exact::mend::{dearer, shift};
use crate::path;
use crate::plan::{self, PlanError};
use crate::problem::potentials::Potentials;
use crate::problem::support::Support;
use crate::problem::{Flow, Problem};
use crate::tuning::Tuning;
use crate::{MAX_ROUTE_GAS_UNITS, Route};

impl Single<'_> {
    /// Keeps the exact route of a flow if it is better than what there is.
    pub(super) fn offer(&self, best: &mut Option<Candidate>, flows: &[Flow]) {
        if flows.is_empty() {
            return;
        }
        let Some(route) = self.mended_replay(flows) else { return };
        let net = self.net(&route);
        if best.as_ref().is_none_or(|known| net > known.net) {
            *best = Some(Candidate { route, net });
        }
    }

    pub(crate) fn net(&self, route: &Route) -> f64 {
        let out = route.amounts_out.iter().map(|amount| f64::from(*amount)).sum::<f64>();
        #[allow(clippy::cast_precision_loss, reason = "a value, not an amount")]
        let gas = route.gas_units() as f64 * self.problem.gas_price;
        out * self.problem.price_out - gas
    }

    /// Replays a flow; where a pool refuses its amount, the others at that token take the difference.
    pub(crate) fn mended_replay(&self, flows: &[Flow]) -> Option<Route> {
        let mut flows = flows.to_vec();
        for _ in 0..Tuning::PAIR_EXACT_RUNS {
            match plan::replay(self.prepared, self.request, &flows, &[]) {
                Ok(route) if self.is_within_limits(&route) => return Some(route),
                Err(PlanError::Refused { flow, offered, at_most }) => shift(&mut flows, &flow, offered, at_most)?,
                Ok(_) | Err(_) => return None,
            }
        }
        None
    }

    fn is_within_limits(&self, route: &Route) -> bool {
        if route.gas_units() > MAX_ROUTE_GAS_UNITS {
            self.too_much_gas.set(true);
            return false;
        }
        route.steps.len() <= usize::from(self.request.max_steps)
    }

    /// Looks again as if gas were dearer, until a route keeps within the gas that a transaction may use.
    pub(super) fn save_gas(&self, universe: &Problem<'_>, bound: f64, best: &mut Option<Candidate>) {
        for universe in dearer(universe, bound) {
            self.too_much_gas.set(false);
            for chain in path::best_paths(
                &universe,
                &Potentials::new(&universe, 1.0),
                universe.amount,
                &Support::default(),
                Tuning::FIRST_CHAINS,
            ) {
                self.offer(best, &chain.flows);
            }
            self.split(&universe, best);
            if !self.too_much_gas.get() {
                return;
            }
        }
    }

    /// The flow that a route runs.
    pub(super) fn flows_of(&self, route: &Route) -> Vec<Flow> {
        plan::flows_of(self.prepared, route)
    }
}
