//! One request over one prepared market, in floating point: the form in which all stages before the exact route see it.

mod ether;
pub(crate) mod potentials;
pub(crate) mod reachable;
pub(crate) mod support;

use std::sync::Arc;

use braid_primitives::{PoolId, TokenId};
use braid_protocols::Pool;
use braid_protocols::continuous::{Direction, GasSpread, PairCurve};

use crate::prepare::active::{ActiveTokens, is_large};
use crate::prepare::{Arrow, Arrows, Pair, index32};
use crate::tuning::Tuning;
use crate::witness::Recorder;
use crate::{MAX_ROUTE_GAS_UNITS, Prepared, Request, SolveError};

pub(crate) use crate::prepare::NOWHERE;
use ether::{EtherForms, ether_of};

/// The supplies and demands of a request, by node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terms {
    /// Tokens supplied, with amounts in atomic units.
    pub(crate) supplies: Vec<(u32, f64)>,
    /// Tokens demanded, each with its amount in a basket worth one unit of value.
    pub(crate) weights: Vec<(u32, f64)>,
}

impl Terms {
    /// Returns the tokens supplied or demanded, each once.
    pub(crate) fn ends(&self) -> Vec<usize> {
        let mut ends: Vec<usize> = Vec::with_capacity(self.supplies.len() + self.weights.len());
        for (token, _) in self.supplies.iter().chain(&self.weights) {
            if !ends.contains(&(*token as usize)) {
                ends.push(*token as usize);
            }
        }
        ends
    }

    /// Computes the value of the supplies at the prices of all tokens.
    pub(crate) fn supplied_value(&self, price: &[f64]) -> f64 {
        self.supplies.iter().map(|(token, amount)| price[*token as usize] * amount).sum()
    }

    /// Computes the cost of one unit of the basket at the prices of all tokens.
    pub(crate) fn unit_price(&self, price: &[f64]) -> f64 {
        self.weights.iter().map(|(token, weight)| price[*token as usize] * weight).sum()
    }
}

/// A request as an optimisation problem: from one token to one other, or from several to several.
#[derive(Clone, Debug)]
pub(crate) struct Problem<'a> {
    pub(crate) prepared: &'a Prepared,
    /// Nodes of the input and the output, distinct in every search. [`NOWHERE`] where there are several: nothing flows
    /// into a single input or out of a single output, but a flow may pass through one of several.
    pub(crate) source: usize,
    pub(crate) target: usize,
    /// Supplies and demands; for one input and one output they repeat the fields here.
    pub(crate) terms: Terms,
    /// Amount in, in atomic units; zero unless there is one input and one output.
    pub(crate) amount: f64,
    /// Value of an atomic unit of the output, in wei if the output has a reference price; otherwise the output itself
    /// is the unit of value. Zero unless there is one input and one output.
    pub(crate) price_out: f64,
    /// Value of a unit of gas.
    pub(crate) gas_price: f64,
    /// Rule that spreads the gas of passed range ends where a search needs a convex cost.
    pub(crate) gas_spread: GasSpread,
    /// Most pools of a path.
    pub(crate) hops: usize,
    /// Most steps of a route.
    pub(crate) max_steps: usize,
    /// Most gas of a route.
    pub(crate) max_gas_units: u64,
    /// The forms of ether among the inputs and outputs.
    pub(crate) ether_forms: EtherForms,
    /// One more than the highest number of a token that a search can meet: inner tokens, the ends, and what an outer end
    /// shares pools with. The number of entries of what a search keeps for every token; a market may have ten times as
    /// many tokens.
    pub(crate) token_count: usize,
    /// Whether an end is an outer token.
    pub(crate) has_outer_end: bool,
    /// Whether each pair is excluded, by id; empty if none is.
    pub(crate) closed: Vec<bool>,
    /// The tokens that searches pass through; `None` for all. Bounds cover all tokens in either case.
    pub(crate) active: Option<Arc<ActiveTokens>>,
    /// Records the prices of bounds, for an explanation.
    pub(crate) recorder: Option<&'a Recorder>,
}

