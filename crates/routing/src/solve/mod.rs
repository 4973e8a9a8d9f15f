//! The stages of a request, one file each: first routes, the value that a route can hold, splits, exact routes,
//! simplification. This file runs them and states the certificate.
//!
//! A request has one to six inputs, and one to six outputs by share of value; a pair is a basket of one input and one
//! output. The solver maximises the basket's value `V` net of gas, where output `k` is worth `share_k · V` at reference
//! prices. For prices `ν` at which a basket worth one costs one, `Σ share_k · ν_k / price_k = 1`, the dual is
//! `OPT ≤ Σ ν_j · amount_j + Σ max(0, profit(ν) − gas)`. No input is assigned to an output: prices decide
//! (`docs/internals/baskets.md`). With one input and one output, nothing flows into the input or out of the output;
//! some stages use that.

mod detours;
mod first;
mod held;
mod layered;
mod offer;
mod pairs;
mod parts;
mod save_gas;
mod simple_plans;
mod simpler;
mod split;
mod surplus;
mod thin;

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use braid_primitives::U256;

use self::layered::{LayeredTask, Narrowed};
use crate::candidates::walk;
use crate::exact::candidate::Candidate;
use crate::exact::valuation;
use crate::path::{PathLimits, best_paths};
use crate::plan;
use crate::prepare::active::{ActiveTokens, is_large};
use crate::problem::Problem;
use crate::problem::potentials::Potentials;
use crate::problem::support::{Support, longest_path};
use crate::threads::{Busy, Helper};
use crate::tuning::Tuning;
use crate::witness::Recorder;
use crate::{Certificate, Excluded, Prepared, Request, Solution, SolveError, Uncertified, Witness};

/// Finds the best route for a request, with its certificate.
///
/// Deterministic: the same market, request and version give the same bytes.
///
/// # Errors
/// [`SolveError`] if there is no route, one of several outputs has no reference price, the market cannot take the
/// amounts, or an output would round to zero.
pub fn solve(prepared: &Prepared, request: &Request) -> Result<Solution, SolveError> {
    recorded(prepared, request, None, Effort::Full)
}

/// Solves as [`solve`] does, but less thoroughly where the amount is beyond the market's liquidity.
///
/// # Errors
/// As [`solve`].
pub(crate) fn solve_quickly(prepared: &Prepared, request: &Request) -> Result<Solution, SolveError> {
    recorded(prepared, request, None, Effort::Quick)
}

/// Whether the searches beyond the market's liquidity are tried.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Effort {
    Quick,
    Full,
}

/// Solves as [`solve`] does, and returns what a third party needs to recompute the bound; the route and the certificate
/// are the same.
///
/// The witness's bound is the dual with one price per token. The certificate's can be less: a little if counting pools
/// closed the gap further, a lot if prices disagree. `None` if there is no certificate, or if the witness's bound is
/// far above it.
///
/// # Errors
/// As [`solve`].
pub fn explain(prepared: &Prepared, request: &Request) -> Result<(Solution, Option<Witness>), SolveError> {
    let recorder = Recorder::default();
    let solution = recorded(prepared, request, Some(&recorder), Effort::Full)?;
    let certificate = solution.certificate.as_ref().ok();
    let witness = recorder.replace(None).filter(|witness| certificate.is_some_and(|c| witness.says_something(c)));
    Ok((solution, witness))
}

/// Solves a request, and records the prices of bounds if a recorder is given.
fn recorded(
    prepared: &Prepared,
    request: &Request,
    recorder: Option<&Recorder>,
    effort: Effort,
) -> Result<Solution, SolveError> {
    let _busy = Busy::this_thread();
    let mut problem = Problem { recorder, ..Problem::new(prepared, request)? };
    if problem.is_pair() && problem.source == problem.target {
        return convert_only(prepared, request);
    }
    // Searches first through the core of the market; if that finds no route, through the whole market.
    problem.active =
        ActiveTokens::new(prepared, &problem.terms.ends(), problem.hops, problem.token_count).map(Arc::new);
    if problem.active.is_some() {
        if let Ok(solution) = Solver::new(prepared, request, problem.clone()).solve(effort) {
            return Ok(solution);
        }
        problem.active = None;
        if let Some(recorder) = recorder {
            recorder.replace(None);
        }
    }
    Solver::new(prepared, request, problem).solve(effort)
}

