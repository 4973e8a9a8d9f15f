//! Values of amounts, in wei of ether at the market's reference prices.

use braid_primitives::{TokenId, U256};

use crate::{Prepared, Request, Route, Step};

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
    /// Computes the price impact of one step: how far the rate paid lies below the pool's marginal rate, both with the
    /// fee.
    ///
    /// In basis points, not below zero; `None` for a step whose pool has no curve (wrapping).
    pub fn step_impact_bps(&self, step: &Step) -> Option<f64> {
        let spot = {
            let (pair, side) = self.pairs().find(step.pool, step.coin_in, step.coin_out)?;
            self.curve(pair)?.direction(side)?.spot()
        };
        let rate = f64::from(step.amount_out) / f64::from(step.amount_in);
        Some(((1.0 - rate / spot) * 1e4).max(0.0))
    }

    /// Computes the price impact of a route: how far the value of the outputs lies below that of the inputs, at
    /// reference prices. The pools' fees are part of it, gas is not.
    ///
    /// In basis points, negative if the market pays more than reference prices suggest; `None` unless each input and
    /// output has a reference price.
    pub fn route_impact_bps(&self, request: &Request, route: &Route) -> Option<f64> {
        let value_in = request.inputs.iter().map(|(token, amount)| self.value_wei(*token, *amount));
        let value_in = value_in.sum::<Option<f64>>()?;
        let value_out = gross_value_wei(self, request, route)?;
        Some((1.0 - value_out / value_in) * 1e4)
    }

    /// Computes the value of an amount, in wei of ether at reference prices; `None` without a price.
    pub fn value_wei(&self, token: TokenId, amount: U256) -> Option<f64> {
        Some(self.wei_per_unit(self.node(token))? * f64::from(amount))
    }
}
