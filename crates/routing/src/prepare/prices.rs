//! Reference prices.
//!
//! Prices are first set from wrapped ether outwards, always along the deepest pool that leads to a token without a
//! price. Then each token that several pools price, in the same order, takes the median of their prices, weighted by
//! depth.
//!
//! No pool's weight exceeds that of the second deepest. So a single pool, however much money is pushed through it, does
//! not decide alone against two others. Pools with less than a sixty-fourth of the deepest pool's depth have no vote:
//! many small pools cannot outvote real money.
//!
//! The depth of a pool is what it really takes, in the coin that already has a price, to move its price by one percent,
//! the lesser of both directions. The claimed value of a token without a price plays no part, and neither does
//! liquidity parked very close to the price. So a poisoned pool has to hold real money to count.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

use braid_protocols::continuous::PairCurve;

use super::node::{WETH, index32};
use super::{Arrow, Graph};
use crate::tuning::Tuning;

/// The amount of each of its coins that moves a pair's price by one percent, by pair.
#[derive(Clone, Debug, Default)]
pub(crate) struct Depths {
    /// Amounts in atomic units: the lesser of what the pair takes of a coin and what it pays of it; 0 without a curve.
    amounts: Vec<[f64; 2]>,
}

impl Depths {
    /// Returns these depths with those of `changed` pairs computed anew: all pairs whose curves changed, or that were
    /// added or removed.
    pub(crate) fn refreshed(&self, curves: &[Option<Arc<PairCurve>>], changed: &[u32]) -> Self {
        let mut depths = self.clone();
        depths.amounts.resize(curves.len(), [0.0; 2]);
        for pair in changed.iter().map(|pair| *pair as usize) {
            depths.set(pair, curves[pair].as_deref());
        }
        depths
    }

    /// Computes the amounts of one pair.
    fn set(&mut self, pair: usize, curve: Option<&PairCurve>) {
        let side =
            |side| curve?.direction(side).map(|direction| direction.to_share_of_spot(Tuning::DEPTH_AT_SHARE_OF_SPOT));
        let [(taken0, paid0), (taken1, paid1)] = [side(0), side(1)].map(Option::unwrap_or_default);
        self.amounts[pair] = [taken0.min(paid1), taken1.min(paid0)];
    }
}

/// Reference prices in wei per atomic unit, and the depth of the pools behind each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prices {
    wei_per_unit: Vec<f64>,
    depth_wei: Vec<f64>,
    /// See [`Prices::start`].
    start: Vec<f64>,
}

impl Prices {
    pub(crate) fn new(graph: &Graph, depths: &Depths) -> Self {
        let count = graph.token_count();
        let mut prices = Self { wei_per_unit: vec![0.0; count], depth_wei: vec![0.0; count], start: Vec::new() };
        let mut settled = Vec::new();
        let mut heap = BinaryHeap::new();
        // Keeps the depth of the deepest candidate for each token so far, and its pool: a lesser one never prices it.
        let mut deepest = vec![(0.0_f64, u32::MAX); count];
        if let Some((depth_wei, _)) = deepest.get_mut(WETH) {
            *depth_wei = f64::INFINITY;
        }
        let mut next = Some(Candidate { depth_wei: f64::INFINITY, pair: 0, token: WETH, wei_per_unit: 1.0 });
        while let Some(found) = next {
            if let (Some(price), Some(depth)) =
                (prices.wei_per_unit.get_mut(found.token), prices.depth_wei.get_mut(found.token))
                && *price == 0.0
            {
                *price = found.wei_per_unit;
                *depth = found.depth_wei;
                settled.push(found.token);
                for arrow in graph.inner_arrows(found.token) {
                    let (depth_wei, pair) = &mut deepest[arrow.to as usize];
                    // Skips tokens with prices, too: a candidate is no deeper than the token that it comes from.
                    if *depth_wei > found.depth_wei {
                        continue;
                    }
                    let depth = found.depth_across(arrow, depths);
                    if (depth, Reverse(arrow.pair)) <= (*depth_wei, Reverse(*pair)) {
                        continue;
                    }
                    let Some(next) = found.across_at(arrow, depth) else { continue };
                    (*depth_wei, *pair) = (depth, arrow.pair);
                    heap.push(next);
                }
                // Settles outer tokens at once: nothing else leads to one, and it leads nowhere else.
                let outer = graph.outer_arrows(found.token).iter().filter(|arrow| arrow.to as usize != WETH);
                for outer in outer.filter_map(|arrow| found.across(arrow, depths)) {
                    let (price, depth) = (&mut prices.wei_per_unit[outer.token], &mut prices.depth_wei[outer.token]);
                    if *price == 0.0 {
                        settled.push(outer.token);
                    }
                    if *price == 0.0 || outer.depth_wei > *depth {
                        (*price, *depth) = (outer.wei_per_unit, outer.depth_wei);
                    }
                }
            }
            next = heap.pop();
        }
        prices.take_medians(&settled, graph, depths);
        prices.start = prices.start_prices(graph);
        prices
    }

