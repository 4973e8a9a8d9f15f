//! From relaxed prices to a set of pools: thresholds first, then dropping and adding one pool at a time.
//!
//! At the prices that balance a set `S` of value `V`, dropping a pool changes the value to at most
//! `V − (profit − gas)`, and adding one to at most `V + (profit − gas)`. So only used pools that earn less than their
//! gas, and unused ones that earn more, can improve on `S`; if there is none, `S` is the best of all sets.

use super::fixed::{Fixed, better_of};
use crate::problem::Flow;
use crate::relax::{FlowSearch, Member, Subproblem};
use crate::tuning::Tuning;

/// Finds the best set, balanced, and the flows of other sets that are nearly as good; `None` if no set can carry the
/// amount.
///
/// The gas of ticks is spread here over the amounts between them, while the proxy pays it tick by tick. So only exact
/// runs show which of two sets is better by a tick or two. `dear` is the subproblem with gas so expensive that no more
/// pools than allowed pay, and its prices, if more would pay otherwise.
pub(crate) fn round<'p>(
    search: &mut FlowSearch<'_, 'p>,
    sub: &Subproblem<'p>,
    relaxed: &[f64],
    dear: Option<&(Subproblem<'p>, Vec<f64>)>,
    path: &[Flow],
) -> Option<(Fixed<'p>, Vec<Vec<Flow>>)> {
    let mut rounding = Rounding { trials: 0, tried: Vec::new(), runners_up: Vec::new(), sub, relaxed, dear };
    let mut best = rounding.first(search, path)?;
    best = rounding.limit(search, best);
    while let Some(better) = rounding.improve(search, &best) {
        best = better;
    }
    let pools: Vec<u32> = best.sub.members.iter().map(|member| member.pair).collect();
    let start = |token: u32| best.price(token).unwrap_or(1.0);
    let polished = search.fixed(&pools, &start, Tuning::POLISHED_SHARE * search.scale);
    let best = match polished {
        Some(polished) if polished.excess <= best.excess.max(Tuning::ROUGHLY_BALANCED_SHARE * search.scale) => polished,
        _ => best,
    };
    let runners_up = rounding.runners_up(search, &best);
    Some((best, runners_up))
}

/// A change of a set of pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    Add(u32),
    Drop(u32),
    /// Sends the flow of the first pool into the second, which pays the token given third; pools that only the first
    /// led to are dropped.
    Replace(u32, u32, u32),
}

/// The choice of a set of pools, so far.
struct Rounding<'a, 'p> {
    /// Number of sets tried.
    trials: usize,
    /// Moves already tried.
    tried: Vec<Move>,
    /// Flows that were balanced, with their value net of gas.
    runners_up: Vec<(f64, Vec<Flow>)>,
    /// The relaxed problem and its prices.
    sub: &'a Subproblem<'p>,
    relaxed: &'a [f64],
    /// The same with a surcharge on gas; see [`round`].
    dear: Option<&'a (Subproblem<'p>, Vec<f64>)>,
}

