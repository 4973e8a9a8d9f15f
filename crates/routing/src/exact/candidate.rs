//! From planned flows to an exact route; if there are several outputs, with the requested shares.

use super::repair::{drop_least, shift};
use super::shares::{self, Steer};
use super::valuation;
use crate::plan::{self, PlanError};
use crate::problem::{Flow, Problem};
use crate::tuning::Tuning;
use crate::{Request, Route};

/// An exact route. Values are in the problem's unit of value.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) route: Route,
    /// Value, net of gas, of the largest basket with exactly the requested shares that the outputs contain.
    pub(crate) net: f64,
    /// Value of all that arrives.
    pub(crate) gross: f64,
    /// Value of the gas.
    pub(crate) gas: f64,
}

/// Completes a flow: every token that is supplied or received but not spent takes the flows of `spare` from there. The
/// whole of an input is sold, even if it is worth less than its gas, or nothing compared with the others.
pub(crate) fn completed(problem: &Problem<'_>, flows: &[Flow], spare: &[Flow]) -> Vec<Flow> {
    let terms = &problem.terms;
    let mut flows = flows.to_vec();
    let is_output = |token: u32| terms.weights.iter().any(|(output, _)| *output == token);
    let mut open: Vec<u32> = terms.supplies.iter().map(|(token, _)| *token).collect();
    open.extend(flows.iter().map(|flow| flow.to));
    while let Some(token) = open.pop() {
        if is_output(token) || flows.iter().any(|flow| flow.from == token) {
            continue;
        }
        for flow in spare.iter().filter(|flow| flow.from == token) {
            if flows.iter().all(|known| known.pair != flow.pair) {
                flows.push(*flow);
                open.push(flow.to);
            }
        }
    }
    flows
}

/// Completes a flow that leaves much of a token unspent: the rest takes the flows of `spare` from there. Beyond the
/// market's liquidity such a rest is worth next to nothing, and still has to be sold.
pub(crate) fn with_leftovers(problem: &Problem<'_>, flows: &[Flow], spare: &[Flow]) -> Vec<Flow> {
    let terms = &problem.terms;
    let paid = |flow: &Flow| problem.paid(flow);
    let mut tokens: Vec<u32> = terms.supplies.iter().map(|(token, _)| *token).collect();
    tokens.extend(flows.iter().map(|flow| flow.to));
    tokens.sort_unstable();
    tokens.dedup();
    tokens.retain(|token| terms.weights.iter().all(|(output, _)| output != token));
    let mut whole = flows.to_vec();
    for token in tokens {
        let supplied: f64 = terms.supplies.iter().filter(|(known, _)| *known == token).map(|(_, amount)| amount).sum();
        let arrives = supplied + flows.iter().filter(|flow| flow.to == token).map(paid).sum::<f64>();
        let leaves: f64 = flows.iter().filter(|flow| flow.from == token).map(|flow| flow.amount_in).sum();
        let left = arrives - leaves;
        if left <= Tuning::LEFTOVER_SHARE * arrives {
            continue;
        }
        let is_fresh = |flow: &&Flow| flow.from == token && flows.iter().all(|known| known.pair != flow.pair);
        let fresh: Vec<Flow> = spare.iter().filter(is_fresh).copied().collect();
        let sum: f64 = fresh.iter().map(|flow| flow.amount_in).sum();
        whole.extend(fresh.into_iter().map(|flow| Flow { amount_in: flow.amount_in * left / sum, ..flow }));
    }
    completed(problem, &whole, spare)
}

/// Runs a plan and returns its best exact route; `None` if it does not run. Without `kept`, each output keeps its share
/// of all that the flows bring in.
pub(crate) fn best_run(
    problem: &Problem<'_>,
    request: &Request,
    flows: &[Flow],
    kept: Option<&[(u32, f64)]>,
) -> Option<Candidate> {
    if flows.is_empty() || leaves_out(problem, flows) {
        return None;
    }
    let several = problem.terms.weights.len() > 1;
    let balanced = || if several { balanced(problem, flows) } else { Vec::new() };
    let kept = kept.map_or_else(balanced, <[(u32, f64)]>::to_vec);
    Run { request, problem, flows: flows.to_vec(), kept }.best()
}

