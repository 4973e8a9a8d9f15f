//! Searches parts of a pair's route again: between two tokens that all of it passes through.
//!
//! An amount beyond the liquidity of one pool on the way leaves an ordinary amount behind it. Prices of the whole trade say
//! little there, because what the pool refuses is worth nothing; those of the part behind it are as good as any.

use braid_primitives::U256;

use super::{Solver, exceeds, net_of};
use crate::Request;
use crate::exact::candidate::Candidate;
use crate::prepare::index32;
use crate::problem::support::longest_path;
use crate::problem::{Flow, Problem};
use crate::tuning::Tuning;

/// The flows before a part of a route, in it and after it.
struct Parts {
    before: Vec<Flow>,
    within: Vec<Flow>,
    after: Vec<Flow>,
}

impl Solver<'_> {
    /// Tries a better part between any two tokens that all of the best route passes through, as long as that brings
    /// something and the bound is above the route by more than a gap.
    pub(super) fn offer_parts_again(&self, bound: f64, gap: f64, best: &mut Option<Candidate>) {
        // The parts of the last round, and how many of them were searched before or when the route last changed: the others
        // would be searched again in vain.
        let (mut known, mut stale) = (Vec::new(), 0);
        for _ in 0..Tuning::PARTS_ROUNDS {
            let parts = self.parts_of(best);
            let count = if parts == known { stale } else { parts.len() };
            stale = 0;
            for (at, part) in parts.iter().enumerate().take(count) {
                let before = net_of(best.as_ref());
                if !exceeds(bound, before, gap) {
                    return;
                }
                let flows = self.flows_of(best.as_ref());
                if let Some(flows) = self.with_part_again(&flows, *part, gap) {
                    self.offer(best, &flows);
                }
                if net_of(best.as_ref()) > before {
                    stale = at + 1;
                }
            }
            let before = net_of(best.as_ref());
            *best = self.trim_gas(best.take());
            if net_of(best.as_ref()) > before {
                stale = parts.len();
            }
            if stale == 0 {
                return;
            }
            known = parts;
        }
    }

    /// Returns the ends of all parts of a route between two tokens that all of it passes through.
    fn parts_of(&self, best: &Option<Candidate>) -> Vec<[u32; 2]> {
        let passed = self.passed_by_all(&self.flows_of(best.as_ref()));
        let from = |at: usize| passed[at + 1..].iter().map(|to| [passed[at], *to]).collect::<Vec<_>>();
        (0..passed.len()).flat_map(from).collect()
    }

    /// Returns the flows of a route with the part between two tokens searched again. `None` if not all of the route passes
    /// through both, or if they are its ends.
    fn with_part_again(&self, flows: &[Flow], [from, to]: [u32; 2], gap: f64) -> Option<Vec<Flow>> {
        let Parts { before, within, after } = self.parts(flows, from, to)?;
        let amount = if before.is_empty() {
            self.sold()
        } else {
            let arriving = before.iter().filter(|flow| flow.to == from);
            U256::try_from(arriving.map(|flow| self.problem.paid(flow)).sum::<f64>()).ok()?
        };
        if amount.is_zero() || within.len() == flows.len() {
            return None;
        }
        let hops = self.problem.hops.checked_sub(longest_path(&before) + longest_path(&after))?;
        let mut kept = [before, after].concat();
        // Reserves a step for a conversion.
        let max_steps =
            self.problem.max_steps.checked_sub(kept.len() + 1).and_then(|steps| u16::try_from(steps).ok())?;
        let [input, output] = [from, to].map(|token| self.prepared.token(token));
        let request = Request {
            inputs: vec![(input, amount)],
            outputs: vec![(output, 10_000)],
            max_steps: max_steps.max(1),
            ..self.request.clone()
        };
        let max_gas_units = self.problem.max_gas_units.checked_sub(self.gas_units(&kept))?;
        let mut closed = self.problem.closed.clone();
        closed.resize(self.prepared.pair_count(), false);
        kept.iter().for_each(|flow| closed[flow.pair as usize] = true);
        let problem = Problem::new(self.prepared, &request).ok()?;
        let problem = Problem { closed, active: self.problem.active.clone(), hops, max_gas_units, ..problem };
        let mut solver = Solver::new(self.prepared, &request, problem);
        let (bound, mut found) = solver.searched_best().ok()?;
        if exceeds(bound, net_of(found.as_ref()), gap) {
            solver.offer_chunks(bound, &mut found);
        }
        kept.extend(self.flows_of(Some(&found?)));
        Some(kept)
    }

    /// Computes about how much gas flows use.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "far below 2⁵³, and not below zero")]
    fn gas_units(&self, flows: &[Flow]) -> u64 {
        let of_flow = |flow: &Flow| {
            let (curve, direction) = self.problem.direction(flow.pair, flow.side)?;
            Some(curve.gas_units + direction.quote(flow.amount_in).1)
        };
        flows.iter().filter_map(of_flow).sum::<f64>() as u64
    }

    /// Returns the tokens that every path of a route passes through, in order, from its input to its output.
    fn passed_by_all(&self, flows: &[Flow]) -> Vec<u32> {
        let [source, target] = [self.problem.source, self.problem.target].map(index32);
        let mut tokens: Vec<u32> = flows.iter().map(|flow| flow.from).collect();
        tokens.sort_unstable();
        tokens.dedup();
        let before = |token: &u32| self.parts(flows, *token, target).map(|parts| (parts.before.len(), *token));
        let mut passed: Vec<(usize, u32)> = tokens.iter().filter_map(before).collect();
        passed.sort_unstable();
        let inner = passed.into_iter().map(|(_, token)| token).filter(|token| *token != source);
        std::iter::once(source).chain(inner).chain([target]).collect()
    }

    /// Divides the flows of a route at two tokens. `None` if some of them do not pass through both.
    fn parts(&self, flows: &[Flow], from: u32, to: u32) -> Option<Parts> {
        let target = index32(self.problem.target);
        let (mut before, rest) = divided(flows, from);
        let (mut within, after) = if to == target { (rest, Vec::new()) } else { divided(&rest, to) };
        if index32(self.problem.source) == from {
            within.append(&mut before);
        }
        let leads_to = |flows: &[Flow], end: u32| {
            flows.iter().all(|flow| flow.to == end || flows.iter().any(|other| other.from == flow.to))
        };
        (!within.is_empty() && leads_to(&before, from) && leads_to(&within, to) && leads_to(&after, target))
            .then_some(Parts { before, within, after })
    }
}

