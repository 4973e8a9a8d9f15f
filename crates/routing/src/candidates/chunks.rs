//! Splits an amount into equal chunks: each takes the path that pays most for it on the pools as the earlier chunks
//! left them.
//!
//! Never the optimum, but sound at any size: also beyond the market's liquidity, where a single path pays next to
//! nothing.

use crate::path::{PathLimits, best_paths, on_top, reprice};
use crate::problem::potentials::Potentials;
use crate::problem::support::Support;
use crate::problem::{Flow, Problem};
use crate::tuning::Tuning;

/// The number of parts that an amount is cut into, and the limits of their flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    /// Equal parts.
    pub(crate) chunks: u16,
    /// Most paths that add a pool.
    pub(crate) paths: usize,
    pub(crate) search: PartSearch,
}

/// Limits of the searches for the paths of parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartSearch {
    /// Most pools priced by one search.
    pub(crate) quotes: usize,
    /// Share of a part's value by which its path may pay less than the best one, so that the paths of one search serve for
    /// more parts.
    pub(crate) tolerance: f64,
    /// Whether every part has a search of its own.
    pub(crate) is_for_each_part: bool,
}

impl PartSearch {
    /// Searches for each part over all pools.
    pub(crate) const EXHAUSTIVE: Self = Self { quotes: usize::MAX, tolerance: 0.0, is_for_each_part: true };

    /// Searches over all pools, with a tolerance.
    pub(crate) const fn with_tolerance(tolerance: f64) -> Self {
        Self { tolerance, is_for_each_part: false, ..Self::EXHAUSTIVE }
    }
}

/// Computes the flow of all parts; empty if the first part finds no path.
pub(crate) fn chunked(problem: &Problem<'_>, potentials: &Potentials, cut: Cut) -> Vec<Flow> {
    let mut split = Split::new(problem, potentials, cut);
    let part = problem.amount / f64::from(cut.chunks);
    for _ in 0..cut.chunks {
        // Ends early if no path takes another part: the rest follows the proportions reached so far.
        if split.add_part(part, f64::NEG_INFINITY).is_none() {
            break;
        }
    }
    split.support.flows().to_vec()
}

/// Computes the flow that sells an amount until one part more would bring next to nothing, because the pools on the way to the
/// output take no more; `None` if the whole amount is sold before.
///
/// At first each part is worth about `value`. When no path takes another one, smaller parts fill what is left of the pools.
pub(crate) fn filled(problem: &Problem<'_>, potentials: &Potentials, value: f64) -> Option<Vec<Flow>> {
    let search = PartSearch::with_tolerance(Tuning::TOLERANCE_OF_MANY_CHUNKS);
    let cut = Cut { chunks: Tuning::FILL_PARTS, paths: usize::MAX, search };
    let mut split = Split::new(problem, potentials, cut);
    let mut part = value / potentials.worth[problem.source];
    if !(part > 0.0 && part.is_finite()) {
        return None;
    }
    let (mut sold, mut first_rate, mut reductions) = (0.0, None, 0);
    for _ in 0..cut.chunks {
        if sold + part > problem.amount {
            return None;
        }
        let least = first_rate.map_or(f64::NEG_INFINITY, |rate: f64| rate * part * Tuning::FILL_LEAST_RATE);
        if let Some(net) = split.add_part(part, least) {
            sold += part;
            first_rate = first_rate.or(Some(net / part));
            if reductions == 0 && net < 0.5 * value {
                part *= 2.0;
                split.resize_parts();
            }
        } else if reductions < Tuning::FILL_REDUCTIONS {
            reductions += 1;
            part /= Tuning::FILL_REDUCTION;
            split.resize_parts();
        } else {
            return Some(split.support.flows().to_vec()).filter(|flows| !flows.is_empty());
        }
    }
    None
}

/// A path that the next part may take.
struct Known {
    flows: Vec<Flow>,
    /// Value of a part on it, net of gas; `None` if a pool on it takes no more.
    net: Option<f64>,
    /// Whether a part was sent through a pool on it since.
    is_stale: bool,
    /// Whether the paths beside it were added since the last search, which drops them.
    is_expanded: bool,
}

impl Known {
    /// Returns a path that is still to be priced.
    fn unpriced(flows: Vec<Flow>) -> Self {
        Self { flows, net: None, is_stale: true, is_expanded: false }
    }
}

