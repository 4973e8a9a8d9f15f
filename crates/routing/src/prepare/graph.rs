//! The token graph as compact arrays.

use std::sync::Arc;

use braid_market::Market;
use braid_protocols::continuous::PairCurve;

use super::arrow::{Arrow, ArrowList, Arrows, FirstRange, Plain};
use super::node::{Nodes, index32};
use super::pairs::Pairs;

/// A pair of two inner tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InnerPair {
    pub(crate) id: u32,
    /// The tokens of coins 0 and 1.
    pub(crate) ends: [u32; 2],
    /// Marginal rates of selling coin 0 and coin 1.
    pub(crate) spot: [f64; 2],
    pub(crate) gas_units: f64,
}

impl InnerPair {
    fn of(id: u32, ends: [u32; 2], curve: &PairCurve) -> Self {
        let spot = [0, 1].map(|side| curve.direction(side).map_or(0.0, |direction| direction.spot()));
        Self { id, ends, spot, gas_units: curve.gas_units }
    }
}

/// Arrows out of every token. A token with two distinct neighbours or more is *inner*: only such a token can lie in the
/// middle of a route, so that searches leave the others out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    arrows: ArrowList,
    start: Vec<u32>,
    outer: Vec<u32>,
    inner: Vec<bool>,
    /// One more than the highest number of an inner token.
    inner_count: usize,
    /// The tokens at both sides of every pair; `[MAX, MAX]` for a pair that is not in the graph.
    ends: Vec<[u32; 2]>,
    inner_pairs: Vec<InnerPair>,
    /// The first ranges of both directions of every pair.
    first: Vec<[FirstRange; 2]>,
}

impl Graph {
    pub(crate) fn new(market: &Market, nodes: &Nodes, pairs: &Pairs, curves: &[Option<Arc<PairCurve>>]) -> Self {
        let mut ends = vec![[u32::MAX; 2]; curves.len()];
        for ((pair, curve), ends) in pairs.list().iter().zip(curves).zip(&mut ends) {
            let (Some(_), Some(pool)) = (curve, market.pool(pair.pool)) else { continue };
            let of_coins = pair.coins.map(|coin| index32(nodes.node(pool.coins[usize::from(coin)])));
            if of_coins[0] != of_coins[1] {
                *ends = of_coins;
            }
        }
        let inner = inner_tokens(nodes.count(), &ends);
        let inner_count = inner.iter().rposition(|is_inner| *is_inner).map_or(0, |last| last + 1);
        let is_outer = |token: u32| usize::from(!inner[token as usize]);
        let joined = || ends.iter().filter(|ends| ends[0] != u32::MAX);
        let mut counts = vec![[0_u32; 2]; nodes.count()];
        for [a, b] in joined() {
            counts[*a as usize][is_outer(*b)] += 1;
            counts[*b as usize][is_outer(*a)] += 1;
        }
        let (mut start, mut outer) = (vec![0], Vec::with_capacity(counts.len()));
        for [to_inner, to_outer] in &counts {
            let first = start[start.len() - 1];
            outer.push(first + to_inner);
            start.push(first + to_inner + to_outer);
        }
        let mut next: Vec<[u32; 2]> = start.iter().zip(&outer).map(|(start, outer)| [*start, *outer]).collect();
        let mut arrows = vec![Arrow::default(); start[counts.len()] as usize];
        for ((curve, [a, b]), id) in curves.iter().zip(&ends).zip(0_u32..) {
            let Some(curve) = curve.as_deref().filter(|_| *a != u32::MAX) else { continue };
            let arrow = Arrow::of(id, *b, curve);
            for (from, to, arrow) in [(*a, *b, arrow), (*b, *a, arrow.reversed(*a as usize))] {
                let place = &mut next[from as usize][is_outer(to)];
                arrows[*place as usize] = arrow;
                *place += 1;
            }
        }
        let arrows = arrows.into_iter().collect();
        let first = curves.iter().map(|curve| curve.as_deref().map(FirstRange::of).unwrap_or_default()).collect();
        let mut graph = Self { arrows, start, outer, inner, inner_count, ends, inner_pairs: Vec::new(), first };
        graph.inner_pairs = graph.pairs_within(curves);
        graph
    }

    /// Returns the same graph with the changed curves of some pairs; `None` if a pair was added or removed.
    pub(crate) fn refreshed(&self, curves: &[Option<Arc<PairCurve>>], changed: &[u32]) -> Option<Self> {
        let mut graph = self.clone();
        for &pair in changed {
            let (ends, curve) = (self.ends[pair as usize], curves[pair as usize].as_deref());
            let (Some(curve), true) = (curve, ends[0] != u32::MAX) else {
                if curve.is_none() && ends[0] == u32::MAX {
                    continue;
                }
                return None;
            };
            graph.first[pair as usize] = FirstRange::of(curve);
            let arrow = Arrow::of(pair, ends[1], curve);
            let places = [graph.place(ends[0], ends[1], pair)?, graph.place(ends[1], ends[0], pair)?];
            graph.arrows.set(places[0], arrow);
            graph.arrows.set(places[1], arrow.reversed(ends[0] as usize));
            if let Ok(at) = graph.inner_pairs.binary_search_by_key(&pair, |inner| inner.id) {
                graph.inner_pairs[at] = InnerPair::of(pair, ends, curve);
            }
        }
        Some(graph)
    }

    /// Returns a pair's arrow from one token to another.
    pub(crate) fn arrow_between(&self, from: u32, to: u32, pair: u32) -> Option<&Arrow> {
        self.arrows.exact().get(self.place(from, to, pair)?)
    }