/// Answers a request for ether to wrapped ether or back, where there is nothing to choose.
fn convert_only(prepared: &Prepared, request: &Request) -> Result<Solution, SolveError> {
    let output = request.outputs.first().map(|(token, _)| *token);
    let no_route = |_| SolveError::NoRoute(output.unwrap_or(braid_market::Tokens::WETH));
    let route = plan::replay(prepared, request, &[], &[]).map_err(no_route)?;
    let value = valuation::net_value_wei(prepared, request, &route);
    let excluded = Excluded { max_hops: request.max_hops, ..Excluded::default() };
    let certificate = value.ok_or(Uncertified::NoReferencePrice);
    let certificate =
        certificate.and_then(|achieved| Certificate::new(achieved, achieved, achieved.abs(), 1, excluded));
    Ok(Solution { route, certificate, pools_visited: 1 })
}

/// The state of one solve.
struct Solver<'a> {
    prepared: &'a Prepared,
    request: &'a Request,
    problem: Problem<'a>,
    /// Caps and worths of all tokens, over all open pools.
    potentials: Arc<Potentials>,
    /// Whether a pair is worth less than its gas.
    is_below_gas: bool,
    /// Whether a route was rejected because it uses more gas than a transaction may.
    exceeded_gas: Cell<bool>,
    /// These routes.
    over_gas: RefCell<Vec<Candidate>>,
    /// Whether a route stayed within that.
    fitted_gas: Cell<bool>,
    /// A bound on the routes of a pair in which no chain of steps is longer than a path may be: what all searches but the
    /// simple plans look for. Infinite if it is not known.
    chain_bound: Cell<f64>,
    /// The least dual of a pair over all open pools: it limits what one path may pay for a share.
    tightest: RefCell<Option<Tightest>>,
    /// The tokens that the first split of a pair ended with; empty if it ended before its search.
    searched: RefCell<Vec<Searched>>,
}

/// A token that the first split ended with.
#[derive(Clone, Copy, Debug)]
struct Searched {
    token: u32,
    price: f64,
    /// The most of it that a route can hold.
    cap: f64,
}

/// Returns the route that is worth more; of equals the first.
fn better_of(one: Option<Candidate>, other: Option<Candidate>) -> Option<Candidate> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.net > one.net { other } else { one }),
        (one, other) => one.or(other),
    }
}

/// Returns the value of a route net of gas.
fn net_of(best: Option<&Candidate>) -> Option<f64> {
    best.map(|found| found.net)
}

/// Returns whether a bound is above a value by more than a share of the bound; true without a value.
fn exceeds(bound: f64, net: Option<f64>, share: f64) -> bool {
    net.is_none_or(|net| bound - net > share * bound.abs())
}

/// The least dual known, and the prices of all tokens there.
#[derive(Clone, Debug)]
struct Tightest {
    dual: f64,
    price: Arc<[f64]>,
}

impl<'a> Solver<'a> {
    /// Prepares the solve of a problem, of which potentials are computed first.
    fn new(prepared: &'a Prepared, request: &'a Request, problem: Problem<'a>) -> Self {
        let potentials = Arc::new(Potentials::new(&problem, 1.0));
        Self {
            prepared,
            request,
            problem,
            potentials,
            is_below_gas: false,
            exceeded_gas: Cell::new(false),
            over_gas: RefCell::default(),
            fitted_gas: Cell::new(false),
            chain_bound: Cell::new(f64::INFINITY),
            tightest: RefCell::default(),
            searched: RefCell::default(),
        }
    }

    /// Runs all stages.
    fn solve(mut self, effort: Effort) -> Result<Solution, SolveError> {
        let (bound, mut best) = self.searched_best()?;
        if effort == Effort::Full {
            self.offer_thin(bound, &mut best);
        }
        self.simplify_all(bound, &mut best);
        let Some(found) = best else { return Err(self.why_nothing()) };
        let certificate = self.certificate(bound, &found);
        Ok(Solution { route: found.route, certificate, pools_visited: self.visited() })
    }

    /// Runs the stages that search. Returns a bound on every route, and the best route.
    fn searched_best(&mut self) -> Result<(f64, Option<Candidate>), SolveError> {
        let mut best: Option<Candidate> = None;
        self.first(true, &mut best)?;
        let (mut bound, task) = self.split_all(&mut best);
        if self.offer_surplus(bound, &mut best) {
            self.offer_simple_plans(bound, Tuning::SIMPLE_GAP, &mut best);
            return Ok((bound, best));
        }
        // The bound holds for routes beyond the limit of gas too: it cannot fall below the best of them. Where that is near,
        // how much a narrower bound would say is known when the best route within the limit is.
        let most_over_gas = self.over_gas.borrow().iter().map(|found| found.net).reduce(f64::max);
        let most_over_gas = most_over_gas.filter(|most| !exceeds(bound, Some(*most), Tuning::LOST_GAP));
        let (now, last) = if most_over_gas.is_none() { (task, None) } else { (None, task.zip(most_over_gas)) };
        bound = match now {
            Some(task) => self.narrow_and_try_others(task, bound, &mut best),
            None => self.try_others(bound, &mut best),
        };
        if self.exceeded_gas.get() && exceeds(bound, net_of(best.as_ref()), Tuning::REFINED_GAP) {
            best = self.save_gas(bound, best);
        }
        if let (Some((task, most_over_gas)), Some(net)) = (last, net_of(best.as_ref()))
            && exceeds(bound, Some(net), Tuning::LAYERED_GAP_OF_LARGE)
            && bound - most_over_gas > Tuning::GAS_LIMIT_SHARE * (bound - net)
        {
            bound = LayeredTask { net: net.max(most_over_gas), ..task }.run();
        }
        Ok((bound, best))
    }

