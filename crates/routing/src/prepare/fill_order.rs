//! The order in which prices of tokens are filled in: the deepest first, each from the pools that it shares with those
//! before it.

use super::{Graph, index32};

/// A pair, as seen from the one of its tokens that comes later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EarlierPair {
    /// The token that comes before.
    pub(crate) to: u32,
    pub(crate) pair: u32,
    /// The later token's arrow, by its place among all arrows of the graph.
    pub(crate) arrow: u32,
    /// Marginal rates of selling the later token for the other, and of buying it.
    pub(crate) spot: f64,
    pub(crate) back: f64,
}

/// Every pair once, at the later of its tokens, in the order of the tokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct FillOrder {
    earlier_pairs: Vec<EarlierPair>,
    /// Position of each place's first pair, and the end of the list.
    start: Vec<u32>,
    /// The token at each place, and the place of each token.
    tokens: Vec<u32>,
    place: Vec<u32>,
    /// The places of inner tokens.
    inner: Vec<u32>,
}

impl FillOrder {
    /// Lists the pairs of every token of the graph, in the order given.
    pub(crate) fn new(graph: &Graph, tokens: Vec<u32>) -> Self {
        let mut place = vec![0; tokens.len()];
        for (token, at) in tokens.iter().zip(0_u32..) {
            place[*token as usize] = at;
        }
        let inner =
            (0..).zip(&tokens).filter(|(_, token)| graph.is_inner(**token as usize)).map(|(at, _)| at).collect();
        let earlier_pairs = Vec::with_capacity(graph.arrow_count() / 2);
        let mut fill_order = Self { earlier_pairs, start: vec![0], tokens, place, inner };
        for (token, here) in fill_order.tokens.iter().zip(0_u32..) {
            let arrows = graph.arrows(*token as usize).iter().zip(graph.first_arrow(*token as usize)..);
            let before = arrows.filter(|(arrow, _)| fill_order.place[arrow.to as usize] < here);
            fill_order.earlier_pairs.extend(before.map(|(arrow, at)| EarlierPair {
                to: arrow.to,
                pair: arrow.pair,
                arrow: at,
                spot: arrow.spot,
                back: arrow.back,
            }));
            fill_order.start.push(index32(fill_order.earlier_pairs.len()));
        }
        fill_order
    }

    /// Returns every token, in order.
    pub(crate) fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Returns the place of a token in the order.
    #[inline]
    pub(crate) fn place(&self, token: usize) -> usize {
        self.place[token] as usize
    }

    /// Returns every inner token and those of `ends` that are not inner, in order, each with its pairs with tokens
    /// before it.
    #[inline]
    pub(crate) fn steps(&self, ends: &[usize]) -> impl Iterator<Item = (usize, &[EarlierPair])> {
        let is_inner = |place: &u32| self.inner.binary_search(place).is_ok();
        let mut outer: Vec<u32> = ends.iter().map(|end| self.place[*end]).filter(|place| !is_inner(place)).collect();
        outer.sort_unstable();
        outer.dedup();
        let (mut inner, mut outer) = (self.inner.iter().copied().peekable(), outer.into_iter().peekable());
        let places = std::iter::from_fn(move || match (inner.peek(), outer.peek()) {
            (Some(a), Some(b)) if a < b => inner.next(),
            (_, Some(_)) => outer.next(),
            _ => inner.next(),
        });
        places.map(|place| {
            let token = self.tokens[place as usize] as usize;
            (token, self.at(place as usize))
        })
    }

    /// Returns a token's pairs with tokens before it.
    #[inline]
    pub(crate) fn earlier_pairs(&self, token: usize) -> &[EarlierPair] {
        self.at(self.place[token] as usize)
    }

    #[inline]
    fn at(&self, place: usize) -> &[EarlierPair] {
        &self.earlier_pairs[self.start[place] as usize..self.start[place + 1] as usize]
    }
}
