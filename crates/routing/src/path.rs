//! The best single path of pools, by real amounts.
//!
//! A label-setting search: hop by hop, the best labels of each token are kept. A label is the amount that a path has
//! made of the token so far, ranked by the most that it can still become (amount × worth − gas). A path never visits a
//! token twice. A pool that is already in use counts with the output that it adds, and its gas is not charged again.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::prepare::{Arrow, Arrows};
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
    /// The most that the path can still be worth, net of gas; in a narrow search minus the amount.
    promise: f64,
    parent: u32,
    pair: u32,
    side: u8,
    /// The previous label of the same token and layer.
    sibling: u32,
}

const NONE: u32 = u32::MAX;

/// Finds the best paths for `amount`, best first, at most `keep`.
pub(crate) fn best_paths(
    problem: &Problem<'_>,
    potentials: &Potentials,
    amount: f64,
    used: &Support,
    keep: usize,
) -> Vec<Path> {
    best_paths_within(problem, potentials, amount, used, keep, Tuning::PATH_QUOTES)
}

/// Finds the same, with at most so many pools priced.
pub(crate) fn best_paths_within(
    problem: &Problem<'_>,
    potentials: &Potentials,
    amount: f64,
    used: &Support,
    keep: usize,
    quotes: usize,
) -> Vec<Path> {
    let mut search = Search { left: quotes, ..Search::new(problem, potentials, amount, used, keep) };
    search.run();
    search.paths()
}

/// The least value of the paths that a search returns, and the limits of the search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Within {
    /// Value, net of gas, that a path must exceed.
    pub(crate) floor: f64,
    /// Most paths.
    pub(crate) keep: usize,
    /// Most pools priced.
    pub(crate) quotes: usize,
}

/// Finds the best paths for `amount` on top of the pools in use, best first, within limits.
pub(crate) fn paths_above(
    problem: &Problem<'_>,
    potentials: &Potentials,
    amount: f64,
    used: &Support,
    within: Within,
) -> Vec<Path> {
    let search = Search::new(problem, potentials, amount, used, within.keep);
    let mut search = Search { left: within.quotes, least: within.floor, ..search };
    search.run();
    search.paths()
}

/// Computes the amounts along a path of pools for an input of `amount` on top of the pools in use; `None` if one
/// refuses its amount.
pub(crate) fn repriced(problem: &Problem<'_>, used: &Support, path: &[Flow], amount: f64) -> Option<Path> {
    let (mut amount, mut gas) = (amount, 0.0);
    let mut flows = Vec::with_capacity(path.len());
    for flow in path {
        flows.push(Flow { amount_in: amount, ..*flow });
        let (out, gas_units) = on_top(problem, flow.pair, flow.side, used.amount_in(flow.pair), amount)?;
        gas += gas_units * problem.gas_price;
        amount = out;
    }
    Some(Path { flows, net: amount * problem.price_out - gas })
}