/// Returns whether two paths pass through the same pools.
fn passes_as(one: &[Flow], other: &[Flow]) -> bool {
    one.iter().map(|flow| flow.pair).eq(other.iter().map(|flow| flow.pair))
}

/// The path that pays most for a part.
struct Best {
    /// Its position among the known paths.
    at: usize,
    /// Value of the part, net of gas.
    net: f64,
    /// The support with the part, if a pool joins.
    joined: Option<Support>,
}

/// Returns the value, net of gas, that is below the best path's by a share.
fn below(best: Option<&Best>, share: f64) -> f64 {
    best.map_or(f64::NEG_INFINITY, |Best { net, .. }| net - share * net.abs())
}

/// The parts sent so far, and the paths that the next one may take.
///
/// The output of a path for one part only falls while parts are added to pools in use. So the paths of one search serve until
/// the best of them pays less than any other path did. A pool that joins makes the paths through it cheaper by its gas:
/// then a new search is due. A search does not list a path that holds less of a token than another after the same gas,
/// however little less; so the paths that differ from one in use by one pool are known, too.
struct Split<'a, 'p> {
    problem: &'a Problem<'p>,
    potentials: &'a Potentials,
    cut: Cut,
    support: Support,
    /// Number of paths that added a pool.
    added: usize,
    paths: Vec<Known>,
    /// Paths that the limits forbid, and go on to forbid: pools in use stay in use.
    refused: Vec<Vec<Flow>>,
    /// Upper limit of the value, net of gas, of a part on a path not among `paths`; infinite if a search is due.
    unknown_net: f64,
    /// The potentials that prune the searches for parts; `None` if those of the whole amount do.
    of_part: Option<OfPart>,
}

/// The potentials of a part on top of the pools in use.
struct OfPart {
    potentials: Potentials,
    /// Value of the best path, net of gas, below which new ones prune more.
    least_net: f64,
}

impl<'a, 'p> Split<'a, 'p> {
    fn new(problem: &'a Problem<'p>, potentials: &'a Potentials, cut: Cut) -> Self {
        Self {
            problem,
            potentials,
            cut,
            support: Support::default(),
            added: 0,
            paths: Vec::new(),
            refused: Vec::new(),
            unknown_net: f64::INFINITY,
            of_part: None,
        }
    }

    /// Forgets what was known about parts of another size.
    fn resize_parts(&mut self) {
        self.unknown_net = f64::INFINITY;
        self.of_part = None;
        self.paths.iter_mut().for_each(|path| path.is_stale = true);
    }

    /// Sends one more part along the path that pays most for it, and returns its value, net of gas; `None` if no path takes
    /// it, or none pays at least `least`.
    fn add_part(&mut self, part: f64, least: f64) -> Option<f64> {
        let PartSearch { tolerance, is_for_each_part, .. } = self.cut.search;
        let mut best = self.best(part);
        if is_for_each_part {
            best = self.best_of_all(part, best);
        } else if best.as_ref().is_none_or(|best| best.net < self.unknown_net) {
            self.search(part, best.as_ref(), tolerance.max(Tuning::CHUNK_WINDOW), Tuning::CHUNK_PATHS);
            best = self.best(part);
            // Paths that pay more but that the limits forbid are no reason to search again for the next part.
            self.unknown_net = self.unknown_net.min(below(best.as_ref(), tolerance));
        }
        let Best { at, net, joined } = best.filter(|best| best.net >= least)?;
        let taken = std::mem::take(&mut self.paths[at].flows);
        if let Some(support) = joined {
            self.support = support;
            self.added += 1;
            self.of_part = None;
            self.unknown_net = f64::INFINITY;
        } else {
            self.support.increase(&taken);
        }
        for path in &mut self.paths {
            path.is_stale |= path.flows.iter().any(|flow| taken.iter().any(|taken| taken.pair == flow.pair));
        }
        self.paths[at].is_stale = true;
        self.paths[at].flows = taken;
        if !is_for_each_part && !std::mem::replace(&mut self.paths[at].is_expanded, true) {
            self.add_beside(at);
        }
        Some(net)
    }

    /// Returns the path that pays most for a part, of the known ones and of all others. `best` is the best known one.
    ///
    /// First lists one path that is not refused yet. If the limits forbid that one, lists as many as any search does, and no
    /// more: the limits of a route may forbid thousands.
    fn best_of_all(&mut self, part: f64, best: Option<Best>) -> Option<Best> {
        let refused = self.refused.len();
        self.search(part, best.as_ref(), 0.0, (1 + refused).min(Tuning::CHUNK_PATHS));
        let found = self.best(part);
        if self.refused.len() == refused {
            return found;
        }
        self.search(part, found.as_ref(), 0.0, Tuning::CHUNK_PATHS);
        self.best(part)
    }