/// Divides flows into those that a token's amount does not reach, and those that it reaches.
fn divided(flows: &[Flow], token: u32) -> (Vec<Flow>, Vec<Flow>) {
    let mut reached = vec![token];
    let mut is_after = vec![false; flows.len()];
    while let Some(from) = reached.pop() {
        for (at, flow) in flows.iter().enumerate().filter(|(_, flow)| flow.from == from) {
            if !std::mem::replace(&mut is_after[at], true) {
                reached.push(flow.to);
            }
        }
    }
    let those = |after: bool| (0..flows.len()).filter(|at| is_after[*at] == after).map(|at| flows[at]).collect();
    (those(false), those(true))
}

#[cfg(test)]
mod tests {
    use braid_primitives::U256;

    use super::*;
    use crate::testing::{prepared, request, token};

    const ETHER: u128 = 10_u128.pow(18);

    #[test]
    fn parts_are_between_tokens_that_everything_passes_through() {
        // 1 → 2 by two pools, 2 → 4 directly and over 3, 4 → 6 directly and over 5. Pair 0 is the wrapper of ether.
        let pools = [(1, 2), (1, 2), (2, 3), (2, 4), (3, 4), (4, 5), (5, 6), (4, 6)];
        let market = prepared(&pools.map(|coins| (coins, [1_000 * ETHER; 2])));
        let request = request(&market, token(1), U256::from(ETHER), token(6));
        let solver = Solver::new(&market, &request, Problem::new(&market, &request).unwrap());
        let node = |at: u32| index32(market.node(token(at)));
        let flow = |pair: u32, from, to| Flow { pair, side: 0, from: node(from), to: node(to), amount_in: 1.0 };
        let flows: Vec<Flow> = (1..).zip(pools).map(|(pair, (from, to))| flow(pair, from, to)).collect();
        assert_eq!(solver.passed_by_all(&flows), [1, 2, 4, 6].map(node));
        let of = |from, to| {
            let Parts { before, within, after } = solver.parts(&flows, node(from), node(to)).unwrap();
            [before, within, after].map(|flows| flows.iter().map(|flow| flow.pair).collect::<Vec<_>>())
        };
        assert_eq!(of(1, 2), [vec![], vec![1, 2], vec![3, 4, 5, 6, 7, 8]]);
        assert_eq!(of(2, 4), [vec![1, 2], vec![3, 4, 5], vec![6, 7, 8]]);
        assert_eq!(of(2, 6), [vec![1, 2], vec![3, 4, 5, 6, 7, 8], vec![]]);
        assert!(solver.parts(&flows, node(3), node(6)).is_none(), "a path passes by token 3");
        assert!(solver.parts(&flows, node(2), node(5)).is_none(), "a path passes by token 5");
    }
}