impl<'a> Problem<'a> {
    /// Builds the problem of a request. Ether and wrapped ether are one node, to which the supplies and demands of both
    /// are added.
    ///
    /// # Errors
    /// [`SolveError::NoReferencePrice`] if one of several outputs has no price to share values by;
    /// [`SolveError::NoRoute`] if a token has no pools.
    pub(crate) fn new(prepared: &'a Prepared, request: &Request) -> Result<Self, SolveError> {
        let several = request.outputs.len() > 1;
        let unpriced = |token| several && prepared.reference_price(token).is_none();
        if let Some((token, _)) = request.outputs.iter().find(|(token, _)| unpriced(*token)) {
            return Err(SolveError::NoReferencePrice(*token));
        }
        let has_no_pools = |token: &TokenId| prepared.node(*token) == NOWHERE;
        let (inputs, outputs) = (request.inputs.iter().map(|(t, _)| *t), request.outputs.iter().map(|(t, _)| *t));
        if let Some(token) = outputs.clone().chain(inputs.clone()).find(has_no_pools) {
            // Names the output, if nothing else is sold: it is the token that cannot be reached.
            let lone = outputs.clone().next().filter(|_| inputs.len() == 1);
            return Err(SolveError::NoRoute(lone.unwrap_or(token)));
        }
        let mut terms = Terms::default();
        for (token, amount) in &request.inputs {
            add(&mut terms.supplies, index32(prepared.node(*token)), f64::from(*amount));
        }
        let mut priced = true;
        for (token, ratio_bps) in &request.outputs {
            let price = prepared.wei_per_unit(prepared.node(*token));
            priced &= price.is_some();
            let share = f64::from(*ratio_bps) / 10_000.0;
            add(&mut terms.weights, index32(prepared.node(*token)), share / price.unwrap_or(1.0));
        }
        let lone = |list: &[(u32, f64)]| if let [(token, _)] = list { *token as usize } else { NOWHERE };
        let (source, target) = (lone(&terms.supplies), lone(&terms.weights));
        let is_pair = source != NOWHERE && target != NOWHERE;
        let (graph, ends) = (prepared.graph(), terms.ends());
        let is_outer = |end: &&usize| !graph.is_inner(**end);
        let beside_ends =
            ends.iter().filter(is_outer).flat_map(|end| graph.arrows(*end)).map(|arrow| arrow.to as usize);
        let highest = beside_ends.chain(ends.iter().copied()).max().unwrap_or(NOWHERE);
        #[allow(clippy::cast_precision_loss, reason = "a value, not an amount")]
        let gas_price = request.gas_price_wei as f64;
        Ok(Self {
            prepared,
            source,
            target,
            amount: terms.supplies.first().filter(|_| is_pair).map_or(0.0, |(_, amount)| *amount),
            price_out: if is_pair { prepared.wei_per_unit(target).unwrap_or(1.0) } else { 0.0 },
            terms,
            // Counts gas as free without a price of the output: it cannot be compared with it.
            gas_price: if priced { gas_price } else { 0.0 },
            gas_spread: GasSpread::Whole,
            // Allows no more pools on a path than a route has steps.
            hops: usize::from(request.max_hops).min(usize::from(request.max_steps).max(1)),
            max_steps: usize::from(request.max_steps),
            max_gas_units: MAX_ROUTE_GAS_UNITS,
            ether_forms: EtherForms::of_request(request),
            token_count: graph.inner_count().max(highest + 1),
            has_outer_end: ends.iter().any(|end| is_outer(&end)),
            closed: closed_pairs(prepared, request),
            active: None,
            recorder: None,
        })
    }

    /// Returns the problem with gas so expensive that the most of it that a route may use costs a share of a trade's value.
    /// Bounds on it do not hold for the problem itself, and are not recorded.
    pub(crate) fn at_dearer_gas(&self, value: f64, share: f64) -> Self {
        #[allow(clippy::cast_precision_loss, reason = "gas is far below 2⁵³")]
        let dear = share * value.max(0.0) / self.max_gas_units as f64;
        Self { gas_price: self.gas_price.max(dear), recorder: None, ..self.clone() }
    }

    /// Returns whether the market is large, and a trade of this value worth no more than the gas of a few swaps: its bound
    /// is not worth as much time as that of others.
    pub(crate) fn is_small(&self, value: f64) -> bool {
        is_large(self.prepared) && value <= Tuning::SMALL_TRADE_GAS_UNITS * self.gas_price
    }

    /// Returns whether there is one input and one output, so that nothing flows into the input or out of the output.
    #[inline]
    pub(crate) fn is_pair(&self) -> bool {
        self.source != NOWHERE && self.target != NOWHERE
    }

    /// Returns an output's value per atomic unit, in the problem's unit of value.
    pub(crate) fn reference(&self, output: u32) -> f64 {
        self.prepared.wei_per_unit(output as usize).unwrap_or(1.0)
    }

    /// Computes what one unit of the problem's value costs at the prices of all tokens.
    pub(crate) fn unit_price(&self, price: &[f64]) -> f64 {
        if self.is_pair() { price[self.target] / self.price_out } else { self.terms.unit_price(price) }
    }

