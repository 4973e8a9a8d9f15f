//! The least that any route could sell for an amount: the certificate of a purchase (`docs/internals/certificate.md`).

use braid_primitives::U256;

use super::wanted::Purchase;
use crate::tuning::Tuning;
use crate::{Certificate, Excluded, Prepared, Request, Route, Solution, Uncertified, Witness, explain};

/// A bound on every route that sells at most an amount: at the dual prices, its output less its gas, plus the part of
/// the amount that it does not sell, are together worth at most `value_wei`.
#[derive(Clone, Debug, PartialEq)]
pub struct InputBound {
    /// The amount.
    sold: U256,
    /// The bound, in wei.
    value_wei: f64,
    /// Dual price of the input, in wei per atomic unit.
    price_wei: f64,
    /// Value of the output that is bought, in wei.
    output_wei: f64,
    /// Price of a unit of gas, in wei; 0 if the bound counts gas as free.
    gas_price_wei: u64,
    pools_covered: u32,
    excluded: Excluded,
}

/// A lower bound on the input of a purchase, and the distance from it.
#[derive(Clone, Debug, PartialEq)]
pub struct InputCertificate {
    /// Least input: no route over the covered pools buys the amount for less, unless its gas costs more than it saves.
    pub least_amount_in: U256,
    /// The same as values. The part that is not sold counts at the input's dual price; `gap_bps` is the difference
    /// between what is sold and the least input, as a share of what is sold.
    pub certificate: Certificate,
}

impl InputBound {
    /// Computes the certificate of a route that buys the amount for an input.
    ///
    /// # Errors
    /// [`Uncertified::NoBound`] if values are beyond the range of floating point.
    #[allow(clippy::cast_precision_loss, reason = "a value, not an amount")]
    pub fn certificate(&self, amount_in: U256, route: &Route) -> Result<InputCertificate, Uncertified> {
        let gas_wei = route.gas_units() as f64 * self.gas_price_wei as f64;
        let unsold_wei = (f64::from(self.sold) - f64::from(amount_in)) * self.price_wei;
        let achieved = self.output_wei - gas_wei + unsold_wei;
        let input_wei = f64::from(amount_in) * self.price_wei;
        let bound = self.value_wei + Tuning::BOUND_ROUNDING * (self.value_wei.abs() + input_wei);
        let certificate = Certificate::new(bound, achieved, input_wei, self.pools_covered, self.excluded)?;
        let saved = ((bound - achieved).max(0.0) / self.price_wei * (1.0 + Tuning::BOUND_ROUNDING)).ceil();
        let saved = U256::try_from(saved).map_err(|_| Uncertified::NoBound)?;
        let least_amount_in = amount_in.saturating_sub(saved).min(self.sold);
        let gap_bps = f64::from(amount_in - least_amount_in) / f64::from(amount_in) * 1e4;
        Ok(InputCertificate { least_amount_in, certificate: Certificate { gap_bps, ..certificate } })
    }
}

/// Computes the bound from the prices of the last sale's certificate. If those give none, because the trade is worth
/// less than its gas, uses the prices of a sale whose gas is free.
pub(super) fn input_bound(
    prepared: &Prepared,
    purchase: &Purchase<'_>,
    request: &Request,
    solution: &Solution,
    witness: Option<Witness>,
) -> (Result<InputBound, Uncertified>, Option<Witness>) {
    if let Some(bound) = one_to_one(prepared, purchase, request) {
        return (Ok(bound), None);
    }
    if let Err(why) = &solution.certificate {
        return (Err(*why), None);
    }
    let bound = |witness: &Witness, solution: &Solution, request: &Request| {
        let certificate = solution.certificate.as_ref().ok()?;
        let ((input, sold), (output, _)) = (request.inputs.first()?, request.outputs.first()?);
        let price_wei = witness.of(*input).map(|known| known.price_wei).filter(|price| *price > 0.0)?;
        Some(InputBound {
            sold: *sold,
            value_wei: witness.bound_value_wei,
            price_wei,
            output_wei: prepared.value_wei(*output, purchase.amount)?,
            gas_price_wei: request.gas_price_wei,
            pools_covered: certificate.pools_covered,
            excluded: certificate.excluded,
        })
    };
    if let Some(found) = witness.as_ref().and_then(|witness| bound(witness, solution, request)) {
        return (Ok(found), witness);
    }
    let free = Request { gas_price_wei: 0, ..request.clone() };
    let found = explain(prepared, &free).ok().and_then(|(solution, witness)| bound(&witness?, &solution, &free));
    (found.ok_or(Uncertified::NoBound), None)
}

/// Returns the bound for ether to wrapped ether or back, which no other route can improve.
fn one_to_one(prepared: &Prepared, purchase: &Purchase<'_>, request: &Request) -> Option<InputBound> {
    let ((input, _), (output, _)) = (request.inputs.first()?, request.outputs.first()?);
    let worth = f64::from(purchase.amount);
    let is_one = prepared.node(*input) == prepared.node(*output);
    is_one.then_some(InputBound {
        sold: purchase.amount,
        value_wei: worth,
        price_wei: 1.0,
        output_wei: worth,
        gas_price_wei: 0,
        pools_covered: 1,
        excluded: Excluded { max_hops: request.max_hops, ..Excluded::default() },
    })
}
