//! The split flow: from the relaxed dual to a set of pools, and from that to amounts.

use crate::board::PriceBoard;
use crate::branch::Judged;
use crate::certify;
use crate::dual::{Member, Newton, RELAX_BUDGET, Stage, Subproblem, Tolerance};
use crate::fixed::Fixed;
use crate::potentials::Potentials;
use crate::prepare::index32;
use crate::problem::{Flow, Problem};
use crate::rounding;

/// Tokens that the first subproblem takes besides those of the best chain.
const FIRST_TOKENS: usize = 24;
/// Most tokens of a subproblem.
const MOST_TOKENS: usize = 160;
/// Most tokens that one round takes in.
const GROWTH: usize = 48;
/// Most rounds of taking in tokens whose pools earn more than their gas.
const ROUNDS: usize = 8;
/// Gas of a plain swap, for scale.
pub(crate) const SWAP_GAS_UNITS: f64 = 80_000.0;
/// Surcharges tried, and over how many pools: those that earn most, as a multiple of how many a route may use.
const SURCHARGES: usize = 6;
const CONTENDERS: usize = 3;
/// What floating point may add to the value of a flow, as a share.
const ROUNDED: f64 = 5e-3;
/// Where smoothing ends, as a share of a swap's gas.
const LAST_TAU: f64 = 0.01;

/// The best flow found, and the least bound.
pub(crate) struct Found<'p> {
    pub(crate) flows: Vec<Flow>,
    pub(crate) bound: f64,
    /// Prices of all tokens at the flow found.
    pub(crate) prices: Vec<f64>,
    /// The least value of the dual over the whole market, and the prices of all tokens at which it has it.
    pub(crate) tightest: (f64, PriceBoard),
    /// The relaxed problem to ask about pools of; none where the number of pools is what limits the flow.
    pub(crate) relaxed: Option<Relaxed<'p>>,
}

/// The tokens and pools that matter to a flow, the relaxed prices of these tokens, and the dual there.
pub(crate) struct Relaxed<'p> {
    pub(crate) sub: Subproblem<'p>,
    pub(crate) prices: Vec<f64>,
    pub(crate) at: Judged,
}

/// A flow among few tokens, the relaxed problem there and its prices.
pub(crate) struct Among<'p> {
    pub(crate) flows: Vec<Flow>,
    pub(crate) sub: Subproblem<'p>,
    pub(crate) prices: Vec<f64>,
    /// Whether the number of pools is what limits the flow.
    pub(crate) is_full: bool,
}

/// One problem on the way to its flow.
pub(crate) struct FlowSearch<'a, 'p> {
    pub(crate) problem: &'a Problem<'p>,
    pub(crate) potentials: &'a Potentials,
    pub(crate) alive: &'a [bool],
    /// Start prices of all tokens.
    pub(crate) start: &'a [f64],
    /// Value of the whole trade.
    pub(crate) scale: f64,
    /// What no flow is worth more than; infinite where nothing is known.
    pub(crate) ceiling: f64,
    /// Most pools of a flow.
    pub(crate) max_pools: usize,
    pub(crate) newton: Newton,
    /// Scratch: one entry per token, all `u32::MAX`.
    pub(crate) local: Vec<u32>,
}