    /// Prices every token without a reference price at the most that a pool pays for a unit of it, in tokens that have
    /// a price; then the tokens that pools sell for these, and so on.
    fn start_prices(&self, graph: &Graph) -> Vec<f64> {
        let mut start = self.wei_per_unit.clone();
        let mut open: Vec<usize> = (0..start.len()).filter(|token| start[*token] <= 0.0).collect();
        while !open.is_empty() {
            let paid = |token: usize| {
                let offers = graph.arrows(token).iter().map(|arrow| arrow.spot * start[arrow.to as usize]);
                offers.filter(|offer| offer.is_finite()).fold(0.0, f64::max)
            };
            let found: Vec<(usize, f64)> = open.iter().map(|token| (*token, paid(*token))).collect();
            let found = found.into_iter().filter(|(_, paid)| *paid > 0.0);
            open.clear();
            for (token, paid) in found {
                start[token] = paid;
                open.extend(graph.arrows(token).iter().map(|arrow| arrow.to as usize));
            }
            open.sort_unstable();
            open.dedup();
            open.retain(|token| start[*token] <= 0.0);
        }
        start
    }

    /// Prices every token again by the votes of all its pools: those with wrapped ether, and those with a token whose
    /// price does not depend on this one, because it was settled before or has a pool with wrapped ether itself.
    fn take_medians(&mut self, settled: &[usize], graph: &Graph, depths: &Depths) {
        let ether = || Candidate { depth_wei: f64::INFINITY, pair: 0, token: WETH, wei_per_unit: 1.0 };
        let mut known: Vec<Option<Candidate>> = self.wei_per_unit.iter().map(|_| None).collect();
        for arrow in graph.arrows(WETH) {
            let direct = ether().across(arrow, depths);
            let best = &mut known[arrow.to as usize];
            if direct > *best {
                *best = direct;
            }
        }
        known[WETH] = Some(ether());
        let mut votes = Vec::new();
        for token in settled.iter().copied().filter(|token| *token != WETH) {
            votes.clear();
            for arrow in graph.arrows(token) {
                let back = arrow.reversed(token);
                votes.extend(known[arrow.to as usize].as_ref().and_then(|from| from.across(&back, depths)));
            }
            if let Some(price) = median(&mut votes) {
                self.wei_per_unit[token] = price;
            }
            let (depth_wei, wei_per_unit) = (self.depth_wei[token], self.wei_per_unit[token]);
            known[token] = Some(Candidate { depth_wei, pair: 0, token, wei_per_unit });
        }
    }

    pub(crate) fn wei_per_unit(&self, token: usize) -> Option<f64> {
        self.wei_per_unit.get(token).copied().filter(|price| *price > 0.0)
    }

    /// Returns the price from which the price without arbitrage is sought: the reference price or, without one, what a
    /// pool pays. A route can pass through a token without a reference price, whose pools trade in one direction only:
    /// bounds have to count what it gains there. Zero for a token that no pool takes.
    pub(crate) fn start(&self, token: usize) -> f64 {
        self.start.get(token).copied().unwrap_or(0.0)
    }

    /// Returns whether a token's price, what stands for it without one, and the depth behind it, are unchanged.
    pub(crate) fn is_as_before(&self, before: &Self, token: usize) -> bool {
        let of = |prices: &Self| {
            let all = [&prices.wei_per_unit, &prices.start, &prices.depth_wei];
            all.map(|values| values.get(token).map(|value| value.to_bits()))
        };
        of(self) == of(before)
    }

    /// Returns every token, those with the deepest pools first. `before` has the previous prices and order of the same
    /// tokens, if they are known.
    pub(crate) fn deepest_first(&self, before: Option<(&Self, &[u32])>) -> Vec<u32> {
        let depth = |token: u32| self.depth_wei[token as usize];
        let order = |a: &u32, b: &u32| depth(*b).total_cmp(&depth(*a)).then(a.cmp(b));
        let is_kept = |prices: &Self, token: u32| prices.depth_wei[token as usize].to_bits() == depth(token).to_bits();
        let all = 0..index32(self.depth_wei.len());
        let (kept, mut moved): (Vec<u32>, Vec<u32>) = match before {
            Some((prices, tokens)) => tokens.iter().partition(|token| is_kept(prices, **token)),
            None => (Vec::new(), all.collect()),
        };
        moved.sort_unstable_by(order);
        // Merges the two lists, which are sorted.
        let (mut kept, mut moved) = (kept.into_iter().peekable(), moved.into_iter().peekable());
        let next = || match (kept.peek(), moved.peek()) {
            (Some(a), Some(b)) if order(a, b).is_lt() => kept.next(),
            (_, Some(_)) => moved.next(),
            _ => kept.next(),
        };
        std::iter::from_fn(next).collect()
    }

    pub(crate) fn depth_wei(&self, token: usize) -> f64 {
        self.depth_wei.get(token).copied().unwrap_or(0.0)
    }
}

