//! Pairs of which the market takes only a part: the pools on the way to the output are full before everything is sold.
//!
//! The rest, the surplus, has to be sold too, and can bring nothing more. It is sold along a path to a token that the route
//! holds anyway, on which it brings little of that token. As much less of the token comes from the other pools, so that the
//! full pools get what they take, and the route pays what they pay.

use rustc_hash::FxHashMap;

use super::{Solver, exceeds, net_of};
use crate::candidates::chunks::filled;
use crate::exact::candidate::Candidate;
use crate::exact::repair::amount_for;
use crate::path::on_top;
use crate::prepare::{Arrow, index32};
use crate::problem::potentials::Potentials;
use crate::problem::support::Support;
use crate::problem::{Flow, Problem};
use crate::tuning::Tuning;

impl Solver<'_> {
    /// Fills the pools on the way to the output and sells the surplus, if the bound says that an amount more of a pair's input
    /// would bring next to nothing. Returns whether the best route is then about what the bound allows.
    pub(super) fn offer_surplus(&self, bound: f64, best: &mut Option<Candidate>) -> bool {
        let most = Tuning::SURPLUS_WORTH_SHARE * bound;
        let is_worth_more = |price: &[f64]| price[self.problem.source] * self.problem.amount > most;
        let is_sold_whole = self.tightest.borrow().as_ref().is_none_or(|tightest| is_worth_more(&tightest.price));
        if !self.problem.is_pair() || is_sold_whole || bound <= 0.0 {
            return false;
        }
        let Some(whole) = self.for_chunks() else { return false };
        let is_good = |best: &Option<Candidate>| !exceeds(bound, net_of(best.as_ref()), Tuning::SURPLUS_GAP);
        for share in Tuning::SURPLUS_GAS_SHARES {
            let used_too_much = self.offer_filled(&whole.at_dearer_gas(bound, share), bound, best);
            if is_good(best) || !used_too_much {
                break;
            }
        }
        is_good(best)
    }

    /// Fills the pools on the way, those that earn their gas at the problem's price of it, and sells the surplus. Returns whether
    /// a route used more gas than a transaction may.
    fn offer_filled(&self, problem: &Problem<'_>, bound: f64, best: &mut Option<Candidate>) -> bool {
        let potentials = Potentials::new(problem, 1.0);
        let Some(flows) = filled(problem, &potentials, Tuning::FILL_PART_SHARE * bound) else { return false };
        let Some(surplus) = Surplus::of(&self.problem, &flows) else { return false };
        let (mut tried, before) = (0, self.over_gas.borrow().len());
        let is_over_gas = || self.over_gas.borrow().len() > before;
        for pools in 1..self.problem.hops {
            for path in surplus.paths(pools).into_iter().take(Tuning::SURPLUS_CANDIDATES) {
                let Some(flows) = surplus.sold_along(&path) else { continue };
                self.offer(best, &flows);
                tried += 1;
                let is_good = !exceeds(bound, net_of(best.as_ref()), Tuning::SURPLUS_GAP);
                if is_good || tried == Tuning::SURPLUS_PATHS {
                    return is_over_gas();
                }
            }
        }
        is_over_gas()
    }
}

/// A flow after which pools on the way to the output are full, and the amount of the input that is left.
struct Surplus<'a, 'p> {
    problem: &'a Problem<'p>,
    support: Support,
    amount: f64,
    /// What arrives at each token of the support.
    arriving: Vec<(u32, f64)>,
    /// The arrows that lead to one of these tokens, by the token that they leave.
    arrows: FxHashMap<u32, Vec<Arrow>>,
}

/// The beginning of a path for the surplus.
#[derive(Clone, Debug)]
struct Start {
    flows: Vec<Flow>,
    token: u32,
    amount: f64,
    gas_units: f64,
}

