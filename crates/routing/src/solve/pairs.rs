//! Searches each share of a basket as a pair of its own.

use braid_primitives::U256;

use super::{Solver, exceeds, net_of};
use crate::Request;
use crate::candidates::plans::{self, Plan};
use crate::exact::candidate::Candidate;
use crate::problem::support::Support;
use crate::problem::{Flow, Problem, add};
use crate::tuning::Tuning;

/// The best route of a pair: its flows, and what arrives.
struct Pair {
    flows: Vec<Flow>,
    arrived: f64,
}

impl Solver<'_> {
    /// Tries the best routes of the pairs that a basket consists of, all together: they find splits that the basket's own
    /// search misses. Returns whether that is better.
    pub(super) fn offer_pairs(&self, best: &mut Option<Candidate>) -> bool {
        let before = net_of(best.as_ref());
        let cells = plans::assigned(&self.problem, &self.potentials);
        let (mut support, mut kept) = (Support::default(), Vec::new());
        for (input, output, amount) in &cells {
            let mut arrived = *amount;
            if input != output {
                let Some(pair) = self.pair(*input, *output, *amount, cells.len()) else { return false };
                let Some(more) = support.with(&pair.flows, self.problem.hops) else { return false };
                (support, arrived) = (more, pair.arrived);
            }
            add(&mut kept, *output, arrived);
        }
        self.offer_plans(&[Plan { flows: support.flows().to_vec(), kept }], best);
        net_of(best.as_ref()) > before
    }

    /// Searches one pair of `count`.
    fn pair(&self, input: u32, output: u32, amount: f64, count: usize) -> Option<Pair> {
        let [from, to] = [input, output].map(|token| self.prepared.token(token));
        let amount = U256::try_from(amount).ok().filter(|amount| !amount.is_zero())?;
        #[allow(clippy::cast_possible_truncation, reason = "no more than the request's steps")]
        let max_steps = (self.problem.max_steps / count).max(1) as u16;
        let request =
            Request { inputs: vec![(from, amount)], outputs: vec![(to, 10_000)], max_steps, ..self.request.clone() };
        let problem = Problem::new(self.prepared, &request).ok()?;
        let problem = Problem { closed: self.problem.closed.clone(), active: self.problem.active.clone(), ..problem };
        let mut solver = Solver::new(self.prepared, &request, problem);
        let (bound, mut found) = solver.searched_best().ok()?;
        if exceeds(bound, net_of(found.as_ref()), Tuning::PLANS_GAPS[0]) {
            solver.offer_chunks(bound, &mut found);
        }
        let arrived = f64::from(*found.as_ref()?.route.amounts_out.first()?);
        Some(Pair { flows: self.flows_of(found.as_ref()), arrived }).filter(|pair| !pair.flows.is_empty())
    }
}
