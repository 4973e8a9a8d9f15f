//! Upper bounds on the amount of each token that a route can hold, and on the value that a unit of it can still bring.
//!
//! Two sweeps over the graph compute this, each in as many rounds as a route may have hops:
//! - forwards, the best product of marginal rates from the input: rates only fall with the amount, so no route holds
//!   more of a token than the amount in times that product (`cap`);
//! - backwards, the most that a unit of a token is worth at the output if at most `cap` of it moves and every pool on
//!   the way has to earn its gas (`worth`).
//!
//! At the prices `worth` no pool earns more than its gas. So `worth(input) · amount` bounds the value of every route
//! through active tokens, and of every route if all tokens are active. With several inputs, caps are the sums over all
//! of them. With several outputs, a token's worth is that at the best of them, without gas, and bounds nothing.

use crate::prepare::{Arrow, Arrows, RoughArrow};
use crate::problem::Problem;
use crate::problem::support::Support;
use crate::tuning::Tuning;

/// Caps and worths of all tokens (see the module's text). Zero for a token that cannot lie on a route, or cannot earn
/// its gas on one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Potentials {
    /// The most of each token that a route can hold, in atomic units.
    pub(crate) cap: Vec<f64>,
    /// The most that a unit of each token is worth at the output, net of the gas of remaining pools; without gas if
    /// there are several ends.
    pub(crate) worth: Vec<f64>,
    /// Worth of a unit of each token at each of several outputs; empty for a pair, where `worth` has it.
    towards: Vec<Vec<f64>>,
    /// Worth of a unit of each inner token by the most pools that may remain; empty if it was not kept.
    layers: Vec<Vec<f64>>,
    /// Share of the gas that the worths account for.
    gas_share: f64,
}

impl Potentials {
    /// Computes the potentials. `gas_share` scales the gas that pools have to earn: below 1 the worths are still
    /// bounds, and stay positive for a trade that is worth less than its gas.
    pub(crate) fn new(problem: &Problem<'_>, gas_share: f64) -> Self {
        if !problem.is_pair() {
            return Self::of_several(problem);
        }
        let cap = caps(problem, problem.source, problem.amount, Through::Active);
        let (worth, layers) = worths(problem, &cap, gas_share, &Support::default(), true);
        Self { cap, worth, towards: Vec::new(), layers, gas_share }
    }

    /// Computes the potentials of a part of a pair's amount that is sold on top of the pools in use, from those of the whole
    /// amount. A pool in use pays no more than its marginal rate, and its gas is not due again. They stay bounds for later parts
    /// until another pool is in use.
    pub(crate) fn of_part(&self, problem: &Problem<'_>, part: f64, used: &Support) -> Self {
        // Caps are proportional to the amount.
        let share = part / problem.amount * Tuning::OUTWARD;
        let cap: Vec<f64> = self.cap.iter().map(|cap| cap * share).collect();
        let (worth, layers) = worths(problem, &cap, self.gas_share, used, true);
        Self { cap, worth, towards: Vec::new(), layers, gas_share: self.gas_share }
    }

    /// Computes the potentials of several inputs or outputs.
    fn of_several(problem: &Problem<'_>) -> Self {
        let mut cap = vec![0.0; problem.token_count];
        for (input, amount) in &problem.terms.supplies {
            let held = caps(problem, *input as usize, *amount, Through::All);
            cap.iter_mut().zip(held).for_each(|(sum, held)| *sum += held);
        }
        let outputs = problem.terms.weights.iter().map(|(output, _)| *output);
        let towards =
            outputs.map(|output| worths_at(problem, output as usize, problem.reference(output), problem.hops));
        let towards: Vec<Vec<f64>> = towards.collect();
        let worth = (0..cap.len()).map(|token| towards.iter().map(|worth| worth[token]).fold(0.0, f64::max)).collect();
        Self { cap, worth, towards, layers: Vec::new(), gas_share: 0.0 }
    }

    /// Returns the worth of a unit of each token at an output, given by its position among the weights.
    pub(crate) fn towards(&self, output: usize) -> &[f64] {
        self.towards.get(output).unwrap_or(&self.worth)
    }

    /// Builds potentials from given caps and worths, the latter without gas.
    pub(crate) fn of_parts(cap: Vec<f64>, worth: Vec<f64>) -> Self {
        Self { cap, worth, towards: Vec::new(), layers: Vec::new(), gas_share: 0.0 }
    }

