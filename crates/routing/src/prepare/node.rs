//! The positions of tokens in the arrays of a prepared market. Only tokens that have pools have one; the token table may
//! hold many more, whose pools are excluded.
//!
//! Tokens with pools to two others or more come first, in the order of their ids. In a market of mainnet's size these are
//! one in nine, and only they can lie in the middle of a route: what a search keeps for every token ends after them, or
//! after the ends of the request. Of the others, those with the most pools come first, because they are traded most.

use std::cmp::Reverse;

use braid_market::{Market, Tokens};
use braid_primitives::TokenId;

/// The node that stands for no token: ether has no pools of its own in the graph, wrapped ether has them.
pub(crate) const NOWHERE: usize = 0;

/// Wrapped ether, and ether with it.
pub(crate) const WETH: usize = 1;

/// The nodes of a market's tokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nodes {
    of_token: Vec<u32>,
    tokens: Vec<TokenId>,
}

impl Nodes {
    pub(crate) fn of(market: &Market) -> Self {
        let mut nodes = Self { of_token: vec![0; market.tokens().len()], tokens: vec![Tokens::ETHER, Tokens::WETH] };
        let has_two = have_two_neighbours(market);
        let with_pools = || {
            let tokens = market.tokens().iter().map(|(token, _)| token);
            tokens.filter(|token| *token > Tokens::WETH && !market.pools_of(*token).is_empty())
        };
        let (between, mut others): (Vec<TokenId>, Vec<TokenId>) =
            with_pools().partition(|token| has_two[token.index()]);
        others.sort_by_key(|token| (Reverse(market.pools_of(*token).len()), *token));
        for token in between.into_iter().chain(others) {
            nodes.of_token[token.index()] = index32(nodes.tokens.len());
            nodes.tokens.push(token);
        }
        for token in [Tokens::ETHER, Tokens::WETH] {
            nodes.of_token[token.index()] = index32(WETH);
        }
        nodes
    }

    /// Returns the node of a token; [`NOWHERE`] for one without pools. Ether and wrapped ether are one node.
    #[inline]
    pub(crate) fn node(&self, token: TokenId) -> usize {
        self.of_token.get(token.index()).map_or(NOWHERE, |node| *node as usize)
    }

    /// Returns the token at a node; wrapped ether at the node that it shares with ether.
    #[inline]
    pub(crate) fn token(&self, node: u32) -> TokenId {
        self.tokens.get(node as usize).copied().unwrap_or(Tokens::ETHER)
    }

    /// Returns the number of nodes, [`NOWHERE`] included.
    pub(crate) fn count(&self) -> usize {
        self.tokens.len()
    }
}

/// Returns for every token whether it has pools with two others.
fn have_two_neighbours(market: &Market) -> Vec<bool> {
    let mut first = vec![None; market.tokens().len()];
    let mut has_two = vec![false; first.len()];
    for pool in market.pools() {
        for (place, coin) in pool.coins.iter().enumerate() {
            let first = &mut first[coin.index()];
            for other in pool.coins.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, other)| *other) {
                has_two[coin.index()] |= *first.get_or_insert(other) != other;
            }
        }
    }
    has_two
}

/// Converts an index to 32 bits: tables have fewer than 2³² rows, because ids are 32 bits.
pub(crate) fn index32(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
