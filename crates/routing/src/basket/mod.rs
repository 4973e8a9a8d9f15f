//! Baskets: one to six inputs to one to six outputs by share of value, solved as one flow.
//!
//! Maximise the basket's value `V` net of gas, where output `k` is worth `share_k · V` at reference prices. For prices `ν`
//! at which a basket worth one costs one, `Σ share_k · ν_k / price_k = 1`, the dual is
//! `OPT ≤ Σ ν_j · amount_j + Σ max(0, profit(ν) − gas)`. Nobody decides which input pays for which output: prices do. The
//! relaxed dual and the rounding to pools are those of a single pair (`flow`, `rounding`), over all inputs and outputs at
//! once; what is particular to baskets is here (`docs/baskets.md`).

mod exact;
mod offer;

use std::cell::Cell;
use std::sync::Arc;

use braid_primitives::TokenId;

use crate::bound::board::PriceBoard;
use crate::bound::evaluate;
use crate::candidates::plans::{self, Plan};
use crate::plan;
use crate::prepare::active::ActiveTokens;
use crate::prepare::node;
use crate::problem::Problem;
use crate::problem::potentials::Potentials;
use crate::relax::{FlowSearch, Newton};
use crate::witness::Recorder;
use crate::{Certificate, Excluded, Prepared, Request, Solution, SolveError, Uncertified};

use crate::problem::reach::{self, Reach};
use crate::tuning::Tuning;
use exact::Candidate;

/// The best route for a basket, with its certificate.
///
/// # Errors
/// [`SolveError`] when an output has no reference price or cannot be reached, the market cannot take the amounts, or an
/// output would round to zero.
pub(crate) fn solve(
    prepared: &Prepared,
    request: &Request,
    recorder: Option<&Recorder>,
) -> Result<Solution, SolveError> {
    let mut problem = Problem { recorder, ..crate::problem::terms::problem(prepared, request)? };
    // First through the core of the market; then, where that leads nowhere, through all of it.
    problem.active = ActiveTokens::new(prepared, &problem.terms.ends(), problem.hops).map(Arc::new);
    if problem.active.is_some() {
        if let Ok(solution) = Solver::new(prepared, request, problem.clone()).answer() {
            return Ok(solution);
        }
        problem.active = None;
        if let Some(recorder) = recorder {
            recorder.replace(None);
        }
    }
    Solver::new(prepared, request, problem).answer()
}

struct Solver<'a> {
    prepared: &'a Prepared,
    request: &'a Request,
    problem: Problem<'a>,
    reach: Reach,
    /// Whether a plan was turned down because its route would use more gas than a transaction may.
    too_much_gas: Cell<bool>,
}

impl<'a> Solver<'a> {
    fn new(prepared: &'a Prepared, request: &'a Request, problem: Problem<'a>) -> Self {
        let reach = Reach::new(&problem);
        Self { prepared, request, problem, reach, too_much_gas: Cell::new(false) }
    }

    fn answer(&self) -> Result<Solution, SolveError> {
        self.reachable()?;
        self.solve()
    }

    /// Whether every output can be reached from an input, and every input leads to an output.
    fn reachable(&self) -> Result<(), SolveError> {
        let supplies = &self.problem.terms.supplies;
        for (output, worth) in self.request.outputs.iter().map(|(token, _)| (*token, self.worth_towards(*token))) {
            if !supplies.iter().any(|(input, _)| worth[*input as usize] > 0.0) {
                return Err(SolveError::NoRoute(output));
            }
        }
        if let Some((token, _)) = supplies.iter().find(|(input, _)| self.reach.worth[*input as usize] <= 0.0) {
            let input = self.request.inputs.iter().find(|(input, _)| node(*input) == *token as usize);
            return Err(SolveError::NoRoute(input.map_or(TokenId(*token), |(input, _)| *input)));
        }
        Ok(())
    }

    fn worth_towards(&self, output: TokenId) -> &[f64] {
        let at = self.problem.terms.weights.iter().position(|(token, _)| *token as usize == node(output));
        at.and_then(|at| self.reach.towards.get(at)).map_or(&[], Vec::as_slice)
    }

