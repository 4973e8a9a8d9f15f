//! The token graph as compact arrays.

use std::sync::Arc;

use braid_market::Market;
use braid_protocols::continuous::PairCurve;

use super::{Pairs, node};

/// One pair as seen from one of its tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrow {
    pub(crate) pair: u32,
    /// The token at the other side.
    pub(crate) to: u32,
    /// Which of the pair's coins this token is.
    pub(crate) side: u8,
    /// Marginal rate of selling this token, fee included; zero where that side pays nothing.
    pub(crate) spot: f64,
    /// Marginal rate of buying it with the other.
    pub(crate) back: f64,
}

/// A pair of two inner tokens, with what one comparison needs to reject it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InnerPair {
    pub(crate) id: u32,
    /// The tokens of coins 0 and 1.
    pub(crate) ends: [u32; 2],
    /// Marginal rates of selling coin 0 and coin 1.
    pub(crate) spot: [f64; 2],
    /// `Direction::reject_in` of both.
    pub(crate) reject: [f64; 2],
    /// Root of the gas of a swap, in units.
    pub(crate) gas_root: f64,
}

/// Arrows out of every token. A token with two distinct neighbours or more is *inner*: only such a token can lie in the
/// middle of a route, so a search leaves the others out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    arrows: Vec<Arrow>,
    start: Vec<u32>,
    outer: Vec<u32>,
    inner: Vec<bool>,
    /// The tokens at both sides of every pair; `[MAX, MAX]` for a pair that is not in the graph.
    ends: Vec<[u32; 2]>,
    inner_pairs: Vec<InnerPair>,
}

impl Graph {
    pub(crate) fn new(market: &Market, pairs: &Pairs, curves: &[Option<Arc<PairCurve>>]) -> Self {
        let tokens = market.tokens().len();
        let mut list: Vec<(u32, Arrow)> = Vec::with_capacity(2 * curves.len());
        let mut pair_ends = vec![[u32::MAX; 2]; curves.len()];
        for ((pair, curve), id) in pairs.list().iter().zip(curves).zip(0_u32..) {
            let (Some(curve), Some(pool)) = (curve, market.pool(pair.pool)) else { continue };
            let ends = pair.coins.map(|coin| index32(node(pool.coins[usize::from(coin)])));
            let spot = [0, 1].map(|side| curve.direction(side).map_or(0.0, |d| d.spot()));
            if ends[0] == ends[1] {
                continue;
            }
            pair_ends[id as usize] = ends;
            list.push((ends[0], Arrow { pair: id, to: ends[1], side: 0, spot: spot[0], back: spot[1] }));
            list.push((ends[1], Arrow { pair: id, to: ends[0], side: 1, spot: spot[1], back: spot[0] }));
        }
        let inner = inner_tokens(tokens, &list);
        list.sort_by_key(|(from, arrow)| (*from, !inner[arrow.to as usize], arrow.pair));
        let mut graph = Self {
            arrows: Vec::with_capacity(list.len()),
            start: vec![0],
            outer: Vec::new(),
            inner,
            ends: pair_ends,
            inner_pairs: Vec::new(),
        };
        let mut rest = list.as_slice();
        for token in 0..tokens {
            let count = rest.iter().take_while(|(from, _)| *from as usize == token).count();
            let inner_count = rest[..count].iter().take_while(|(_, a)| graph.inner[a.to as usize]).count();
            graph.outer.push(index32(graph.arrows.len() + inner_count));
            graph.arrows.extend(rest[..count].iter().map(|(_, arrow)| *arrow));
            graph.start.push(index32(graph.arrows.len()));
            rest = &rest[count..];
        }
        graph.inner_pairs = graph.pairs_within(curves);
        graph
    }

    fn pairs_within(&self, curves: &[Option<Arc<PairCurve>>]) -> Vec<InnerPair> {
        let mut pairs = Vec::with_capacity(curves.len());
        for ((curve, ends), id) in curves.iter().zip(&self.ends).zip(0_u32..) {
            let (Some(curve), [a, b]) = (curve, *ends) else { continue };
            if a == u32::MAX || !self.inner[a as usize] || !self.inner[b as usize] {
                continue;
            }
            let side = |side| curve.direction(side).map_or((0.0, 0.0), |d| (d.spot(), d.reject_in()));
            let [(spot0, reject0), (spot1, reject1)] = [side(0), side(1)];
            let gas_root = curve.gas_units.sqrt();
            pairs.push(InnerPair { id, ends: [a, b], spot: [spot0, spot1], reject: [reject0, reject1], gas_root });
        }
        pairs
    }

    /// Every pair of two inner tokens.
    pub(crate) fn inner_pairs(&self) -> &[InnerPair] {
        &self.inner_pairs
    }

    /// The tokens at both sides of a pair in the graph.
    #[inline]
    pub(crate) fn ends(&self, pair: u32) -> [u32; 2] {
        self.ends[pair as usize]
    }

    pub(crate) fn token_count(&self) -> usize {
        self.outer.len()
    }

    /// Every arrow out of a token.
    #[inline]
    pub(crate) fn arrows(&self, token: usize) -> &[Arrow] {
        &self.arrows[self.start[token] as usize..self.start[token + 1] as usize]
    }

    /// The arrows out of a token that lead to inner tokens.
    #[inline]
    pub(crate) fn inner_arrows(&self, token: usize) -> &[Arrow] {
        &self.arrows[self.start[token] as usize..self.outer[token] as usize]
    }

    #[inline]
    pub(crate) fn is_inner(&self, token: usize) -> bool {
        self.inner[token]
    }
}

fn inner_tokens(tokens: usize, list: &[(u32, Arrow)]) -> Vec<bool> {
    let mut first = vec![u32::MAX; tokens];
    let mut inner = vec![false; tokens];
    for (from, arrow) in list {
        let seen = &mut first[*from as usize];
        if *seen == u32::MAX {
            *seen = arrow.to;
        } else if *seen != arrow.to {
            inner[*from as usize] = true;
        }
    }
    inner
}

/// Tables have fewer than 2³² rows: ids are 32 bits.
pub(crate) fn index32(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
