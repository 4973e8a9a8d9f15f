//! From relaxed prices to a set of pools: thresholds first, then dropping and adding one pool at a time.
//!
//! At the prices that balance a set `S` of value `V`, dropping a pool changes the value to at most `V − (profit − gas)`, and
//! adding one to at most `V + (profit − gas)`. So only used pools that earn less than their gas, and unused ones that earn
//! more, can improve on `S`; when there is none, `S` is the best of all sets.

use super::fixed::Fixed;
use crate::problem::Flow;
use crate::relax::{FlowSearch, Subproblem};
use crate::tuning::Tuning;

/// The best set found, balanced; `None` if none can carry the amount.
///
/// `dear` is the subproblem with gas so dear that no more pools than allowed pay, and its prices, where that matters.
pub(crate) fn round<'p>(
    search: &mut FlowSearch<'_, 'p>,
    sub: &Subproblem<'p>,
    relaxed: &[f64],
    dear: Option<&(Subproblem<'p>, Vec<f64>)>,
    chain: &[Flow],
) -> Option<Fixed<'p>> {
    let guesses: Vec<f64> = (0..search.node_count()).map(|token| search.guess(token)).collect();
    let mut rounding = Rounding { trials: 0, tried: Vec::new(), sub, relaxed, dear, guesses };
    let mut best = rounding.first(search, chain)?;
    best = rounding.limit(search, best);
    while let Some(better) = rounding.improve(search, &best) {
        best = better;
    }
    let pools: Vec<u32> = best.sub.members.iter().map(|member| member.pair).collect();
    let (tokens, prices) = (best.sub.tokens.clone(), best.prices.clone());
    let start = |token: u32| tokens.iter().position(|t| *t == token).map_or(1.0, |at| prices[at]);
    let polished = search.fixed(&pools, &start, Tuning::POLISHED_SHARE * search.scale);
    Some(match polished {
        Some(polished) if polished.excess <= best.excess.max(Tuning::ROUGHLY_BALANCED_SHARE * search.scale) => polished,
        _ => best,
    })
}

struct Rounding<'a, 'p> {
    trials: usize,
    /// Moves already tried: pool, and whether it was added.
    tried: Vec<(u32, bool)>,
    sub: &'a Subproblem<'p>,
    relaxed: &'a [f64],
    dear: Option<&'a (Subproblem<'p>, Vec<f64>)>,
    /// A guess at the price of every token of the market.
    guesses: Vec<f64>,
}

