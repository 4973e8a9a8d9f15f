//! The split of one amount over many pools, and the bound that goes with it.

use super::{Candidate, Single};
use crate::bound::board::PriceBoard;
use crate::bound::evaluate;
use crate::bound::few::{self, Worth};
use crate::plan;
use crate::problem::Problem;
use crate::problem::potentials::Potentials;
use crate::problem::reachable::reachable;
use crate::relax::{FlowSearch, Judged, Newton};
use crate::round::{Among, Found, Relaxed};
use crate::tuning::Tuning;

/// What a split left: a bound, and the prices and potentials that go with it.
pub(super) struct Split<'p> {
    bound: f64,
    prices: Vec<f64>,
    potentials: Potentials,
    /// What the bound can be narrowed down with, and a split over more pools can start from.
    rest: Option<Rest<'p>>,
}

/// A flow search as it was left, and what it found out about bounds.
struct Rest<'p> {
    alive: Vec<bool>,
    start: Vec<f64>,
    newton: Newton,
    tightest: (f64, PriceBoard),
    relaxed: Option<Relaxed<'p>>,
}

impl Single<'_> {
    /// A bound for a trade that is worth less than its gas.
    pub(super) fn below_gas(&self, universe: &Problem<'_>, best: Option<&Candidate>) -> f64 {
        let mut potentials = Potentials::new(universe, 0.0);
        self.note(universe, &potentials);
        let alive = reachable(universe);
        let Some(found) = best else { return potentials.bound(universe) };
        self.tighten(universe, &mut potentials, found.net);
        let mut bound = potentials.bound(universe);
        let chain = self.flows_of(&found.route);
        let caps = &potentials.cap;
        // Prices along the chain know of the gas that every pool on the way costs; those without arbitrage, of stale pools.
        let boards = [few::chain_prices(universe, &alive, &chain), few::standing_prices(universe, &alive)];
        let boards: Vec<PriceBoard> = boards.into_iter().flatten().collect();
        let evaluated = |board| evaluate::evaluate(universe, &alive, caps, board, f64::INFINITY).bound;
        let least = boards.iter().map(|board| (evaluated(board), board)).min_by(|a, b| a.0.total_cmp(&b.0));
        let worth = if let Some((evaluated, board)) = least {
            bound = bound.min(evaluated);
            Worth { quotes: Tuning::COUNTING_QUOTES_BELOW_GAS, ..Worth::of_board(universe, evaluated, board, caps) }
        } else {
            let gas_left_out = potentials.gas_left_out();
            Worth {
                unit: &potentials.worth,
                spare: 0.0,
                gas_left_out,
                cap: caps,
                quotes: Tuning::COUNTING_QUOTES_BELOW_GAS,
            }
        };
        let few = few::bound(universe, worth, &alive, &boards, found.net);
        few.map_or(bound, |few| few.min(bound))
    }

    /// Splits over the universe; then, if pools that were set aside would earn their gas at the prices found, looks for a
    /// better flow with those. Gives the universe that the best flow needs, and a bound over it.
    pub(super) fn split_and_reopen<'u>(
        &'u self,
        universe: Problem<'u>,
        best: &mut Option<Candidate>,
    ) -> (Problem<'u>, f64) {
        let mut first = self.split(&universe, best);
        let mut reopened = self.reopened(&universe, &first.prices, &first.potentials.cap, best.as_ref());
        let sum: f64 = reopened.iter().map(|(earned, _)| earned).sum();
        let small = self.prepared.pair_count() <= Tuning::LARGE_MARKET_PAIRS;
        let whole = first.bound;
        let promises = |gap: f64| sum > (Tuning::REOPEN_TRADE_SHARE * whole).max(Tuning::REOPEN_GAP_SHARE * gap);
        let would_pay = |gap: f64| small && sum > gap.max(Tuning::REOPEN_SIMPLE_SHARE * whole);
        let gap = whole - best.as_ref().map_or(0.0, |found| found.net);
        // Those that come near to earning their gas may do so in a route of few pools: they are tried too, and say how little
        // the bound may promise.
        let tightest = first.rest.as_ref().map(|rest| &rest.tightest).filter(|(dual, _)| dual.is_finite());
        let (dual, prices) = tightest.map_or((whole, &first.prices), |(dual, board)| (*dual, &board.price));
        let near = self.near(&universe, prices, &first.potentials.cap, dual, best.as_ref());
        let with_near = near.iter().map(|(lacking, _)| dual - lacking).fold(f64::NEG_INFINITY, f64::max).min(whole);
        let after = self.near(&universe, &first.prices, &first.potentials.cap, whole, best.as_ref());
        reopened.extend(near.iter().chain(&after).map(|(_, pair)| (0.0, *pair)));
        let at_once = promises(gap) || !near.is_empty() || !after.is_empty();
        if at_once {
            let through = self.flow_through(&universe, &first, &reopened, best.as_ref());
            self.offer(best, &through.flows);
            if !self.covers(&universe, best.as_ref()) {
                self.excluded_would_pay.set(would_pay(gap));
                return self.covered_through(universe, &first, through, best);
            }
        }
        let known = best.as_ref().map_or(0.0, |found| found.net);
        let least = with_near.min(known + Tuning::UNCLEAR_GAP * whole);
        let bound = self.narrowed(&universe, &mut first, best.as_ref()).max(least);
        let gap = bound - known;
        self.excluded_would_pay.set(would_pay(gap));
        if at_once || !promises(gap) {
            return (universe, bound);
        }
        let through = self.flow_through(&universe, &first, &reopened, best.as_ref());
        self.offer(best, &through.flows);
        if self.covers(&universe, best.as_ref()) {
            return (universe, bound);
        }
        self.covered_through(universe, &first, through, best)
    }

    /// As [`Single::covered`] for a universe that lacks pools of a flow through few tokens, after a split over it.
    fn covered_through<'u>(
        &'u self,
        universe: Problem<'u>,
        first: &Split<'u>,
        through: Among<'u>,
        best: &mut Option<Candidate>,
    ) -> (Problem<'u>, f64) {
        let wider = self.widened(universe, best.as_ref());
        let mut split = self.split_again(&wider, first, through, best);
        let bound = self.narrowed(&wider, &mut split, best.as_ref());
        (wider, bound)
    }

    /// A flow over the tokens of the best route and of excluded pools that would pay, with these open.
    fn flow_through<'u>(
        &self,
        universe: &Problem<'u>,
        first: &Split<'_>,
        reopened: &[(f64, u32)],
        best: Option<&Candidate>,
    ) -> Among<'u> {
        let mut wider = universe.clone();
        for (_, pair) in reopened {
            wider.closed[*pair as usize] = false;
        }
        let chain = best.map_or_else(Vec::new, |found| self.flows_of(&found.route));
        let ends = reopened.iter().flat_map(|(_, pair)| self.prepared.graph().ends(*pair));
        let tokens = chain.iter().flat_map(|flow| [flow.from, flow.to]).chain(ends);
        self.search(&wider, &first.potentials, &[], &first.prices, first.bound).among(tokens, &chain)
    }

    /// A search for a flow of about such a value, from prices near its.
    fn search<'s, 'p>(
        &self,
        problem: &'s Problem<'p>,
        potentials: &'s Potentials,
        alive: &'s [bool],
        start: &'s [f64],
        value: f64,
    ) -> FlowSearch<'s, 'p> {
        FlowSearch {
            problem,
            potentials,
            alive,
            start,
            scale: value.max(problem.gas_price),
            ceiling: f64::INFINITY,
            max_pools: plan::most_pools(self.prepared, self.request),
            newton: Newton::default(),
            local: vec![u32::MAX; start.len()],
        }
    }

    /// Looks for a better flow over the universe, and for a bound on every route over it.
    pub(super) fn split<'p>(&self, universe: &Problem<'p>, best: &mut Option<Candidate>) -> Split<'p> {
        let mut potentials = Potentials::with_first_slippage(universe, 1.0);
        if potentials.worth[universe.source] <= 0.0 && universe.active.is_some() {
            let all = Problem { active: None, ..universe.clone() };
            return self.split(&all, best);
        }
        let net = best.as_ref().map_or(0.0, |found| found.net);
        // Where all tokens are active the potentials are a bound by themselves.
        let first = if universe.active.is_none() { potentials.bound(universe) } else { f64::INFINITY };
        if self.is_close(first, best) {
            self.note(universe, &potentials);
            self.tighten(universe, &mut potentials, net);
            let prices = potentials.start_prices(universe);
            return Split { bound: first, prices, potentials, rest: None };
        }
        self.tighten(universe, &mut potentials, net);
        let alive = reachable(universe);
        let mut start = potentials.start_prices(universe);
        let mut board = PriceBoard::new(start.len());
        for (token, price) in start.iter().enumerate().filter(|(token, price)| alive[*token] && **price > 0.0) {
            board.set(token, *price);
        }
        board.fill(universe, &alive, &start);
        let mut dual = evaluate::evaluate(universe, &alive, &potentials.cap, &board, f64::INFINITY).bound;
        if dual - net > Tuning::DISTRUST_GAP * dual.abs()
            && let Some(standing) = few::standing_prices(universe, &alive)
        {
            let evaluated = evaluate::evaluate(universe, &alive, &potentials.cap, &standing, f64::INFINITY).bound;
            if evaluated < dual {
                // Stale pools spoilt the potentials.
                (dual, board) = (evaluated, standing);
                start.clone_from(&board.price);
            }
        }
        let mut bound = dual.min(first);
        if self.is_close(bound, best) {
            return Split { bound, prices: board.price, potentials, rest: None };
        }
        let chain = best.as_ref().map_or_else(Vec::new, |found| self.flows_of(&found.route));
        if Tuning::COUNTING_GAS_UNITS * universe.gas_price > Tuning::COUNTING_GAP_SHARE * (bound - net) {
            let worth = Worth::of_board(universe, dual, &board, &potentials.cap);
            let boards: Vec<PriceBoard> = few::chain_prices(universe, &alive, &chain).into_iter().collect();
            let few = few::bound(universe, worth, &alive, &boards, net);
            bound = few.map_or(bound, |few| few.min(bound));
            if self.is_close(bound, best) {
                return Split { bound, prices: board.price, potentials, rest: None };
            }
        }
        self.settle_guesses(universe, &mut start);
        let mut search = self.search(universe, &potentials, &alive, &start, bound);
        let found = search.run(&chain, net, bound);
        let newton = search.newton;
        self.offer(best, &found.flows);
        let Found { bound, prices, tightest, relaxed, .. } = found;
        Split { bound, prices, potentials, rest: Some(Rest { newton, tightest, relaxed, alive, start }) }
    }

    /// As [`Single::split`] over a universe of more pools, from where a split over fewer and a flow through few tokens ended. If at
    /// the prices of that flow the dual is close to the best route, another flow would bring next to nothing.
    fn split_again<'p>(
        &self,
        universe: &Problem<'p>,
        before: &Split<'_>,
        through: Among<'p>,
        best: &mut Option<Candidate>,
    ) -> Split<'p> {
        let Some(Rest { start, tightest: (dual, before_board), .. }) = &before.rest else {
            return self.split(universe, best);
        };
        let mut potentials = Potentials::with_first_slippage(universe, 1.0);
        if !dual.is_finite() || potentials.worth[universe.source] <= 0.0 {
            return self.split(universe, best);
        }
        let net = best.as_ref().map_or(0.0, |found| found.net);
        self.tighten(universe, &mut potentials, net);
        let alive = reachable(universe);
        let known = |(price, start): (&f64, &f64)| if *price > 0.0 { *price } else { *start };
        let start: Vec<f64> = before_board.price.iter().zip(start).map(known).collect();
        let mut board = PriceBoard::new(start.len());
        before_board.given().iter().for_each(|token| board.set(*token, start[*token]));
        let own = through.sub.tokens.iter().zip(&through.prices);
        own.for_each(|(token, price)| board.set(*token as usize, *price));
        board.fill(universe, &alive, &start);
        let bound = evaluate::evaluate(universe, &alive, &potentials.cap, &board, f64::INFINITY).bound;
        if bound - net
            <= if through.is_full { Tuning::UNCLEAR_GAP_WHEN_FULL } else { Tuning::UNCLEAR_GAP } * bound.abs()
        {
            let (sub, prices, at) = (through.sub, through.prices, Judged { board: board.clone(), dual: bound });
            let relaxed = (!through.is_full).then_some(Relaxed { sub, prices, at });
            let prices = board.price.clone();
            let rest = Rest { newton: Newton::default(), tightest: (bound, board), relaxed, alive, start };
            return Split { bound, prices, potentials, rest: Some(rest) };
        }
        let chain = best.as_ref().map_or_else(Vec::new, |found| self.flows_of(&found.route));
        let mut search = self.search(universe, &potentials, &alive, &start, before.bound);
        let found = search.run_again(before_board.given(), &chain);
        let newton = search.newton;
        self.offer(best, &found.flows);
        let Found { bound, prices, tightest, relaxed, .. } = found;
        Split { bound, prices, potentials, rest: Some(Rest { newton, tightest, relaxed, alive, start }) }
    }

    /// The least bound that can be had over the universe, where a split's is not close to the best route.
    pub(super) fn narrowed<'p>(&self, universe: &Problem<'p>, split: &mut Split<'p>, best: Option<&Candidate>) -> f64 {
        let (mut bound, known) = (split.bound, best.map_or(0.0, |found| found.net));
        let Some(Rest { alive, start, newton, tightest: (dual, board), relaxed }) = &mut split.rest else {
            return bound;
        };
        if let Some(relaxed) = relaxed.take() {
            let search = self.search(universe, &split.potentials, alive, start, bound);
            let mut search = FlowSearch { max_pools: 0, newton: std::mem::take(newton), ..search };
            bound = search.branch(relaxed, known, bound);
        }
        let unclear = bound - known > Tuning::UNCLEAR_GAP * bound.abs()
            && Tuning::COUNTING_GAS_UNITS * universe.gas_price > bound - known;
        if unclear && dual.is_finite() {
            let chain = best.map_or_else(Vec::new, |found| self.flows_of(&found.route));
            let worth = Worth::of_board(universe, *dual, board, &split.potentials.cap);
            let boards = [Some(board.clone()), few::chain_prices(universe, alive, &chain)];
            let boards: Vec<PriceBoard> = boards.into_iter().flatten().collect();
            let few = few::bound(universe, worth, alive, &boards, known);
            bound = few.map_or(bound, |few| few.min(bound));
        }
        if universe.active.is_some() && bound - known > Tuning::LOOSE_GAP * bound.abs() {
            // Potentials through all tokens are a bound by themselves, if a slow one.
            let all = Problem { active: None, ..universe.clone() };
            let mut through_all = Potentials::with_first_slippage(&all, 1.0);
            self.tighten(&all, &mut through_all, known);
            if through_all.bound(&all) < bound {
                bound = through_all.bound(&all);
                self.note(&all, &through_all);
            }
        }
        bound
    }

    /// Replaces guesses at the prices of tokens between the ends by prices without arbitrage: potentials follow whichever pool
    /// promises most, and a stale one promises anything.
    fn settle_guesses(&self, universe: &Problem<'_>, guess: &mut [f64]) {
        let standing = self.prepared.standing();
        let scale = universe.price_out / standing.price(universe.target);
        if !scale.is_finite() {
            return;
        }
        for (token, price) in guess.iter_mut().enumerate() {
            let settled = standing.price(token) * scale;
            if settled > 0.0 && token != universe.source && token != universe.target {
                *price = settled;
            }
        }
    }

    /// Notes the bound of the potentials as a dual bound, where someone asked for its prices.
    fn note(&self, universe: &Problem<'_>, potentials: &Potentials) {
        if universe.recorder.is_none() {
            return;
        }
        let alive = reachable(universe);
        let start = potentials.start_prices(universe);
        for guess in [&start, &potentials.worth] {
            let mut board = PriceBoard::new(guess.len());
            for (token, price) in guess.iter().enumerate().filter(|(token, price)| alive[*token] && **price > 0.0) {
                board.set(token, *price);
            }
            board.fill(universe, &alive, guess);
            evaluate::evaluate(universe, &alive, &potentials.cap, &board, f64::INFINITY);
        }
    }

    fn is_close(&self, bound: f64, best: &Option<Candidate>) -> bool {
        bound.is_finite() && best.as_ref().is_some_and(|found| bound - found.net <= Tuning::CLOSE_GAP * bound.abs())
    }
}
