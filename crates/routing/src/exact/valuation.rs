//! Values of amounts, in wei of ether at the market's reference prices.

use braid_primitives::{TokenId, U256};

use crate::{Prepared, Request, Route};

/// Computes the value of a route's outputs net of gas, in wei; `None` if an output has no reference price.
pub(crate) fn net_value_wei(prepared: &Prepared, request: &Request, route: &Route) -> Option<f64> {
    Some(gross_value_wei(prepared, request, route)? - gas_value_wei(request, route))
}

/// Computes the value of a route's outputs, in wei; `None` if an output has no reference price.
pub(crate) fn gross_value_wei(prepared: &Prepared, request: &Request, route: &Route) -> Option<f64> {
    let outputs = request.outputs.iter().zip(&route.amounts_out);
    outputs.map(|((token, _), amount)| prepared.value_wei(*token, *amount)).sum()
}

/// Computes the cost of a route's gas, in wei.
#[allow(clippy::cast_precision_loss, reason = "a value, not an amount")]
pub(crate) fn gas_value_wei(request: &Request, route: &Route) -> f64 {
    route.gas_units() as f64 * request.gas_price_wei as f64
}

impl Prepared {
    /// Computes the value of an amount, in wei of ether at reference prices; `None` without a price.
    pub fn value_wei(&self, token: TokenId, amount: U256) -> Option<f64> {
        Some(self.wei_per_unit(self.node(token))? * f64::from(amount))
    }
}
