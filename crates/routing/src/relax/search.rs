//! From one problem to its flow: which tokens and pools matter, the prices at which the dual is least, and the bound
//! there.

use super::newton::{Newton, Tolerance};
use super::slopes::Stage;
use super::subproblem::{Member, Subproblem};
use crate::bound::dual_prices::DualPrices;
use crate::bound::evaluate::{Evaluation, evaluate};
use crate::problem::potentials::Potentials;
use crate::problem::{Flow, Problem};
use crate::tuning::Tuning;

/// Prices of all tokens, and the dual over the whole market at these prices.
#[derive(Clone, Debug)]
pub(crate) struct Evaluated {
    pub(crate) dual_prices: DualPrices,
    pub(crate) dual: f64,
}

/// The search for the flow of one problem.
pub(crate) struct FlowSearch<'a, 'p> {
    pub(crate) problem: &'a Problem<'p>,
    pub(crate) potentials: &'a Potentials,
    pub(crate) is_reachable: &'a [bool],
    /// Start prices of all tokens.
    pub(crate) start: &'a [f64],
    /// Value of the whole trade.
    pub(crate) scale: f64,
    /// Value that no flow exceeds; infinite if no bound is known.
    pub(crate) ceiling: f64,
    /// Most steps of a flow's route.
    pub(crate) max_steps: usize,
    pub(crate) newton: Newton,
    /// Working memory: one entry per token, all `u32::MAX`.
    pub(crate) local: Vec<u32>,
}

impl<'a, 'p> FlowSearch<'a, 'p> {
    /// Returns the inputs, the outputs, the path's tokens, and the most promising other tokens by depth and distance
    /// from the best price.
    pub(crate) fn first_tokens(&self, path: &[Flow], net: f64, bound: f64) -> Vec<bool> {
        let mut members = vec![false; self.local.len()];
        for end in self.problem.terms.ends() {
            members[end] = true;
        }
        for flow in path {
            members[flow.from as usize] = true;
            members[flow.to as usize] = true;
        }
        let (worth, cap) = (&self.potentials.worth, &self.potentials.cap);
        let whole = self.problem.terms.supplied_value(worth);
        let allowed = (Tuning::FIRST_TOKEN_GAPS * (bound - net) / bound).min(Tuning::FIRST_TOKEN_MOST_LOSS);
        let gas = Tuning::FIRST_TOKEN_GAS_SHARE * Tuning::SWAP_GAS_UNITS * self.problem.gas_price;
        // Estimates what pools can earn: of a depth that moves the price by one percent, a price difference `x` earns
        // about a quarter of a hundred times that, times `x²`.
        let promise = |token: usize| {
            let loss = 1.0 - cap[token] * worth[token] / whole;
            let slack = allowed - loss;
            let depth = self.problem.prepared.node_depth_wei(token) * 100.0;
            (slack > 0.0).then_some(depth * slack * slack * 0.25).filter(|value| *value > gas)
        };
        let tokens = (0..members.len()).filter(|t| self.is_reachable[*t] && worth[*t] > 0.0 && !members[*t]);
        let mut promising: Vec<(f64, usize)> = tokens.filter_map(|t| Some((promise(t)?, t))).collect();
        promising.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for (_, token) in promising.iter().take(Tuning::FIRST_TOKENS) {
            members[*token] = true;
        }
        members
    }

    /// Returns the open pools between tokens of a set.
    pub(crate) fn pools_among(&self, members: &[bool]) -> Vec<u32> {
        let tokens = (0..members.len()).filter(|token| members[*token]);
        // Lists each pool once: from the end with the lower number.
        let pools = tokens.flat_map(|token| {
            let above = self.problem.neighbours(token).filter(move |(to, _)| token < *to && members[*to]);
            above.map(|(_, arrow)| arrow.pair)
        });
        pools.filter(|pair| self.problem.is_open(*pair)).collect()
    }

    /// Returns whether the route of a flow has no more steps than allowed.
    pub(crate) fn fits(&self, flows: &[Flow]) -> bool {
        self.problem.fits(flows, self.max_steps)
    }

    /// Minimises by Newton's method with falling smoothing.
    pub(crate) fn relax(&mut self, sub: &Subproblem<'p>, prices: &mut [f64], first: bool) {
        let (scale, gas) = (self.scale, Tuning::SWAP_GAS_UNITS * self.problem.gas_price);
        let last_tau = (Tuning::LAST_SMOOTHING * gas).max(Tuning::LEAST_SMOOTHING * scale);
        let start = {
            let [gas_share, trade_share] = if first { Tuning::FIRST_SMOOTHING } else { Tuning::NEXT_SMOOTHING };
            (gas_share * gas).max(trade_share * scale)
        };
        let mut tau = start.max(last_tau);
        self.newton.damping = 1.0;
        loop {
            let last = tau <= last_tau * (1.0 + Tuning::SAME_SMOOTHING_SHARE);
            // Leaves a margin above the caps while smoothing keeps the pools of a single path from counting in full.
            let slack = 1.0 + Tuning::CAP_SLACK * (tau / gas.max(last_tau)).clamp(Tuning::CAP_SLACK_LEAST_SHARE, 1.0);
            let decrease = if last {
                Tuning::LAST_DECREASE * scale
            } else {
                (Tuning::EARLY_DECREASE * scale).max(Tuning::EARLY_DECREASE_SMOOTHING_SHARE * tau)
            };
            let (excess, steps, work) = (Tuning::BALANCED_SHARE * scale, Tuning::RELAX_STEPS, Tuning::RELAX_WORK);
            let tolerance = Tolerance { excess, decrease, steps, work };
            self.newton.minimise(sub, prices, Stage::Smooth { tau, slack }, scale, tolerance);
            if last || self.newton.is_spent(Tuning::RELAX_WORK) {
                return;
            }
            tau = (tau * Tuning::SMOOTHING_FALL).max(last_tau);
        }
    }