    /// Returns whether the request allows a pair.
    #[inline]
    pub(crate) fn is_open(&self, pair: u32) -> bool {
        self.closed.is_empty() || !self.closed[pair as usize]
    }

    /// Returns every arrow from a token to inner tokens and ends; if an end is an outer token, to all others too.
    #[inline]
    pub(crate) fn arrows(&self, token: usize) -> &'a [Arrow] {
        let graph = self.prepared.graph();
        if self.has_outer_end { graph.arrows(token) } else { graph.inner_arrows(token) }
    }

    /// Returns every arrow from a token to inner tokens and ends, with the token at its other side.
    #[inline]
    pub(crate) fn neighbours(&self, token: usize) -> impl Iterator<Item = (usize, &'a Arrow)> + Clone + use<'a> {
        let (graph, count) = (self.prepared.graph(), self.token_count);
        let arrows = if self.has_outer_end { graph.to_all(token) } else { graph.to_inner(token) };
        arrows.neighbours().filter(move |(to, _)| *to < count)
    }

    /// Returns the arrows from a token to inner tokens that searches pass through, in two parts.
    #[inline]
    pub(crate) fn search_arrows(&self, token: usize) -> [Arrows<'_>; 2] {
        match &self.active {
            Some(active) => active.arrows(self.prepared, token),
            None => [self.prepared.graph().to_inner(token), Arrows::default()],
        }
    }

    /// Returns the arrows from a token to a pair's output that searches use.
    #[inline]
    pub(crate) fn search_arrows_to_output(&self, token: usize) -> impl Iterator<Item = Arrow> {
        let listed = self.active.as_deref().and_then(|active| active.to_output(token));
        let all = listed.is_none().then(|| self.prepared.graph().between(token, self.target));
        listed.unwrap_or_default().iter().map(|(_, arrow)| *arrow).chain(all.into_iter().flatten())
    }

    /// Counts the open pools.
    pub(crate) fn open_pools(&self) -> u32 {
        if self.closed.is_empty() {
            return self.prepared.pool_count();
        }
        let pairs = 0..index32(self.prepared.pair_count());
        self.prepared.pairs().count_pools(pairs.filter(|pair| self.is_open(*pair) && self.curve(*pair).is_some()))
    }

    /// Returns the pools that are not open, each once.
    pub(crate) fn closed_pools(&self) -> Vec<PoolId> {
        let pairs = self.prepared.pairs().list().iter().zip(0_u32..);
        let mut pools: Vec<PoolId> = pairs.filter(|(_, id)| !self.is_open(*id)).map(|(pair, _)| pair.pool).collect();
        pools.dedup();
        pools
    }

    /// Returns whether coin 0 and coin 1 of a pool with these tokens may be sold: nothing flows into a single input or
    /// out of a single output.
    #[inline]
    pub(crate) fn open_directions(&self, tokens: [u32; 2]) -> [bool; 2] {
        let [a, b] = tokens.map(|token| token as usize);
        let may = |from: usize, to: usize| from != self.target && to != self.source;
        [may(a, b), may(b, a)]
    }

    /// Returns a pair's curve; every pair in the graph has one.
    #[inline]
    pub(crate) fn curve(&self, pair: u32) -> Option<&'a PairCurve> {
        self.prepared.curve(pair)
    }

    /// Returns one direction of a pair, with the pair's curve; `None` if that side pays nothing.
    #[inline]
    pub(crate) fn direction(&self, pair: u32, side: u8) -> Option<(&'a PairCurve, &'a Direction)> {
        let curve = self.curve(pair)?;
        Some((curve, curve.direction(side)?))
    }

    /// Computes the output of a flow, in floating point; zero if its pool pays nothing.
    pub(crate) fn paid(&self, flow: &Flow) -> f64 {
        self.direction(flow.pair, flow.side).map_or(0.0, |(_, direction)| direction.quote(flow.amount_in).0)
    }

    /// Returns whether the route of a flow has no more than `most` steps: one for each pool, and one for a conversion.
    pub(crate) fn fits(&self, flows: &[Flow], most: usize) -> bool {
        flows.len() < most || (flows.len() == most && !self.converts(flows))
    }

    /// Returns whether the route of a flow may have to wrap or unwrap ether: if it meets both forms of it.
    pub(crate) fn converts(&self, flows: &[Flow]) -> bool {
        let ether_of = |flow: &Flow| ether_of(self.prepared, flow.pair, flow.side, [flow.from, flow.to]);
        flows.iter().filter_map(ether_of).fold(self.ether_forms, EtherForms::with).are_both()
    }

    /// Computes the supremum over trades of at most `cap` of what a unit of the token that an arrow leads to brings, net
    /// of the pool's gas, if the token that the arrow leaves is worth `price_out`; see [`Direction::average_rate`].
    #[inline]
    pub(crate) fn average_rate_back(&self, arrow: &Arrow, price_out: f64, cap: f64, gas_price: f64) -> Option<f64> {
        if let Some(plain) = arrow.plain_back() {
            return Some(plain.average_rate(price_out, cap, gas_price));
        }
        let first = self.prepared.graph().first_back(arrow);
        first.average_rate_within(price_out, cap, gas_price).or_else(|| {
            let (curve, direction) = self.direction(arrow.pair, 1 - arrow.side)?;
            Some(direction.average_rate(price_out, cap, curve.gas_units * gas_price))
        })
    }
}

