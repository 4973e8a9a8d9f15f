//! From flows to exact routes within the limits of a transaction, the best of which is kept.

use super::{CHAINS, Candidate, Single};
use crate::path::{self, FULL};
use crate::plan::{self, PlanError};
use crate::potentials::Potentials;
use crate::problem::{Flow, Problem};
use crate::support::Support;
use crate::{MAX_ROUTE_GAS_UNITS, Route};

/// How often a plan is mended after an exact pool refused an amount.
const REPAIRS: usize = 12;
/// What the most gas that a route may use is made to cost, as shares of the trade, where a route used more.
const SHARES_OF_TRADE: [f64; 3] = [1e-3, 1e-2, 1e-1];

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
        for _ in 0..REPAIRS {
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
                CHAINS,
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

/// The problem as if gas were dearer, by and by. Bounds on it say nothing of the problem itself, and are not noted.
pub(crate) fn dearer<'p>(problem: &Problem<'p>, bound: f64) -> impl Iterator<Item = Problem<'p>> {
    SHARES_OF_TRADE.into_iter().map(move |share| {
        #[allow(clippy::cast_precision_loss, reason = "a value, not an amount")]
        let dear = share * bound.max(0.0) / MAX_ROUTE_GAS_UNITS as f64;
        Problem { gas_price: problem.gas_price.max(dear), recorder: None, ..problem.clone() }
    })
}

/// Moves what a flow cannot take of what is there for it to the other flows out of the same token; `None` if there is no other. A plan
/// for an amount that swamps the market may speak of less than is there: all flows out of the token are taken up to that first.
pub(crate) fn shift(flows: &mut Vec<Flow>, refused: &Flow, offered: f64, at_most: Option<f64>) -> Option<()> {
    let keep = at_most.map_or(0.0, |most| (most * FULL).min(offered * 0.999));
    let scale = offered / refused.amount_in;
    let others: f64 =
        flows.iter().filter(|f| f.from == refused.from && f.pair != refused.pair).map(|f| f.amount_in).sum();
    if others <= 0.0 || !scale.is_finite() {
        return None;
    }
    let factor = scale + (offered - keep) / others;
    for flow in flows.iter_mut().filter(|flow| flow.from == refused.from) {
        flow.amount_in = if flow.pair == refused.pair { keep } else { flow.amount_in * factor };
    }
    flows.retain(|flow| flow.amount_in > 0.0);
    Some(())
}
