//! The best single path of pools, by real amounts.
//!
//! A label-setting search: hop by hop, the best labels of each token are kept. A label is the amount that a path has
//! made of the token so far, ranked by the most that it can still become (amount × worth − gas). A path never visits a
//! token twice. A pool that is already in use counts with the output that it adds, and its gas is not charged again.

use std::cell::Cell;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::prepare::{Arrow, Arrows, index32};
use crate::problem::potentials::Potentials;
use crate::problem::support::Support;
use crate::problem::{Flow, Problem};
use crate::tuning::Tuning;

/// A path of pools with its planned amounts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Path {
    pub(crate) flows: Vec<Flow>,
    /// Value of the output, net of gas.
    pub(crate) net: f64,
}

/// Amount up to which every integer has an exact float: below it, outputs are rounded down as contracts round.
pub(crate) const EXACT_BELOW: f64 = 9_007_199_254_740_992.0;

/// A partial path: the token that it reached, with the amount and the value of the gas so far.
#[derive(Clone, Copy, Debug)]
struct Label {
    token: u32,
    amount: f64,
    gas: f64,
    /// The most that the path can still be worth, net of gas; minus the amount if the smallest amount is the best.
    rank: f64,
    parent: u32,
    pair: u32,
    side: u8,
    /// The previous label of the same token and layer.
    sibling: u32,
}

/// Stands for no label.
const NONE: u32 = u32::MAX;

/// The limits of a search for paths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathLimits {
    /// Value, net of gas, that a path must exceed.
    pub(crate) floor: f64,
    /// Most paths that are returned.
    pub(crate) keep: usize,
    /// Most pools priced.
    pub(crate) quotes: usize,
}

impl PathLimits {
    /// Returns limits for at most `keep` paths of any value.
    pub(crate) const fn of_any_value(keep: usize) -> Self {
        Self { floor: f64::NEG_INFINITY, keep, quotes: Tuning::PATH_QUOTES }
    }
}

/// Finds the best paths for `amount` on top of the pools in use, best first.
pub(crate) fn best_paths(
    problem: &Problem<'_>,
    potentials: &Potentials,
    amount: f64,
    used: &Support,
    limits: PathLimits,
) -> Vec<Path> {
    Search::new(problem, potentials, amount, used, limits).run().0
}

/// Sets the amounts along a path of pools to those of an input of `amount` on top of the pools in use, and returns the value
/// of its output, net of gas; `None` if a pool refuses its amount.
pub(crate) fn reprice(problem: &Problem<'_>, used: &Support, path: &mut [Flow], amount: f64) -> Option<f64> {
    let (mut amount, mut gas) = (amount, 0.0);
    for flow in path {
        flow.amount_in = amount;
        let (out, gas_units) = on_top(problem, flow.pair, flow.side, used.amount_in(flow.pair), amount)?;
        gas += gas_units * problem.gas_price;
        amount = out;
    }
    Some(amount * problem.price_out - gas)
}

/// Computes a pool's output for an amount, and its gas units; for a pool in use, the output and the gas that the amount
/// adds. `None` if the pool pays nothing, or takes no more.
pub(crate) fn on_top(
    problem: &Problem<'_>,
    pair: u32,
    side: u8,
    held: Option<f64>,
    amount_in: f64,
) -> Option<(f64, f64)> {
    let (curve, direction) = problem.direction(pair, side)?;
    if held.unwrap_or(0.0) + amount_in > direction.capacity_in() * Tuning::CAPACITY_FILLED {
        return None;
    }
    let Some(held) = held else {
        let (out, on_the_way) = direction.quote(amount_in);
        let out = whole(out);
        return (out > 0.0).then_some((out, curve.gas_units + on_the_way));
    };
    let (before, gas_before) = direction.quote(held);
    let (after, gas) = direction.quote(held + amount_in);
    (after > before).then_some((after - before, gas - gas_before))
}

/// Finds the best paths for the whole amount, at most `keep` of them. Prices at most `quotes` pools.
///
/// If several pools lead to a token, the largest amount is kept, and a later pool may not take as much. So if there are
/// fewer paths and a pool refused its amount, two more searches add paths: one that keeps the smallest amounts, and one in
/// which holding more of a token does not rule out other labels.
pub(crate) fn whole_paths(problem: &Problem<'_>, potentials: &Potentials, keep: usize, quotes: usize) -> Vec<Path> {
    let used = Support::default();
    let limits = PathLimits { quotes, ..PathLimits::of_any_value(keep) };
    let (mut paths, is_refused) = Search::new(problem, potentials, problem.amount, &used, limits).run();
    if is_refused && paths.len() < keep {
        let limits = PathLimits { quotes: quotes.min(Tuning::PATH_QUOTES_AGAIN), ..limits };
        for (smallest_first, keeps_dominated) in [(true, false), (false, true)] {
            let again = Search::new(problem, potentials, problem.amount, &used, limits);
            let (again, _) = Search { smallest_first, keeps_dominated, ..again }.run();
            let fresh: Vec<Path> = again.into_iter().filter(|path| !paths.contains(path)).collect();
            paths.extend(fresh);
        }
    }
    paths
}