    fn solve(&self) -> Result<Solution, SolveError> {
        let value = self.problem.terms.supplied_value(&self.reach.worth);
        let start = self.reach.start_prices(&self.problem);
        let mut best: Option<Candidate> = None;
        let plans = plans::plans(&self.problem, &self.reach, 1);
        self.try_plans(&plans, &start, value, &mut best);
        let universe = self.universe(value, best.as_ref());
        let (mut universe, mut bound) = self.split_and_reopen(universe, &start, value, &mut best);
        let far = best.as_ref().is_none_or(|found| bound - found.net > Tuning::PLAN_PARTS_GAP * bound.abs());
        if far {
            let parts = plans::plans(&self.problem, &self.reach, Tuning::PLAN_PARTS);
            let before = best.as_ref().map(|found| found.net);
            self.try_plans(&parts, &start, value, &mut best);
            if best.as_ref().map(|found| found.net) > before {
                if let Some(recorder) = self.problem.recorder {
                    recorder.replace(None);
                }
                let wider = self.universe(value, best.as_ref());
                (universe, bound) = self.split_and_reopen(wider, &start, value, &mut best);
            }
        }
        if self.too_much_gas.get() {
            self.save_gas(&universe, bound, &start, value, &mut best);
        }
        let Some(found) = best else { return Err(self.why_nothing(value)) };
        let (pools_visited, certificate) = self.certificate(&universe, bound, &found);
        Ok(Solution { route: found.route, certificate, pools_visited })
    }

    /// Balances the pools of each plan, and keeps the best exact route; a plan that does not balance runs as it is.
    fn try_plans(&self, plans: &[Plan], start: &[f64], value: f64, best: &mut Option<Candidate>) {
        let potentials = self.reach.potentials();
        let mut search = self.search(&self.problem, &potentials, start, value);
        let mut tried: Vec<Vec<u32>> = Vec::new();
        for plan in plans {
            let mut pools: Vec<u32> = plan.flows.iter().map(|flow| flow.pair).collect();
            pools.sort_unstable();
            if tried.contains(&pools) {
                continue;
            }
            let guesses = |token: u32| search_guess(start, self.prepared, token);
            if let Some(fixed) = search.fixed(&pools, &guesses, 1e-9 * value) {
                let flows = exact::completed(&self.problem, &fixed.flows, &plan.flows);
                self.offer(&self.problem, &flows, None, best);
            }
            self.offer(&self.problem, &plan.flows, Some(&plan.kept), best);
            tried.push(pools);
        }
    }

    fn search<'s, 'p>(
        &'s self,
        problem: &'s Problem<'p>,
        potentials: &'s Potentials,
        start: &'s [f64],
        value: f64,
    ) -> FlowSearch<'s, 'p> {
        FlowSearch {
            problem,
            potentials,
            alive: &self.reach.alive,
            start,
            scale: value.max(problem.gas_price),
            ceiling: f64::INFINITY,
            // Some may be added for inputs that a flow leaves where they are.
            max_pools: plan::most_pools(self.prepared, self.request)
                .saturating_sub(problem.terms.supplies.len())
                .max(1),
            newton: Newton::default(),
            local: vec![u32::MAX; start.len()],
        }
    }

