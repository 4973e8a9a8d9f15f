//! What amounts are worth, in wei of ether at the market's reference prices.

use braid_primitives::{TokenId, U256};

use crate::{Prepared, Request, Route, Step};

/// Value of a route's outputs net of gas, in wei; `None` when an output has no reference price.
pub(crate) fn net_value_wei(prepared: &Prepared, request: &Request, route: &Route) -> Option<f64> {
    Some(gross_value_wei(prepared, request, route)? - gas_value_wei(request, route))
}

/// Value of a route's outputs, in wei.
pub(crate) fn gross_value_wei(prepared: &Prepared, request: &Request, route: &Route) -> Option<f64> {
    let outputs = request.outputs.iter().zip(&route.amounts_out);
    outputs.map(|((token, _), amount)| prepared.value_wei(*token, *amount)).sum()
}

/// Price of a route's gas, in wei.
#[allow(clippy::cast_precision_loss, reason = "a value, not an amount")]
pub(crate) fn gas_value_wei(request: &Request, route: &Route) -> f64 {
    route.gas_units() as f64 * request.gas_price_wei as f64
}

impl Prepared {
    /// Price impact of one step: how far the rate paid lies below the pool's marginal rate, fee included on both sides.
    ///
    /// Basis points, not below zero; `None` for a step whose pool has no curve (wrapping).
    pub fn step_impact_bps(&self, step: &Step) -> Option<f64> {
        let spot = {
            let (pair, side) = self.pairs().find(step.pool, step.coin_in, step.coin_out)?;
            self.curve(pair)?.direction(side)?.spot()
        };
        let rate = f64::from(step.amount_out) / f64::from(step.amount_in);
        Some(((1.0 - rate / spot) * 1e4).max(0.0))
    }

    /// Price impact of a route: how far the value of the outputs lies below that of the inputs, at reference prices. Fees
    /// of the pools are part of it, gas is not.
    ///
    /// Basis points, negative where the market pays more than reference prices say; `None` without a reference price for
    /// each input and output.
    pub fn route_impact_bps(&self, request: &Request, route: &Route) -> Option<f64> {
        let value_in = request.inputs.iter().map(|(token, amount)| self.value_wei(*token, *amount));
        let value_in = value_in.sum::<Option<f64>>()?;
        let value_out = gross_value_wei(self, request, route)?;
        Some((1.0 - value_out / value_in) * 1e4)
    }

    /// What an amount is worth, in wei of ether at reference prices; `None` without a price.
    pub fn value_wei(&self, token: TokenId, amount: U256) -> Option<f64> {
        Some(self.wei_per_unit(self.node(token))? * f64::from(amount))
    }
}
