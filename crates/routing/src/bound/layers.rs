//! The dual by remaining pools: an upper bound on the routes of a pair whose paths have at most `max_hops` pools.
//!
//! A token that a path reaches early can be traded on more often than one that it reaches late. So each token has a
//! price for each number of pools that may still follow. A path then takes a price difference once or twice, and not as
//! often as it likes. For any such prices, with the output's own price at every number,
//! `price(input, hops) · amount + Σ max(0, profit − gas)` is at least the value of every route. A pool's profit is the
//! most that it earns at any one number: flows that pass it at several numbers share one average rate, which at one of
//! the numbers is worth most (`docs/internals/certificate.md`).

use super::profit::noise;
use crate::prepare::{Arrow, RoughArrow, index32};
use crate::problem::Problem;
use crate::problem::potentials::rates_by_pools;
use crate::tuning::Tuning;

/// A token on a path, by how far the path has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LayerNode {
    /// Most pools that may still follow.
    pub(crate) left: usize,
    pub(crate) token: u32,
    /// The tracked tokens that the path has visited so far, this one included: a bit each.
    pub(crate) seen: usize,
}

/// The nodes that can lie on a route of a pair.
pub(crate) struct Layers<'a, 'p> {
    pub(crate) problem: &'a Problem<'p>,
    /// The most of each token that a route can hold.
    caps: &'a [f64],
    /// Numbers of the ends and of the tokens that a route can pass; `u32::MAX` for the others.
    place: Vec<u32>,
    /// Count of these numbers.
    places: usize,
    /// For each of these numbers the most that a unit of the input becomes at marginal rates, by the most pools that lead
    /// to the token; zero if so many do not.
    rates: Vec<Vec<f64>>,
}

/// The routes that a bound is restricted to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decisions {
    /// Pools that they use.
    pub(crate) used: Vec<u32>,
    /// Pools that they do not use.
    pub(crate) unused: Vec<u32>,
    /// Tokens for which paths track whether they have visited them, because a path visits none twice.
    pub(crate) tracked: Vec<u32>,
    /// Tokens from which the longest chain to the output has a limited number of pools.
    pub(crate) tails: Vec<Tail>,
}

/// Limits of a token's tail: the number of pools on the longest chain of a route from the token to the output.
///
/// If no chain from the input to the output has more than `max_hops` pools, whatever arrives at the token has at least that
/// many pools left, and uses no more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tail {
    pub(crate) token: u32,
    pub(crate) least: usize,
    pub(crate) most: usize,
}

impl Decisions {
    /// Returns the bit of a tracked token; zero for any other.
    pub(crate) fn bit(&self, token: u32) -> usize {
        self.tracked.iter().position(|tracked| *tracked == token).map_or(0, |at| 1 << at)
    }

    /// Returns the limits of a token's tail; those of any token if none are set.
    pub(crate) fn tail(&self, token: u32) -> Tail {
        let known = self.tails.iter().find(|tail| tail.token == token);
        known.copied().unwrap_or(Tail { token, least: 0, most: usize::MAX })
    }

    /// Returns the number of sets of tracked tokens.
    pub(crate) fn sets(&self) -> usize {
        1 << self.tracked.len()
    }
}

/// Prices of all nodes: some given, the others such that no pool out of them earns more than its gas.
///
/// A node is never priced below what its token costs by way of the cheapest given node: at that price no pool that leads
/// to it earns anything, and what it is worth at the output below that price does not matter.
#[derive(Debug, Default)]
pub(crate) struct LayerPrices {
    /// Prices by the set of tracked tokens visited, the remaining pools, and the token's number; zero if so many pools do
    /// not lead to it.
    price: Vec<Vec<Vec<f64>>>,
    given: Vec<LayerNode>,
}

impl LayerPrices {
    /// Sets all prices to zero, and makes room for those of `places` tokens.
    fn reset(&mut self, sets: usize, layers: usize, places: usize) {
        self.price.resize_with(sets, Vec::new);
        for layer in &mut self.price {
            layer.resize_with(layers, Vec::new);
            for prices in layer {
                prices.clear();
                prices.resize(places, 0.0);
            }
        }
    }
}

/// A pool that earns more than its gas.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Earning {
    pub(crate) earned: f64,
    pub(crate) pair: u32,
    pub(crate) to: LayerNode,
}

