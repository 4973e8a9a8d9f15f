//! The split of one amount over many pools, and the bound that goes with it.

use super::Solver;
use crate::bound::board::PriceBoard;
use crate::bound::evaluate;
use crate::bound::few::{self, Worth};
use crate::exact::candidate::Candidate;
use crate::plan;
use crate::problem::Problem;
use crate::problem::potentials::Potentials;
use crate::problem::reachable::reachable;
use crate::relax::{FlowSearch, Judged, Newton};
use crate::round::{Among, Found, Relaxed};
use crate::tuning::Tuning;

/// What a split left: a bound, and the prices and potentials that go with it.
pub(super) struct Split<'p> {
    pub(super) bound: f64,
    pub(super) prices: Vec<f64>,
    pub(super) potentials: Potentials,
    /// What the bound can be narrowed down with, and a split over more pools can start from.
    pub(super) rest: Option<Rest<'p>>,
}

/// A flow search as it was left, and what it found out about bounds.
pub(super) struct Rest<'p> {
    alive: Vec<bool>,
    start: Vec<f64>,
    newton: Newton,
    pub(super) tightest: (f64, PriceBoard),
    relaxed: Option<Relaxed<'p>>,
}

impl Solver<'_> {
    /// A bound for a trade that is worth less than its gas.
    pub(super) fn below_gas(&self, universe: &Problem<'_>, best: Option<&Candidate>) -> f64 {
        let mut potentials = Potentials::new(universe, 0.0);
        self.note(universe, &potentials);
        let alive = reachable(universe);
        let Some(found) = best else { return potentials.bound(universe) };
        self.tighten(universe, &mut potentials, found.net);
        let mut bound = potentials.bound(universe);
        let chain = self.flows_of(best);
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

    /// A search for a flow of about such a value, from prices near its.
    pub(super) fn search<'s, 'p>(
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
            max_pools: self.most_pools(),
            newton: Newton::default(),
            local: vec![u32::MAX; start.len()],
        }
    }

    /// Most pools of a flow. Some may be added for inputs that a flow leaves where they are.
    fn most_pools(&self) -> usize {
        let spare = if self.problem.is_pair() { 0 } else { self.problem.terms.supplies.len() };
        plan::most_pools(self.prepared, self.request).saturating_sub(spare).max(1)
    }

    /// What tokens can hold and are worth over fewer pools; for several ends what they are over all open ones, which is no less.
    fn potentials_over(&self, universe: &Problem<'_>) -> Potentials {
        if universe.is_pair() { Potentials::with_first_slippage(universe) } else { self.potentials.clone() }
    }

    /// The value of the whole trade, where a bound is known.
    pub(super) fn scale(&self, bound: f64) -> f64 {
        if self.problem.is_pair() { bound } else { self.supplied_value() }
    }

    /// Looks for a better flow over the universe, and for a bound on every route over it.
    pub(super) fn split<'p>(&self, universe: &Problem<'p>, best: &mut Option<Candidate>) -> Split<'p> {
        let mut potentials = self.potentials_over(universe);
        let is_pair = universe.is_pair();
        if is_pair && potentials.worth[universe.source] <= 0.0 && universe.active.is_some() {
            let all = Problem { active: None, ..universe.clone() };
            return self.split(&all, best);
        }
        let net = best.as_ref().map_or(0.0, |found| found.net);
        // Where all tokens are active the potentials of a pair are a bound by themselves.
        let first = if is_pair && universe.active.is_none() { potentials.bound(universe) } else { f64::INFINITY };
        if self.is_close(first, best) {
            self.note(universe, &potentials);
            self.tighten(universe, &mut potentials, net);
            let prices = potentials.start_prices(universe);
            return Split { bound: first, prices, potentials, rest: None };
        }
        self.tighten(universe, &mut potentials, net);
        // Beside several ends a token may be met only by way of pools that were set aside: it needs a price for these to be judged.
        let alive = reachable(if is_pair { universe } else { &self.problem });
        let mut start = potentials.start_prices(universe);
        let mut board = PriceBoard::new(start.len());
        if is_pair {
            let priced = start.iter().enumerate().filter(|(token, price)| alive[*token] && **price > 0.0);
            priced.for_each(|(token, price)| board.set(token, *price));
        } else {
            universe.terms.ends().into_iter().for_each(|end| board.set(end, start[end]));
        }
        board.fill(universe, &alive, &start);
        let mut dual = evaluate::evaluate(universe, &alive, &potentials.cap, &board, f64::INFINITY).bound;
        if is_pair
            && dual - net > Tuning::DISTRUST_GAP * dual.abs()
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
        let chain = self.flows_of(best.as_ref());
        if is_pair && Tuning::COUNTING_GAS_UNITS * universe.gas_price > Tuning::COUNTING_GAP_SHARE * (bound - net) {
            let worth = Worth::of_board(universe, dual, &board, &potentials.cap);
            let boards: Vec<PriceBoard> = few::chain_prices(universe, &alive, &chain).into_iter().collect();
            let few = few::bound(universe, worth, &alive, &boards, net);
            bound = few.map_or(bound, |few| few.min(bound));
            if self.is_close(bound, best) {
                return Split { bound, prices: board.price, potentials, rest: None };
            }
        }
        if is_pair {
            self.settle_guesses(universe, &mut start);
        }
        let mut search = self.search(universe, &potentials, &alive, &start, self.scale(bound));
        let found = search.run(&chain, net, bound);
        let newton = search.newton;
        self.offer(best, &found.flows);
        let Found { bound, prices, tightest, relaxed, .. } = found;
        Split { bound, prices, potentials, rest: Some(Rest { newton, tightest, relaxed, alive, start }) }
    }

    /// As [`Single::split`] over a universe of more pools, from where a split over fewer and a flow through few tokens ended. If at
    /// the prices of that flow the dual is close to the best route, another flow would bring next to nothing.
    pub(super) fn split_again<'p>(
        &self,
        universe: &Problem<'p>,
        before: &Split<'_>,
        through: Among<'p>,
        best: &mut Option<Candidate>,
    ) -> Split<'p> {
        let Some(Rest { start, tightest: (dual, before_board), .. }) = &before.rest else {
            return self.split(universe, best);
        };
        let mut potentials = self.potentials_over(universe);
        if !dual.is_finite() || (universe.is_pair() && potentials.worth[universe.source] <= 0.0) {
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
        let chain = self.flows_of(best.as_ref());
        let mut search = self.search(universe, &potentials, &alive, &start, self.scale(before.bound));
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
            let search = self.search(universe, &split.potentials, alive, start, self.scale(bound));
            let mut search = FlowSearch { max_pools: 0, newton: std::mem::take(newton), ..search };
            bound = search.branch(relaxed, known, bound);
        }
        let is_pair = universe.is_pair();
        let unclear = is_pair
            && bound - known > Tuning::UNCLEAR_GAP * bound.abs()
            && Tuning::COUNTING_GAS_UNITS * universe.gas_price > bound - known;
        if unclear && dual.is_finite() {
            let chain = self.flows_of(best);
            let worth = Worth::of_board(universe, *dual, board, &split.potentials.cap);
            let boards = [Some(board.clone()), few::chain_prices(universe, alive, &chain)];
            let boards: Vec<PriceBoard> = boards.into_iter().flatten().collect();
            let few = few::bound(universe, worth, alive, &boards, known);
            bound = few.map_or(bound, |few| few.min(bound));
        }
        if is_pair && universe.active.is_some() && bound - known > Tuning::LOOSE_GAP * bound.abs() {
            // Potentials through all tokens are a bound by themselves, if a slow one.
            let all = Problem { active: None, ..universe.clone() };
            let mut through_all = Potentials::with_first_slippage(&all);
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