/// Finds at most `keep` paths for an amount beyond the market's liquidity: the smallest amount of each token is kept, so
/// that a later pool that cannot take more is still reached.
pub(crate) fn smallest_paths(problem: &Problem<'_>, potentials: &Potentials, keep: usize) -> Vec<Path> {
    let (used, limits) = (Support::default(), PathLimits::of_any_value(keep));
    let search = Search::new(problem, potentials, problem.amount, &used, limits);
    Search { smallest_first: true, ..search }.run().0
}

/// What a search has found so far. A thread's next search uses the same memory: a solve runs hundreds of them.
#[derive(Debug, Default)]
struct Room {
    /// Tokens that pools in use touch.
    is_used: FxHashSet<u32>,
    labels: Vec<Label>,
    /// Labels at the output, best first.
    ends: Vec<u32>,
    /// The newest label of each token that has one in the layer being built; older ones follow as its siblings. A map,
    /// because a search meets few of a market's tokens.
    newest: FxHashMap<u32, u32>,
    /// Labels that are extended now, and those that are extended next.
    frontier: Vec<u32>,
    next: Vec<u32>,
}

thread_local! {
    /// Memory not in use.
    static SPARE: Cell<Option<Room>> = const { Cell::new(None) };
}

struct Search<'a, 'p> {
    problem: &'a Problem<'p>,
    potentials: &'a Potentials,
    amount: f64,
    used: &'a Support,
    room: Room,
    /// Limits; of pools, how many may still be priced.
    limits: PathLimits,
    /// Whether the smallest amount of a token is the best.
    smallest_first: bool,
    /// Whether no label is dominated by another that holds more.
    keeps_dominated: bool,
    /// Whether a pool refused the amount of a path.
    is_refused: bool,
}

impl<'a, 'p> Search<'a, 'p> {
    fn new(
        problem: &'a Problem<'p>,
        potentials: &'a Potentials,
        amount: f64,
        used: &'a Support,
        limits: PathLimits,
    ) -> Self {
        let mut room = SPARE.take().unwrap_or_default();
        room.is_used.clear();
        room.is_used.extend(used.tokens());
        room.labels.clear();
        room.ends.clear();
        room.newest.clear();
        Self {
            problem,
            potentials,
            amount,
            used,
            room,
            limits,
            smallest_first: false,
            keeps_dominated: false,
            is_refused: false,
        }
    }

    /// Returns the paths found, best first, and whether a pool refused the amount of a path.
    fn run(mut self) -> (Vec<Path>, bool) {
        self.set_labels();
        let paths = self.room.ends.iter().map(|&end| self.path(end)).collect();
        SPARE.set(Some(self.room));
        (paths, self.is_refused)
    }

    /// Sets labels hop by hop, until none can be extended.
    fn set_labels(&mut self) {
        let problem = self.problem;
        let (source, target) = (problem.source, problem.target);
        self.room.labels.push(Label {
            token: index32(source),
            amount: self.amount,
            gas: 0.0,
            rank: f64::INFINITY,
            parent: NONE,
            sibling: NONE,
            pair: 0,
            side: 0,
        });
        let (mut frontier, mut next) = (std::mem::take(&mut self.room.frontier), std::mem::take(&mut self.room.next));
        frontier.clear();
        frontier.push(0);
        for hop in 1..=problem.hops {
            next.clear();
            for &at in &frontier {
                let token = self.room.labels[at as usize].token as usize;
                // Extends to the output first: its value prunes the rest.
                for arrow in problem.search_arrows_to_output(token) {
                    self.extend(at, &arrow, problem.hops - hop, &mut next);
                }
                if hop == problem.hops {
                    continue;
                }
                // Rules out most arrows by their marginal rate alone.
                let (label, floor) = (self.room.labels[at as usize], self.floor());
                let worth = self.potentials.within(problem.hops - hop);
                let parts = self.problem.search_arrows(token);
                for (rough, arrow) in parts.into_iter().flat_map(Arrows::iter) {
                    let to = rough.to as usize;
                    let rank = |spot: f64| label.amount * spot * worth[to] - label.gas;
                    if rank(rough.most_spot()) > floor && rank(arrow.spot) > floor && to != target {
                        self.extend(at, arrow, problem.hops - hop, &mut next);
                    }
                }
            }
            let labels = &self.room.labels;
            next.retain(|&at| !self.is_dominated(&labels[at as usize], at));
            next.sort_by(|&a, &b| labels[b as usize].rank.total_cmp(&labels[a as usize].rank).then(a.cmp(&b)));
            self.room.newest.clear();
            std::mem::swap(&mut frontier, &mut next);
            if frontier.is_empty() {
                break;
            }
        }
        (self.room.frontier, self.room.next) = (frontier, next);
    }