/// Adds an amount of a token to a list that has each token once.
pub(crate) fn add(list: &mut Vec<(u32, f64)>, token: u32, amount: f64) {
    match list.iter_mut().find(|(known, _)| *known == token) {
        Some((_, sum)) => *sum += amount,
        None => list.push((token, amount)),
    }
}

/// Returns whether a filter closes each pair, by id; empty if it closes none.
fn closed_pairs(prepared: &Prepared, request: &Request) -> Vec<bool> {
    let (filter, joining) = (&request.filter, joining_pools(prepared, request));
    if filter.allows_all() && joining.is_empty() {
        return Vec::new();
    }
    let is_open = |pair: &Pair| filter.allows(pair.pool, pair.product) && !joining.contains(&pair.pool);
    prepared.pairs().list().iter().map(|pair| !is_open(pair)).collect()
}

/// Returns the pools whose coins are all inputs and that keep the shares of one of them (stETH and wstETH). What such a
/// pool pays in shares may not join the input ([`Machine::run`](crate::machine::Machine::run)).
fn joining_pools(prepared: &Prepared, request: &Request) -> Vec<PoolId> {
    let is_input = |coin: &TokenId| request.inputs.iter().any(|(input, _)| input == coin);
    let joins = |pool: &Pool| {
        pool.pays_rounded_shares()
            && pool.coins.iter().all(is_input)
            && pool.coins.iter().any(|coin| pool.keeps_shares_of(*coin))
    };
    prepared.market().share_keepers().filter(|(_, pool)| joins(pool)).map(|(id, _)| id).collect()
}

/// One pair of a flow, with the amount that it takes, in floating point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Flow {
    pub(crate) pair: u32,
    pub(crate) side: u8,
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) amount_in: f64,
}

#[cfg(test)]
mod tests {
    use braid_primitives::U256;

    use super::*;
    use crate::testing::{prepared, request, token};
    use crate::{SolveError, solve};

    #[test]
    fn searches_keep_nothing_for_outer_tokens_that_are_no_ends_and_still_find_those_that_are() {
        const ETHER: u128 = 10_u128.pow(18);
        // 0, 1 and 2 in a circle, 3 to 9 each on one of them, and 10 and 11 with pools only with each other.
        let depth = [1_000 * ETHER; 2];
        let circle = [(0, 1), (1, 2), (2, 0)];
        let on_it = (3..10).map(|n: u32| (n % 3, n));
        let pools: Vec<_> = circle.into_iter().chain(on_it).chain([(10, 11)]).map(|ends| (ends, depth)).collect();
        let market = prepared(&pools);
        let ether = U256::from(ETHER);
        let ask = |from: u32, to: u32| request(&market, token(from), ether, token(to));
        let count = |from, to| Problem::new(&market, &ask(from, to)).unwrap().token_count;
        // Node 0 stands for no token.
        assert_eq!(count(1, 2), 4);
        assert_eq!(count(1, 5), market.node(token(5)) + 1);
        assert_eq!(count(10, 1), market.node(token(11)) + 1);
        for (from, to) in [(3, 9), (9, 3), (1, 9), (9, 1), (10, 11), (11, 10)] {
            assert!(solve(&market, &ask(from, to)).is_ok(), "{from} to {to}");
        }
        for (from, to) in [(3, 10), (10, 3), (1, 11), (11, 1)] {
            assert_eq!(solve(&market, &ask(from, to)).unwrap_err(), SolveError::NoRoute(token(to)), "{from} to {to}");
        }
        let mut basket = ask(9, 1);
        basket.inputs.push((token(10), ether));
        assert_eq!(solve(&market, &basket).unwrap_err(), SolveError::NoRoute(token(10)));
        basket.inputs[1].0 = token(4);
        basket.outputs = vec![(token(1), 4_000), (token(8), 6_000)];
        assert!(solve(&market, &basket).is_ok());
    }
}