impl<'p> FlowSearch<'_, 'p> {
    /// From the start prices, among the tokens that promise most. `chain` is the best single chain, whose value net of gas is
    /// `net`; `bound` is the least bound known.
    pub(crate) fn run(&mut self, chain: &[Flow], net: f64, bound: f64) -> Found<'p> {
        let members = self.first_tokens(chain, net, bound);
        self.run_among(members, true, chain, bound)
    }

    /// From prices at which a problem with fewer pools has its least value, among the tokens that mattered there, those of
    /// the best route known, and the ends.
    pub(crate) fn run_again(&mut self, tokens: &[usize], chain: &[Flow]) -> Found<'p> {
        let mut members = vec![false; self.local.len()];
        let met = chain.iter().flat_map(|flow| [flow.from as usize, flow.to as usize]);
        for token in tokens.iter().copied().chain(met).chain(self.problem.terms.ends()) {
            members[token] = true;
        }
        self.run_among(members, false, chain, f64::INFINITY)
    }

    fn run_among(&mut self, mut members: Vec<bool>, from_afar: bool, chain: &[Flow], bound: f64) -> Found<'p> {
        let mut prices: Vec<f64> = (0..self.node_count()).map(|token| self.guess(token)).collect();
        let mut least = bound;
        let mut tightest = (f64::INFINITY, PriceBoard::new(0));
        let mut sub = Subproblem::default();
        let mut at = Judged { board: PriceBoard::new(0), dual: f64::INFINITY };
        for round in 0..ROUNDS {
            let pools = self.pools_among(&members);
            sub = Subproblem::new(self.problem, &pools, &self.potentials.cap, &mut self.local);
            let mut local: Vec<f64> = sub.tokens.iter().map(|token| prices[*token as usize]).collect();
            self.relax(&sub, &mut local, from_afar && round == 0);
            for (token, price) in sub.tokens.iter().zip(&local) {
                prices[*token as usize] = *price;
            }
            let (found, board) = self.bound_at(&sub, &local);
            at = Judged { board: board.clone(), dual: found.bound };
            least = least.min(found.bound);
            if found.bound < tightest.0 {
                tightest = (found.bound, board.clone());
            }
            if round + 1 == ROUNDS || self.newton.is_spent(RELAX_BUDGET) {
                break;
            }
            let fresh = self.take_in(&mut members, &found.earning);
            if fresh.is_empty() {
                break;
            }
            for token in fresh.into_iter().filter(|token| board.price[*token] > 0.0) {
                prices[token] = board.price[token];
            }
        }
        let relaxed: Vec<f64> = sub.tokens.iter().map(|token| prices[*token as usize]).collect();
        self.ceiling = self.ceiling.min(least);
        let dear = self.dearer(&sub, &relaxed);
        let rounded = rounding::round(self, &sub, &relaxed, dear.as_ref(), chain);
        let Some(fixed) = rounded else {
            return Found { flows: Vec::new(), bound: least, prices, tightest, relaxed: None };
        };
        let mut board = PriceBoard::new(self.local.len());
        for (token, price) in sub.tokens.iter().zip(&relaxed).chain(fixed.sub.tokens.iter().zip(&fixed.prices)) {
            board.set(*token as usize, *price);
        }
        board.fill(self.problem, self.alive, self.start);
        let last = certify::evaluate(self.problem, self.alive, &self.potentials.cap, &board, f64::INFINITY);
        least = least.min(last.bound);
        if last.bound < tightest.0 {
            tightest = (last.bound, board.clone());
        }
        let relaxed = dear.is_none().then_some(Relaxed { sub, prices: relaxed, at });
        Found { flows: fixed.flows, bound: least, prices: board.price, tightest, relaxed }
    }

    /// The best flow found over the open pools among a few tokens and the ends, with no bound; `start` holds prices near it.
    pub(crate) fn among(&mut self, tokens: impl Iterator<Item = u32>, chain: &[Flow]) -> Among<'p> {
        let mut members = vec![false; self.local.len()];
        for token in tokens.map(|token| token as usize).chain(self.problem.terms.ends()) {
            members[token] = true;
        }
        let pools = self.pools_among(&members);
        let sub = Subproblem::new(self.problem, &pools, &self.potentials.cap, &mut self.local);
        let mut relaxed: Vec<f64> = sub.tokens.iter().map(|token| self.guess(*token)).collect();
        self.relax(&sub, &mut relaxed, false);
        let dear = self.dearer(&sub, &relaxed);
        let rounded = rounding::round(self, &sub, &relaxed, dear.as_ref(), chain);
        let flows = rounded.map_or_else(Vec::new, |fixed| fixed.flows);
        Among { flows, sub, prices: relaxed, is_full: dear.is_some() }
    }

    /// The inputs, the outputs, the chain's tokens, and those that promise most by depth and distance from the best price.
    fn first_tokens(&self, chain: &[Flow], net: f64, bound: f64) -> Vec<bool> {
        let mut members = vec![false; self.local.len()];
        for end in self.problem.terms.ends() {
            members[end] = true;
        }
        for flow in chain {
            members[flow.from as usize] = true;
            members[flow.to as usize] = true;
        }
        let (worth, cap) = (&self.potentials.worth, &self.potentials.cap);
        let whole = self.problem.terms.supplied_value(worth);
        let allowed = (2.2 * (bound - net) / bound).min(0.98);
        let gas = 0.9 * SWAP_GAS_UNITS * self.problem.gas_price;
        let promise = |token: usize| {
            let loss = 1.0 - cap[token] * worth[token] / whole;
            let slack = allowed - loss;
            let depth = self.problem.prepared.node_depth_wei(token) * 100.0;
            (slack > 0.0).then_some(depth * slack * slack * 0.25).filter(|value| *value > gas)
        };
        let tokens = (0..members.len()).filter(|t| self.alive[*t] && worth[*t] > 0.0 && !members[*t]);
        let mut promising: Vec<(f64, usize)> = tokens.filter_map(|t| Some((promise(t)?, t))).collect();
        promising.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for (_, token) in promising.iter().take(FIRST_TOKENS) {
            members[*token] = true;
        }
        members
    }

    fn pools_among(&self, members: &[bool]) -> Vec<u32> {
        let graph = self.problem.prepared.graph();
        let tokens = (0..members.len()).filter(|token| members[*token]);
        // Each pool once: from the end with the lower number.
        let pools = tokens.flat_map(|token| {
            let below = move |arrow: &&crate::prepare::Arrow| token < arrow.to as usize && members[arrow.to as usize];
            graph.arrows(token).iter().filter(below).map(|arrow| arrow.pair)
        });
        pools.filter(|pair| self.problem.is_open(*pair)).collect()
    }

    /// Newton along falling smoothness.
    fn relax(&mut self, sub: &Subproblem<'p>, prices: &mut [f64], first: bool) {
        let (scale, gas) = (self.scale, SWAP_GAS_UNITS * self.problem.gas_price);
        let last_tau = (LAST_TAU * gas).max(1e-10 * scale);
        let start = if first { gas.max(1e-6 * scale) } else { (0.1 * gas).max(1e-8 * scale) };
        let mut tau = start.max(last_tau);
        self.newton.damping = 1.0;
        loop {
            let last = tau <= last_tau * 1.01;
            // Some room above the caps while smoothing keeps a lone chain's pools from counting in full.
            let slack = 1.0 + 0.1 * (tau / gas.max(last_tau)).clamp(0.01, 1.0);
            let decrease = if last { 1e-9 * scale } else { (1e-6 * scale).max(0.02 * tau) };
            let tolerance = Tolerance { excess: 1e-9 * scale, decrease, steps: 40 };
            self.newton.minimise(sub, prices, Stage::Smooth { tau, slack }, scale, tolerance);
            if last || self.newton.is_spent(RELAX_BUDGET) {
                return;
            }
            tau = (tau * 0.1).max(last_tau);
        }
    }

    /// The pools that earn most, with a surcharge on the gas of each such that about as many pay as a route may use, and the
    /// prices that go with it; `None` where no more pay without.
    fn dearer(&mut self, sub: &Subproblem<'p>, relaxed: &[f64]) -> Option<(Subproblem<'p>, Vec<f64>)> {
        let gain = |member: &Member<'p>| rounding::member_gain_within(member, sub, relaxed).unwrap_or(0.0);
        let mut gains: Vec<f64> = sub.members.iter().map(gain).filter(|gain| *gain > 0.0).collect();
        gains.sort_by(|a, b| b.total_cmp(a));
        // Where pools are left out the others earn more: the surcharge has to be above what the first one too many earns.
        let mut surcharge = *gains.get(self.max_pools)?;
        let least = gains.get(CONTENDERS * self.max_pools).copied().unwrap_or(0.0);
        let contends = |member: &&Member<'p>| rounding::member_gain_within(member, sub, relaxed) >= Some(least);
        let pools: Vec<u32> = sub.members.iter().filter(contends).map(|member| member.pair).collect();
        let few = Subproblem::new(self.problem, &pools, &self.potentials.cap, &mut self.local);
        let relaxed_price = |token: &u32| sub.tokens.iter().position(|t| t == token).map_or(1.0, |at| relaxed[at]);
        let mut prices: Vec<f64> = few.tokens.iter().map(relaxed_price).collect();
        let (mut low, mut high, mut found) = (0.0_f64, f64::INFINITY, None);
        for _ in 0..SURCHARGES {
            let mut dear = few.clone();
            for member in &mut dear.members {
                member.gas += surcharge;
            }
            let gas = SWAP_GAS_UNITS * self.problem.gas_price + surcharge;
            self.newton.damping = 1e-2;
            for tau in [0.1, LAST_TAU] {
                let tolerance = Tolerance { excess: 1e-7 * self.scale, decrease: 1e-9 * self.scale, steps: 20 };
                let stage = Stage::Smooth { tau: (tau * gas).max(1e-10 * self.scale), slack: 1.0 };
                self.newton.minimise(&dear, &mut prices, stage, self.scale, tolerance);
            }
            let pays = |member: &&Member<'p>| {
                rounding::member_gain_within(member, &dear, &prices).is_some_and(|gain| gain > -0.03 * member.gas)
            };
            let active = dear.members.iter().filter(pays).count();
            if active > self.max_pools {
                low = surcharge;
                surcharge = if high.is_finite() { (low * high).sqrt() } else { 2.5 * low };
            } else {
                found = Some((dear, prices.clone()));
                high = surcharge;
                if active * 10 >= self.max_pools * 9 || low <= 0.0 {
                    break;
                }
                surcharge = (low * high).sqrt();
            }
        }
        found
    }

    fn bound_at(&self, sub: &Subproblem<'p>, prices: &[f64]) -> (certify::Evaluation, PriceBoard) {
        let mut board = PriceBoard::new(self.local.len());
        for (token, price) in sub.tokens.iter().zip(prices) {
            board.set(*token as usize, *price);
        }
        board.fill(self.problem, self.alive, self.start);
        let found = certify::evaluate(self.problem, self.alive, &self.potentials.cap, &board, 1e-8 * self.scale);
        (found, board)
    }

    /// Adds the tokens of the pools that earn most, as far as there is room; those that are new.
    fn take_in(&self, members: &mut [bool], earning: &[(f64, u32)]) -> Vec<usize> {
        let mut earning = earning.to_vec();
        earning.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut room = MOST_TOKENS.saturating_sub(members.iter().filter(|member| **member).count()).min(GROWTH);
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

    /// The best flow over exactly these pools; see [`Fixed::solve`].
    pub(crate) fn fixed(&mut self, pools: &[u32], start: &dyn Fn(u32) -> f64, excess: f64) -> Option<Fixed<'p>> {
        let found = Fixed::solve(self.problem, &mut self.newton, &mut self.local, pools, start, self.scale, excess)?;
        // Where prices ran off towards zero everything seems balanced, and worth more than anything can be.
        (found.net <= self.ceiling * (1.0 + ROUNDED)).then_some(found)
    }

    /// A guess at any token's price.
    pub(crate) fn guess(&self, token: u32) -> f64 {
        let start = self.start[token as usize];
        let settled = self.problem.prepared.standing().price(token as usize);
        [start, settled].into_iter().find(|price| *price > 0.0).unwrap_or(1.0)
    }

    /// How many tokens there are.
    pub(crate) fn node_count(&self) -> u32 {
        index32(self.local.len())
    }
}