    /// Returns the value that a label must exceed to be of use.
    fn floor(&self) -> f64 {
        let PathLimits { floor, keep, .. } = self.limits;
        match self.room.ends.last() {
            Some(last) if self.room.ends.len() >= keep && !self.smallest_first => {
                self.room.labels[*last as usize].rank.max(floor)
            }
            _ => floor,
        }
    }

    /// Extends a path by an arrow, after which at most `pools` may follow.
    fn extend(&mut self, at: u32, arrow: &Arrow, pools: usize, next: &mut Vec<u32>) {
        let problem = self.problem;
        let (label, to) = (self.room.labels[at as usize], arrow.to as usize);
        let worth = self.potentials.worth_within(pools, to);
        let floor = self.floor();
        if self.limits.quotes == 0 || worth <= 0.0 || !problem.is_open(arrow.pair) || to == problem.source {
            return;
        }
        if label.amount * arrow.spot * worth - label.gas <= floor || self.visits(at, arrow) {
            return;
        }
        self.limits.quotes -= 1;
        let Some((amount, gas_units)) = self.quote(arrow, label.amount) else {
            self.is_refused = true;
            return;
        };
        let gas = label.gas + gas_units * problem.gas_price;
        let smallest_first = self.smallest_first && to != problem.target;
        let rank = if smallest_first { -amount } else { amount * worth - gas };
        let index = index32(self.room.labels.len());
        let label = Label {
            token: arrow.to,
            amount,
            gas,
            rank,
            parent: at,
            sibling: if to == problem.target { NONE } else { self.room.newest.get(&arrow.to).copied().unwrap_or(NONE) },
            pair: arrow.pair,
            side: arrow.side,
        };
        if rank <= floor || (to != problem.target && self.is_dominated(&label, index)) {
            return;
        }
        self.room.labels.push(label);
        if to == problem.target {
            let labels = &self.room.labels;
            let place = self.room.ends.partition_point(|&end| labels[end as usize].rank >= rank);
            self.room.ends.insert(place, index);
            self.room.ends.truncate(self.limits.keep);
        } else {
            self.room.newest.insert(arrow.to, index);
            next.push(index);
        }
    }

    /// Returns whether other labels of the token in this layer make a label useless: one holds as much for as little
    /// gas, or enough of them rank higher. The later value of an amount depends on its size. So if one label holds
    /// more and the other paid less gas, neither dominates. Nor does a label that cannot be extended wherever the other
    /// can.
    fn is_dominated(&self, label: &Label, index: u32) -> bool {
        let (mut at, mut better) = (self.room.newest.get(&label.token).copied().unwrap_or(NONE), 0);
        while at != NONE {
            let other = &self.room.labels[at as usize];
            let first = at < index;
            if at != index && self.smallest_first {
                better += if other.rank > label.rank || (first && other.rank == label.rank) {
                    Tuning::PATH_LABELS
                } else {
                    0
                };
            } else if at != index {
                let is_no_worse = !self.keeps_dominated && other.amount >= label.amount && other.gas <= label.gas;
                let same = other.amount == label.amount && other.gas == label.gas;
                if is_no_worse && (first || !same) && self.extends_as_far(other, label) {
                    return true;
                }
                better += usize::from(other.rank > label.rank || (first && other.rank == label.rank));
            }
            at = other.sibling;
        }
        better >= Tuning::PATH_LABELS
    }