impl<'a, 'p> Layers<'a, 'p> {
    /// Numbers the tokens that can lie on a route at all.
    pub(crate) fn new(problem: &'a Problem<'p>, is_reachable: &[bool], caps: &'a [f64]) -> Self {
        let graph = problem.prepared.graph();
        let mut place = vec![u32::MAX; is_reachable.len()];
        let mut places = 0;
        for (token, place) in place.iter_mut().enumerate() {
            let is_end = token == problem.source || token == problem.target;
            if is_end || (is_reachable[token] && caps[token] > 0.0 && graph.is_inner(token)) {
                *place = index32(places);
                places += 1;
            }
        }
        let of_places = |rates: Vec<f64>| {
            let mut of_places = vec![0.0; places];
            for (place, rate) in place.iter().zip(rates).filter(|(place, _)| **place != u32::MAX) {
                of_places[*place as usize] = rate;
            }
            of_places
        };
        let mut rates: Vec<Vec<f64>> = rates_by_pools(problem).into_iter().map(of_places).collect();
        // Adds the input, which may be an outer token, of which no rates are kept.
        if let Some(rates) = rates.first_mut() {
            rates[place[problem.source] as usize] = 1.0;
        }
        Self { problem, caps, place, places, rates }
    }

    /// Returns the most of a token that a route can hold.
    pub(crate) fn cap(&self, token: u32) -> f64 {
        self.caps[token as usize]
    }

    /// Returns a set of tokens between the ends.
    pub(crate) fn set_of(&self, tokens: impl Iterator<Item = u32>) -> Vec<bool> {
        let mut set = vec![false; self.places];
        tokens.for_each(|token| set[self.place(token)] = true);
        set
    }

    /// Returns whether such a set has a token.
    #[inline]
    pub(crate) fn is_in(&self, set: &[bool], token: u32) -> bool {
        set.get(self.place(token)).is_some_and(|is_in| *is_in)
    }

    /// Returns the number of a token; `u32::MAX` for one that no route can pass.
    fn place(&self, token: u32) -> usize {
        self.place[token as usize] as usize
    }