    /// Returns the place of a pair's arrow from one token to another.
    fn place(&self, from: u32, to: u32, pair: u32) -> Option<usize> {
        let (from, inner) = (from as usize, self.inner[to as usize]);
        let (start, outer, end) = (self.start[from], self.outer[from], self.start[from + 1]);
        let range = if inner { start..outer } else { outer..end };
        let arrows = self.arrows.exact().get(range.start as usize..range.end as usize)?;
        let at = arrows.binary_search_by_key(&pair, |arrow| arrow.pair).ok()?;
        Some(range.start as usize + at)
    }

    /// Lists the pairs of two inner tokens.
    fn pairs_within(&self, curves: &[Option<Arc<PairCurve>>]) -> Vec<InnerPair> {
        let mut pairs = Vec::with_capacity(curves.len());
        for ((curve, ends), id) in curves.iter().zip(&self.ends).zip(0_u32..) {
            let (Some(curve), [a, b]) = (curve, *ends) else { continue };
            if a == u32::MAX || !self.inner[a as usize] || !self.inner[b as usize] {
                continue;
            }
            pairs.push(InnerPair::of(id, [a, b], curve));
        }
        pairs
    }

    /// Returns every pair of two inner tokens.
    pub(crate) fn inner_pairs(&self) -> &[InnerPair] {
        &self.inner_pairs
    }

    /// Returns the tokens at both sides of a pair in the graph.
    #[inline]
    pub(crate) fn ends(&self, pair: u32) -> [u32; 2] {
        self.ends[pair as usize]
    }

    /// Returns the formula for buying the token that an arrow leaves within the first range of the pair. It needs no
    /// access to the curve.
    #[inline]
    pub(crate) fn first_back(&self, arrow: &Arrow) -> Plain {
        self.first[arrow.pair as usize][usize::from(1 - arrow.side)].plain(arrow.back, arrow)
    }

    /// Returns the formulas for selling the token that an arrow leaves, and for buying it, within the first ranges.
    #[inline]
    pub(crate) fn first_ranges(&self, arrow: &Arrow) -> [Plain; 2] {
        let (first, side) = (&self.first[arrow.pair as usize], usize::from(arrow.side));
        [first[side].plain(arrow.spot, arrow), first[1 - side].plain(arrow.back, arrow)]
    }

    pub(crate) fn token_count(&self) -> usize {
        self.outer.len()
    }

    /// Returns a number that is above those of all inner tokens, and seldom far: tokens are numbered with these first.
    pub(crate) fn inner_count(&self) -> usize {
        self.inner_count
    }

    /// Returns the number of arrows: two per pair.
    pub(crate) fn arrow_count(&self) -> usize {
        self.arrows.len()
    }

    /// Returns an arrow by its place among all.
    #[inline]
    pub(crate) fn arrow(&self, place: u32) -> &Arrow {
        &self.arrows.exact()[place as usize]
    }

    /// Returns the place of a token's first arrow.
    pub(crate) fn first_arrow(&self, token: usize) -> u32 {
        self.start[token]
    }

    /// Returns every arrow out of a token.
    #[inline]
    pub(crate) fn arrows(&self, token: usize) -> &[Arrow] {
        &self.arrows.exact()[self.start[token] as usize..self.start[token + 1] as usize]
    }

    /// Returns every arrow out of a token, after its rough form.
    #[inline]
    pub(crate) fn to_all(&self, token: usize) -> Arrows<'_> {
        self.arrows.range(self.start[token]..self.start[token + 1])
    }

    /// Returns the same for every arrow out of a token to an inner token.
    #[inline]
    pub(crate) fn to_inner(&self, token: usize) -> Arrows<'_> {
        self.arrows.range(self.start[token]..self.outer[token])
    }

    /// Returns the arrows out of a token that lead to outer tokens.
    #[inline]
    pub(crate) fn outer_arrows(&self, token: usize) -> &[Arrow] {
        &self.arrows.exact()[self.outer[token] as usize..self.start[token + 1] as usize]
    }

    /// Returns the arrows out of a token that lead to inner tokens.
    #[inline]
    pub(crate) fn inner_arrows(&self, token: usize) -> &[Arrow] {
        &self.arrows.exact()[self.start[token] as usize..self.outer[token] as usize]
    }

    /// Returns the arrows from one token to another, looked up at whichever of the two has fewer.
    pub(crate) fn between(&self, from: usize, to: usize) -> impl Iterator<Item = Arrow> + '_ {
        // Skips the arrows to outer tokens where it can: most of a token with thousands of pools are such.
        let towards = |here: usize, other: usize| {
            if self.inner[other] { self.inner_arrows(here) } else { self.outer_arrows(here) }
        };
        let (leaving, arriving) = (towards(from, to), towards(to, from));
        let backwards = arriving.len() < leaving.len();
        let (arrows, other) = if backwards { (arriving, from) } else { (leaving, to) };
        let found = arrows.iter().filter(move |arrow| arrow.to as usize == other);
        found.map(move |arrow| if backwards { arrow.reversed(to) } else { *arrow })
    }

    #[inline]
    pub(crate) fn is_inner(&self, token: usize) -> bool {
        self.inner[token]
    }
}

/// Returns whether each token has pools with two others.
fn inner_tokens(tokens: usize, ends: &[[u32; 2]]) -> Vec<bool> {
    let mut first = vec![u32::MAX; tokens];
    let mut inner = vec![false; tokens];
    let joined = ends.iter().filter(|ends| ends[0] != u32::MAX);
    for (from, to) in joined.flat_map(|[a, b]| [(*a as usize, *b), (*b as usize, *a)]) {
        if first[from] == u32::MAX {
            first[from] = to;
        } else if first[from] != to {
            inner[from] = true;
        }
    }
    inner
}