    /// Returns the worth of a unit of each inner token if at most `pools` remain.
    #[inline]
    pub(crate) fn within(&self, pools: usize) -> &[f64] {
        self.layers.get(pools).unwrap_or(&self.worth)
    }

    /// Returns the worth of a unit of an inner token or of the output if at most `pools` remain.
    #[inline]
    pub(crate) fn worth_within(&self, pools: usize, token: usize) -> f64 {
        // Takes the worth of the output, which has no layers, from the whole: it is the same with any number of pools.
        self.within(pools).get(token).copied().unwrap_or(self.worth[token])
    }

    /// Computes the bound that the worths give by themselves, over routes through active tokens.
    pub(crate) fn bound(&self, problem: &Problem<'_>) -> f64 {
        self.worth[problem.source] * problem.amount
    }

    /// Computes the potentials of a pair, with caps tightened by the slippage that the first pools cause on any route.
    /// `known` are those of the whole amount over the same pools, if they are at hand.
    pub(crate) fn with_first_slippage(problem: &Problem<'_>, known: Option<&Self>) -> Self {
        let effective = effective_amount(problem);
        // Caps are proportional to the amount: over the same tokens they follow from those of another amount.
        let known = known.filter(|known| problem.active.is_none() && known.gas_share == 1.0);
        if let Some(known) = known.filter(|_| effective >= problem.amount) {
            return Self { cap: known.cap.clone(), worth: known.worth.clone(), gas_share: 1.0, ..Self::default() };
        }
        let mut cap = match known {
            Some(known) => {
                let share = effective / problem.amount * Tuning::OUTWARD;
                known.cap.iter().map(|cap| cap * share).collect()
            }
            None => caps(problem, problem.source, effective, Through::All),
        };
        cap[problem.source] = problem.amount * Tuning::OUTWARD;
        let (worth, layers) = worths(problem, &cap, 1.0, &Support::default(), false);
        Self { cap, worth, towards: Vec::new(), layers, gas_share: 1.0 }
    }

    /// Tightens the caps to the value that a route better than the incumbent can hold, at the given prices, and then
    /// the worths. Returns whether a cap fell enough for that to matter.
    pub(crate) fn tighten(&mut self, problem: &Problem<'_>, held_value: f64, price: impl Fn(usize) -> f64) -> bool {
        let mut tighter = false;
        for (token, cap) in self.cap.iter_mut().enumerate() {
            if token == problem.source || *cap <= 0.0 {
                continue;
            }
            let most = held_value / price(token) * Tuning::OUTWARD;
            if most < *cap {
                tighter |= most < *cap * Tuning::CAP_TIGHTER_SHARE && self.worth[token] > 0.0;
                *cap = most;
            }
        }
        if tighter && problem.is_pair() {
            (self.worth, self.layers) = worths(problem, &self.cap, self.gas_share, &Support::default(), false);
        }
        tighter
    }

    /// Returns prices to start from. For a pair they lie between the worths and the highest prices that go with the
    /// input's worth, so that irrelevant pools are well inside their no-trade bands; for several ends they are prices
    /// without arbitrage.
    pub(crate) fn start_prices(&self, problem: &Problem<'_>) -> Vec<f64> {
        if !problem.is_pair() {
            return self.standing_prices(problem);
        }
        let mut price = costs(problem, &self.cap, self.worth[problem.source]);
        let scale = (price[problem.target] / problem.price_out).max(1.0);
        for (price, worth) in price.iter_mut().zip(&self.worth) {
            *price = match (*worth > 0.0, price.is_finite()) {
                (true, true) => (0.5 * (worth + *price / scale)).max(*worth),
                (true, false) => *worth,
                (false, true) => *price / scale,
                (false, false) => 0.0,
            };
        }
        price[problem.source] = self.worth[problem.source];
        price[problem.target] = problem.price_out;
        price
    }

    /// Returns prices without arbitrage, or worths at marginal rates where there are none, scaled so that the basket
    /// costs one.
    fn standing_prices(&self, problem: &Problem<'_>) -> Vec<f64> {
        let standing = problem.prepared.standing();
        let known = |token: usize| Some(standing.price(token)).filter(|price| *price > 0.0);
        let all = problem.terms.weights.iter().all(|(token, _)| known(*token as usize).is_some());
        let price = |token: usize| known(token).filter(|_| all).unwrap_or(self.worth[token]);
        let mut prices: Vec<f64> = (0..self.worth.len()).map(price).collect();
        let unit = problem.terms.unit_price(&prices);
        if unit > 0.0 && unit.is_finite() {
            prices.iter_mut().for_each(|price| *price /= unit);
        }
        prices
    }
}

