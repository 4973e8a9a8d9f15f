//! Simplifies routes: a step must bring more than a negligible gain.

use super::Solver;
use crate::exact::candidate::{Candidate, best_run};
use crate::prepare::index32;
use crate::problem::Flow;
use crate::problem::support::longest_path;
use crate::tuning::Tuning;

impl Solver<'_> {
    /// Removes steps of a pair's route, the smallest first, as long as all of them together bring next to nothing.
    pub(super) fn simplify(&self, best: &mut Option<Candidate>) {
        if !self.problem.is_pair() {
            return;
        }
        let Some(least) = best.as_ref().map(|found| found.net - Tuning::STEP_GAIN_SHARE * found.gross) else { return };
        let mut refused: Vec<u32> = Vec::new();
        while refused.len() < Tuning::STEPS_LEFT_OUT_TRIED {
            let Some(found) = best.as_ref().filter(|found| found.route.steps.len() > 1) else { return };
            let flows = self.flows_of(Some(found));
            let share = |flow: &Flow| {
                let leaving = flows.iter().filter(|other| other.from == flow.from);
                flow.amount_in / leaving.map(|other| other.amount_in).sum::<f64>()
            };
            // Keeps steps that take all of a token: they are on the only path from there.
            let is_split = |flow: &&Flow| share(flow) < 1.0 && !refused.contains(&flow.pair);
            let smallest = flows.iter().filter(is_split).min_by(|a, b| share(a).total_cmp(&share(b)));
            let Some(flow) = smallest else { return };
            let ends = [self.problem.source, self.problem.target].map(index32);
            let fewer = without(&flows, flow.pair, ends);
            // Checks paths again: where some of allowed length meet, removing a part of them may leave a longer one.
            let is_allowed = longest_path(&fewer) <= self.problem.hops;
            let simpler = is_allowed.then(|| best_run(&self.problem, self.request, &fewer, None)).flatten();
            let is_shorter = |simpler: &Candidate| simpler.route.steps.len() < found.route.steps.len();
            // Checks gas again: other pools take what the step took, and may cross more ticks for it.
            let is_within_gas = |simpler: &Candidate| simpler.route.gas_units() <= self.problem.max_gas_units;
            let is_good = |simpler: &Candidate| simpler.net >= least && is_shorter(simpler) && is_within_gas(simpler);
            match simpler.filter(is_good) {
                Some(simpler) => *best = Some(simpler),
                None => refused.push(flow.pair),
            }
        }
    }
}

/// Returns the flows without one of them, and without those that it alone led to, or that alone led to it.
fn without(flows: &[Flow], pair: u32, [source, target]: [u32; 2]) -> Vec<Flow> {
    let mut fewer: Vec<Flow> = flows.iter().filter(|flow| flow.pair != pair).copied().collect();
    loop {
        let all = fewer.clone();
        let is_fed = |flow: &Flow| flow.from == source || all.iter().any(|other| other.to == flow.from);
        let leads_on = |flow: &Flow| flow.to == target || all.iter().any(|other| other.from == flow.to);
        fewer.retain(|flow| is_fed(flow) && leads_on(flow));
        if fewer.len() == all.len() {
            return fewer;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(pair: u32, from: u32, to: u32) -> Flow {
        Flow { pair, side: 0, from, to, amount_in: 1.0 }
    }

    #[test]
    fn what_a_flow_alone_leads_to_goes_with_it() {
        // 1 → 2 → 3 → 9, 1 → 9 and 2 → 9.
        let flows = [flow(0, 1, 2), flow(1, 2, 3), flow(2, 1, 9), flow(3, 2, 9), flow(4, 3, 9)];
        let left = |pair| without(&flows, pair, [1, 9]).iter().map(|flow| flow.pair).collect::<Vec<_>>();
        assert_eq!(left(1), [0, 2, 3]);
        assert_eq!(left(4), [0, 2, 3]);
        assert_eq!(left(0), [2]);
    }
}
