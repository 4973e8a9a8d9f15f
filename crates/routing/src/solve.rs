//! The way of a request: potentials, the best single chain, splits, the exact route, the certificate.

use std::cell::Cell;

use braid_primitives::{TokenId, U256};

use crate::baseline::Baseline;
use crate::basket;
use crate::certify::{self, PriceBoard};
use crate::dual::Newton;
use crate::few;
use crate::flow::FlowSearch;
use crate::greedy;
use crate::path::{self, FULL, Path};
use crate::plan::{self, PlanError};
use crate::potentials::Potentials;
use crate::prepare::{index32, node};
use crate::problem::{Flow, Problem, Terms, closed_pairs};
use crate::reach::reachable;
use crate::support::Support;
use crate::witness::Recorder;
use crate::{
    Certificate, Excluded, MAX_ROUTE_GAS_UNITS, Prepared, Request, Route, Solution, SolveError, Uncertified, Witness,
    valuation, walk,
};

/// How many single chains are replayed exactly; the best of them is the floor under the answer.
const CHAINS: usize = 3;
/// Equal parts of the first split.
const CHUNKS: u16 = 24;
/// Most pools priced for each.
const CHUNK_QUOTES: usize = 6_000;
/// Gap, as a share of the bound, above which a flow by chunks is tried too: amounts beyond the market's liquidity.
const FAR: f64 = 2e-3;
/// Gap, as a share of the bound, and amount, in atomic units, from which exact chains are walked one by one.
const UNSURE: f64 = 1e-4;
const DUST: f64 = 1e6;
/// Gap, as a share of the bound, below which nothing more is tried.
const CLOSE: f64 = 5e-8;
/// Share of a swap's gas, and of the trade's value, above which a pool's standing arbitrage sets it aside.
const OUT_OF_LINE: f64 = 0.02;
const OUT_OF_LINE_OF_TRADE: f64 = 3e-6;
/// Gas of a few swaps: where a gap is of its order, counting pools closes it.
const GAS_WEIGHS: f64 = 210_000.0;
/// How often a plan is mended after an exact pool refused an amount.
const REPAIRS: usize = 12;
/// Up to this share of its gas a pool's arbitrage leaves something to pay.
const LEAN: f64 = 0.95;
/// How often the value that a route can hold is narrowed down.
const NARROWINGS: usize = 4;
/// What pools that were set aside have to promise before they are looked at again: a share of the trade, and of the gap.
const REOPEN_TRADE: f64 = 1e-6;
const REOPEN_GAP: f64 = 0.2;
/// Share of the trade that such pools have to promise, and most pairs of a market, for simpler routers to be asked as well.
const TEMPTING: f64 = 2e-4;
const SMALL_MARKET: usize = 3_000;
/// What the most gas that a route may use is made to cost, as shares of the trade, where a route used more.
const SHARES_OF_TRADE: [f64; 3] = [1e-3, 1e-2, 1e-1];

/// The best route for a request, with its certificate.
///
/// Deterministic: the same market, request and version give the same bytes.
///
/// # Errors
/// [`SolveError`] when there is no route, the market cannot take the amount, or an output would round to zero.
pub fn solve(prepared: &Prepared, request: &Request) -> Result<Solution, SolveError> {
    let ([(input, amount)], [(output, _)]) = (request.inputs.as_slice(), request.outputs.as_slice()) else {
        return basket::solve(prepared, request, None);
    };
    if node(*input) == node(*output) {
        return convert_only(prepared, request, *output);
    }
    let problem = Problem::single(prepared, request, *input, *amount, *output);
    Single::new(prepared, request, problem).solve(*output)
}