impl<'a, 'p> Surplus<'a, 'p> {
    /// Returns what a flow leaves; `None` if it sells everything, or makes a cycle.
    fn of(problem: &'a Problem<'p>, flows: &[Flow]) -> Option<Self> {
        let support = Support::default().with(flows, problem.hops)?;
        let amount = problem.amount - leaving(flows, index32(problem.source));
        let is_passed = |token: &&u32| ![problem.source, problem.target].contains(&(**token as usize));
        let tokens = support.tokens().iter().filter(is_passed);
        let arriving: Vec<(u32, f64)> = tokens.map(|token| (*token, arriving(problem, flows, *token))).collect();
        let mut arrows: FxHashMap<u32, Vec<Arrow>> = FxHashMap::default();
        for (token, _) in &arriving {
            for arrow in problem.arrows(*token as usize) {
                arrows.entry(arrow.to).or_default().push(arrow.reversed(*token as usize));
            }
        }
        (amount > 0.0).then_some(Self { problem, support, amount, arriving, arrows })
    }

    /// Returns paths of so many pools for the surplus, those first that bring least of what the route holds of their last token.
    /// All pools but the last two of a path are ones that the flow uses.
    fn paths(&self, pools: usize) -> Vec<Vec<Flow>> {
        let source = index32(self.problem.source);
        let mut starts = vec![Start { flows: Vec::new(), token: source, amount: self.amount, gas_units: 0.0 }];
        for at in 1..pools {
            starts = starts.iter().flat_map(|start| self.continued(start)).collect();
            if at + 1 < pools {
                let mut tokens = Vec::new();
                starts.retain(|start| {
                    let is_first = !tokens.contains(&start.token);
                    let is_kept = is_first && self.support.amount_in(start.flows[at - 1].pair).is_some();
                    tokens.extend(is_kept.then_some(start.token));
                    is_kept
                });
            }
        }
        let mut paths: Vec<(f64, Vec<Flow>)> = starts.iter().flat_map(|start| self.ended(start)).collect();
        paths.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        paths.into_iter().map(|(_, path)| path).collect()
    }

    /// Adds a pool to a path, so that another can lead from there to a token that the route holds.
    fn continued(&self, start: &Start) -> impl Iterator<Item = Start> {
        let is_useful = |arrow: &&Arrow| self.arrows.contains_key(&arrow.to);
        let arrows = self.problem.arrows(start.token as usize).iter().filter(is_useful);
        arrows.filter_map(|arrow| self.with(start, arrow))
    }

    /// Adds a pool that leads to a token that the route holds. Returns the paths, each with the share of that token that it
    /// brings.
    fn ended(&self, start: &Start) -> impl Iterator<Item = (f64, Vec<Flow>)> {
        let arrows = self.arrows.get(&start.token).map_or(&[][..], Vec::as_slice);
        arrows.iter().filter_map(|arrow| {
            let path = self.with(start, arrow)?;
            let (_, arrives) = self.arriving.iter().find(|(token, _)| *token == arrow.to)?;
            let share = path.amount / arrives;
            (share < Tuning::SURPLUS_MOST_SHARE).then_some((share, path.flows))
        })
    }

    /// Adds a pool to a path; `None` if it takes no more, its gas is too high, or the path or a route would visit a token twice.
    fn with(&self, start: &Start, arrow: &Arrow) -> Option<Start> {
        let (problem, to) = (self.problem, arrow.to as usize);
        let is_visited =
            start.flows.iter().any(|flow| flow.from == arrow.to) || self.support.leads(arrow.to, start.token);
        let is_end = to == problem.source || to == problem.target;
        if is_visited || is_end || !problem.is_open(arrow.pair) || self.support.opposes(arrow.pair, arrow.side) {
            return None;
        }
        let held = self.support.amount_in(arrow.pair);
        let (out, gas_units) = on_top(problem, arrow.pair, arrow.side, held, start.amount)?;
        let gas_units = start.gas_units + gas_units;
        let (from, amount_in) = (start.token, start.amount);
        let mut flows = start.flows.clone();
        flows.push(Flow { pair: arrow.pair, side: arrow.side, from, to: arrow.to, amount_in });
        (gas_units < Tuning::SURPLUS_GAS_UNITS).then_some(Start { flows, token: arrow.to, amount: out, gas_units })
    }