/// Returns whether a flow leaves an input, or an intermediate token, unspent that is not an output.
fn leaves_out(problem: &Problem<'_>, flows: &[Flow]) -> bool {
    let terms = &problem.terms;
    let moves = |token: u32| flows.iter().any(|flow| flow.from == token);
    let stays = |token: u32| terms.weights.iter().any(|(output, _)| *output == token);
    let made = terms.supplies.iter().map(|(token, _)| *token).chain(flows.iter().map(|flow| flow.to));
    made.into_iter().any(|token| !moves(token) && !stays(token))
}

/// Computes what each output keeps of a balanced flow: its share of the value that all outputs have left over together.
fn balanced(problem: &Problem<'_>, flows: &[Flow]) -> Vec<(u32, f64)> {
    let terms = &problem.terms;
    let out = |flow: &Flow| problem.paid(flow);
    let balance = |token: u32| {
        let supplied: f64 = terms.supplies.iter().filter(|(t, _)| *t == token).map(|(_, amount)| amount).sum();
        let paid: f64 = flows.iter().filter(|flow| flow.to == token).map(out).sum();
        let taken: f64 = flows.iter().filter(|flow| flow.from == token).map(|flow| flow.amount_in).sum();
        supplied + paid - taken
    };
    let value: f64 = terms.weights.iter().map(|(token, _)| balance(*token) * problem.reference(*token)).sum();
    terms.weights.iter().map(|(token, weight)| (*token, (weight * value).max(0.0))).collect()
}

struct Run<'a, 'p> {
    request: &'a Request,
    problem: &'a Problem<'p>,
    flows: Vec<Flow>,
    kept: Vec<(u32, f64)>,
}

impl Run<'_, '_> {
    /// Returns the best run of the plan. If a plan to one output does not run, it is tried without the smallest flow to
    /// the token out of which a pool last refused its amount; with several outputs that would change their shares.
    fn best(mut self) -> Option<Candidate> {
        let dropped = if self.problem.terms.weights.len() == 1 { Tuning::FLOWS_DROPPED } else { 0 };
        for _ in 0..dropped {
            match self.steered() {
                Ok(found) => return Some(found),
                Err(refused) => drop_least(self.problem, &mut self.flows, refused?)?,
            }
        }
        self.steered().ok()
    }

    /// Runs the plan, moves flow towards the outputs that got too little, and runs it again.
    ///
    /// # Errors
    /// If no run succeeds: the token out of which a pool last refused its amount, if one did.
    fn steered(&mut self) -> Result<Candidate, Option<u32>> {
        let mut best: Option<Candidate> = None;
        let mut refused = None;
        let outputs: Vec<u32> = self.problem.terms.weights.iter().map(|(token, _)| *token).collect();
        let mut steer = Steer::new(outputs.len());
        let mut without_gain = 0;
        for _ in 0..Tuning::EXACT_RUNS {
            match plan::replay(self.problem.prepared, self.request, &self.flows, &self.kept) {
                Ok(route) => {
                    let Some((found, shares)) = self.value(route) else { break };
                    if best.as_ref().is_none_or(|known| found.net > known.net) {
                        best = Some(found);
                        without_gain = 0;
                    } else {
                        without_gain += 1;
                    }
                    let off = shares.iter().map(|(is, wanted)| (is / wanted - 1.0).abs() * wanted).fold(0.0, f64::max);
                    if off < Tuning::SHARE_PRECISION || without_gain > Tuning::RUNS_WITHOUT_GAIN || outputs.len() < 2 {
                        break;
                    }
                    let factors = steer.factors(&shares);
                    shares::steer(&mut self.flows, &mut self.kept, &outputs, &factors);
                }
                Err(PlanError::Refused { flow, offered, at_most }) => {
                    refused = Some(flow.from);
                    let at_most = at_most.into_iter().chain(self.capacity(&flow, offered)).reduce(f64::min);
                    if shift(self.problem, &mut self.flows, &flow, offered, at_most).is_none() {
                        break;
                    }
                }
                Err(_) => break,
            }
        }
        best.ok_or(refused)
    }

    /// Returns what a flow's pool takes by its curve, if that is less than it was offered, or hardly more: curves are rounded.
    /// Errors do not always say how much a pool takes, and state some limits in the token that it pays.
    fn capacity(&self, flow: &Flow, offered: f64) -> Option<f64> {
        let (_, direction) = self.problem.direction(flow.pair, flow.side)?;
        Some(direction.capacity_in()).filter(|capacity| *capacity * Tuning::OFFERED_AGAIN_SHARE < offered)
    }