impl<'p> Rounding<'_, 'p> {
    fn first(&mut self, search: &mut FlowSearch<'_, 'p>, chain: &[Flow]) -> Option<Fixed<'p>> {
        let chain: Vec<u32> = chain.iter().map(|flow| flow.pair).collect();
        let (sub, prices) = self.dear.map_or((self.sub, self.relaxed), |(sub, prices)| (sub, prices.as_slice()));
        let members = sub.members.iter();
        let mut ratios: Vec<(f64, u32)> =
            members.filter_map(|member| Some((member.earned(sub, prices)?.0, member.pair))).collect();
        ratios.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut sets = vec![chain.clone()];
        for threshold in Tuning::FIRST_SET_SHARES {
            let mut set: Vec<u32> =
                ratios.iter().filter(|(ratio, _)| *ratio > threshold).map(|(_, pair)| *pair).collect();
            push_new(&mut sets, set.clone());
            set.extend(chain.iter().filter(|pair| !set.contains(pair)).copied().collect::<Vec<_>>());
            push_new(&mut sets, set);
        }
        let mut best: Option<Fixed<'p>> = None;
        let mut start = self.guesses.clone();
        for (token, price) in sub.tokens.iter().zip(prices) {
            start[*token as usize] = *price;
        }
        for set in sets.iter().filter(|set| !set.is_empty()) {
            self.trials += 1;
            let found = search.fixed(set, &|token| start[token as usize], Tuning::BALANCED_SHARE * search.scale);
            best = better_of(best, found);
        }
        best
    }

    /// Keeps the pools that earn most until there are no more than allowed.
    fn limit(&mut self, search: &mut FlowSearch<'_, 'p>, mut best: Fixed<'p>) -> Fixed<'p> {
        while best.flows.len() > search.max_pools {
            let mut ranked: Vec<(f64, u32)> = best
                .sub
                .members
                .iter()
                .map(|member| (member.earned(&best.sub, &best.prices).map_or(0.0, |e| e.1), member.pair))
                .collect();
            ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let excess = ranked.len() - search.max_pools;
            ranked.truncate(ranked.len() - excess.div_ceil(2));
            let pools: Vec<u32> = ranked.iter().map(|(_, pair)| *pair).collect();
            let (tokens, prices) = (best.sub.tokens.clone(), best.prices.clone());
            let start = |token: u32| tokens.iter().position(|t| *t == token).map_or(1.0, |at| prices[at]);
            match search.fixed(&pools, &start, Tuning::BALANCED_SHARE * search.scale) {
                Some(fewer) => best = fewer,
                None => return best,
            }
        }
        best
    }

    /// One drop or one addition that raises the value.
    fn improve(&mut self, search: &mut FlowSearch<'_, 'p>, best: &Fixed<'p>) -> Option<Fixed<'p>> {
        let prices = self.board(best);
        let used: Vec<u32> = best.sub.members.iter().map(|member| member.pair).collect();
        let full = used.len() >= search.max_pools;
        let gains = self.sub.members.iter().filter(|member| used.contains(&member.pair));
        let gains = gains.map(|member| (member.gain(&prices), member.pair));
        let weakest = gains.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).unwrap_or((f64::INFINITY, u32::MAX));
        let mut moves: Vec<(f64, u32, bool)> = Vec::new();
        for member in &self.sub.members {
            let gain = member.gain(&prices);
            let add = !used.contains(&member.pair);
            // Where there is no more room, the pool that earns least makes some.
            let better = if add { gain - if full { weakest.0.max(0.0) } else { 0.0 } } else { -gain };
            if better > Tuning::SET_GAIN_SHARE * search.scale && !self.tried.contains(&(member.pair, add)) {
                moves.push((better, member.pair, add));
            }
        }
        moves.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let most = if full { Tuning::SETS_TRIED_WHEN_FULL } else { Tuning::SETS_TRIED };
        for (_, pair, add) in moves {
            if self.trials >= most || search.newton.is_spent(Tuning::WORK) {
                return None;
            }
            self.trials += 1;
            self.tried.push((pair, add));
            let kept = if add && full { without(&used, weakest.1) } else { used.clone() };
            let set = if add { self.with(search, &kept, best, pair) } else { without(&used, pair) };
            let guesses: Vec<f64> = prices.clone();
            let tokens = &self.sub.tokens;
            let start = |token: u32| tokens.iter().position(|t| *t == token).map_or(1.0, |at| guesses[at]);
            if let Some(found) = search.fixed(&set, &start, Tuning::BALANCED_SHARE * search.scale)
                && found.net > best.net + Tuning::SET_BETTER_SHARE * search.scale
                && found.flows.len() <= search.max_pools
            {
                return Some(found);
            }
        }
        None
    }

    /// A set with one more pool, and with the pools that connect its new tokens to the rest.
    fn with(&self, search: &FlowSearch<'_, 'p>, used: &[u32], best: &Fixed<'p>, pair: u32) -> Vec<u32> {
        let mut set = used.to_vec();
        set.push(pair);
        for token in search.problem.prepared.graph().ends(pair) {
            if best.sub.tokens.contains(&token) {
                continue;
            }
            for member in &self.sub.members {
                let touches = member.ends.iter().any(|end| self.sub.tokens[*end as usize] == token);
                let earns =
                    member.earned(self.sub, self.relaxed).is_some_and(|(ratio, _)| ratio > Tuning::CONNECTING_SHARE);
                if touches && earns && !set.contains(&member.pair) {
                    set.push(member.pair);
                }
            }
        }
        set
    }

    /// Prices of the subproblem's tokens: the set's own, and for the others the relaxed ones moved to where no pool towards
    /// the set earns anything.
    fn board(&self, best: &Fixed<'p>) -> Vec<f64> {
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

fn better_of<'p>(best: Option<Fixed<'p>>, found: Option<Fixed<'p>>) -> Option<Fixed<'p>> {
    match (best, found) {
        (Some(best), Some(found)) if found.net > best.net => Some(found),
        (Some(best), _) => Some(best),
        (None, found) => found,
    }
}

fn without(used: &[u32], pair: u32) -> Vec<u32> {
    used.iter().copied().filter(|p| *p != pair).collect()
}

fn push_new(sets: &mut Vec<Vec<u32>>, set: Vec<u32>) {
    if !sets.contains(&set) {
        sets.push(set);
    }
}