    /// Splits over all open pools. Returns a bound on every route over them, and what may narrow it further.
    fn split_all(&self, best: &mut Option<Candidate>) -> (f64, Option<LayeredTask<'a>>) {
        if let Some(recorder) = self.problem.recorder {
            recorder.replace(None);
        }
        if self.is_below_gas {
            return (self.below_gas(best.as_ref()), None);
        }
        let split = self.split(&self.problem, best);
        self.tightest.replace(split.tightest());
        if self.problem.is_pair() {
            self.searched.replace(split.searched());
        }
        self.offer_missed_path(best);
        self.offer_detours(&split, best);
        let Narrowed { bound, flows, task } = self.narrowed(split, best.as_ref());
        if !flows.is_empty() {
            if longest_path(&flows) <= self.problem.hops {
                self.offer(best, &flows);
            }
            self.offer(best, &self.balanced(&flows, bound).unwrap_or_default());
        }
        if self.problem.is_pair() && best.as_ref().is_some_and(|found| self.is_off(bound, found, Tuning::TICK_GAP)) {
            self.offer_tick_stops(best);
        }
        (bound, task)
    }

    /// Narrows the bound, and tries other ways to find a route, unless the narrowed bound says that there is none much
    /// better. Does both at once if a thread is free, and then drops what the bound makes useless, so that the answer is
    /// the same.
    fn narrow_and_try_others(&self, task: LayeredTask<'a>, bound: f64, best: &mut Option<Candidate>) -> f64 {
        let (net, gap) = (net_of(best.as_ref()), Self::chunks_gap_of_large(best.as_ref()));
        let (copy, mut tried) = (self.for_another_thread(), best.clone());
        let others = move || {
            copy.try_others(bound, &mut tried);
            (tried, copy.exceeded_gas.get(), copy.over_gas.take())
        };
        let (narrowed, tried) = if let Some(helper) = Helper::free() {
            let (tried, narrowed) = helper.both(others, || task.run());
            (narrowed, tried)
        } else {
            let narrowed = task.run();
            (narrowed, exceeds(narrowed, net, gap).then(others))
        };
        if let Some((tried, exceeded_gas, over_gas)) = tried.filter(|_| exceeds(narrowed, net, gap)) {
            *best = tried;
            self.exceeded_gas.set(exceeded_gas);
            self.over_gas.replace(over_gas);
        }
        narrowed
    }

    /// Tries other ways to find a route, as far as the bound says that there may be a better one. Returns the bound, which
    /// a second split of a basket may have narrowed.
    fn try_others(&self, bound: f64, best: &mut Option<Candidate>) -> f64 {
        let mut bound = bound;
        if !self.problem.is_pair() {
            bound = self.try_plans(bound, best);
        } else if self.is_far(bound, best.as_ref()) {
            self.offer_parts(best);
        }
        self.offer_at_nominal_gas(bound, best);
        let is_in_doubt = |found: &Candidate| !self.problem.is_pair() && self.is_off(bound, found, Tuning::IN_LINE_GAP);
        if best.as_ref().is_none_or(is_in_doubt) {
            self.offer_in_line(best);
        }
        let [loose, _] = Tuning::FEWER_HOPS_GAPS;
        if !self.problem.is_pair() && best.as_ref().is_none_or(|found| self.is_off(bound, found, loose)) {
            self.offer_fewer_hops(bound, best);
        }
        if self.problem.is_pair() {
            self.offer_last(bound, best);
        }
        bound
    }