impl<'p> Rounding<'_, 'p> {
    /// Returns the best of the first sets: the pools of the best path, those that earn a share of their gas at the relaxed
    /// prices, and both together.
    fn first(&mut self, search: &mut FlowSearch<'_, 'p>, path: &[Flow]) -> Option<Fixed<'p>> {
        let path: Vec<u32> = path.iter().map(|flow| flow.pair).collect();
        let (sub, prices) = self.dear.map_or((self.sub, self.relaxed), |(sub, prices)| (sub, prices.as_slice()));
        let members = sub.members.iter();
        let mut ratios: Vec<(f64, u32)> =
            members.filter_map(|member| Some((member.earned(sub, prices)?.0, member.pair))).collect();
        ratios.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut sets = vec![path.clone()];
        for threshold in Tuning::FIRST_SET_SHARES {
            let mut set: Vec<u32> =
                ratios.iter().filter(|(ratio, _)| *ratio > threshold).map(|(_, pair)| *pair).collect();
            push_new(&mut sets, set.clone());
            set.extend(path.iter().filter(|pair| !set.contains(pair)).copied().collect::<Vec<_>>());
            push_new(&mut sets, set);
        }
        let mut best: Option<Fixed<'p>> = None;
        let guesses = search.guesses();
        let mut known: Vec<(u32, f64)> = sub.tokens.iter().copied().zip(prices.iter().copied()).collect();
        known.sort_unstable_by_key(|(token, _)| *token);
        let start = |token: u32| {
            known.binary_search_by_key(&token, |(known, _)| *known).map_or_else(|_| guesses(token), |at| known[at].1)
        };
        for set in sets.iter().filter(|set| !set.is_empty()) {
            self.trials += 1;
            let found = search.fixed(set, &start, Tuning::BALANCED_SHARE * search.scale);
            self.note(search, found.as_ref());
            best = better_of(best, found);
        }
        best
    }

    /// Keeps a balanced flow as a runner-up.
    fn note(&mut self, search: &FlowSearch<'_, 'p>, found: Option<&Fixed<'p>>) {
        if let Some(found) = found.filter(|found| search.fits(&found.flows)) {
            self.runners_up.push((found.net, found.flows.clone()));
        }
    }

    /// Returns the flows within a few ticks' gas of the best one, best first, each set of pools once.
    fn runners_up(mut self, search: &FlowSearch<'_, 'p>, best: &Fixed<'p>) -> Vec<Vec<Flow>> {
        let least = best.net - Tuning::RUNNER_UP_GAS_UNITS * search.problem.gas_price;
        self.runners_up.retain(|(net, _)| *net >= least);
        self.runners_up.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut kept: Vec<Vec<Flow>> = vec![best.flows.clone()];
        for (_, flows) in self.runners_up {
            let same = |known: &Vec<Flow>| known.iter().map(|flow| flow.pair).eq(flows.iter().map(|flow| flow.pair));
            if kept.len() <= Tuning::RUNNERS_UP && !kept.iter().any(same) {
                kept.push(flows);
            }
        }
        kept.split_off(1)
    }

    /// Keeps only the pools that earn most, until there are no more than allowed.
    fn limit(&mut self, search: &mut FlowSearch<'_, 'p>, mut best: Fixed<'p>) -> Fixed<'p> {
        while !search.fits(&best.flows) {
            let mut ranked: Vec<(f64, u32)> = best
                .sub
                .members
                .iter()
                .map(|member| (member.earned(&best.sub, &best.prices).map_or(0.0, |e| e.1), member.pair))
                .collect();
            ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let steps = ranked.len() + usize::from(search.problem.converts(&best.flows));
            let excess = steps.saturating_sub(search.max_steps).max(1);
            ranked.truncate(ranked.len().saturating_sub(excess.div_ceil(2)));
            let pools: Vec<u32> = ranked.iter().map(|(_, pair)| *pair).collect();
            let start = |token: u32| best.price(token).unwrap_or(1.0);
            match search.fixed(&pools, &start, Tuning::BALANCED_SHARE * search.scale) {
                Some(fewer) => best = fewer,
                None => return best,
            }
        }
        best
    }

    /// Finds one move that raises the value.
    fn improve(&mut self, search: &mut FlowSearch<'_, 'p>, best: &Fixed<'p>) -> Option<Fixed<'p>> {
        let prices = self.prices_around(best);
        let used: Vec<u32> = best.sub.members.iter().map(|member| member.pair).collect();
        let full = !search.problem.fits(&best.flows, search.max_steps.saturating_sub(1));
        let mut sorted = used.clone();
        sorted.sort_unstable();
        let gain = |member: &Member<'p>| (member.gain(&prices), sorted.binary_search(&member.pair).is_err());
        let gains: Vec<(f64, bool)> = self.sub.members.iter().map(gain).collect();
        let kept = self.sub.members.iter().zip(&gains).filter(|(_, (_, add))| !add);
        let kept = kept.map(|(member, (gain, _))| (*gain, member.pair));
        let weakest = kept.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).unwrap_or((f64::INFINITY, u32::MAX));
        let mut moves: Vec<(f64, Move)> = Vec::new();
        for (member, (gain, add)) in self.sub.members.iter().zip(gains) {
            // Drops the pool that earns least for a new one if there is no room.
            let better = if add { gain - if full { weakest.0.max(0.0) } else { 0.0 } } else { -gain };
            let change = if add { Move::Add(member.pair) } else { Move::Drop(member.pair) };
            if better > Tuning::SET_GAIN_SHARE * search.scale && !self.tried.contains(&change) {
                moves.push((better, change));
            }
        }
        moves.extend(self.replacements(search, best, &prices));
        moves.sort_by(|a, b| b.0.total_cmp(&a.0));
        let most = if full { Tuning::SETS_TRIED_WHEN_FULL } else { Tuning::SETS_TRIED };
        for (_, change) in moves {
            if self.trials >= most || search.newton.is_spent(Tuning::WORK) {
                return None;
            }
            self.trials += 1;
            self.tried.push(change);
            let set = match change {
                Move::Add(pair) if full => self.with(search, &without(&used, weakest.1), best, pair),
                Move::Add(pair) => self.with(search, &used, best, pair),
                Move::Drop(pair) => without(&used, pair),
                Move::Replace(pair, other, to) => {
                    let left = led_to(best, pair, to);
                    let mut set: Vec<u32> = used.iter().copied().filter(|pair| !left.contains(pair)).collect();
                    if !set.contains(&other) {
                        set.push(other);
                    }
                    set
                }
            };
            let tokens = &self.sub.tokens;
            let start = |token: u32| tokens.iter().position(|t| *t == token).map_or(1.0, |at| prices[at]);
            let found = search.fixed(&set, &start, Tuning::BALANCED_SHARE * search.scale);
            self.note(search, found.as_ref());
            if let Some(found) = found
                && found.net > best.net + Tuning::SET_BETTER_SHARE * search.scale
                && search.fits(&found.flows)
            {
                return Some(found);
            }
        }
        None
    }

    /// Returns replacements of one pool by another that save more gas than they lose at a set's prices, best first.
    fn replacements(&self, search: &FlowSearch<'_, 'p>, best: &Fixed<'p>, prices: &[f64]) -> Vec<(f64, Move)> {
        let gas_price = search.problem.gas_price;
        // Counts the gas of ticks for a pair only: among several outputs saving it would change their shares.
        let tick_gas_price = if search.problem.is_pair() { gas_price } else { 0.0 };
        let gas_of = |pair: u32| {
            let flow = best.flows.iter().find(|flow| flow.pair == pair)?;
            let (curve, direction) = search.problem.direction(pair, flow.side)?;
            Some(curve.gas_units * gas_price + direction.quote(flow.amount_in).1 * tick_gas_price)
        };
        let mut found = Vec::new();
        let numbers: Vec<Option<usize>> =
            self.sub.tokens.iter().map(|token| best.sub.tokens.iter().position(|own| own == token)).collect();
        let leads = leads(best);
        for flow in &best.flows {
            let Some(from) = best.sub.tokens.iter().position(|token| *token == flow.from) else { continue };
            for member in self.sub.members.iter().filter(|member| member.pair != flow.pair) {
                let ends = member.ends.map(|end| numbers[end as usize]);
                let Some(side) = ends.iter().position(|end| *end == Some(from)) else { continue };
                let Some(onward) = ends[1 - side].filter(|to| member.spot[side] > 0.0 && !leads[*to][from]) else {
                    continue;
                };
                let to = best.sub.tokens[onward];
                let left = led_to(best, flow.pair, to);
                let saved: f64 = left.iter().filter_map(|pair| gas_of(*pair)).sum();
                let Some(direction) = member.curve.directions[side].as_ref() else { continue };
                let known = best.flows.iter().find(|known| known.pair == member.pair);
                let before = known.map_or(0.0, |known| known.amount_in);
                let [(paid, passed), (paid_before, passed_before)] =
                    [before + flow.amount_in, before].map(|amount_in| direction.quote(amount_in));
                let paid = paid - paid_before;
                let [here, there] = [side, 1 - side].map(|end| prices[member.ends[end] as usize]);
                let gas = if known.is_some() { 0.0 } else { member.gas } + (passed - passed_before) * tick_gas_price;
                let better = saved - gas - (flow.amount_in * here - paid * there);
                let change = Move::Replace(flow.pair, member.pair, to);
                if better > Tuning::SET_GAIN_SHARE * search.scale && !self.tried.contains(&change) {
                    found.push((better, change));
                }
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        found
    }

    /// Returns a set with one more pool, and with the pools that connect its new tokens to the rest.
    fn with(&self, search: &FlowSearch<'_, 'p>, used: &[u32], best: &Fixed<'p>, pair: u32) -> Vec<u32> {
        let mut set = used.to_vec();
        set.push(pair);
        for token in search.problem.prepared.graph().ends(pair) {
            if best.sub.tokens.contains(&token) {
                continue;
            }
            for member in &self.sub.members {
                let touches = member.ends.iter().any(|end| self.sub.tokens[*end as usize] == token);
                let earned = || member.earned(self.sub, self.relaxed);
                let earns = || earned().is_some_and(|(ratio, _)| ratio > Tuning::CONNECTING_SHARE);
                if touches && !set.contains(&member.pair) && earns() {
                    set.push(member.pair);
                }
            }
        }
        set
    }

    /// Computes prices of the subproblem's tokens: the set's own, and for the others the relaxed ones, moved to where
    /// no pool with a token of the set earns anything.
    fn prices_around(&self, best: &Fixed<'p>) -> Vec<f64> {
        let mut prices = self.relaxed.to_vec();
        let mut known = vec![false; prices.len()];
        for (at, token) in self.sub.tokens.iter().enumerate() {
            if let Some(own) = best.sub.tokens.iter().position(|t| t == token) {
                prices[at] = best.prices[own];
                known[at] = true;
            }
        }
        let mut band = vec![(0.0_f64, f64::INFINITY); prices.len()];
        for member in &self.sub.members {
            for side in 0..2 {
                let (from, to) = (member.ends[side] as usize, member.ends[1 - side] as usize);
                let spot = member.spot[side];
                if known[to] && !known[from] {
                    band[from].0 = band[from].0.max(prices[to] * spot);
                }
                if known[from] && !known[to] && spot > 0.0 {
                    band[to].1 = band[to].1.min(prices[from] / spot);
                }
            }
        }
        for (at, (low, high)) in band.into_iter().enumerate().filter(|(at, _)| !known[*at]) {
            prices[at] = if low <= high { prices[at].clamp(low, high) } else { (low * high).sqrt() };
        }
        prices
    }
}

/// Returns a pool of a flow and those that nothing else leads to. The token `kept` counts as led to in any case.
fn led_to(best: &Fixed<'_>, pair: u32, kept: u32) -> Vec<u32> {
    let mut left = vec![pair];
    let mut next = 0;
    while next < left.len() {
        let Some(flow) = best.flows.iter().find(|flow| flow.pair == left[next]) else { return left };
        next += 1;
        let is_fed =
            flow.to == kept || best.flows.iter().any(|other| other.to == flow.to && !left.contains(&other.pair));
        if !is_fed {
            let leaving = best.flows.iter().filter(|other| other.from == flow.to).map(|other| other.pair);
            let fresh: Vec<u32> = leaving.filter(|pair| !left.contains(pair)).collect();
            left.extend(fresh);
        }
    }
    left
}

/// Returns whether a flow leads from each of its tokens to each other, by local numbers; every token leads to itself.
fn leads(best: &Fixed<'_>) -> Vec<Vec<bool>> {
    let number = |token: u32| best.sub.tokens.iter().position(|own| *own == token);
    let ends = best.flows.iter().filter_map(|flow| number(flow.from).zip(number(flow.to)));
    let mut onward = vec![Vec::new(); best.sub.tokens.len()];
    ends.for_each(|(from, to)| onward[from].push(to));
    let reached = |start: usize| {
        let mut reached = vec![false; onward.len()];
        reached[start] = true;
        let mut next = vec![start];
        while let Some(here) = next.pop() {
            for &to in &onward[here] {
                if !std::mem::replace(&mut reached[to], true) {
                    next.push(to);
                }
            }
        }
        reached
    };
    (0..onward.len()).map(reached).collect()
}

/// Returns a set without one pool.
fn without(used: &[u32], pair: u32) -> Vec<u32> {
    used.iter().copied().filter(|p| *p != pair).collect()
}

/// Adds a set if it is new.
fn push_new(sets: &mut Vec<Vec<u32>>, set: Vec<u32>) {
    if !sets.contains(&set) {
        sets.push(set);
    }
}