    /// Adds the paths that differ from a known one by a pool between the same tokens, for each pair of tokens over the pools
    /// that pay most. Leaves out the last pool, for which a search lists them.
    fn add_beside(&mut self, at: usize) {
        let (problem, path) = (self.problem, self.paths[at].flows.clone());
        let (graph, pairs) = (problem.prepared.graph(), problem.prepared.pairs());
        let passes = |pair: u32| path.iter().any(|flow| pairs.get(flow.pair).pool == pairs.get(pair).pool);
        for (step, flow) in path.iter().enumerate().take(path.len().saturating_sub(1)) {
            let beside = graph.between(flow.from as usize, flow.to as usize);
            let beside = beside.filter(|arrow| problem.is_open(arrow.pair) && !passes(arrow.pair));
            let mut paid: Vec<(f64, u32, u8)> = beside
                .filter_map(|arrow| {
                    let held = self.support.amount_in(arrow.pair);
                    let (paid, _) = on_top(problem, arrow.pair, arrow.side, held, flow.amount_in)?;
                    Some((paid, arrow.pair, arrow.side))
                })
                .collect();
            paid.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            for (_, pair, side) in paid.into_iter().take(Tuning::PATH_LABELS) {
                let mut flows = path.clone();
                flows[step] = Flow { pair, side, ..*flow };
                self.add_unless_known(flows);
            }
        }
    }

    /// Adds a path that is neither known nor refused.
    fn add_unless_known(&mut self, flows: Vec<Flow>) {
        let mut known = self.paths.iter().map(|path| &path.flows).chain(&self.refused);
        if !known.any(|known| passes_as(known, &flows)) {
            self.paths.push(Known::unpriced(flows));
        }
    }

    /// Returns the known path that pays most for a part, of those that the limits allow.
    fn best(&mut self, part: f64) -> Option<Best> {
        for path in self.paths.iter_mut().filter(|path| path.is_stale) {
            path.is_stale = false;
            path.net = reprice(self.problem, &self.support, &mut path.flows, part);
        }
        loop {
            let priced = self.paths.iter().enumerate().filter_map(|(at, path)| Some((at, path.net?)));
            // Takes the first of equals.
            let (at, net) = priced.rev().max_by(|(_, a), (_, b)| a.total_cmp(b))?;
            let flows = &self.paths[at].flows;
            if self.support.uses(flows) {
                return Some(Best { at, net, joined: None });
            }
            if let Some(support) = self.with(flows) {
                return Some(Best { at, net, joined: Some(support) });
            }
            let path = self.paths.remove(at);
            self.refused.push(path.flows);
        }
    }

    /// Adds the paths that pay most for a part now, at most `keep` of those that pay more than the best known one less a share.
    /// If no more paths may add pools, those in use stay the only ones.
    fn search(&mut self, part: f64, best: Option<&Best>, share: f64, keep: usize) {
        self.unknown_net = f64::NEG_INFINITY;
        if self.added == self.cut.paths {
            return;
        }
        let floor = below(best, share);
        let limits = PathLimits { floor, keep, quotes: self.cut.search.quotes };
        self.tighten(part, best);
        let potentials = self.of_part.as_ref().map_or(self.potentials, |of_part| &of_part.potentials);
        let paths = best_paths(self.problem, potentials, part, &self.support, limits);
        let is_cut = paths.len() == keep;
        self.unknown_net = paths.last().filter(|_| is_cut).map_or(floor, |path| path.net);
        let is_best = |path: &Known| path.net.is_some_and(|net| net >= below(best, 0.0));
        self.paths.retain(|path| is_best(path) || self.support.uses(&path.flows));
        self.paths.iter_mut().for_each(|path| path.is_expanded = false);
        paths.into_iter().for_each(|path| self.add_unless_known(path.flows));
    }

    /// Computes the potentials of a part on top of the pools in use, if every part has a search. They bound later parts until
    /// another pool joins, but more and more loosely.
    fn tighten(&mut self, part: f64, best: Option<&Best>) {
        let are_tight = |known: &OfPart| best.is_none_or(|best| best.net >= known.least_net);
        if self.cut.search.is_for_each_part && !self.of_part.as_ref().is_some_and(are_tight) {
            let potentials = self.potentials.of_part(self.problem, part, &self.support);
            self.of_part = Some(OfPart { potentials, least_net: below(best, Tuning::LOOSER_PART) });
        }
    }