    /// Computes a route's values, and for each requested node the share of the value that it got, with the share that
    /// it should have.
    fn value(&self, route: Route) -> Option<(Candidate, Vec<(f64, f64)>)> {
        let terms = &self.problem.terms;
        let got = |token: u32| {
            let paid = self.request.outputs.iter().zip(&route.amounts_out);
            let here = paid.filter(|((output, _), _)| self.problem.prepared.node(*output) == token as usize);
            here.map(|(_, amount)| f64::from(*amount)).sum::<f64>() * self.problem.reference(token)
        };
        let values: Vec<(f64, f64)> = terms
            .weights
            .iter()
            .map(|(token, weight)| (got(*token), weight * self.problem.reference(*token)))
            .collect();
        let gross: f64 = values.iter().map(|(value, _)| value).sum();
        // Takes a single output as the whole basket.
        let shared =
            |values: &[(f64, f64)]| values.iter().map(|(value, share)| value / share).fold(f64::INFINITY, f64::min);
        let basket = if values.len() == 1 { gross } else { shared(&values) };
        let priced = self.problem.gas_price > 0.0;
        let gas = if priced { valuation::gas_value_wei(self.request, &route) } else { 0.0 };
        let shares = values.iter().map(|(value, share)| (value / gross, *share)).collect();
        (gross > 0.0).then_some((Candidate { route, net: basket - gas, gross, gas }, shares))
    }
}

#[cfg(test)]
mod tests {
    use braid_primitives::U256;

    use super::*;
    use crate::prepare::index32;
    use crate::testing::{prepared, problem, request, token};

    const UNIT: u128 = 10_u128.pow(18);

    /// Runs a plan that sells 5,000 units of token 1 through two pools for token 2, the first with these reserves and the
    /// second with one unit, and then a pool for token 0 that takes 1,000 units more before its reserve exceeds 112 bits.
    /// Returns what it pays, in units, and the number of steps.
    fn sold_to_a_nearly_full_pool(first_reserves: u128, units: [f64; 3]) -> (f64, usize) {
        let nearly_full = (1_u128 << 112) - 1 - 1_000 * UNIT;
        let pools = [((1, 2), [first_reserves * UNIT; 2]), ((1, 2), [UNIT; 2]), ((2, 0), [nearly_full; 2])];
        let market = prepared(&pools);
        let amount = U256::from(5_000 * UNIT);
        let problem = problem(&market, token(1), amount, token(0));
        let node = |at: u32| index32(market.node(token(at)));
        // Pair 0 is the wrapper of ether.
        let flow = |pair: u32, from: u32, to: u32, units: f64| {
            let side = u8::from(market.graph().ends(pair)[0] != node(from));
            Flow { pair, side, from: node(from), to: node(to), amount_in: units * 1e18 }
        };
        let [deep, thin, last] = units;
        let flows = [flow(1, 1, 2, deep), flow(2, 1, 2, thin), flow(3, 2, 0, last)];
        let found = best_run(&problem, &request(&market, token(1), amount, token(0)), &flows, None).unwrap();
        (f64::from(found.route.amounts_out[0]) / 1e18, found.route.steps.len())
    }

    #[test]
    fn a_pool_whose_error_names_no_amount_gets_what_its_curve_takes() {
        // The last pool's error does not say how much it takes. What is too much goes into the thin pool, which pays next to
        // nothing for it.
        let (paid, steps) = sold_to_a_nearly_full_pool(100_000, [4_999.0, 1.0, 999.0]);
        assert!((996.0..998.0).contains(&paid), "{paid} of 1,000 units less the fee");
        assert_eq!(steps, 3);
    }

    #[test]
    fn what_a_full_pool_does_not_take_is_sold_where_it_pays_least() {
        // The first pool pays 2,500 for nearly everything, at half the rate of the thin pool, whose rate is only good
        // because it gets next to nothing; it never pays more than one unit.
        let (paid, _) = sold_to_a_nearly_full_pool(5_000, [4_999.999, 0.001, 1_000.0]);
        assert!((996.0..998.0).contains(&paid), "{paid} of 1,000 units less the fee");
    }
}