#[cfg(test)]
mod tests {
    use braid_primitives::U256;

    use super::*;
    use crate::testing::{prepared, problem, token};

    #[test]
    fn a_set_of_pools_whose_prices_ran_off_is_worth_nothing() {
        const ETHER: u128 = 10_u128.pow(18);
        let market = prepared(&[((1, 2), [1_000 * ETHER; 2]), ((2, 0), [1_000 * ETHER; 2])]);
        let problem = problem(&market, token(1), U256::from(10 * ETHER), token(0));
        let potentials = Potentials::new(&problem, 1.0);
        let bound = potentials.bound(&problem);
        let mut search = FlowSearch {
            problem: &problem,
            potentials: &potentials,
            alive: &[],
            start: &[],
            scale: bound,
            ceiling: bound,
            max_pools: 40,
            newton: Newton::default(),
            local: vec![u32::MAX; 4],
        };
        // The wrapper of ether is pair 0.
        let sane = search.fixed(&[1, 2], &|_| 1.0, 1e-9 * bound).map(|found| found.net / bound);
        assert!(sane.is_some_and(|share| (0.9..1.0).contains(&share)), "{sane:?}");
        // At prices next to nothing all that the last pool holds is paid for next to nothing.
        let start = |place: u32| if place as usize == token(0).index() { 1.0 } else { 1e-30 };
        assert!(search.fixed(&[1, 2], &start, 1e-9 * bound).is_none());
    }
}
