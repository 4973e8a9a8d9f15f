//! From a question to a route: what a sale and a purchase start from.

use braid_execution::{EncodeError, Order, TokenAmount};
use braid_primitives::{TokenId, U256};
use braid_routing::{Request, Route, SolveError};

use crate::feed::Published;
use crate::request::QuoteRequest;

/// What a route is looked for with.
pub(crate) struct Way<'a> {
    /// The market.
    pub published: &'a Published,
    /// The request.
    pub request: &'a QuoteRequest,
    /// The same for the router, without amounts.
    pub question: Request,
    /// The last second at which the order may run by signature, unix seconds.
    pub deadline: u64,
    /// Whether the transfers of a route's tokens are verified before it is answered.
    pub verifies_transfers: bool,
}

/// Why there is no quote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoQuote {
    /// There is no route.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// The route makes no program.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The route takes what an exact output needs, but not the most that may be sold for it.
    #[error("the route cannot take the maximum")]
    BeyondSlippage,
}

impl Way<'_> {
    /// Returns what arrives at the recipient of an output of which a route makes so much.
    pub(crate) fn arrives(&self, route: &Route, token: TokenId, made: U256) -> U256 {
        let after_fee = self.request.fee().map_or(made, |fee| fee.after_output(made));
        braid_routing::arrives(&self.published.head.market, route, &self.question.at, token, (made, after_fee))
    }

    /// Returns what arrives at the recipient of the only output.
    pub(crate) fn arrives_alone(&self, route: &Route) -> U256 {
        let made = self.question.outputs.first().zip(route.amounts_out.first());
        made.map_or(U256::ZERO, |((token, _), made)| self.arrives(route, *token, *made))
    }

    /// Returns what the proxy enforces: so much of each input at most, so much of each output at least.
    pub(crate) fn order(&self, inputs: &[U256], minimums: impl Iterator<Item = U256>) -> Order {
        let amount_of = |(token, amount)| TokenAmount { token, amount };
        let sold = self.request.inputs.iter().map(|entry| entry.token.address).zip(inputs.iter().copied());
        let bought = self.request.outputs.iter().map(|entry| entry.token.address).zip(minimums);
        Order {
            inputs: sold.map(amount_of).collect(),
            outputs: bought.map(amount_of).collect(),
            recipient: self.request.recipient,
            deadline: self.deadline,
            partner_fee: self.request.fee(),
        }
    }
}