    /// Returns the support with a path added over which a pool joins, if the limits of the cut allow it.
    fn with(&self, path: &[Flow]) -> Option<Support> {
        let support = self.support.with(path, self.problem.hops)?;
        let fits = self.problem.fits(support.flows(), self.problem.max_steps);
        (fits && self.added < self.cut.paths).then_some(support)
    }
}

#[cfg(test)]
mod tests {
    use braid_primitives::U256;

    use super::*;
    use crate::testing::{prepared, problem, token};

    const ETHER: u128 = 10_u128.pow(18);

    /// The same with a search for every part.
    fn searched_each_time(problem: &Problem<'_>, potentials: &Potentials, chunks: u16) -> Support {
        let part = problem.amount / f64::from(chunks);
        let limits = PathLimits { quotes: usize::MAX, ..PathLimits::of_any_value(1) };
        (0..chunks).fold(Support::default(), |support, _| {
            let path = best_paths(problem, potentials, part, &support, limits).remove(0);
            support.with(&path.flows, problem.hops).unwrap()
        })
    }

    #[test]
    fn parts_go_where_a_search_for_each_of_them_sends_them() {
        // Six pools straight to the output, and paths over three tokens that share pools; depths and prices differ.
        let straight =
            (0..6_u128).map(|k| ((1, 0), [(40 + 13 * k) * ETHER, (40 + 13 * k) * ETHER * (1_000 - k) / 1_000]));
        let around = (2..5).flat_map(|hub| {
            let depth = ETHER * 100 * u128::from(hub);
            [
                ((1, hub), [depth, depth * 999 / 1_000]),
                ((hub, 0), [depth * 2, depth * 2]),
                ((hub, hub % 3 + 2), [depth; 2]),
            ]
        });
        let market = prepared(&straight.chain(around).collect::<Vec<_>>());
        let problem = problem(&market, token(1), U256::from(60 * ETHER), token(0));
        let potentials = Potentials::new(&problem, 1.0);
        let expected = searched_each_time(&problem, &potentials, 50);
        assert!(expected.flows().len() > 8, "{}", expected.flows().len());
        for search in [PartSearch::with_tolerance(0.0), PartSearch::EXHAUSTIVE] {
            let flows = chunked(&problem, &potentials, Cut { chunks: 50, paths: usize::MAX, search });
            for flow in &flows {
                let amount_in = expected.amount_in(flow.pair).unwrap_or(0.0);
                assert!((flow.amount_in / amount_in - 1.0).abs() < 1e-9, "{search:?}: {flow:?}, {amount_in}");
            }
            assert_eq!(flows.len(), expected.flows().len());
        }
    }

    #[test]
    fn gas_of_pools_in_use_hides_no_path_from_a_search_for_every_part() {
        // Pools to two tokens, on from them, and between them, of many depths. Gas is dear, so that parts go on along pools in
        // use, in ever new combinations.
        for seed in 0..60_u128 {
            let depth = |pool: u128| ETHER * (30 + (seed * 37 + pool * 53) % 90);
            let rate = |pool: u128| 1_000 - (seed * 13 + pool * 7) % 12;
            let ends = [(1, 2), (1, 2), (1, 2), (1, 3), (1, 3), (2, 3), (2, 0), (2, 0), (2, 0), (3, 0), (3, 0)];
            let pools = (0..).zip(ends).map(|(k, ends)| (ends, [depth(k), depth(k) * rate(k) / 1_000]));
            let market = prepared(&pools.collect::<Vec<_>>());
            let problem = problem(&market, token(1), U256::from(80 * ETHER), token(0));
            let problem = Problem { gas_price: 1e11, ..problem };
            // Without gas the potentials prune no path.
            let expected = searched_each_time(&problem, &Potentials::new(&problem, 0.0), 200);
            let potentials = Potentials::new(&problem, 1.0);
            let cut = Cut { chunks: 200, paths: usize::MAX, search: PartSearch::EXHAUSTIVE };
            for flow in chunked(&problem, &potentials, cut) {
                let amount_in = expected.amount_in(flow.pair).unwrap_or(0.0);
                assert!((flow.amount_in / amount_in - 1.0).abs() < 1e-9, "seed {seed}: {flow:?}, {amount_in}");
            }
        }
    }