    /// Looks for a better flow over the universe; then, if pools that were set aside would earn their gas at the prices found,
    /// for one with those. Gives the universe that the best flow needs, and a bound over it.
    fn split_and_reopen<'u>(
        &'u self,
        mut universe: Problem<'u>,
        start: &[f64],
        value: f64,
        best: &mut Option<Candidate>,
    ) -> (Problem<'u>, f64) {
        let (bound, prices, caps) = self.split(&universe, start, value, best);
        let mut earning = evaluate::earning_outside(&self.problem, &universe, &caps, &prices);
        let sum: f64 = earning.iter().map(|(earned, _)| earned).sum();
        let before = best.as_ref().map_or(0.0, |found| found.net);
        if earning.is_empty()
            || sum <= (Tuning::REOPEN_TRADE_SHARE * bound).max(Tuning::BASKET_REOPEN_GAP_SHARE * (bound - before))
        {
            return (universe, bound);
        }
        earning.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        earning.truncate(Tuning::BASKET_REOPENED);
        self.try_with(&universe, &earning, &prices, value, best);
        if best.as_ref().is_none_or(|found| found.net <= before) {
            return (universe, bound);
        }
        for flow in best.iter().flat_map(|found| exact::flows_of(self.prepared, &found.route)) {
            universe.closed[flow.pair as usize] = false;
        }
        if let Some(recorder) = self.problem.recorder {
            recorder.replace(None);
        }
        let (bound, ..) = self.split(&universe, start, value, best);
        (universe, bound)
    }

    /// Looks for a better flow among the tokens of the best route and of pools that the universe leaves out, with these open.
    fn try_with(
        &self,
        universe: &Problem<'_>,
        pools: &[(f64, u32)],
        prices: &[f64],
        value: f64,
        best: &mut Option<Candidate>,
    ) {
        let mut wider = universe.clone();
        for (_, pair) in pools {
            wider.closed[*pair as usize] = false;
        }
        let mut potentials = self.reach.potentials();
        self.tighten(&wider, &mut potentials, best.as_ref().map_or(0.0, |found| found.net));
        let chain = best.as_ref().map_or_else(Vec::new, |found| exact::flows_of(self.prepared, &found.route));
        let ends = pools.iter().flat_map(|(_, pair)| self.prepared.graph().ends(*pair));
        let tokens = chain.iter().flat_map(|flow| [flow.from, flow.to]).chain(ends);
        let flows = self.search(&wider, &potentials, prices, value).among(tokens, &chain).flows;
        if !flows.is_empty() {
            let flows = exact::completed(&wider, &flows, &chain);
            self.offer(&wider, &flows, None, best);
        }
    }

    /// Looks for a better flow over the universe; gives a bound on every route over it, and the prices and caps found.
    fn split(
        &self,
        universe: &Problem<'_>,
        start: &[f64],
        value: f64,
        best: &mut Option<Candidate>,
    ) -> (f64, Vec<f64>, Vec<f64>) {
        let net = best.as_ref().map_or(0.0, |found| found.net);
        let mut potentials = self.reach.potentials();
        self.tighten(universe, &mut potentials, net);
        let mut board = PriceBoard::new(start.len());
        for end in universe.terms.ends() {
            board.set(end, start[end]);
        }
        board.fill(universe, &self.reach.alive, start);
        let bound = evaluate::evaluate(universe, &self.reach.alive, &potentials.cap, &board, f64::INFINITY).bound;
        let chain = best.as_ref().map_or_else(Vec::new, |found| exact::flows_of(self.prepared, &found.route));
        let mut search = self.search(universe, &potentials, start, value);
        let found = search.run(&chain, net, bound);
        if !found.flows.is_empty() {
            let flows = exact::completed(universe, &found.flows, &chain);
            self.offer(universe, &flows, None, best);
        }
        (found.bound, found.prices, potentials.cap.clone())
    }

    /// The problem over the pools that the bound covers: without those out of line, but with those of the best route.
    fn universe(&self, value: f64, best: Option<&Candidate>) -> Problem<'_> {
        let standing = self.prepared.standing();
        let mut universe = self.problem.clone();
        let smallest = Tuning::SET_ASIDE_TRADE_SHARE * value;
        let ends = universe.terms.ends();
        let mut closed = vec![false; self.prepared.pair_count()];
        closed[..universe.closed.len()].copy_from_slice(&universe.closed);
        for &id in standing.removed() {
            let Some(curve) = self.problem.curve(id) else { continue };
            let gas = curve.gas_units * self.problem.gas_price;
            let aside = standing.out_of_line(id as usize) > (gas * Tuning::SET_ASIDE_GAS_SHARE).max(smallest);
            let matters = || {
                let mut sides = self.prepared.graph().ends(id).into_iter().enumerate();
                sides
                    .any(|(side, end)| ends.contains(&(end as usize)) && standing.matters_to(curve, side, end as usize))
            };
            closed[id as usize] |= aside && !matters();
        }
        for flow in best.iter().flat_map(|found| exact::flows_of(self.prepared, &found.route)) {
            closed[flow.pair as usize] = false;
        }
        if closed.contains(&true) {
            universe.closed = closed;
        }
        universe
    }

    /// Tightens the caps to the most value, at prices without arbitrage, that a route better than `net` can hold: what it
    /// collects in arbitrage on its way has to leave room for the gas that it pays.
    fn tighten(&self, universe: &Problem<'_>, potentials: &mut Potentials, net: f64) {
        let standing = self.prepared.standing();
        let price = |token: u32| standing.price(token as usize);
        let terms = &universe.terms;
        let known = terms.supplies.iter().chain(&terms.weights).all(|(token, _)| price(*token) > 0.0);
        if !known || universe.gas_price <= 0.0 {
            return;
        }
        // Value as the objective counts it, from value at these prices.
        let scale: f64 = terms.weights.iter().map(|(token, weight)| price(*token) * weight).sum();
        let value_in: f64 = terms.supplies.iter().map(|(token, amount)| price(*token) * amount).sum();
        let slack = (value_in - net * scale).max(0.0);
        let (mut ratio, mut free) = (0.0_f64, 0.0_f64);
        for &id in standing.earning().iter().filter(|id| universe.is_open(**id)) {
            let profit = standing.profit(id as usize);
            let gas = universe.curve(id).map_or(0.0, |curve| curve.gas_units) * universe.gas_price * scale;
            if profit < Tuning::LEAN_GAS_SHARE * gas {
                ratio = ratio.max(profit / (gas - profit));
            } else {
                free += profit;
            }
        }
        let held = (value_in + free + (slack + free) * ratio) * Tuning::FAR_OUTWARD;
        for (token, cap) in potentials.cap.iter_mut().enumerate() {
            let most = held / standing.price(token) * Tuning::OUTWARD;
            *cap = cap.min(most);
        }
    }

    fn why_nothing(&self, value: f64) -> SolveError {
        let terms = &self.problem.terms;
        let little = |(token, amount): &(u32, f64)| {
            let arrives = self.reach.towards.iter().zip(&terms.weights);
            let arrives = arrives
                .map(|(worth, (output, _))| worth[*token as usize] * amount / reach::reference(&self.problem, *output));
            arrives.fold(0.0, f64::max) < 2.0
        };
        let dust = terms.weights.iter().any(|(_, weight)| weight * value < 2.0) || terms.supplies.iter().any(little);
        if dust { SolveError::AmountTooSmall } else { SolveError::InsufficientLiquidity }
    }

    /// How many pools lie between live tokens, and the certificate.
    fn certificate(
        &self,
        universe: &Problem<'_>,
        bound: f64,
        found: &Candidate,
    ) -> (u32, Result<Certificate, Uncertified>) {
        let alive = |end: &u32| self.reach.alive.get(*end as usize).copied().unwrap_or(false);
        let (mut covered, mut visited, mut last) = (0, 0, (None, None));
        let (mut filtered, mut aside, mut left_out) = (0_u32, 0_u32, None);
        for (id, pair) in (0_u32..).zip(self.prepared.pairs().list()) {
            if universe.curve(id).is_none() {
                continue;
            }
            if !universe.is_open(id) {
                let fresh = u32::from(left_out != Some(pair.pool) && last.0 != Some(pair.pool));
                left_out = Some(pair.pool);
                *(if self.problem.is_open(id) { &mut aside } else { &mut filtered }) += fresh;
                continue;
            }
            // The pairs of a pool are neighbours.
            covered += u32::from(last.0 != Some(pair.pool));
            last.0 = Some(pair.pool);
            if self.prepared.graph().ends(id).iter().all(alive) {
                visited += u32::from(last.1 != Some(pair.pool));
                last.1 = Some(pair.pool);
            }
        }
        let priced = self.request.outputs.iter().all(|(token, _)| self.prepared.wei_per_unit(node(*token)).is_some());
        // What integers left over beyond the shares is worth something to the taker: it counts on both sides.
        let surplus = found.gross - found.gas - found.net;
        let excluded = Excluded { standing_arbitrage: aside, filtered, max_hops: self.request.max_hops };
        let certificate = if priced {
            Certificate::new(bound + surplus, found.net + surplus, found.gross, covered, excluded)
        } else {
            Err(Uncertified::NoReferencePrice)
        };
        (visited, certificate)
    }
}

/// A guess at any token's price.
fn search_guess(start: &[f64], prepared: &Prepared, token: u32) -> f64 {
    let settled = prepared.standing().price(token as usize);
    [start[token as usize], settled].into_iter().find(|price| *price > 0.0).unwrap_or(1.0)
}