    /// Returns the arrows from a token to inner tokens, as far as they are likely to matter, and to the output.
    pub(crate) fn arrows<'s>(
        &'s self,
        token: u32,
        is_likely: impl Fn(RoughArrow) -> bool + 's,
    ) -> impl Iterator<Item = Arrow> + 's {
        let (graph, token) = (self.problem.prepared.graph(), token as usize);
        let has_outer_target = !graph.is_inner(self.problem.target);
        let last = has_outer_target.then(|| graph.between(token, self.problem.target)).into_iter().flatten();
        let inner = graph.to_inner(token).iter().filter(move |(rough, _)| is_likely(**rough));
        inner.map(|(_, arrow)| *arrow).chain(last)
    }

    /// Returns whether a route can pass a node between its ends.
    pub(crate) fn is_inner(&self, node: LayerNode) -> bool {
        let (problem, token) = (self.problem, node.token as usize);
        token != problem.source
            && token != problem.target
            && (1..problem.hops).contains(&node.left)
            && self.rates(node.left).get(self.place(node.token)).is_some_and(|rate| *rate > 0.0)
    }

    /// Returns the node of a path that reaches a token between the ends after visiting the tracked tokens of a set;
    /// `None` if it cannot.
    pub(crate) fn arrives(&self, left: usize, token: u32, before: usize, decisions: &Decisions) -> Option<LayerNode> {
        let (bit, tail) = (decisions.bit(token), decisions.tail(token));
        let node = LayerNode { left: left.min(tail.most), token, seen: before | bit };
        (before & bit == 0 && left >= tail.least && self.is_inner(node)).then_some(node)
    }

    /// Computes the prices of all nodes from given ones. Reuses the memory of `prices`.
    pub(crate) fn layer_prices(
        &self,
        given: &[(LayerNode, f64)],
        decisions: &Decisions,
        mut prices: LayerPrices,
    ) -> LayerPrices {
        let problem = self.problem;
        let (graph, target) = (problem.prepared.graph(), index32(problem.target));
        prices.reset(decisions.sets(), problem.hops + 1, self.places);
        let price = &mut prices.price;
        for layer in price.iter_mut().flat_map(|layers| &mut layers[..problem.hops]) {
            layer[self.place(target)] = problem.price_out;
        }
        for (node, known) in given {
            price[node.seen][node.left][self.place(node.token)] = *known;
        }
        let mut is_given = vec![false; self.places];
        let mut reached: Vec<Vec<u32>> = vec![vec![target]; decisions.sets()];
        for left in 1..problem.hops {
            let mut next: Vec<Vec<u32>> = vec![vec![target]; decisions.sets()];
            let floors = self.floors(given, left);
            for seen in 0..decisions.sets() {
                let here = || given.iter().map(|(node, _)| node).filter(|node| (node.left, node.seen) == (left, seen));
                // Puts those first: most others are worth most through one of them.
                next[seen].extend(here().map(|node| node.token));
                here().for_each(|node| is_given[self.place(node.token)] = true);
                let mut above = std::mem::take(&mut price[seen][left]);
                let unpriced = above.iter_mut().zip(&floors).filter(|(price, _)| **price <= 0.0);
                unpriced.for_each(|(price, floor)| *price = *floor);
                for tail in decisions.tails.iter().filter(|tail| !(tail.least..=tail.most).contains(&left)) {
                    let place = self.place(tail.token);
                    above[place] = if left > tail.most { price[seen][tail.most][place] } else { 0.0 };
                    is_given[place] = true;
                    next[seen].push(tail.token);
                }
                // Visits the nodes that a pool can lead to from here: those with the same visited tokens, plus at most
                // their own.
                for after in (0..decisions.sets()).filter(|after| after & seen == seen) {
                    let is_next = |to: &u32| decisions.bit(*to) == after ^ seen;
                    for &to in reached[after].iter().filter(|to| is_next(to)) {
                        let price_out = price[after][left - 1][self.place(to)];
                        for (rough, arrow) in graph.to_inner(to as usize).iter() {
                            let place = self.place(rough.to);
                            let Some(price) = above.get_mut(place) else { continue };
                            if price_out * rough.most_back() <= *price {
                                continue;
                            }
                            let bit = decisions.bit(arrow.to);
                            let is_here = seen & bit == bit && self.is_inner(LayerNode { left, token: arrow.to, seen });
                            if !is_here || is_given[place] || !self.is_open(arrow.pair, decisions) {
                                continue;
                            }
                            let known = *price;
                            self.raise(arrow, price_out, price);
                            if known <= floors[place] && *price > floors[place] {
                                next[seen].push(arrow.to);
                            }
                        }
                    }
                }
                price[seen][left] = above;
                here().for_each(|node| is_given[self.place(node.token)] = false);
                decisions.tails.iter().for_each(|tail| is_given[self.place(tail.token)] = false);
            }
            reached = next;
        }
        prices.given = given.iter().map(|(node, _)| *node).collect();
        prices
    }

    /// Computes the least price of each token at which it matters with `left` remaining pools: what it costs at marginal
    /// rates by way of the given node, with more remaining pools, at which the input is cheapest. Rounded down.
    fn floors(&self, given: &[(LayerNode, f64)], left: usize) -> Vec<f64> {
        let before = given.iter().filter(|(node, _)| node.left > left);
        let input_price = before.map(|(node, price)| price * self.rates(node.left)[self.place(node.token)]);
        let cheapest = input_price.fold(f64::INFINITY, f64::min) / Tuning::FAR_OUTWARD;
        let floor = |rate: &f64| if *rate > 0.0 { cheapest / rate } else { 0.0 };
        self.rates(left).iter().map(floor).collect()
    }

    /// Returns the most that a unit of the input becomes of each token, if `left` pools may still follow.
    fn rates(&self, left: usize) -> &[f64] {
        self.rates.get(self.problem.hops - left).or(self.rates.last()).map_or(&[], Vec::as_slice)
    }

    /// Raises the price of the token that an arrow leads back to until the pool earns no more than its gas.
    fn raise(&self, arrow: &Arrow, price_out: f64, price: &mut f64) {
        let problem = self.problem;
        if price_out * arrow.back <= *price {
            return;
        }
        let gas_price = problem.gas_price;
        if price_out * arrow.back_after_gas((gas_price / price_out).sqrt()) <= *price {
            return;
        }
        let cap = self.caps[arrow.to as usize];
        let Some(rate) = problem.average_rate_back(arrow, price_out, cap, gas_price) else { return };
        *price = price.max(rate * Tuning::OUTWARD);
    }

    /// Returns whether the routes may use a pair.
    pub(crate) fn is_open(&self, pair: u32, decisions: &Decisions) -> bool {
        self.problem.is_open(pair) && !decisions.unused.contains(&pair)
    }

    /// Evaluates the dual at given prices over the routes that `decisions` allows. Also returns the pools that earn more
    /// than `least`.
    pub(crate) fn evaluate(
        &self,
        layer_prices: &LayerPrices,
        decisions: &Decisions,
        least: f64,
    ) -> (f64, Vec<Earning>) {
        let problem = self.problem;
        let mut terms: Vec<(Earning, f64)> = Vec::new();
        for &from in &layer_prices.given {
            let price_in = self.price(layer_prices, from);
            let is_likely = |rough: RoughArrow| {
                let seen = from.seen | decisions.bit(rough.to);
                let price_out = layer_prices.price[seen][from.left - 1].get(self.place(rough.to));
                price_out.is_some_and(|price_out| price_in < price_out * rough.most_spot())
            };
            let arrows = self.arrows(from.token, is_likely);
            let arrows =
                arrows.filter(|arrow| self.is_open(arrow.pair, decisions) && !decisions.used.contains(&arrow.pair));
            terms.extend(arrows.filter_map(|arrow| self.term(layer_prices, decisions, from, &arrow, 1.0)));
        }
        terms.sort_unstable_by(|(a, _), (b, _)| {
            a.pair.cmp(&b.pair).then(b.earned.total_cmp(&a.earned)).then(a.to.cmp(&b.to))
        });
        let mut bound = self
            .price(layer_prices, LayerNode { left: problem.hops, token: index32(problem.source), seen: 0 })
            * problem.amount;
        for pool in terms.chunk_by(|(a, _), (b, _)| a.pair == b.pair) {
            bound += pool[0].0.earned + pool.iter().map(|(_, noise)| *noise).fold(0.0, f64::max);
        }
        bound += decisions.used.iter().map(|pair| self.used_term(layer_prices, decisions, *pair)).sum::<f64>();
        let earning = terms.into_iter().map(|(earning, _)| earning).filter(|earning| earning.earned > least);
        (bound + Tuning::BOUND_ROUNDING * bound.abs(), earning.collect())
    }

    /// Computes the most that a pool earns, less its gas, if it is certainly used.
    fn used_term(&self, layer_prices: &LayerPrices, decisions: &Decisions, pair: u32) -> f64 {
        let problem = self.problem;
        let graph = problem.prepared.graph();
        let gas = problem.curve(pair).map_or(0.0, |curve| curve.gas_units) * problem.gas_price;
        let mut most = 0.0_f64;
        let [a, b] = graph.ends(pair);
        for (from, to) in [(a, b), (b, a)] {
            let Some(arrow) = graph.arrow_between(from, to, pair) else { continue };
            let nodes = (0..decisions.sets()).flat_map(|seen| (1..=problem.hops).map(move |left| (left, seen)));
            for (left, seen) in nodes {
                let (node, bit) = (LayerNode { left, token: from, seen }, decisions.bit(from));
                let is_source = from as usize == problem.source && left == problem.hops && seen == 0;
                if is_source || (seen & bit == bit && self.is_inner(node)) {
                    let earned = self.term(layer_prices, decisions, node, arrow, 0.0);
                    most = most.max(earned.map_or(0.0, |(earning, noise)| earning.earned + noise));
                }
            }
        }
        most - gas
    }

    /// Computes the profit of a pool out of a node beyond a share of its gas, and what rounding may have lost of it.
    fn term(
        &self,
        layer_prices: &LayerPrices,
        decisions: &Decisions,
        from: LayerNode,
        arrow: &Arrow,
        gas_share: f64,
    ) -> Option<(Earning, f64)> {
        let problem = self.problem;
        let (here, there) = (from.token as usize, arrow.to as usize);
        let left = from.left - 1;
        let bit = if there == problem.target { 0 } else { decisions.bit(arrow.to) };
        // Rules out most arrows: a token that cannot follow here has no price.
        let price_out = *layer_prices.price[from.seen | bit][left].get(self.place(arrow.to))?;
        let price_in = self.price(layer_prices, from);
        if price_in >= price_out * arrow.spot {
            return None;
        }
        let root = (problem.gas_price * gas_share / price_out).sqrt();
        if price_out <= 0.0 || price_in >= price_out * arrow.spot_after_gas(root) {
            return None;
        }
        let to = match there == problem.target {
            true => LayerNode { left, token: arrow.to, seen: from.seen },
            false => self.arrives(left, arrow.to, from.seen, decisions)?,
        };
        let (curve, direction) = problem.direction(arrow.pair, arrow.side)?;
        let (gas, cap) = (curve.gas_units * problem.gas_price * gas_share, self.caps[here]);
        let earned = direction.most_earned(price_in, price_out, cap, gas, problem.gas_price);
        let noise = noise(direction, price_in, price_out, cap);
        Some((Earning { earned, pair: arrow.pair, to }, noise))
    }

    /// Returns the price of a node.
    pub(crate) fn price(&self, layer_prices: &LayerPrices, node: LayerNode) -> f64 {
        layer_prices.price[node.seen][node.left][self.place(node.token)]
    }
}

