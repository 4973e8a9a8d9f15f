//! Routes within the gas that a transaction may use.

use super::Solver;
use super::exact::{self, Candidate};
use crate::exact::mend::dearer;
use crate::problem::{Flow, Problem};

impl Solver<'_> {
    /// Keeps the best exact route of a plan if it is better than what there is: see [`exact::offer`].
    pub(super) fn offer(
        &self,
        problem: &Problem<'_>,
        flows: &[Flow],
        kept: Option<&[(u32, f64)]>,
        best: &mut Option<Candidate>,
    ) {
        if exact::offer(self.prepared, self.request, problem, flows, kept, best) {
            self.too_much_gas.set(true);
        }
    }

    /// Looks again as if gas were dearer, until a route keeps within the gas that a transaction may use.
    pub(super) fn save_gas(
        &self,
        universe: &Problem<'_>,
        bound: f64,
        start: &[f64],
        value: f64,
        best: &mut Option<Candidate>,
    ) {
        for universe in dearer(universe, bound) {
            self.too_much_gas.set(false);
            self.split(&universe, start, value, best);
            if !self.too_much_gas.get() {
                return;
            }
        }
    }
}