/// Returns the median price, weighted by depth, or the deepest pool's price if fewer than three pools have a vote.
/// `None` without candidates.
fn median(votes: &mut Vec<Candidate>) -> Option<f64> {
    if votes.len() < 3 {
        return votes.iter().max().map(|deepest| deepest.wei_per_unit);
    }
    votes.sort_by(|a, b| b.cmp(a));
    let (deepest, price) = votes.first().map(|first| (first.depth_wei, first.wei_per_unit))?;
    votes.retain(|candidate| candidate.depth_wei >= Tuning::PRICE_VOTE_LEAST_SHARE * deepest);
    let [_, second, _, ..] = votes.as_slice() else { return Some(price) };
    let most = second.depth_wei;
    votes.sort_by(|a, b| a.wei_per_unit.total_cmp(&b.wei_per_unit).then(a.pair.cmp(&b.pair)));
    let weight = |candidate: &Candidate| candidate.depth_wei.min(most);
    let half = votes.iter().map(weight).sum::<f64>() / 2.0;
    let mut below = 0.0;
    let middle = votes.iter().find(|candidate| {
        below += weight(candidate);
        below >= half * (1.0 - Tuning::PRICE_VOTE_TIE_SHARE)
    });
    middle.map(|candidate| candidate.wei_per_unit)
}

/// A price of a token, and the pool that it follows from. Ordered by depth, then by the lowest numbers.
struct Candidate {
    /// Depth of the pools behind the price, in wei.
    depth_wei: f64,
    pair: u32,
    token: usize,
    wei_per_unit: f64,
}

impl Candidate {
    /// Computes the price of the token that an arrow leads to, from that of the token that it leaves; `None` if there is
    /// none.
    fn across(&self, arrow: &Arrow, depths: &Depths) -> Option<Self> {
        self.across_at(arrow, self.depth_across(arrow, depths))
    }

    /// Computes the depth of that price. A path of pools is as deep as its shallowest.
    fn depth_across(&self, arrow: &Arrow, depths: &Depths) -> f64 {
        let amount = depths.amounts[arrow.pair as usize][usize::from(arrow.side)];
        (amount * self.wei_per_unit).min(self.depth_wei)
    }

    /// Returns that price with its depth.
    fn across_at(&self, arrow: &Arrow, depth_wei: f64) -> Option<Self> {
        if arrow.spot <= 0.0 || arrow.back <= 0.0 {
            return None;
        }
        // Takes the geometric mean of the two spot rates, which differ only by the fees, as the mid rate.
        let wei_per_unit = self.wei_per_unit * (arrow.back / arrow.spot).sqrt();
        let sound = depth_wei > 0.0 && wei_per_unit > 0.0 && wei_per_unit.is_finite();
        sound.then_some(Self { depth_wei, pair: arrow.pair, token: arrow.to as usize, wei_per_unit })
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let depth = self.depth_wei.total_cmp(&other.depth_wei);
        depth.then(other.pair.cmp(&self.pair)).then(other.token.cmp(&self.token))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::testing;

    /// Prices tokens in the same order, with every arrow out of a token with a price looked at before each step.
    fn in_order_of_depth(graph: &Graph, depths: &Depths) -> Vec<(usize, f64)> {
        let mut settled = vec![Candidate { depth_wei: f64::INFINITY, pair: 0, token: WETH, wei_per_unit: 1.0 }];
        loop {
            let is_known = |token: usize| settled.iter().any(|known| known.token == token);
            let arrows = settled.iter().flat_map(|known| graph.arrows(known.token).iter().map(move |to| (known, to)));
            let unknown = arrows.filter(|(_, to)| !is_known(to.to as usize));
            let Some(next) = unknown.filter_map(|(known, to)| known.across(to, depths)).max() else {
                return settled.iter().map(|one| (one.token, one.depth_wei)).collect();
            };
            settled.push(next);
        }
    }

    proptest! {
        #[test]
        fn every_token_gets_the_depth_of_its_deepest_candidate(
            pools in vec(((0_u32..9, 0_u32..9), [10_u128.pow(18)..10_u128.pow(23), 10_u128.pow(18)..10_u128.pow(23)]), 1..40)
        ) {
            let pools: Vec<_> = pools.into_iter().filter(|((a, b), _)| a != b).collect();
            let prepared = testing::prepared(&pools);
            let (graph, depths) = (&prepared.graph, &prepared.depths);
            let prices = Prices::new(graph, depths);
            let expected = in_order_of_depth(graph, depths);
            prop_assert_eq!(prices.depth_wei.iter().filter(|depth| **depth > 0.0).count(), expected.len());
            for (token, depth_wei) in expected {
                prop_assert_eq!(prices.depth_wei[token], depth_wei, "token {}", token);
            }
        }
    }

    #[test]
    fn rounding_does_not_decide_between_two_prices() {
        let vote = |pair: u32, depth_wei: f64| Candidate { depth_wei, pair, token: 1, wei_per_unit: f64::from(pair) };
        let price = |depth_wei: f64| median(&mut vec![vote(1, depth_wei), vote(2, 1e18), vote(3, 1e18), vote(4, 1e18)]);
        assert_eq!(price(1e18), Some(2.0), "half of four equal votes");
        assert_eq!(price(1e18 * (1.0 - 1e-15)), Some(2.0));
    }
}