    /// Returns whether one label's path can be extended wherever another's can: it holds no token, and no pool of more
    /// than two coins, that the other's does not hold. Over the whole of a large market this is assumed, because there are
    /// other paths.
    fn extends_as_far(&self, one: &Label, other: &Label) -> bool {
        if one.parent == other.parent || self.problem.active.as_ref().is_some_and(|active| active.is_cut()) {
            return true;
        }
        let pairs = self.problem.prepared.pairs();
        let held_by_other = |step: &Label| {
            let pool = pairs.get(step.pair).pool;
            let mut held = [false, pairs.of_pool(pool).len() == 1];
            self.steps(other).for_each(|own| {
                held[0] |= own.token == step.token;
                held[1] |= pairs.get(own.pair).pool == pool;
            });
            held == [true; 2]
        };
        self.steps(one).all(held_by_other)
    }

    /// Returns the labels of a path, from its end to the first pool's.
    fn steps<'l>(&'l self, end: &'l Label) -> impl Iterator<Item = &'l Label> {
        let before = |label: &&'l Label| self.room.labels.get(label.parent as usize);
        std::iter::successors(Some(end), before).take_while(|label| label.parent != NONE)
    }

    /// Returns whether a label's path already holds the arrow's token or pool, or leads back to it through pools in
    /// use.
    fn visits(&self, at: u32, arrow: &Arrow) -> bool {
        let meets = |token: u32| self.room.is_used.contains(&token);
        let (from, leads_back) = (self.room.labels[at as usize].token, meets(arrow.to));
        if leads_back && meets(from) && self.used.opposes(arrow.pair, arrow.side) {
            return true;
        }
        let pairs = self.problem.prepared.pairs();
        let pool = pairs.get(arrow.pair).pool;
        let mut at = at;
        while at != NONE {
            let label = &self.room.labels[at as usize];
            if label.token == arrow.to || (label.parent != NONE && pairs.get(label.pair).pool == pool) {
                return true;
            }
            if leads_back && meets(label.token) && self.used.leads(arrow.to, label.token) {
                return true;
            }
            at = label.parent;
        }
        false
    }

    /// Computes the output of an arrow's pool and its gas units, on top of the pools in use; `None` if it refuses.
    fn quote(&self, arrow: &Arrow, amount_in: f64) -> Option<(f64, f64)> {
        let may_be_used = self.room.is_used.contains(&arrow.to);
        if let Some(plain) = arrow.plain().filter(|_| !may_be_used) {
            return plain.quote(amount_in).map(whole).filter(|out| *out > 0.0).map(|out| (out, plain.gas_units));
        }
        let held = if may_be_used { self.used.amount_in(arrow.pair) } else { None };
        on_top(self.problem, arrow.pair, arrow.side, held, amount_in)
    }

    /// Returns the path that ends with a label.
    fn path(&self, end: u32) -> Path {
        let mut flows = Vec::new();
        let mut at = end;
        while self.room.labels[at as usize].parent != NONE {
            let label = &self.room.labels[at as usize];
            let before = &self.room.labels[label.parent as usize];
            flows.push(Flow {
                pair: label.pair,
                side: label.side,
                from: before.token,
                to: label.token,
                amount_in: before.amount,
            });
            at = label.parent;
        }
        flows.reverse();
        Path { flows, net: self.room.labels[end as usize].rank }
    }
}

/// Rounds an amount as integers would.
#[inline]
fn whole(amount: f64) -> f64 {
    if amount < EXACT_BELOW { amount.floor() } else { amount }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use braid_primitives::U256;

    use super::*;
    use crate::prepare::active::ActiveTokens;
    use crate::testing::{prepared, problem, token};

    #[test]
    fn a_path_that_holds_less_is_kept_if_it_leads_where_the_other_cannot() {
        const ETHER: u128 = 10_u128.pow(18);
        // Two paths lead to token 4. The one that holds more came through token 2, the only way on to the output.
        let pools =
            [((1, 2), 1_000), ((2, 4), 1_100), ((1, 3), 1_000), ((3, 4), 1_050), ((4, 2), 1_200), ((2, 0), 1_000)];
        let market = prepared(&pools.map(|(ends, rate)| (ends, [ETHER * 1_000_000, ETHER * 1_000 * rate])));
        let mut problem = problem(&market, token(1), U256::from(ETHER), token(0));
        let nodes = (0..5).map(|at| index32(market.node(token(at)))).collect();
        let few = ActiveTokens::only(&market, nodes, problem.token_count);
        for active in [None, Some(Arc::new(few))] {
            problem.active = active;
            let potentials = Potentials::new(&problem, 1.0);
            let limits = PathLimits::of_any_value(1);
            let best = best_paths(&problem, &potentials, problem.amount, &Support::default(), limits).remove(0);
            let through: Vec<_> = best.flows.iter().map(|flow| market.token(flow.from)).collect();
            assert_eq!(through, [1, 3, 4, 2].map(token));
        }
    }
}