    /// Tries other plans of a basket, as long as the bound says that there may be a better one: its pairs one by one, and
    /// plans in parts; then better flows among the tokens of the best. Returns the bound, which splits from better routes may
    /// have narrowed.
    fn try_plans(&self, mut bound: f64, best: &mut Option<Candidate>) -> f64 {
        let gap = Tuning::PLANS_GAPS[usize::from(is_large(self.prepared))];
        let is_loose =
            |bound: f64, best: &Option<Candidate>| best.as_ref().is_none_or(|found| self.is_off(bound, found, gap));
        if is_loose(bound, best) && self.offer_pairs(best) {
            bound = self.split_all(best).0.min(bound);
        }
        if is_loose(bound, best) && self.offer_parts(best) {
            bound = self.split_all(best).0.min(bound);
        }
        if is_loose(bound, best) {
            self.offer_refined(best);
        }
        bound
    }

    /// Tries routes of a basket with fewer pools on a path: longer paths of several inputs meet more often in a way that
    /// makes a cycle, or a path beyond the limit. Splits over them if their first routes are better, or the bound is far off.
    fn offer_fewer_hops(&self, bound: f64, best: &mut Option<Candidate>) {
        let [_, far] = Tuning::FEWER_HOPS_GAPS;
        for hops in 2..self.problem.hops {
            let before = net_of(best.as_ref());
            let is_far = best.as_ref().is_none_or(|found| self.is_off(bound, found, far));
            let problem = Problem { hops, recorder: None, ..self.problem.clone() };
            let mut fewer =
                Self { potentials: Arc::new(Potentials::new(&problem, 1.0)), problem, ..self.for_another_thread() };
            if fewer.first(is_far, best).is_ok() && (is_far || net_of(best.as_ref()) > before) {
                fewer.split_all(best);
            }
            if fewer.exceeded_gas.get() {
                self.exceeded_gas.set(true);
            }
        }
    }

    /// Returns the same solver for another thread. It records nothing.
    fn for_another_thread(&self) -> Self {
        Self {
            prepared: self.prepared,
            request: self.request,
            problem: Problem { recorder: None, ..self.problem.clone() },
            potentials: Arc::clone(&self.potentials),
            is_below_gas: self.is_below_gas,
            exceeded_gas: self.exceeded_gas.clone(),
            over_gas: self.over_gas.clone(),
            fitted_gas: self.fitted_gas.clone(),
            chain_bound: self.chain_bound.clone(),
            tightest: self.tightest.clone(),
            searched: self.searched.clone(),
        }
    }

    /// Returns whether the bound is so far off that the amounts may be beyond the market's liquidity.
    fn is_far(&self, bound: f64, best: Option<&Candidate>) -> bool {
        best.is_none_or(|found| self.is_off(bound, found, Tuning::CHUNK_GAP))
    }

    /// Returns whether the bound says nothing.
    fn is_lost(&self, bound: f64, best: Option<&Candidate>) -> bool {
        exceeds(bound, net_of(best), Tuning::LOST_GAP)
    }

    /// Returns whether the bound, or the one by chains if that is less, is further from the route than a share of it. If a
    /// route already has all the steps that it may have, that limit explains a part of the distance.
    fn is_off(&self, bound: f64, found: &Candidate, share: f64) -> bool {
        let is_full = found.route.steps.len() + Tuning::SPARE_STEPS > usize::from(self.request.max_steps);
        let share = if is_full && self.problem.is_pair() { share.max(Tuning::FULL_GAP) } else { share };
        exceeds(bound.min(self.chain_bound.get()), Some(found.net), share)
    }

    /// Tries simpler plans for a pair if the bound does not say that they pay no more.
    fn offer_last(&self, bound: f64, best: &mut Option<Candidate>) {
        let unsure = best.as_ref().is_none_or(|found| self.is_off(bound, found, Tuning::WALK_GAP));
        let is_off =
            |best: &Option<Candidate>, share| best.as_ref().is_none_or(|found| self.is_off(bound, found, share));
        let before = net_of(best.as_ref());
        self.offer_simple_plans(bound, Tuning::SIMPLE_GAP, best);
        if is_off(best, Tuning::REFINED_GAP) || net_of(best.as_ref()) > before {
            self.offer_refined(best);
        }
        if best.is_none() {
            self.offer_narrowest(best);
        }
        // One path is not what a large amount needs whose splits use too much gas.
        let is_at_gas_limit = is_large(self.prepared) && self.exceeded_gas.get() && best.is_some();
        if !is_at_gas_limit && (unsure || self.problem.amount < Tuning::WALK_DUST_UNITS) {
            self.offer_walk(best);
        }
    }