/// Computes the most of each inner token that a unit of a pair's input can become at marginal rates, by the most pools
/// that lead to it: at least what any pool makes of the most that one pool less leads to.
pub(crate) fn rates_by_pools(problem: &Problem<'_>) -> Vec<Vec<f64>> {
    caps_by_pools(problem, problem.source, 1.0, Through::All, true).1
}

/// Computes the most of each token that an amount of an input can become at marginal rates.
fn caps(problem: &Problem<'_>, input: usize, amount: f64, through: Through) -> Vec<f64> {
    caps_by_pools(problem, input, amount, through, false).0
}

/// Computes the same, and if it `is_kept` what it is for each inner token by the most pools that lead to it.
fn caps_by_pools(
    problem: &Problem<'_>,
    input: usize,
    amount: f64,
    through: Through,
    is_kept: bool,
) -> (Vec<f64>, Vec<Vec<f64>>) {
    let mut cap = vec![0.0; problem.token_count];
    cap[input] = amount * Tuning::OUTWARD;
    let hops = problem.hops;
    let range = SweepRange { through, hops, start: input, ends: &problem.terms.weights, lone: problem.target };
    let may_improve =
        |here: f64, cap: &[f64], rough: RoughArrow| here * rough.most_spot() * Tuning::OUTWARD > cap[rough.to as usize];
    let layers = sweep(problem, range, is_kept, &mut cap, may_improve, |here, cap, _, arrow| {
        let reached = here * arrow.spot * Tuning::OUTWARD;
        let better = reached > cap[arrow.to as usize] && arrow.to as usize != input && problem.is_open(arrow.pair);
        if better {
            cap[arrow.to as usize] = reached;
        }
        better
    });
    (cap, layers)
}

/// Computes the input that would give, at marginal rates, what the input's pools can give together:
/// `max Σ f(x)/rate, Σ x = amount`.
fn effective_amount(problem: &Problem<'_>) -> f64 {
    let arrows = problem.prepared.graph().arrows(problem.source);
    let pools = || arrows.iter().filter(|arrow| arrow.spot > 0.0 && problem.is_open(arrow.pair));
    let mut least = problem.amount;
    if pools().count() > Tuning::FIRST_SLIPPAGE_POOLS {
        return least;
    }
    // Bisects the logarithm of the multiplier: any multiplier bounds the maximum from above, one is best.
    let (mut low, mut high) = (Tuning::FIRST_SLIPPAGE_LEAST_RATE, 1.0_f64);
    for _ in 0..Tuning::FIRST_SLIPPAGE_HALVINGS {
        let multiplier = (low * high).sqrt();
        let (mut value, mut spent) = (multiplier * problem.amount, 0.0);
        for arrow in pools() {
            let Some((_, direction)) = problem.direction(arrow.pair, arrow.side) else { continue };
            let (price_in, most) = (multiplier * arrow.spot, problem.amount);
            if let Some(trade) = direction.best_trade(price_in, 1.0, most, 0.0) {
                let [more_in, more_out] = direction.best_beyond(price_in, 1.0, most);
                let (taken, paid) = (trade.amount_in + more_in, trade.amount_out + more_out);
                value += paid / arrow.spot - multiplier * taken;
                spent += taken;
            }
        }
        least = least.min(value * Tuning::FAR_OUTWARD);
        if spent > problem.amount { low = multiplier } else { high = multiplier }
    }
    least
}

/// Computes the largest price of each token at which no pool on the way from the input, priced at `start`, earns its
/// gas.
fn costs(problem: &Problem<'_>, cap: &[f64], start: f64) -> Vec<f64> {
    let (source, target) = (problem.source, problem.target);
    let mut cost = vec![f64::INFINITY; cap.len()];
    cost[source] = start;
    let (through, hops) = (Through::Active, problem.hops);
    let range = SweepRange { through, hops, start: source, ends: &problem.terms.weights, lone: target };
    let may_improve = |here: f64, cost: &[f64], rough: RoughArrow| here < cost[rough.to as usize] * rough.most_spot();
    sweep(problem, range, false, &mut cost, may_improve, |here, cost, x, arrow| {
        let to = arrow.to as usize;
        if here >= cost[to] * arrow.spot || to == source || cap[x] <= 0.0 || !problem.is_open(arrow.pair) {
            return false;
        }
        if here * arrow.cost_with_gas((problem.gas_price / here).sqrt()) >= cost[to] {
            return false;
        }
        let dear = if let Some(plain) = arrow.plain() {
            plain.average_cost(here, cap[x], problem.gas_price)
        } else {
            let Some((curve, direction)) = problem.direction(arrow.pair, arrow.side) else { return false };
            direction.average_cost(here, cap[x], curve.gas_units * problem.gas_price)
        };
        let better = dear < cost[to];
        if better {
            cost[to] = dear;
        }
        better
    });
    cost
}

