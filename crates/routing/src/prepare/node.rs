//! Where tokens sit in the arrays of a prepared market.

use braid_market::Tokens;
use braid_primitives::TokenId;

/// Where a token sits in the graph: ether and wrapped ether are one node, that of the latter.
pub(crate) fn node(token: TokenId) -> usize {
    if token == Tokens::ETHER { Tokens::WETH.index() } else { token.index() }
}

/// Tables have fewer than 2³² rows: ids are 32 bits.
pub(crate) fn index32(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
