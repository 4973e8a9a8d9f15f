//! Runs flows as exact routes within the limits of a transaction, and keeps the best.

use super::{Solver, net_of};
use crate::exact::candidate::{Candidate, best_run, completed, with_leftovers};
use crate::exact::repair::shift;
use crate::plan;
use crate::prepare::active::is_large;
use crate::problem::support::longest_path;
use crate::problem::{Flow, Problem};
use crate::tuning::Tuning;

impl Solver<'_> {
    /// Keeps the exact route of a flow if it is better than the incumbent. What the flow leaves of a token flows on as
    /// in the incumbent.
    pub(super) fn offer(&self, best: &mut Option<Candidate>, flows: &[Flow]) {
        if flows.is_empty() {
            return;
        }
        let spare = self.flows_of(best.as_ref());
        let whole = completed(&self.problem, flows, &spare);
        // Checks paths again: what is left may flow on over more pools than a path may have.
        let is_allowed = |whole: &[Flow]| longest_path(whole) <= self.problem.hops;
        if (whole.len() > flows.len() && !is_allowed(&whole)) || self.offer_kept(best, &whole, None) {
            return;
        }
        let sold = with_leftovers(&self.problem, &whole, &spare);
        if sold.len() > whole.len() && is_allowed(&sold) {
            self.offer_kept(best, &sold, None);
        }
    }

    /// Keeps the same for a plan that states what outputs keep of what reaches them; returns whether it runs.
    pub(super) fn offer_kept(&self, best: &mut Option<Candidate>, flows: &[Flow], kept: Option<&[(u32, f64)]>) -> bool {
        let Some(found) = best_run(&self.problem, self.request, flows, kept) else { return false };
        if found.route.gas_units() > self.problem.max_gas_units {
            self.exceeded_gas.set(true);
            self.over_gas.borrow_mut().push(found);
            return true;
        }
        self.fitted_gas.set(true);
        let is_short = found.route.steps.len() <= usize::from(self.request.max_steps);
        if is_short && best.as_ref().is_none_or(|known| found.net > known.net) {
            *best = Some(found);
        }
        true
    }

    /// Searches again as if a swap cost a share of the trade, if gas costs less and the bound is not close. Without a
    /// gas price the relaxed flow earns by cycles, which no route has: without them it may pay less than a flow that
    /// was searched for without them.
    pub(super) fn offer_at_nominal_gas(&self, bound: f64, best: &mut Option<Candidate>) {
        let gas_price = Tuning::NOMINAL_SWAP_SHARE * bound.max(0.0) / Tuning::SWAP_GAS_UNITS;
        let dearer = gas_price - self.problem.gas_price;
        let is_open = best.as_ref().is_none_or(|found| self.is_off(bound, found, Tuning::NOMINAL_GAP));
        // Leaves a route that used too much gas to `save_gas`: it asks for a higher price than this.
        let is_left_to_others = is_large(self.prepared) && self.exceeded_gas.get();
        if !is_open || dearer <= 0.0 || is_left_to_others {
            return;
        }
        let problem = Problem { gas_price, recorder: None, ..self.problem.clone() };
        // Values the incumbent at that gas price too, or else the split would count as close already. The route found keeps
        // its value at that price.
        let mut found = best.clone().map(|known| {
            #[allow(clippy::cast_precision_loss, reason = "a value, not an amount")]
            let net = known.net - dearer * known.route.gas_units() as f64;
            Candidate { net, ..known }
        });
        self.split_again(&problem, bound, &mut found);
        if net_of(found.as_ref()) > net_of(best.as_ref()) {
            *best = found;
        }
    }

    /// Tries to stop pools of the best route just short of the last tick that they cross, if it is near: the tick's gas
    /// may cost more than the amount beyond it earns. The amount that they no longer take goes to other flows. Tries again
    /// from each better route.
    pub(super) fn offer_tick_stops(&self, best: &mut Option<Candidate>) {
        for _ in 0..Tuning::TICK_STOP_ROUNDS {
            let before = net_of(best.as_ref());
            self.offer_tick_stops_once(best);
            if net_of(best.as_ref()) == before {
                return;
            }
        }
    }

    /// Tries each stop on its own.
    fn offer_tick_stops_once(&self, best: &mut Option<Candidate>) {
        let flows = self.flows_of(best.as_ref());
        let stop = |flow: &Flow| {
            let (_, direction) = self.problem.direction(flow.pair, flow.side)?;
            let stop = direction.stops_before_gas(flow.amount_in).next()? * Tuning::CAPACITY_FILLED;
            (stop > Tuning::TICK_STOP_SHARE * flow.amount_in).then_some((stop, *flow))
        };
        let mut stops: Vec<(f64, Flow)> = flows.iter().filter_map(stop).collect();
        // Tries the nearest stops first: these lose the least.
        let kept = |(stop, flow): &(f64, Flow)| stop / flow.amount_in;
        stops.sort_by(|a, b| kept(b).total_cmp(&kept(a)).then(a.1.pair.cmp(&b.1.pair)));
        for (stop, flow) in stops.into_iter().take(Tuning::TICK_STOPS) {
            let mut less = flows.clone();
            if shift(&self.problem, &mut less, &flow, flow.amount_in, Some(stop)).is_some() {
                self.offer_kept(best, &less, None);
            }
        }
    }

    /// Returns the flow that the best route runs.
    pub(super) fn flows_of(&self, best: Option<&Candidate>) -> Vec<Flow> {
        best.map_or_else(Vec::new, |found| plan::flows_of(self.prepared, &found.route))
    }
}