/// As [`solve`], with what a third party needs to work the bound out again; the route and the certificate are the same.
///
/// The witness's bound is a plain dual bound. The certificate's can be a little less, where counting pools closed the gap
/// further. `None` where there is no certificate, or only counting pools gave it.
///
/// # Errors
/// As [`solve`].
pub fn explain(prepared: &Prepared, request: &Request) -> Result<(Solution, Option<Witness>), SolveError> {
    let recorder = Recorder::default();
    let ([(input, amount)], [(output, _)]) = (request.inputs.as_slice(), request.outputs.as_slice()) else {
        let solution = basket::solve(prepared, request, Some(&recorder))?;
        let certificate = solution.certificate.as_ref().ok();
        let witness = recorder.replace(None).filter(|witness| certificate.is_some_and(|c| witness.says_something(c)));
        return Ok((solution, witness));
    };
    if node(*input) == node(*output) {
        return Ok((solve(prepared, request)?, None));
    }
    let mut problem = Problem::single(prepared, request, *input, *amount, *output);
    problem.recorder = Some(&recorder);
    let solution = Single::new(prepared, request, problem).solve(*output)?;
    let certificate = solution.certificate.as_ref().ok();
    let witness = recorder.replace(None).filter(|witness| certificate.is_some_and(|c| witness.says_something(c)));
    Ok((solution, witness))
}

/// Ether to wrapped ether or back: nothing to choose.
fn convert_only(prepared: &Prepared, request: &Request, output: TokenId) -> Result<Solution, SolveError> {
    let route = plan::replay(prepared, request, &[], &[]).map_err(|_| SolveError::NoRoute(output))?;
    let value = valuation::net_value_wei(prepared, request, &route);
    let excluded = Excluded { max_hops: request.max_hops, ..Excluded::default() };
    let certificate = value.ok_or(Uncertified::NoReferencePrice);
    let certificate =
        certificate.and_then(|achieved| Certificate::new(achieved, achieved, achieved.abs(), 1, excluded));
    Ok(Solution { route, certificate, pools_visited: 1 })
}

impl<'a> Problem<'a> {
    pub(crate) fn single(
        prepared: &'a Prepared,
        request: &Request,
        input: TokenId,
        amount: U256,
        output: TokenId,
    ) -> Self {
        let price = prepared.wei_per_unit(node(output));
        #[allow(clippy::cast_precision_loss, reason = "a value, not an amount")]
        let gas_price = request.gas_price_wei as f64;
        let supplies = vec![(index32(node(input)), f64::from(amount))];
        let weights = vec![(index32(node(output)), 1.0 / price.unwrap_or(1.0))];
        Self {
            prepared,
            terms: Terms { supplies, weights },
            source: node(input),
            target: node(output),
            amount: f64::from(amount),
            // Without a price gas cannot be weighed against the output: it counts as free.
            price_out: price.unwrap_or(1.0),
            gas_price: price.map_or(0.0, |_| gas_price),
            hops: usize::from(request.max_hops),
            closed: closed_pairs(prepared, &request.filter),
            recorder: None,
        }
    }
}

pub(crate) struct Single<'a> {
    pub(crate) prepared: &'a Prepared,
    pub(crate) request: &'a Request,
    pub(crate) problem: Problem<'a>,
    /// Whether a flow was turned down because its route would use more gas than a transaction may.
    too_much_gas: Cell<bool>,
    /// Whether pools that were set aside would earn more than the gap at the prices found.
    tempted: Cell<bool>,
}

/// What a split left: a bound, and the prices and caps that go with it.
struct Split {
    bound: f64,
    prices: Vec<f64>,
    caps: Vec<f64>,
}

/// A route and its value net of gas, in the problem's unit of value.
struct Candidate {
    route: Route,
    net: f64,
}

impl<'a> Single<'a> {
    pub(crate) fn new(prepared: &'a Prepared, request: &'a Request, problem: Problem<'a>) -> Self {
        Self { prepared, request, problem, too_much_gas: Cell::new(false), tempted: Cell::new(false) }
    }

