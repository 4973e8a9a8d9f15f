//! The two forms of ether. Native and wrapped ether are one node of the graph; a pool has one or the other.

use braid_market::Tokens;
use braid_primitives::TokenId;

use crate::{Prepared, Request};

/// The forms of ether that a request or a flow has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EtherForms {
    native: bool,
    wrapped: bool,
}

impl EtherForms {
    /// Returns the forms among a request's inputs and outputs.
    pub(crate) fn of_request(request: &Request) -> Self {
        let inputs = request.inputs.iter().map(|(token, _)| *token);
        let tokens = inputs.chain(request.outputs.iter().map(|(token, _)| *token));
        tokens.fold(Self::default(), Self::with)
    }

    /// Adds a token's form, if it is ether.
    pub(crate) fn with(self, token: TokenId) -> Self {
        Self { native: self.native || token == Tokens::ETHER, wrapped: self.wrapped || token == Tokens::WETH }
    }

    /// Returns whether there are both forms.
    pub(crate) const fn are_both(self) -> bool {
        self.native && self.wrapped
    }
}

/// Returns the token of ether that a pair has in one of its directions between two nodes; `None` if neither is ether.
pub(crate) fn ether_of(prepared: &Prepared, pair: u32, side: u8, [from, to]: [u32; 2]) -> Option<TokenId> {
    let node = prepared.node(Tokens::WETH);
    let pair = prepared.pairs().get(pair);
    let (coin_in, coin_out) = pair.in_and_out(side);
    let coin = match node {
        _ if from as usize == node => coin_in,
        _ if to as usize == node => coin_out,
        _ => return None,
    };
    prepared.market().pool(pair.pool)?.coins.get(usize::from(coin)).copied()
}