/// Computes the most that a unit of each token is worth at the output: overall, and by the number of remaining pools if
/// that is kept. On top of pools in use.
fn worths(
    problem: &Problem<'_>,
    cap: &[f64],
    gas_share: f64,
    used: &Support,
    is_kept: bool,
) -> (Vec<f64>, Vec<Vec<f64>>) {
    let (source, target) = (problem.source, problem.target);
    let mut worth = vec![0.0; cap.len()];
    worth[target] = problem.price_out;
    let gas_price = problem.gas_price * gas_share;
    let (through, hops) = (Through::Active, problem.hops);
    let range = SweepRange { through, hops, start: target, ends: &problem.terms.supplies, lone: source };
    let may_improve = |here: f64, worth: &[f64], rough: RoughArrow| here * rough.most_back() > worth[rough.to as usize];
    let mut layers = sweep(problem, range, is_kept, &mut worth, may_improve, |here, worth, _, arrow| {
        let from = arrow.to as usize;
        if here * arrow.back <= worth[from] || cap[from] <= 0.0 || from == target || !problem.is_open(arrow.pair) {
            return false;
        }
        let rate = if let Some(flow) = used.flow(arrow.pair) {
            problem
                .direction(flow.pair, flow.side)
                .filter(|_| flow.side != arrow.side)
                .map(|(_, direction)| here * direction.marginal(flow.amount_in))
        } else if here * arrow.back_after_gas((gas_price / here).sqrt()) <= worth[from] {
            None
        } else {
            problem.average_rate_back(arrow, here, cap[from], gas_price)
        };
        let Some(rate) = rate.map(|rate| rate * Tuning::OUTWARD) else { return false };
        let better = rate > worth[from];
        if better {
            worth[from] = rate;
        }
        better
    });
    if is_kept {
        layers.push(worth.clone());
    }
    (worth, layers)
}

/// Computes the worth of a unit of each token at marginal rates, at a token of value `price`.
pub(crate) fn worths_at(problem: &Problem<'_>, output: usize, price: f64, hops: usize) -> Vec<f64> {
    let mut worth = vec![0.0; problem.token_count];
    worth[output] = price;
    let through = Through::Active;
    let range = SweepRange { through, hops, start: output, ends: &problem.terms.supplies, lone: problem.source };
    let may_improve = |here: f64, worth: &[f64], rough: RoughArrow| {
        here * rough.most_back() * Tuning::OUTWARD > worth[rough.to as usize]
    };
    sweep(problem, range, false, &mut worth, may_improve, |here, worth, _, arrow| {
        let from = arrow.to as usize;
        let rate = here * arrow.back * Tuning::OUTWARD;
        let better = rate > worth[from] && from != output && from != problem.target && problem.is_open(arrow.pair);
        if better {
            worth[from] = rate;
        }
        better
    });
    worth
}

/// The tokens that a sweep passes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Through {
    All,
    Active,
}

/// The arrows that a sweep relaxes.
struct SweepRange<'a> {
    /// The tokens that it passes through.
    through: Through,
    /// Most pools from the start.
    hops: usize,
    start: usize,
    /// Inputs or outputs at the other side, with their amounts.
    ends: &'a [(u32, f64)],
    /// The single one of them, which nothing passes through; [`crate::problem::NOWHERE`] if there are several.
    lone: usize,
}