    fn solve(&self, output: TokenId) -> Result<Solution, SolveError> {
        let problem = &self.problem;
        let mut potentials = Potentials::new(problem, 1.0);
        let mut chains = self.chains(&potentials);
        let below_gas = chains.is_empty() || potentials.worth[problem.source] <= 0.0;
        if below_gas {
            // A trade worth less than its gas is still answered: search without gas in the potentials.
            potentials = Potentials::new(problem, 0.0);
            chains = self.chains(&potentials);
        }
        if potentials.worth[problem.source] <= 0.0 {
            return Err(SolveError::NoRoute(output));
        }
        let mut best: Option<Candidate> = None;
        for chain in &chains {
            self.offer(&mut best, &chain.flows);
        }
        let universe = self.universe(best.as_ref());
        let (universe, bound) = if below_gas {
            let bound = self.below_gas(&universe, best.as_ref());
            (universe, bound)
        } else {
            self.split_and_reopen(universe, &mut best)
        };
        let far = best.as_ref().is_none_or(|found| bound - found.net > FAR * bound.abs());
        if far {
            let potentials = Potentials::new(&universe, if below_gas { 0.0 } else { 1.0 });
            let pools = usize::from(self.request.max_steps);
            let cut = greedy::Cut { chunks: CHUNKS, pools, chains: usize::MAX, quotes: CHUNK_QUOTES };
            let flows = greedy::chunked(&universe, &potentials, cut);
            self.offer(&mut best, &flows);
        }
        let (universe, bound) = if far || self.tempted.get() {
            self.simpler_routers(&potentials, universe, bound, &mut best)
        } else {
            (universe, bound)
        };
        if best.is_none() {
            for chain in path::narrowest_paths(problem, &potentials, CHAINS) {
                self.offer(&mut best, &chain.flows);
            }
        }
        let unsure = best.as_ref().is_none_or(|found| bound - found.net > UNSURE * bound.abs());
        if unsure || problem.amount < DUST {
            let chain = walk::best_chain(problem, self.request, self.request.inputs[0].1).unwrap_or_default();
            self.offer(&mut best, &chain);
        }
        if self.too_much_gas.get() {
            self.save_gas(&universe, bound, &mut best);
        }
        let Some(found) = best else { return Err(self.why_nothing(&potentials)) };
        let pools_visited = self.visited(&universe, &potentials);
        let certificate = self.certificate(&universe, bound, &found);
        Ok(Solution { route: found.route, certificate, pools_visited })
    }

    /// How many open pools lie between tokens from which the output can be reached.
    fn visited(&self, universe: &Problem<'_>, potentials: &Potentials) -> u32 {
        let graph = self.prepared.graph();
        let leads_on = |end: &u32| potentials.worth[*end as usize] > 0.0;
        self.pools_with(universe, |pair| graph.ends(pair).iter().all(leads_on))
    }

    /// How many pools have an open pair that a test holds for.
    fn pools_with(&self, universe: &Problem<'_>, test: impl Fn(u32) -> bool) -> u32 {
        let pairs = (0_u32..).zip(self.prepared.pairs().list());
        let pairs = pairs.filter(|(id, _)| universe.is_open(*id) && universe.curve(*id).is_some() && test(*id));
        // The pairs of a pool are neighbours.
        let (count, _) = pairs.fold((0_u32, None), |(count, last), (_, pair)| {
            (count + u32::from(last != Some(pair.pool)), Some(pair.pool))
        });
        count
    }

