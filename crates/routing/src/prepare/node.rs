//! The positions of tokens in the arrays of a prepared market: the tokens that have pools, in the order of their ids.
//! The token table may hold many more, whose pools are excluded.

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
        let with_pools = || {
            let tokens = market.tokens().iter().map(|(token, _)| token);
            tokens.filter(|token| *token > Tokens::WETH && !market.pools_of(*token).is_empty())
        };
        let (between, ends): (Vec<TokenId>, Vec<TokenId>) =
            with_pools().partition(|token| has_two_neighbours(market, *token));
        for token in between.into_iter().chain(ends) {
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

/// Returns whether a token has pools with two others.
fn has_two_neighbours(market: &Market, token: TokenId) -> bool {
    let pools = market.pools_of(token).iter().filter_map(|pool| market.pool(*pool));
    let mut others = pools.flat_map(|pool| &pool.coins).copied().filter(|coin| *coin != token);
    others.next().is_some_and(|first| others.any(|other| other != first))
}

/// Converts an index to 32 bits: tables have fewer than 2³² rows, because ids are 32 bits.
pub(crate) fn index32(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