#[cfg(test)]
mod tests {
    use braid_primitives::U256;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;
    use crate::problem::potentials::Potentials;
    use crate::problem::reachable::reachable;
    use crate::testing::{prepared, problem, token};

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "amounts of small markets")]
    fn units(ether: f64) -> u128 {
        (ether * 1e18) as u128
    }

    #[test]
    fn a_sale_of_an_outer_token_has_floors() {
        // Token 1 has a pool with token 2 alone.
        let deep = [units(100.0); 2];
        let market = prepared(&[((1, 2), deep), ((2, 0), deep), ((2, 3), deep), ((3, 0), deep)]);
        let problem = problem(&market, token(1), U256::from(units(1.0)), token(0));
        assert!(!market.graph().is_inner(problem.source));
        let potentials = Potentials::with_first_slippage(&problem, None);
        let layers = Layers::new(&problem, &reachable(&problem), &potentials.cap);
        let source = LayerNode { left: problem.hops, token: index32(problem.source), seen: 0 };
        let floors = layers.floors(&[(source, 0.9)], problem.hops - 1);
        assert!(floors[layers.place(index32(market.node(token(2))))] > 0.89, "{floors:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(31), ..ProptestConfig::with_cases(1_000) })]

        #[test]
        fn no_pool_out_of_a_node_without_a_given_price_earns_more_than_its_gas(
            pools in prop::collection::vec(((0_u32..7, 1_u32..7), 0.05_f64..400.0, 0.8_f64..1.25), 6..20),
            amount in 0.02_f64..50.0,
            hops in 2_usize..6,
            gwei in 0.0_f64..20.0,
            given in prop::collection::vec((0_u32..7, 1_usize..5, 0.5_f64..1.5), 0..4),
        ) {
            let pools = pools.into_iter().map(|((a, step), depth, tilt)| ((a, (a + step) % 7), [units(depth), units(depth * tilt)]));
            let market = prepared(&pools.chain([((1, 0), [units(10.0); 2])]).collect::<Vec<_>>());
            let problem = Problem { hops, gas_price: gwei * 1e9, ..problem(&market, token(1), U256::from(units(amount)), token(0)) };
            let potentials = Potentials::with_first_slippage(&problem, None);
            let (is_reachable, start, decisions) = (reachable(&problem), potentials.start_prices(&problem), Decisions::default());
            let layers = Layers::new(&problem, &is_reachable, &potentials.cap);
            let source = LayerNode { left: hops, token: index32(problem.source), seen: 0 };
            let mut known = vec![(source, start[problem.source])];
            for (position, left, factor) in given {
                let node = LayerNode { left, token: index32(market.node(token(position))), seen: 0 };
                let is_known = |node: &LayerNode| known.iter().any(|(known, _)| known == node);
                if (node.token as usize) < start.len() && layers.is_inner(node) && !is_known(&node) {
                    known.push((node, start[node.token as usize] * factor));
                }
            }
            let prices = layers.layer_prices(&known, &decisions, LayerPrices::default());
            let inner = (0..index32(start.len())).flat_map(|token| (1..hops).map(move |left| LayerNode { left, token, seen: 0 }));
            for node in inner.filter(|node| layers.is_inner(*node) && known.iter().all(|(known, _)| known != node)) {
                for arrow in market.graph().arrows(node.token as usize) {
                    let leads_on = arrow.to as usize == problem.target || market.graph().is_inner(arrow.to as usize) && layers.arrives(node.left - 1, arrow.to, 0, &decisions).is_some();
                    let Some((curve, direction)) = problem.direction(arrow.pair, arrow.side).filter(|_| leads_on) else { continue };
                    let price_out = layers.price(&prices, LayerNode { left: node.left - 1, token: arrow.to, seen: 0 });
                    let rate = direction.average_rate(price_out, layers.cap(node.token), curve.gas_units * problem.gas_price);
                    let price = layers.price(&prices, node);
                    prop_assert!(rate <= price * (1.0 + 1e-12), "{:?} has price {}, and a pool that pays {}", node, price, rate);
                }
            }
        }
    }
}