    /// Simplifies the best route. If the bound allowed no simple plan to pay more than the route, but allows one to pay
    /// more than the simplified one, tries these plans first.
    fn simplify_all(&self, bound: f64, best: &mut Option<Candidate>) {
        if is_large(self.prepared) {
            return self.simplify(best);
        }
        let whole = best.clone();
        self.simplify(best);
        let may_pay_more =
            |best: &Option<Candidate>| best.is_some() && exceeds(bound, net_of(best.as_ref()), Tuning::SIMPLE_GAP);
        if may_pay_more(best) && !may_pay_more(&whole) {
            *best = whole;
            self.offer_simple_plans(bound, 0.0, best);
            self.simplify(best);
        }
    }

    /// Computes the value of the inputs at marginal rates.
    fn supplied_value(&self) -> f64 {
        self.problem.terms.supplied_value(&self.potentials.worth)
    }

    /// Returns why there is no route.
    fn why_nothing(&self) -> SolveError {
        let terms = &self.problem.terms;
        let arrives = |(token, amount): &(u32, f64)| {
            let arrives = terms.weights.iter().enumerate().map(|(at, (output, _))| {
                self.potentials.towards(at)[*token as usize] * amount / self.problem.reference(*output)
            });
            arrives.fold(0.0, f64::max)
        };
        let value = self.supplied_value();
        // Checks whether fewer than two atomic units would arrive at the best rates.
        let dust = terms.weights.iter().any(|(_, weight)| weight * value < 2.0)
            || terms.supplies.iter().any(|supply| arrives(supply) < 2.0);
        // Checks whether rounding is the obstacle: a larger amount would go through.
        let goes = |times: f64| {
            let amount = self.problem.amount * times;
            let limits = PathLimits::of_any_value(1);
            !best_paths(&self.problem, &self.potentials, amount, &Support::default(), limits).is_empty()
        };
        if self.problem.is_pair() && self.part_goes() {
            SolveError::InsufficientLiquidity
        } else if dust || (self.problem.is_pair() && [1e3, 1e6, 1e9, 1e12].into_iter().any(goes)) {
            SolveError::AmountTooSmall
        } else {
            SolveError::InsufficientLiquidity
        }
    }

    /// Returns whether a part of a pair's amount can be sold in integers: then the market cannot take the rest.
    fn part_goes(&self) -> bool {
        let less = |amount: &U256| Some(*amount / U256::from(Tuning::PART)).filter(|part| !part.is_zero());
        std::iter::successors(less(&self.sold()), less).any(|part| {
            walk::best_path(&self.problem, &self.potentials, self.request, part, f64::NEG_INFINITY).is_some()
        })
    }

    /// Returns the amount of a pair's input. Ether and wrapped ether are one input.
    fn sold(&self) -> U256 {
        self.request.inputs.iter().fold(U256::ZERO, |sum, (_, amount)| sum.saturating_add(*amount))
    }

    /// Builds the certificate of a route, given a bound on the problem's value.
    fn certificate(&self, bound: f64, found: &Candidate) -> Result<Certificate, Uncertified> {
        let gross = valuation::gross_value_wei(self.prepared, self.request, &found.route);
        let gross = gross.ok_or(Uncertified::NoReferencePrice)?;
        // Counts on both sides what integer rounding left above the shares: it has value for the taker.
        let surplus = found.gross - found.gas - found.net;
        let (covered, all) = (self.problem.open_pools(), self.prepared.pool_count());
        let excluded = Excluded { filtered: all.saturating_sub(covered), max_hops: self.request.max_hops };
        Certificate::new(bound + surplus, found.net + surplus, gross, covered, excluded)
    }

    /// Counts the open pools between tokens from which an output can be reached: inner tokens, and the ends.
    fn visited(&self) -> u32 {
        let (worth, graph) = (&self.potentials.worth, self.prepared.graph());
        let leads_on = |token: &u32| worth.get(*token as usize).is_some_and(|worth| *worth > 0.0);
        let is_visited = |(pair, ends): &(u32, [u32; 2])| self.problem.is_open(*pair) && ends.iter().all(leads_on);
        let inner =
            graph.inner_pairs().iter().map(|pair| (pair.id, pair.ends)).filter(is_visited).map(|(pair, _)| pair);
        if !self.problem.has_outer_end {
            return self.prepared.pairs().count_pools(inner);
        }
        let outer_ends = self.problem.terms.ends().into_iter().filter(|end| !graph.is_inner(*end));
        let beside = outer_ends.flat_map(|end| graph.arrows(end)).map(|arrow| (arrow.pair, graph.ends(arrow.pair)));
        let mut pairs: Vec<u32> = inner.chain(beside.filter(is_visited).map(|(pair, _)| pair)).collect();
        pairs.sort_unstable();
        self.prepared.pairs().count_pools(pairs.into_iter())
    }
}
