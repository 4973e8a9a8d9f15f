//! Searches each share of a basket as a pair of its own.

use braid_primitives::U256;

use super::{Solver, net_of};
use crate::Request;
use crate::candidates::plans::{self, Plan};
use crate::exact::candidate::Candidate;
use crate::problem::support::Support;
use crate::problem::{Flow, Problem};

impl Solver<'_> {
    /// Tries the best routes of the pairs that a basket consists of, all together: they find splits that the basket's own
    /// search misses. Returns whether that is better.
    pub(super) fn offer_pairs(&self, best: &mut Option<Candidate>) -> bool {
        let before = net_of(best.as_ref());
        let cells = plans::assigned(&self.problem, &self.potentials);
        let mut support = Support::default();
        for (input, output, amount) in &cells {
            if input == output {
                continue;
            }
            let Some(flows) = self.pair_flows(*input, *output, *amount, cells.len()) else { return false };
            let Some(more) = support.with(&flows, self.problem.hops) else { return false };
            support = more;
        }
        self.offer_plans(&[Plan { flows: support.flows().to_vec(), kept: Vec::new() }], best);
        net_of(best.as_ref()) > before
    }

    /// Returns the flows of the best route of one pair of `count`.
    fn pair_flows(&self, input: u32, output: u32, amount: f64, count: usize) -> Option<Vec<Flow>> {
        let [from, to] = [input, output].map(|token| self.prepared.token(token));
        let amount = U256::try_from(amount).ok().filter(|amount| !amount.is_zero())?;
        #[allow(clippy::cast_possible_truncation, reason = "no more than the request's steps")]
        let max_steps = (self.problem.max_steps / count).max(1) as u16;
        let request =
            Request { inputs: vec![(from, amount)], outputs: vec![(to, 10_000)], max_steps, ..self.request.clone() };
        let problem = Problem::new(self.prepared, &request).ok()?;
        let problem = Problem { closed: self.problem.closed.clone(), active: self.problem.active.clone(), ..problem };
        let (_, found) = Solver::new(self.prepared, &request, problem).searched_best().ok()?;
        Some(self.flows_of(found.as_ref())).filter(|flows| !flows.is_empty())
    }
}
