//! The input of a search for a route, of a sale or a purchase.

use braid_execution::{EncodeError, Order, TokenAmount};
use braid_primitives::{TokenId, U256};
use braid_routing::{Request, Route, SolveError};

use crate::feed::Published;
use crate::request::QuoteRequest;

/// The input of a search for a route.
pub(crate) struct Search<'a> {
    /// The market.
    pub published: &'a Published,
    /// The request.
    pub request: &'a QuoteRequest,
    /// The request in the router's terms; input amounts are zero until a sale sets them.
    pub trade: Request,
    /// Last second at which an order with a Permit2 signature may run, unix seconds.
    pub deadline_s: u64,
    /// True if the transfers of the route's tokens are verified before the quote is answered.
    pub verifies_transfers: bool,
}

/// A reason for which a request has no quote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoQuote {
    /// There is no route.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// The route cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The route takes the input that an exact output needs, but not the maximum input with slippage.
    #[error("the route cannot take the maximum input")]
    BeyondSlippage,
}

impl Search<'_> {
    /// Returns the amount of an output token that arrives at the recipient when a route makes `made` of it.
    pub(crate) fn arrives(&self, route: &Route, token: TokenId, made: U256) -> U256 {
        let after_fee = self.request.fee().map_or(made, |fee| fee.after_output(made));
        braid_routing::arrives(&self.published.head.market, route, &self.trade.at, token, (made, after_fee))
    }

    /// Returns the amount of the only output that arrives at the recipient.
    pub(crate) fn arrives_alone(&self, route: &Route) -> U256 {
        let made = self.trade.outputs.first().zip(route.amounts_out.first());
        made.map_or(U256::ZERO, |((token, _), made)| self.arrives(route, *token, *made))
    }

    /// Returns the order: the most of each input, and the least of each output.
    pub(crate) fn order(&self, inputs: &[U256], minimums: impl Iterator<Item = U256>) -> Order {
        let amount_of = |(token, amount)| TokenAmount { token, amount };
        let sold = self.request.inputs.iter().map(|entry| entry.token.address).zip(inputs.iter().copied());
        let bought = self.request.outputs.iter().map(|entry| entry.token.address).zip(minimums);
        Order {
            inputs: sold.map(amount_of).collect(),
            outputs: bought.map(amount_of).collect(),
            recipient: self.request.recipient,
            deadline: self.deadline_s,
            partner_fee: self.request.fee(),
        }
    }
}