/// Relaxes arrows round by round from the start, through inner tokens, to the ends.
///
/// `relax` gets the value of the token that an arrow leaves, as it was before the round, all values, and that token, and
/// returns whether the token at the arrow's other side improved; `may_improve` returns whether it possibly does. The last round
/// of a pair leads only to its end, because no hop remains from any other token. Returns the values of inner tokens
/// before each round, if they are to be kept.
fn sweep(
    problem: &Problem<'_>,
    range: SweepRange<'_>,
    is_kept: bool,
    values: &mut [f64],
    may_improve: impl Fn(f64, &[f64], RoughArrow) -> bool,
    mut relax: impl FnMut(f64, &mut [f64], usize, &Arrow) -> bool,
) -> Vec<Vec<f64>> {
    let graph = problem.prepared.graph();
    // Keeps, for each token, the round before which it last improved.
    let mut fresh = vec![u8::MAX; problem.token_count];
    fresh[range.start] = 0;
    let mut layers: Vec<Vec<f64>> = Vec::with_capacity(if is_kept { range.hops + 1 } else { 0 });
    // Keeps the values before a round, and copies those of improved tokens before the next. Of a pair only the start,
    // which keeps its value, and the end, from which nothing is computed, can be outer tokens.
    let count = if problem.is_pair() { graph.inner_count() } else { values.len() };
    let (mut before, mut improved) = (values[..count].to_vec(), Vec::new());
    let start_value = values[range.start];
    let (mut frontier, mut next) = (vec![range.start], Vec::new());
    for (round, hop) in (0_u8..u8::MAX - 1).zip(1..=range.hops) {
        for token in improved.drain(..) {
            if let Some(before) = before.get_mut(token) {
                *before = values[token];
            }
        }
        if is_kept {
            layers.push(before.clone());
        }
        let is_last = problem.is_pair() && hop == range.hops;
        let value_before = |x: usize| if x == range.start { start_value } else { before[x] };
        for &x in frontier.iter().filter(|_| !is_last) {
            let here = value_before(x);
            let parts = match range.through {
                Through::All => [graph.to_inner(x), Arrows::default()],
                Through::Active => problem.search_arrows(x),
            };
            for part in parts {
                for (rough, arrow) in part.iter() {
                    let to = rough.to as usize;
                    if !may_improve(here, values, *rough) || !relax(here, values, x, arrow) {
                        continue;
                    }
                    improved.push(to);
                    if to != range.lone && fresh[to] != round + 1 {
                        fresh[to] = round + 1;
                        next.push(to);
                    }
                }
            }
        }
        for end in range.ends.iter().map(|(end, _)| *end as usize).filter(|end| is_last || !graph.is_inner(*end)) {
            // Finds the arrows into an end from its own list.
            for (x, arrow) in problem.neighbours(end) {
                let is_fresh = fresh[x] == round || (fresh[x] == round + 1 && frontier.contains(&x));
                let arrow = arrow.reversed(end);
                if !is_fresh || !relax(value_before(x), values, x, &arrow) {
                    continue;
                }
                improved.push(end);
                if end != range.lone && fresh[end] != round + 1 {
                    fresh[end] = round + 1;
                    next.push(end);
                }
            }
        }
        frontier.clear();
        std::mem::swap(&mut frontier, &mut next);
        if frontier.is_empty() {
            break;
        }
    }
    layers
}

#[cfg(test)]
mod tests {
    use braid_primitives::U256;

    use super::*;
    use crate::path::{PathLimits, best_paths};
    use crate::problem::support::Support;
    use crate::testing::{prepared, problem, token};

    const ETHER: u128 = 10_u128.pow(18);

    #[test]
    fn a_search_prices_no_pool_behind_which_the_output_is_too_far() {
        // 1 – 0 – 2 – 3 – 4, and many tokens around 0 that lead only back to it.
        let deep = [10_000 * ETHER; 2];
        let crowd = (5..200).flat_map(|n| [((0, n), deep), ((0, n), deep)]);
        let line = [((1, 0), deep), ((0, 2), deep), ((2, 3), deep), ((3, 4), deep)];
        let market = prepared(&line.into_iter().chain(crowd).collect::<Vec<_>>());
        let problem = problem(&market, token(1), U256::from(ETHER), token(4));
        let potentials = Potentials::new(&problem, 0.0);
        for (position, left) in [(3, 1), (2, 2), (0, 3)] {
            let at = market.node(token(position));
            assert!(potentials.within(left)[at] > 0.0 && potentials.within(left - 1)[at] == 0.0, "{position}");
        }
        assert!(!market.graph().is_inner(market.node(token(5))));
        // Of four hundred pools only the four on the way are priced.
        let limits = PathLimits { quotes: 4, ..PathLimits::of_any_value(1) };
        let found = best_paths(&problem, &potentials, 1e18, &Support::default(), limits);
        assert_eq!(found.first().map(|path| path.flows.len()), Some(4));
    }
}