    #[test]
    fn a_steep_fall_leads_to_paths_that_no_search_has_listed_yet() {
        // Token 1 leads to token 2 over a small pool, and on over more pools than a search lists paths; a pool straight to
        // the output pays less than the first parts on any of these paths, and more than the later ones.
        let onward = (0..u128::try_from(2 * Tuning::CHUNK_PATHS).unwrap())
            .map(|k| ((2, 0), [1_000_000 * ETHER, (1_000_000 - 1_000 * k) * ETHER]));
        let ends = [((1, 2), [10 * ETHER; 2]), ((1, 0), [1_000 * ETHER, 50 * ETHER])];
        let market = prepared(&ends.into_iter().chain(onward).collect::<Vec<_>>());
        let problem = problem(&market, token(1), U256::from(200 * ETHER), token(0));
        let potentials = Potentials::new(&problem, 1.0);
        // Pair 0 is the wrapper of ether.
        let straight = searched_each_time(&problem, &potentials, 20).amount_in(2).unwrap();
        for search in [0.0, Tuning::CHUNK_TOLERANCE].map(PartSearch::with_tolerance) {
            let flows = chunked(&problem, &potentials, Cut { chunks: 20, paths: usize::MAX, search });
            let found = flows.iter().find(|flow| flow.pair == 2).map_or(0.0, |flow| flow.amount_in);
            assert!((found / straight - 1.0).abs() < 1e-9, "{found} instead of {straight}");
        }
    }

    #[test]
    fn a_pool_beside_one_that_fills_up_takes_parts_too() {
        // Three pools lead to token 2, and one on to the output. A search lists only the path that holds most of token 2, and
        // the best pool is still the best after its first part.
        let pools = [1_000, 985, 970].map(|rate| ((1, 2), [1_000 * ETHER, ETHER * rate]));
        let market = prepared(&[pools[0], pools[1], pools[2], ((2, 0), [1_000_000 * ETHER; 2])]);
        let problem = problem(&market, token(1), U256::from(60 * ETHER), token(0));
        let potentials = Potentials::new(&problem, 1.0);
        let expected = searched_each_time(&problem, &potentials, 20);
        for search in [0.0, Tuning::CHUNK_TOLERANCE].map(PartSearch::with_tolerance) {
            let flows = chunked(&problem, &potentials, Cut { chunks: 20, paths: usize::MAX, search });
            for flow in expected.flows() {
                let found = flows.iter().find(|found| found.pair == flow.pair).map_or(0.0, |found| found.amount_in);
                assert!(
                    (found / flow.amount_in - 1.0).abs() < 1e-9,
                    "{search:?}: {found} instead of {}",
                    flow.amount_in
                );
            }
        }
    }

    #[test]
    fn no_more_paths_than_allowed_add_pools() {
        let pools: Vec<_> = (0..6).map(|_| ((1, 0), [100 * ETHER; 2])).collect();
        let market = prepared(&pools);
        let problem = problem(&market, token(1), U256::from(60 * ETHER), token(0));
        let potentials = Potentials::new(&problem, 1.0);
        let flows = chunked(&problem, &potentials, Cut { chunks: 20, paths: 4, search: PartSearch::EXHAUSTIVE });
        assert_eq!(flows.len(), 4);
        assert!((flows.iter().map(|flow| flow.amount_in).sum::<f64>() / 60e18 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn where_the_limits_forbid_every_other_path_a_part_has_few_searches() {
        // Forty paths over two pools each, of which a route of two steps has room for one; all others pay more once that has
        // taken a part.
        let paths = (2..42).flat_map(|hub| [((1, hub), [100 * ETHER; 2]), ((hub, 0), [100 * ETHER; 2])]);
        let market = prepared(&paths.collect::<Vec<_>>());
        let problem = Problem { max_steps: 2, ..problem(&market, token(1), U256::from(10 * ETHER), token(0)) };
        let potentials = Potentials::new(&problem, 1.0);
        let mut split =
            Split::new(&problem, &potentials, Cut { chunks: 5, paths: usize::MAX, search: PartSearch::EXHAUSTIVE });
        for _ in 0..5 {
            assert!(split.add_part(problem.amount / 5.0, f64::NEG_INFINITY).is_some());
        }
        // Every search that finds another path to refuse is followed by one more: these are what took minutes.
        assert_eq!(split.refused.len(), Tuning::CHUNK_PATHS);
        assert_eq!(split.support.flows().len(), 2);
    }
}