    /// Returns the flow that sells everything, the surplus along a path; `None` if it makes a cycle, has too many steps, or the
    /// other pools cannot bring so much less.
    fn sold_along(&self, path: &[Flow]) -> Option<Vec<Flow>> {
        let (problem, last) = (self.problem, path.last()?);
        // Most paths that do not fit the flow need no amounts to be ruled out.
        self.support.with(path, problem.hops)?;
        let (mut path, mut flows) = (path.to_vec(), Vec::new());
        let mut settled = 0.0;
        // What the other pools no longer take is sold along the path as well.
        for _ in 0..Tuning::SURPLUS_ROUNDS {
            let amount_in = path.last()?.amount_in;
            if (amount_in - settled).abs() <= Tuning::SURPLUS_PRECISION * amount_in {
                break;
            }
            settled = amount_in;
            flows = self.support.flows().to_vec();
            let (adds, _) = on_top(problem, last.pair, last.side, self.support.amount_in(last.pair), amount_in)?;
            self.bring_less(&mut flows, last.to, adds * Tuning::OUTWARD, &path, problem.hops)?;
            let mut amount = problem.amount - leaving(&flows, index32(problem.source));
            for flow in &mut path {
                flow.amount_in = amount;
                let held = flows.iter().find(|known| known.pair == flow.pair).map(|known| known.amount_in);
                let (out, _) = on_top(problem, flow.pair, flow.side, held, amount)?;
                amount = out + arriving(problem, &flows, flow.to) - leaving(&flows, flow.to);
            }
        }
        flows.retain(|flow| flow.amount_in > 0.0);
        let whole = Support::default().with(&flows, problem.hops)?.with(&path, problem.hops)?;
        problem.fits(whole.flows(), problem.max_steps).then(|| whole.flows().to_vec())
    }

    /// Reduces what the pools other than the last of a path bring to a token by an amount. Where what they no longer take is not
    /// sold along the path, less is brought to the tokens that they come from.
    fn bring_less(&self, flows: &mut [Flow], token: u32, less: f64, path: &[Flow], pools: usize) -> Option<()> {
        let is_last = |pair: u32| path.last().is_some_and(|last| last.pair == pair);
        let bring = |flow: &&Flow| flow.to == token && !is_last(flow.pair);
        let share = 1.0 - less / flows.iter().filter(bring).map(|flow| self.problem.paid(flow)).sum::<f64>();
        if pools == 0 || !(0.0..=1.0).contains(&share) {
            return None;
        }
        let mut freed: Vec<(u32, f64)> = Vec::new();
        for flow in flows.iter_mut().filter(|flow| bring(&&**flow)) {
            let (_, direction) = self.problem.direction(flow.pair, flow.side)?;
            let kept = amount_for(direction, flow.amount_in, share);
            freed.push((flow.from, flow.amount_in - kept));
            flow.amount_in = kept;
        }
        let is_elsewhere = |(from, amount): &(u32, f64)| *amount > 0.0 && path.iter().all(|flow| flow.from != *from);
        freed.retain(is_elsewhere);
        freed.into_iter().try_for_each(|(from, amount)| self.bring_less(flows, from, amount, path, pools - 1))
    }
}

/// Computes what flows bring to a token.
fn arriving(problem: &Problem<'_>, flows: &[Flow], token: u32) -> f64 {
    flows.iter().filter(|flow| flow.to == token).map(|flow| problem.paid(flow)).sum()
}

/// Computes what flows take of a token.
fn leaving(flows: &[Flow], token: u32) -> f64 {
    flows.iter().filter(|flow| flow.from == token).map(|flow| flow.amount_in).sum()
}
