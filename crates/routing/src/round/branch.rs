//! Branching: a bound that treats the routes with a pool and those without it separately.
//!
//! Every route uses a pool or does not. If it does, the pool's gas is paid in full, whatever it earns; if it does not,
//! the pool earns nothing. Each case has its own dual bound, and the larger of the two bounds every route. The pools to
//! branch on are those that the relaxation uses in part: there the plain bound is loose, by up to their gas.

use std::rc::Rc;

use crate::bound::evaluate;
use crate::prepare::active::is_large;
use crate::problem::Problem;
use crate::relax::{Evaluated, FlowSearch, Member, Stage, Subproblem, Tolerance};
use crate::tuning::Tuning;

/// The tokens and pools that matter to a flow, and the branches of its bound.
pub(crate) struct Relaxed<'p> {
    sub: Subproblem<'p>,
    leaves: Vec<Leaf>,
    /// Number of pools branched on so far, and the work that this took.
    branched: usize,
    work: u64,
}

impl<'p> Relaxed<'p> {
    /// Starts without branches, from the relaxed prices and the dual there.
    pub(crate) fn new(sub: Subproblem<'p>, prices: Vec<f64>, at: Evaluated) -> Self {
        let first = Leaf { used: Vec::new(), unused: Vec::new(), bound: at.dual, prices, at: Rc::new(at) };
        Self { sub, leaves: vec![first], branched: 0, work: 0 }
    }
}

/// Decisions about some pools, and the bound on the routes that satisfy them.
#[derive(Clone, Debug)]
struct Leaf {
    used: Vec<u32>,
    unused: Vec<u32>,
    bound: f64,
    /// Prices of the subproblem's tokens, and the dual of the whole market there.
    prices: Vec<f64>,
    at: Rc<Evaluated>,
}

impl<'p> FlowSearch<'_, 'p> {
    /// Computes a bound that is at most `bound`, by branching on pools of the subproblem, if `bound` is above `net` by
    /// more than a negligible gap. Continues from the branches of earlier calls; their work has its own budget.
    pub(crate) fn branch(&mut self, relaxed: &mut Relaxed<'p>, net: f64, bound: f64) -> f64 {
        let least = if is_large(self.problem.prepared) { Tuning::BRANCH_GAP_IN_LARGE } else { Tuning::BRANCH_GAP };
        let gas = Tuning::SWAP_GAS_UNITS * self.problem.gas_price;
        if !self.problem.is_pair() || gas <= 0.0 || bound - net <= least * bound {
            return bound;
        }
        // Records nothing: a witness would have to state the branches as well.
        let problem = Problem { recorder: None, ..self.problem.clone() };
        let before = self.newton.work();
        let budget = before + Tuning::BRANCH_WORK.saturating_sub(relaxed.work);
        let leaves = &mut relaxed.leaves;
        leaves.iter_mut().for_each(|leaf| leaf.bound = leaf.bound.min(bound));
        let most = if self.problem.is_small(bound) { Tuning::MOST_BRANCHES } else { Tuning::MOST_BRANCHES_OF_LOOSE };
        while relaxed.branched < most && !self.newton.is_spent(budget) {
            let loosest = (0..leaves.len()).max_by(|a, b| leaves[*a].bound.total_cmp(&leaves[*b].bound).then(b.cmp(a)));
            let is_usual = relaxed.branched < Tuning::MOST_BRANCHES;
            let least = if is_usual { least } else { Tuning::LOOSE_GAP };
            let Some(at) = loosest.filter(|at| leaves[*at].bound - net > least * bound) else { break };
            let Some(pair) = self.used_in_part(&relaxed.sub, &leaves[at]) else { break };
            let leaf = leaves.swap_remove(at);
            for is_used in [true, false] {
                let mut half = leaf.clone();
                let list = if is_used { &mut half.used } else { &mut half.unused };
                list.push(pair);
                let kept = self.bound_of(&problem, &half, &leaf.at);
                self.relax_leaf(&relaxed.sub, &mut half, gas);
                let prices = relaxed.sub.tokens.iter().copied().zip(half.prices.iter().copied());
                let (found, dual_prices) = self.evaluate_at(&problem, prices, f64::INFINITY);
                half.at = Rc::new(Evaluated { dual_prices, dual: found.bound });
                let bound = self.bound_of(&problem, &half, &half.at).min(kept);
                half.bound = if bound.is_nan() { leaf.bound } else { bound.min(leaf.bound) };
                leaves.push(half);
            }
            relaxed.branched += 1;
        }
        relaxed.work += self.newton.work() - before;
        self.newton.forget_work_since(before);
        leaves.iter().fold(f64::NEG_INFINITY, |most, leaf| most.max(leaf.bound)).min(bound)
    }

    /// Returns the pool whose use is least clear, weighted by its gas.
    fn used_in_part(&self, sub: &Subproblem<'p>, leaf: &Leaf) -> Option<u32> {
        let tau = Tuning::BRANCH_SMOOTHING[1] * Tuning::SWAP_GAS_UNITS * self.problem.gas_price;
        let is_open = |member: &&Member<'p>| !leaf.used.contains(&member.pair) && !leaf.unused.contains(&member.pair);
        let unclear = sub.members.iter().filter(is_open).filter_map(|member| {
            let earned = member.gain_within(sub, &leaf.prices)?;
            let weight = 1.0 / (1.0 + (-earned / tau).exp());
            Tuning::BRANCH_WEIGHTS.contains(&weight).then_some((weight * (1.0 - weight) * member.gas, member.pair))
        });
        unclear.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1))).map(|(_, pair)| pair)
    }

    /// Minimises the dual of a branch over the subproblem.
    fn relax_leaf(&mut self, sub: &Subproblem<'p>, leaf: &mut Leaf, gas: f64) {
        let mut decided = sub.clone();
        decided.members.retain(|member| !leaf.unused.contains(&member.pair));
        for member in &mut decided.members {
            member.is_forced = leaf.used.contains(&member.pair);
        }
        self.newton.damping = Tuning::NEARBY_DAMPING;
        for tau in Tuning::BRANCH_SMOOTHING {
            let tau = (tau * gas).max(Tuning::LEAST_SMOOTHING * self.scale);
            let tolerance = Tolerance {
                excess: Tuning::ROUGHLY_BALANCED_SHARE * self.scale,
                decrease: Tuning::BRANCH_DECREASE * self.scale,
                steps: Tuning::BRANCH_STEPS,
                work: Tuning::RELAX_WORK,
            };
            let stage = Stage::Smooth { tau, slack: 1.0 };
            self.newton.minimise(&decided, &mut leaf.prices, stage, self.scale, tolerance);
        }
    }

    /// Computes the bound that follows from a branch's decisions and the dual at some prices.
    fn bound_of(&self, problem: &Problem<'_>, leaf: &Leaf, at: &Evaluated) -> f64 {
        let counted =
            |pair: u32| evaluate::terms(problem, self.is_reachable, &self.potentials.cap, &at.dual_prices, pair);
        let used = leaf.used.iter().filter_map(|pair| counted(*pair)).map(|(free, used)| used - free);
        let unused = leaf.unused.iter().filter_map(|pair| counted(*pair)).map(|(free, _)| -free);
        let bound = used.chain(unused).fold(at.dual, |bound, term| bound + term);
        bound + Tuning::BOUND_ROUNDING * bound.abs()
    }
}