    /// Adds a surcharge to the gas of the pools that earn most, such that about as many pay as a route may use. Returns
    /// these pools and the prices that go with the surcharge; `None` if no more pay without one.
    pub(crate) fn dearer(&mut self, sub: &Subproblem<'p>, relaxed: &[f64]) -> Option<(Subproblem<'p>, Vec<f64>)> {
        let gain = |member: &Member<'p>| member.gain_within(sub, relaxed).unwrap_or(0.0);
        let mut gains: Vec<f64> = sub.members.iter().map(gain).filter(|gain| *gain > 0.0).collect();
        gains.sort_by(|a, b| b.total_cmp(a));
        // Starts from the profit of the first pool too many: without the weaker pools the others earn more.
        let mut surcharge = *gains.get(self.max_steps)?;
        let least = gains.get(Tuning::SURCHARGED_PER_ALLOWED_POOL * self.max_steps).copied().unwrap_or(0.0);
        let contends = |member: &&Member<'p>| member.gain_within(sub, relaxed) >= Some(least);
        let pools: Vec<u32> = sub.members.iter().filter(contends).map(|member| member.pair).collect();
        let few = Subproblem::new(self.problem, &pools, Some(&self.potentials.cap), &mut self.local);
        let relaxed_price = |token: &u32| sub.tokens.iter().position(|t| t == token).map_or(1.0, |at| relaxed[at]);
        let mut prices: Vec<f64> = few.tokens.iter().map(relaxed_price).collect();
        let (mut low, mut high, mut found) = (0.0_f64, f64::INFINITY, None);
        for _ in 0..Tuning::SURCHARGES {
            let mut dear = few.clone();
            for member in &mut dear.members {
                member.gas += surcharge;
            }
            let gas = Tuning::SWAP_GAS_UNITS * self.problem.gas_price + surcharge;
            self.newton.damping = Tuning::NEARBY_DAMPING;
            for tau in Tuning::SURCHARGE_SMOOTHING {
                let tolerance = Tolerance {
                    excess: Tuning::ROUGHLY_BALANCED_SHARE * self.scale,
                    decrease: Tuning::LAST_DECREASE * self.scale,
                    steps: Tuning::SURCHARGE_STEPS,
                    work: Tuning::RELAX_WORK,
                };
                let stage = Stage::Smooth { tau: (tau * gas).max(Tuning::LEAST_SMOOTHING * self.scale), slack: 1.0 };
                self.newton.minimise(&dear, &mut prices, stage, self.scale, tolerance);
            }
            let pays = |member: &&Member<'p>| {
                member.gain_within(&dear, &prices).is_some_and(|gain| gain > -Tuning::SURCHARGE_PAYS_SHARE * member.gas)
            };
            let active = dear.members.iter().filter(pays).count();
            if active > self.max_steps {
                low = surcharge;
                surcharge = if high.is_finite() { (low * high).sqrt() } else { Tuning::SURCHARGE_GROWTH * low };
            } else {
                found = Some((dear, prices.clone()));
                high = surcharge;
                if active * 10 >= self.max_steps * Tuning::SURCHARGE_FULL_TENTHS || low <= 0.0 {
                    break;
                }
                surcharge = (low * high).sqrt();
            }
        }
        found
    }

    /// Evaluates the dual over the whole market at the prices of some tokens; the others get prices near the start
    /// prices. Lists the pools that earn more than `least`.
    pub(crate) fn evaluate_at(
        &self,
        problem: &Problem<'_>,
        prices: impl Iterator<Item = (u32, f64)>,
        least: f64,
    ) -> (Evaluation, DualPrices) {
        let given = prices.map(|(token, price)| (token as usize, price));
        let dual_prices = DualPrices::of(problem, self.is_reachable, given, self.start);
        (evaluate(problem, self.is_reachable, &self.potentials.cap, &dual_prices, least), dual_prices)
    }

    /// Adds the tokens of the pools that earn most, as far as there is room (column generation); returns the new ones.
    pub(crate) fn add_tokens(&self, members: &mut [bool], earning: &[(f64, u32)]) -> Vec<usize> {
        let mut earning = earning.to_vec();
        earning.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut room = Tuning::MOST_TOKENS
            .saturating_sub(members.iter().filter(|member| **member).count())
            .min(Tuning::TOKENS_PER_ROUND);
        let mut fresh = Vec::new();
        for (_, pair) in &earning {
            for token in self.problem.prepared.graph().ends(*pair) {
                let member = &mut members[token as usize];
                if !*member && room > 0 {
                    room -= 1;
                    *member = true;
                    fresh.push(token as usize);
                }
            }
        }
        fresh
    }

    /// Returns a guess at the price of every token.
    pub(crate) fn guesses(&self) -> impl Fn(u32) -> f64 + use<'a, 'p> {
        let (start, standing) = (self.start, self.problem.prepared.standing());
        move |token| {
            let prices = [start[token as usize], standing.price(token as usize)];
            prices.into_iter().find(|price| *price > 0.0).unwrap_or(1.0)
        }
    }
}
