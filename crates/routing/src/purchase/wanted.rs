//! A purchase: the amount to buy, and the cost of a route that buys it.

use braid_primitives::U256;

use crate::{Prepared, Request, Route};

/// An amount to buy of one token for as little as possible of another.
#[derive(Clone, Copy)]
pub struct Purchase<'a> {
    /// The trade as a sale: one input, whose amount is ignored, and one output.
    pub trade: &'a Request,
    /// Least amount of the output that a route must make, in atomic units.
    pub amount: U256,
    /// A further condition on a route: of a token that counts in shares less may arrive than the route makes.
    pub is_enough: &'a dyn Fn(&Route) -> bool,
}

impl Purchase<'_> {
    /// Returns the trade as a sale of an amount.
    pub fn sale_of(&self, amount_in: U256) -> Request {
        let inputs = self.trade.inputs.iter().map(|(token, _)| (*token, amount_in)).collect();
        Request { inputs, ..self.trade.clone() }
    }

    /// Returns whether a route buys the amount.
    pub fn is_met_by(&self, route: &Route) -> bool {
        route.amounts_out.first().is_some_and(|made| *made >= self.amount) && (self.is_enough)(route)
    }

    /// Computes the cost of a route: its input and its gas, in wei at reference prices. If the input has no price: the
    /// input alone, in atomic units.
    #[allow(clippy::cast_precision_loss, reason = "a value, not an amount")]
    pub fn cost(&self, prepared: &Prepared, amount_in: U256, route: &Route) -> f64 {
        let value = self.trade.inputs.first().and_then(|(token, _)| prepared.value_wei(*token, amount_in));
        let gas = route.gas_units() as f64 * self.trade.gas_price_wei as f64;
        value.map_or(f64::from(amount_in), |value| value + gas)
    }
}