    /// The problem over the pools that the bound covers: without those out of line, but with those of the best chain.
    fn universe(&self, best: Option<&Candidate>) -> Problem<'_> {
        let standing = self.prepared.standing();
        let mut universe = self.problem.clone();
        let smallest = OUT_OF_LINE_OF_TRADE * best.map_or(0.0, |found| found.net.max(0.0));
        let mut closed = vec![false; self.prepared.pair_count()];
        let mut any = !universe.closed.is_empty();
        for (pool, closed) in closed.iter_mut().enumerate() {
            let id = index32(pool);
            let gas = self.problem.curve(id).map_or(0.0, |curve| curve.gas_units) * self.problem.gas_price;
            let aside = standing.out_of_line(pool) > (gas * OUT_OF_LINE).max(smallest);
            let aside = aside && !self.matters_to_an_end(id);
            any |= aside;
            *closed = aside || !self.problem.is_open(id);
        }
        for flow in best.iter().flat_map(|found| self.flows_of(&found.route)) {
            closed[flow.pair as usize] = false;
        }
        if any {
            universe.closed = closed;
        }
        universe
    }

    /// Whether a pool is one of the deepest of the input or the output.
    fn matters_to_an_end(&self, pool: u32) -> bool {
        let Some(curve) = self.problem.curve(pool) else { return false };
        let ends = self.prepared.graph().ends(pool).into_iter().enumerate();
        let mut ends = ends.map(|(side, end)| (side, end as usize));
        ends.any(|(side, end)| {
            let is_end = end == self.problem.source || end == self.problem.target;
            is_end && self.prepared.standing().matters_to(curve, side, end)
        })
    }

    /// What simpler routers find over all open pools: a floor under the answer where the bound is far, or where pools that
    /// were set aside earn more than the gap. Where the best route then uses such pools, the bound is worked out with them.
    fn simpler_routers<'u>(
        &'u self,
        potentials: &Potentials,
        universe: Problem<'u>,
        bound: f64,
        best: &mut Option<Candidate>,
    ) -> (Problem<'u>, f64) {
        for baseline in Baseline::ALL {
            let flows = baseline.plan(&self.problem, potentials).unwrap_or_default();
            self.offer(best, &flows);
        }
        let flows = best.as_ref().map_or_else(Vec::new, |found| self.flows_of(&found.route));
        if flows.iter().all(|flow| universe.is_open(flow.pair)) {
            return (universe, bound);
        }
        let mut wider = universe;
        for flow in flows {
            wider.closed[flow.pair as usize] = false;
        }
        if let Some(recorder) = self.problem.recorder {
            recorder.replace(None);
        }
        let bound = self.split(&wider, best).bound;
        (wider, bound)
    }

    /// A bound for a trade that is worth less than its gas.
    fn below_gas(&self, universe: &Problem<'_>, best: Option<&Candidate>) -> f64 {
        let mut potentials = Potentials::new(universe, 0.0);
        self.note(universe, &potentials);
        let alive = reachable(universe);
        let Some(found) = best else { return potentials.bound(universe) };
        self.tighten(universe, &mut potentials, found.net);
        let bound = potentials.bound(universe);
        let few = few::bound(universe, &potentials, &alive, &self.flows_of(&found.route), found.net);
        few.map_or(bound, |few| few.min(bound))
    }

    /// Splits over the universe; then, if pools that were set aside would earn their gas at the prices found, over the
    /// universe with those. Returns the universe that the best flow needs, and a bound over it.
    fn split_and_reopen<'u>(&'u self, universe: Problem<'u>, best: &mut Option<Candidate>) -> (Problem<'u>, f64) {
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
    fn split(&self, universe: &Problem<'_>, best: &mut Option<Candidate>) -> Split {
        let mut potentials = Potentials::with_first_slippage(universe, 1.0);
        let mut bound = potentials.bound(universe);
        let net = best.as_ref().map_or(0.0, |found| found.net);
        if self.is_close(bound, best) {
            let prices = potentials.start_prices(universe);
            self.note(universe, &potentials);
            return Split { bound, prices, caps: potentials.cap };
        }
        if self.tighten(universe, &mut potentials, net) {
            bound = bound.min(potentials.bound(universe));
        }
        let alive = reachable(universe);
        let start = potentials.start_prices(universe);
        let mut board = PriceBoard::new(start.len());
        for (token, price) in start.iter().enumerate().filter(|(token, price)| alive[*token] && **price > 0.0) {
            board.set(token, *price);
        }
        board.fill(universe, &alive, &start);
        bound = bound.min(certify::evaluate(universe, &alive, &potentials.cap, &board, f64::INFINITY).bound);
        if self.is_close(bound, best) {
            return Split { bound, prices: board.price, caps: potentials.cap };
        }
        let chain = best.as_ref().map_or_else(Vec::new, |found| self.flows_of(&found.route));
        if GAS_WEIGHS * universe.gas_price > 0.2 * (bound - net) {
            let few = few::bound(universe, &potentials, &alive, &chain, net);
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
        Split { bound: found.bound, prices: found.prices, caps: potentials.cap }
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

    /// Tightens the caps by what a route better than `net` can hold.
    fn tighten(&self, universe: &Problem<'_>, potentials: &mut Potentials, net: f64) -> bool {
        let standing = self.prepared.standing();
        let held = self.held_value(universe, &potentials.cap, net);
        held.is_some_and(|held| potentials.tighten(universe, held, |token| standing.price(token)))
    }

    fn is_close(&self, bound: f64, best: &Option<Candidate>) -> bool {
        best.as_ref().is_some_and(|found| bound - found.net <= CLOSE * bound.abs())
    }

    /// The most value, at prices without arbitrage, that a route better than `net` can hold at any point: what it collects
    /// in arbitrage on its way has to leave room for the gas that it pays. A pool yields no more than what can reach it buys,
    /// which a first bound on the value held narrows down for the next.
    fn held_value(&self, universe: &Problem<'_>, caps: &[f64], net: f64) -> Option<f64> {
        let standing = self.prepared.standing();
        let price_out = standing.price(universe.target);
        let price_in = standing.price(universe.source);
        if price_out <= 0.0 || price_in <= 0.0 || universe.gas_price <= 0.0 {
            return None;
        }
        let scale = price_out / universe.price_out;
        let value_in = price_in * universe.amount;
        let slack = (value_in - net * scale).max(0.0);
        let mut held = f64::INFINITY;
        let mut ratio = 0.0_f64;
        // Pools that pay for their own gas, and more.
        let mut rich: Vec<(u32, [usize; 2], f64)> = Vec::new();
        for pair in (0..self.prepared.pair_count()).map(index32) {
            let profit = standing.profit(pair as usize);
            let Some(ends) =
                (profit > 0.0 && universe.is_open(pair)).then(|| self.earning_way(universe, pair)).flatten()
            else {
                continue;
            };
            let gas = universe.curve(pair).map_or(0.0, |curve| curve.gas_units) * universe.gas_price * scale;
            if profit < LEAN * gas {
                ratio = ratio.max(profit / (gas - profit));
            } else {
                rich.push((pair, ends, gas));
            }
        }
        for _ in 0..NARROWINGS {
            let (mut free, mut ratio) = (0.0, ratio);
            for (pair, [from, to], gas) in &rich {
                let side = u8::from(self.prepared.graph().ends(*pair)[0] as usize != *from);
                let Some((_, direction)) = universe.direction(*pair, side) else { continue };
                let (price_in, price_out) = (standing.price(*from), standing.price(*to));
                let cap = caps[*from].min(held / price_in);
                let profit = direction.most_earned(price_in, price_out, cap, 0.0, 0.0) * (1.0 + 1e-9);
                if profit < LEAN * gas {
                    ratio = ratio.max(profit / (gas - profit));
                } else {
                    free += profit;
                }
            }
            let next = (value_in + free + (slack + free) * ratio) * (1.0 + 1e-9);
            let settled = next > held * 0.99;
            held = held.min(next);
            if settled || rich.is_empty() {
                break;
            }
        }
        Some(held)
    }

    /// From which token to which a pair earns at prices without arbitrage, if a route may go that way.
    fn earning_way(&self, universe: &Problem<'_>, pair: u32) -> Option<[usize; 2]> {
        let standing = self.prepared.standing();
        let ends = self.prepared.graph().ends(pair);
        let side = (0_u8..2).find(|side| {
            let (from, to) = (ends[usize::from(*side)] as usize, ends[1 - usize::from(*side)] as usize);
            let rate = universe.direction(pair, *side).map_or(0.0, |(_, direction)| direction.spot());
            standing.price(from) < rate * standing.price(to)
        })?;
        let [from, to] = [usize::from(side), 1 - usize::from(side)].map(|at| ends[at] as usize);
        universe.open_ways(ends)[usize::from(side)].then_some([from, to])
    }

    fn chains(&self, potentials: &Potentials) -> Vec<Path> {
        path::best_paths(&self.problem, potentials, self.problem.amount, &Support::default(), CHAINS)
    }

    /// Keeps the exact route of a flow if it is better than what there is.
    fn offer(&self, best: &mut Option<Candidate>, flows: &[Flow]) {
        if flows.is_empty() {
            return;
        }
        let Some(route) = self.mended_replay(flows) else { return };
        let net = self.net(&route);
        if best.as_ref().is_none_or(|known| net > known.net) {
            *best = Some(Candidate { route, net });
        }
    }

    pub(crate) fn net(&self, route: &Route) -> f64 {
        let out = route.amounts_out.iter().map(|amount| f64::from(*amount)).sum::<f64>();
        #[allow(clippy::cast_precision_loss, reason = "a value, not an amount")]
        let gas = route.gas_units() as f64 * self.problem.gas_price;
        out * self.problem.price_out - gas
    }

    /// Replays a flow; where a pool refuses its amount, the others at that token take the difference.
    pub(crate) fn mended_replay(&self, flows: &[Flow]) -> Option<Route> {
        let mut flows = flows.to_vec();
        for _ in 0..REPAIRS {
            match plan::replay(self.prepared, self.request, &flows, &[]) {
                Ok(route) if self.is_within_limits(&route) => return Some(route),
                Err(PlanError::Refused { flow, at_most }) => shift(&mut flows, &flow, at_most)?,
                Ok(_) | Err(_) => return None,
            }
        }
        None
    }

    fn is_within_limits(&self, route: &Route) -> bool {
        if route.gas_units() > MAX_ROUTE_GAS_UNITS {
            self.too_much_gas.set(true);
            return false;
        }
        route.steps.len() <= usize::from(self.request.max_steps)
    }

    /// Looks again as if gas were dearer, until a route keeps within the gas that a transaction may use.
    fn save_gas(&self, universe: &Problem<'_>, bound: f64, best: &mut Option<Candidate>) {
        for share in SHARES_OF_TRADE {
            self.too_much_gas.set(false);
            #[allow(clippy::cast_precision_loss, reason = "a value, not an amount")]
            let dear = share * bound.max(0.0) / MAX_ROUTE_GAS_UNITS as f64;
            let universe = Problem { gas_price: universe.gas_price.max(dear), ..universe.clone() };
            for chain in path::best_paths(
                &universe,
                &Potentials::new(&universe, 1.0),
                universe.amount,
                &Support::default(),
                CHAINS,
            ) {
                self.offer(best, &chain.flows);
            }
            self.split(&universe, best);
            if !self.too_much_gas.get() {
                return;
            }
        }
    }

    fn why_nothing(&self, potentials: &Potentials) -> SolveError {
        // At the best rates not two atomic units would arrive; or what stands in the way is rounding: more would go through.
        let dust = potentials.bound(&self.problem) < 2.0 * self.problem.price_out;
        let goes = |times: f64| {
            let amount = self.problem.amount * times;
            !path::best_paths(&self.problem, potentials, amount, &Support::default(), 1).is_empty()
        };
        if dust || [1e3, 1e6, 1e9, 1e12].into_iter().any(goes) {
            SolveError::AmountTooSmall
        } else {
            SolveError::InsufficientLiquidity
        }
    }

    /// The flow that a route runs.
    fn flows_of(&self, route: &Route) -> Vec<Flow> {
        plan::flows_of(self.prepared, route)
    }

    fn certificate(&self, universe: &Problem<'_>, bound: f64, found: &Candidate) -> Result<Certificate, Uncertified> {
        let gross = valuation::gross_value_wei(self.prepared, self.request, &found.route);
        let gross = gross.ok_or(Uncertified::NoReferencePrice)?;
        let all = Problem { closed: Vec::new(), ..self.problem.clone() };
        let [covered, open, all] = [universe, &self.problem, &all].map(|problem| self.pools_with(problem, |_| true));
        let excluded = Excluded {
            standing_arbitrage: open.saturating_sub(covered),
            filtered: all.saturating_sub(open),
            max_hops: self.request.max_hops,
        };
        Certificate::new(bound, found.net, gross, covered, excluded)
    }
}

/// Moves what a flow cannot take to the other flows out of the same token; `None` if there is no other.
pub(crate) fn shift(flows: &mut Vec<Flow>, refused: &Flow, at_most: Option<f64>) -> Option<()> {
    let keep = at_most.map_or(0.0, |most| (most * FULL).min(refused.amount_in * 0.999));
    let others: f64 =
        flows.iter().filter(|f| f.from == refused.from && f.pair != refused.pair).map(|f| f.amount_in).sum();
    if others <= 0.0 {
        return None;
    }
    let factor = 1.0 + (refused.amount_in - keep) / others;
    for flow in flows.iter_mut().filter(|flow| flow.from == refused.from) {
        flow.amount_in = if flow.pair == refused.pair { keep } else { flow.amount_in * factor };
    }
    flows.retain(|flow| flow.amount_in > 0.0);
    Some(())
}