/// Computes a pool's output for an amount, and its gas units; for a pool in use, the output and the gas that the amount
/// adds. `None` if the pool pays nothing, or takes no more.
fn on_top(problem: &Problem<'_>, pair: u32, side: u8, held: Option<f64>, amount_in: f64) -> Option<(f64, f64)> {
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

/// Finds the best paths for the whole amount, at most `keep` of them, with at most so many pools priced.
///
/// If several pools lead to a token, the largest amount is kept, and a later pool may not take as much. So if a pool
/// refused its amount, two more searches add paths: one that keeps the smallest amounts, and one in which holding more
/// of a token does not rule out other labels.
pub(crate) fn whole_paths(problem: &Problem<'_>, potentials: &Potentials, keep: usize, quotes: usize) -> Vec<Path> {
    let used = Support::default();
    let mut search = Search { left: quotes, ..Search::new(problem, potentials, problem.amount, &used, keep) };
    search.run();
    let mut paths = search.paths();
    if search.is_refused {
        for (narrow, is_wary) in [(true, false), (false, true)] {
            let again = Search::new(problem, potentials, problem.amount, &used, keep);
            let mut again = Search { narrow, is_wary, left: quotes.min(Tuning::PATH_QUOTES_AGAIN), ..again };
            again.run();
            let fresh: Vec<Path> = again.paths().into_iter().filter(|path| !paths.contains(path)).collect();
            paths.extend(fresh);
        }
    }
    paths
}

/// Finds the best path for the whole amount that is worth more than `floor`, with at most so many pools priced.
pub(crate) fn better_path(problem: &Problem<'_>, potentials: &Potentials, floor: f64, quotes: usize) -> Option<Path> {
    let used = Support::default();
    let search = Search::new(problem, potentials, problem.amount, &used, 1);
    let mut search = Search { left: quotes, least: floor, ..search };
    search.run();
    search.paths().pop()
}

/// Finds paths for an amount beyond the market's liquidity: the smallest amount of each token is kept, so that a later
/// pool that cannot take more is still reached.
pub(crate) fn narrowest_paths(problem: &Problem<'_>, potentials: &Potentials, keep: usize) -> Vec<Path> {
    let used = Support::default();
    let mut search = Search { narrow: true, ..Search::new(problem, potentials, problem.amount, &used, keep) };
    search.run();
    search.paths()
}

struct Search<'a, 'p> {
    problem: &'a Problem<'p>,
    potentials: &'a Potentials,
    amount: f64,
    used: &'a Support,
    /// Tokens that pools in use touch.
    is_used: FxHashSet<u32>,
    keep: usize,
    /// Whether the smallest amount of a token is the best.
    narrow: bool,
    /// Whether no label is dominated by another that holds more.
    is_wary: bool,
    /// The value that a path must exceed.
    least: f64,
    labels: Vec<Label>,
    /// Labels at the output, best first.
    ends: Vec<u32>,
    /// The newest label of each token that has one in the layer being built; older ones follow as its siblings. A search
    /// meets few of a market's tokens, and there are hundreds of searches.
    newest: FxHashMap<u32, u32>,
    /// How many pools may still be priced.
    left: usize,
    /// Whether a pool refused the amount of a path.
    is_refused: bool,
}

impl<'a, 'p> Search<'a, 'p> {
    fn new(problem: &'a Problem<'p>, potentials: &'a Potentials, amount: f64, used: &'a Support, keep: usize) -> Self {
        Self {
            problem,
            potentials,
            amount,
            used,
            is_used: used.tokens().iter().copied().collect(),
            keep,
            narrow: false,
            is_wary: false,
            least: f64::NEG_INFINITY,
            labels: Vec::new(),
            ends: Vec::new(),
            newest: FxHashMap::default(),
            left: Tuning::PATH_QUOTES,
            is_refused: false,
        }
    }

    fn run(&mut self) {
        let (problem, graph) = (self.problem, self.problem.prepared.graph());
        let (source, target) = (problem.source, problem.target);
        self.labels.push(Label {
            token: crate::prepare::index32(source),
            amount: self.amount,
            gas: 0.0,
            promise: f64::INFINITY,
            parent: NONE,
            sibling: NONE,
            pair: 0,
            side: 0,
        });
        let mut frontier = vec![0_u32];
        for hop in 1..=problem.hops {
            let mut next = Vec::new();
            for &at in &frontier {
                let token = self.labels[at as usize].token as usize;
                // The output first: its value prunes the rest.
                for arrow in graph.between(token, target) {
                    self.extend(at, &arrow, problem.hops - hop, &mut next);
                }
                if hop == problem.hops {
                    continue;
                }
                // Most arrows are ruled out by their marginal rate alone.
                let (label, floor) = (self.labels[at as usize], self.floor());
                let worth = self.potentials.within(problem.hops - hop);
                let parts = self.problem.ways(token);
                for (rough, arrow) in parts.into_iter().flat_map(Arrows::iter) {
                    let to = rough.to as usize;
                    let promise = |spot: f64| label.amount * spot * worth[to] - label.gas;
                    if promise(rough.most_spot()) > floor && promise(arrow.spot) > floor && to != target {
                        self.extend(at, arrow, problem.hops - hop, &mut next);
                    }
                }
            }
            let labels = &self.labels;
            next.retain(|&at| !self.outdone(&labels[at as usize], at));
            next.sort_by(|&a, &b| labels[b as usize].promise.total_cmp(&labels[a as usize].promise).then(a.cmp(&b)));
            self.newest.clear();
            frontier = next;
            if frontier.is_empty() {
                break;
            }
        }
    }

    /// Returns the value that a label must exceed to be of use.
    fn floor(&self) -> f64 {
        match self.ends.len() {
            n if n < self.keep || self.narrow => self.least,
            n => self.labels[self.ends[n - 1] as usize].promise.max(self.least),
        }
    }

    /// Extends a path by an arrow, after which at most `pools` may follow.
    fn extend(&mut self, at: u32, arrow: &Arrow, pools: usize, next: &mut Vec<u32>) {
        let problem = self.problem;
        let (label, to) = (self.labels[at as usize], arrow.to as usize);
        let worth = self.potentials.worth_within(pools, to);
        let floor = self.floor();
        if self.left == 0 || worth <= 0.0 || !problem.is_open(arrow.pair) || to == problem.source {
            return;
        }
        if label.amount * arrow.spot * worth - label.gas <= floor || self.visits(at, arrow) {
            return;
        }
        self.left -= 1;
        let Some((amount, gas_units)) = self.quote(arrow, label.amount) else {
            self.is_refused = true;
            return;
        };
        let gas = label.gas + gas_units * problem.gas_price;
        let narrow = self.narrow && to != problem.target;
        let promise = if narrow { -amount } else { amount * worth - gas };
        let index = crate::prepare::index32(self.labels.len());
        let label = Label {
            token: arrow.to,
            amount,
            gas,
            promise,
            parent: at,
            sibling: if to == problem.target { NONE } else { self.newest.get(&arrow.to).copied().unwrap_or(NONE) },
            pair: arrow.pair,
            side: arrow.side,
        };
        if promise <= floor || (to != problem.target && self.outdone(&label, index)) {
            return;
        }
        self.labels.push(label);
        if to == problem.target {
            let labels = &self.labels;
            let place = self.ends.partition_point(|&end| labels[end as usize].promise >= promise);
            self.ends.insert(place, index);
            self.ends.truncate(self.keep);
        } else {
            self.newest.insert(arrow.to, index);
            next.push(index);
        }
    }

    /// Returns whether other labels of the token in this layer make this one useless: one holds as much for as little
    /// gas, or enough of them promise more. The later value of an amount depends on its size. So if one label holds
    /// more and the other paid less gas, neither dominates. Nor does a label that cannot be extended wherever the other
    /// can.
    fn outdone(&self, label: &Label, index: u32) -> bool {
        let (mut at, mut better) = (self.newest.get(&label.token).copied().unwrap_or(NONE), 0);
        while at != NONE {
            let other = &self.labels[at as usize];
            let first = at < index;
            if at != index && self.narrow {
                better += if other.promise > label.promise || (first && other.promise == label.promise) {
                    Tuning::PATH_LABELS
                } else {
                    0
                };
            } else if at != index {
                let no_worse = !self.is_wary && other.amount >= label.amount && other.gas <= label.gas;
                let same = other.amount == label.amount && other.gas == label.gas;
                if no_worse && (first || !same) && self.is_as_free(other, label) {
                    return true;
                }
                better += usize::from(other.promise > label.promise || (first && other.promise == label.promise));
            }
            at = other.sibling;
        }
        better >= Tuning::PATH_LABELS
    }

    /// Returns whether one label's path can be extended wherever another's can: it holds no token, and no pool of more
    /// than two coins, that the other's does not hold. In a large market this is assumed, because there are other ways.
    fn is_as_free(&self, one: &Label, other: &Label) -> bool {
        if self.problem.active.is_some() || one.parent == other.parent {
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
        let before = |label: &&'l Label| self.labels.get(label.parent as usize);
        std::iter::successors(Some(end), before).take_while(|label| label.parent != NONE)
    }

    /// Returns whether a label's path already holds the arrow's token or pool, or leads back to it through pools in
    /// use.
    fn visits(&self, at: u32, arrow: &Arrow) -> bool {
        let meets = |token: u32| self.is_used.contains(&token);
        let (from, leads_back) = (self.labels[at as usize].token, meets(arrow.to));
        if leads_back && meets(from) && self.used.opposes(arrow.pair, arrow.side) {
            return true;
        }
        let pairs = self.problem.prepared.pairs();
        let pool = pairs.get(arrow.pair).pool;
        let mut at = at;
        while at != NONE {
            let label = &self.labels[at as usize];
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

    fn quote(&self, arrow: &Arrow, amount_in: f64) -> Option<(f64, f64)> {
        let may_be_used = self.is_used.contains(&arrow.to);
        if let Some(plain) = arrow.plain().filter(|_| !may_be_used) {
            return plain.quote(amount_in).map(whole).filter(|out| *out > 0.0).map(|out| (out, plain.gas_units));
        }
        let held = if may_be_used { self.used.amount_in(arrow.pair) } else { None };
        on_top(self.problem, arrow.pair, arrow.side, held, amount_in)
    }

    fn paths(&self) -> Vec<Path> {
        self.ends.iter().map(|&end| self.path(end)).collect()
    }

    fn path(&self, end: u32) -> Path {
        let mut flows = Vec::new();
        let mut at = end;
        while self.labels[at as usize].parent != NONE {
            let label = &self.labels[at as usize];
            let before = &self.labels[label.parent as usize];
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
        Path { flows, net: self.labels[end as usize].promise }
    }
}

/// Rounds an amount as integers would.
#[inline]
fn whole(amount: f64) -> f64 {
    if amount < EXACT_BELOW { amount.floor() } else { amount }
}
