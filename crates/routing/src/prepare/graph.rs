//! The token graph as compact arrays.

use std::sync::Arc;

use braid_market::Market;
use braid_protocols::curve::PoolCurve;

use super::node;

/// One pool as seen from one of its tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrow {
    pub(crate) pool: u32,
    /// The token at the other side.
    pub(crate) to: u32,
    /// Position of this token among the pool's coins.
    pub(crate) coin: u8,
    /// Position of the other one.
    pub(crate) coin_to: u8,
    /// Marginal rate of selling this token, fee included; zero where that side pays nothing.
    pub(crate) spot: f64,
    /// Marginal rate of buying it with the other.
    pub(crate) back: f64,
}

/// Arrows out of every token. A token with two distinct neighbours or more is *inner*: only such a token can lie in the
/// middle of a route, so a search leaves the others out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    arrows: Vec<Arrow>,
    start: Vec<u32>,
    outer: Vec<u32>,
    inner: Vec<bool>,
}

impl Graph {
    pub(crate) fn new(market: &Market, curves: &[Option<Arc<PoolCurve>>]) -> Self {
        let tokens = market.tokens().len();
        let mut list: Vec<(u32, Arrow)> = Vec::with_capacity(2 * curves.len());
        for ((pool, curve), id) in market.pools().iter().zip(curves).zip(0_u32..) {
            let (Some(curve), [first, second]) = (curve, pool.coins.as_slice()) else { continue };
            let ends = [index32(node(*first)), index32(node(*second))];
            let spot = [0, 1].map(|coin| curve.direction(coin).map_or(0.0, |d| d.spot()));
            if ends[0] == ends[1] {
                continue;
            }
            list.push((ends[0], Arrow { pool: id, to: ends[1], coin: 0, coin_to: 1, spot: spot[0], back: spot[1] }));
            list.push((ends[1], Arrow { pool: id, to: ends[0], coin: 1, coin_to: 0, spot: spot[1], back: spot[0] }));
        }
        let inner = inner_tokens(tokens, &list);
        list.sort_by_key(|(from, arrow)| (*from, !inner[arrow.to as usize], arrow.pool));
        let mut graph = Self { arrows: Vec::with_capacity(list.len()), start: vec![0], outer: Vec::new(), inner };
        let mut rest = list.as_slice();
        for token in 0..tokens {
            let count = rest.iter().take_while(|(from, _)| *from as usize == token).count();
            let inner_count = rest[..count].iter().take_while(|(_, a)| graph.inner[a.to as usize]).count();
            graph.outer.push(index32(graph.arrows.len() + inner_count));
            graph.arrows.extend(rest[..count].iter().map(|(_, arrow)| *arrow));
            graph.start.push(index32(graph.arrows.len()));
            rest = &rest[count..];
        }
        graph
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
