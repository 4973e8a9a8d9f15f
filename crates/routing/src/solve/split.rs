//! The split of one amount over many pools, and the bound that goes with it.

use super::{Candidate, Single};
use crate::certify::{self, PriceBoard};
use crate::dual::Newton;
use crate::few::{self, Worth};
use crate::flow::FlowSearch;
use crate::potentials::Potentials;
use crate::problem::Problem;
use crate::reach::reachable;

/// Gap, as a share of the bound, below which nothing more is tried.
const CLOSE: f64 = 5e-8;
/// Gap, as a share of the bound, above which no way to a tighter bound is left out.
const LOOSE: f64 = 5e-3;
/// Gas of a few swaps: where a gap is of its order, counting pools closes it.
const GAS_WEIGHS: f64 = 210_000.0;
/// What pools that were set aside have to promise before they are looked at again: a share of the trade, and of the gap.
const REOPEN_TRADE: f64 = 1e-6;
const REOPEN_GAP: f64 = 0.2;
/// Share of the trade that such pools have to promise, and most pairs of a market, for simpler routers to be asked as well.
const TEMPTING: f64 = 2e-4;
const SMALL_MARKET: usize = 3_000;

/// What a split left: a bound, and the prices and caps that go with it.
pub(super) struct Split {
    pub(super) bound: f64,
    prices: Vec<f64>,
    caps: Vec<f64>,
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
        let (caps, quotes) = (&potentials.cap, few::QUOTES_BELOW_GAS);
        let few = |worth: Worth<'_>| few::bound(universe, worth, &alive, &chain, found.net);
        // Prices along the chain know of the gas that every pool on the way costs.
        let priced = few::chain_prices(universe, &alive, &chain).and_then(|board| {
            let evaluated = certify::evaluate(universe, &alive, caps, &board, f64::INFINITY).bound;
            bound = bound.min(evaluated);
            let spare = (evaluated - board.price[universe.source] * universe.amount).max(0.0);
            few(Worth { unit: &board.price, spare, gas_left_out: 0.0, cap: caps, quotes })
        });
        let gas_left_out = potentials.gas_left_out();
        let few =
            priced.or_else(|| few(Worth { unit: &potentials.worth, spare: 0.0, gas_left_out, cap: caps, quotes }));
        few.map_or(bound, |few| few.min(bound))
    }

    /// Splits over the universe; then, if pools that were set aside would earn their gas at the prices found, over the
    /// universe with those. Returns the universe that the best flow needs, and a bound over it.
    pub(super) fn split_and_reopen<'u>(
        &'u self,
        universe: Problem<'u>,
        best: &mut Option<Candidate>,
    ) -> (Problem<'u>, f64) {
        let first = self.split(&universe, best);
        let earning = certify::earning_outside(&self.problem, &universe, &first.caps, &first.prices);
        let sum: f64 = earning.iter().map(|(earned, _)| earned).sum();
        let gap = first.bound - best.as_ref().map_or(0.0, |found| found.net);
        let small = self.prepared.pair_count() <= SMALL_MARKET;
        self.tempted.set(small && sum > gap.max(TEMPTING * first.bound));
        if sum <= (REOPEN_TRADE * first.bound).max(REOPEN_GAP * gap) {
            return (universe, first.bound);
        }
        let mut wider = universe.clone();
        for (_, pair) in earning {
            wider.closed[pair as usize] = false;
        }
        let before = best.as_ref().map_or(f64::NEG_INFINITY, |found| found.net);
        let witness = self.problem.recorder.and_then(|recorder| recorder.replace(None));
        let second = self.split(&wider, best);
        match best {
            Some(found) if found.net > before => (wider, second.bound),
            _ => {
                if let Some(recorder) = self.problem.recorder {
                    recorder.replace(witness);
                }
                (universe, first.bound)
            }
        }
    }

    /// Looks for a better flow over the universe, and for a bound on every route over it.
    pub(super) fn split(&self, universe: &Problem<'_>, best: &mut Option<Candidate>) -> Split {
        let mut potentials = Potentials::with_first_slippage(universe, 1.0);
        if potentials.worth[universe.source] <= 0.0 && !universe.awake.is_empty() {
            let all = Problem { awake: Vec::new(), ..universe.clone() };
            return self.split(&all, best);
        }
        let net = best.as_ref().map_or(0.0, |found| found.net);
        // Where all tokens are awake the potentials are a bound by themselves.
        let first = if universe.awake.is_empty() { potentials.bound(universe) } else { f64::INFINITY };
        if self.is_close(first, best) {
            let prices = potentials.start_prices(universe);
            self.note(universe, &potentials);
            return Split { bound: first, prices, caps: potentials.cap };
        }
        self.tighten(universe, &mut potentials, net);
        let alive = reachable(universe);
        let start = potentials.start_prices(universe);
        let mut board = PriceBoard::new(start.len());
        for (token, price) in start.iter().enumerate().filter(|(token, price)| alive[*token] && **price > 0.0) {
            board.set(token, *price);
        }
        board.fill(universe, &alive, &start);
        let mut bound = certify::evaluate(universe, &alive, &potentials.cap, &board, f64::INFINITY).bound;
        bound = bound.min(first);
        if self.is_close(bound, best) {
            return Split { bound, prices: board.price, caps: potentials.cap };
        }
        let chain = best.as_ref().map_or_else(Vec::new, |found| self.flows_of(&found.route));
        if GAS_WEIGHS * universe.gas_price > 0.2 * (bound - net) {
            let spare = (bound - board.price[universe.source] * universe.amount).max(0.0);
            let worth =
                Worth { unit: &board.price, spare, gas_left_out: 0.0, cap: &potentials.cap, quotes: few::QUOTES };
            let few = few::bound(universe, worth, &alive, &chain, net);
            bound = few.map_or(bound, |few| few.min(bound));
            if self.is_close(bound, best) {
                return Split { bound, prices: board.price, caps: potentials.cap };
            }
        }
        let mut search = FlowSearch {
            problem: universe,
            potentials: &potentials,
            alive: &alive,
            start: &start,
            scale: bound.max(universe.gas_price),
            max_pools: usize::from(self.request.max_steps).saturating_sub(2).max(1),
            newton: Newton::default(),
            local: vec![u32::MAX; start.len()],
        };
        let found = search.run(&chain, net, bound);
        self.offer(best, &found.flows);
        let (mut bound, caps) = (found.bound, potentials.cap);
        let known = best.as_ref().map_or(0.0, |found| found.net);
        if !universe.awake.is_empty() && bound - known > LOOSE * bound.abs() {
            // Potentials through all tokens are a bound by themselves, if a slow one.
            let all = Problem { awake: Vec::new(), ..universe.clone() };
            let mut potentials = Potentials::with_first_slippage(&all, 1.0);
            self.tighten(&all, &mut potentials, known);
            if potentials.bound(&all) < bound {
                bound = potentials.bound(&all);
                self.note(&all, &potentials);
            }
        }
        Split { bound, prices: found.prices, caps }
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
            certify::evaluate(universe, &alive, &potentials.cap, &board, f64::INFINITY);
        }
    }

    fn is_close(&self, bound: f64, best: &Option<Candidate>) -> bool {
        bound.is_finite() && best.as_ref().is_some_and(|found| bound - found.net <= CLOSE * bound.abs())
    }
}
