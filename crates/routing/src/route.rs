//! The answer of the router: a route, and its certificate.

use braid_primitives::{PoolId, TokenId, U256};

use crate::tuning::Tuning;

/// One traversal of one pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The pool.
    pub pool: PoolId,
    /// Position of the token in among the pool's coins.
    pub coin_in: u8,
    /// Position of the token out among the pool's coins.
    pub coin_out: u8,
    /// Token in.
    pub token_in: TokenId,
    /// Token out.
    pub token_out: TokenId,
    /// Share of the token's balance at hand, in units of 2⁻³²; 0 takes all that is left.
    pub share: u32,
    /// Amount that the step takes, in atomic units, as the proxy will compute it.
    pub amount_in: U256,
    /// Amount that the pool pays, in atomic units.
    pub amount_out: U256,
    /// Gas of the step, in gas units.
    pub gas_units: u64,
}

/// Steps in the order in which the proxy runs them: every step that pays a token comes before those that spend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The steps.
    pub steps: Vec<Step>,
    /// Amount that the taker receives of each output, in the order of the request, in atomic units.
    pub amounts_out: Vec<U256>,
}

impl Route {
    /// Computes the gas of all steps, without the cost of the transaction around them.
    pub fn gas_units(&self) -> u64 {
        self.steps.iter().map(|step| step.gas_units).sum()
    }
}

/// The value of a route, and an upper bound on that of every route. Values are in wei of ether at the market's reference prices, net of gas.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    /// Upper bound: no route over the covered pools is worth more.
    pub upper_bound_value_wei: U256,
    /// Value of the route.
    pub achieved_value_wei: U256,
    /// Distance between the two, in basis points of the gross output value.
    pub gap_bps: f64,
    /// Whether the route is worth more than any without what several trades with one pool gain from each other. Such a gain
    /// has no bound: the upper bound is then what the route achieves, and the gap says nothing.
    pub is_exceeded: bool,
    /// Number of pools that the bound covers.
    pub pools_covered: u32,
    /// Routes that the bound does not cover.
    pub excluded: Excluded,
}

/// Routes that a bound does not cover, and that may be worth more: those through some pools, and longer ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Excluded {
    /// Number of pools that the request excludes.
    pub filtered: u32,
    /// Most pools of a path that the bound allows for.
    pub max_hops: u8,
}

/// Reasons why a route has no certificate.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Uncertified {
    /// Without a reference price of the output, gas cannot be compared with it.
    #[error("the output has no reference price")]
    NoReferencePrice,
    /// There is no bound: prices or amounts are beyond the range of floating point.
    #[error("the bound is not a number")]
    NoBound,
}

impl Certificate {
    /// Builds a certificate from values in wei. Rounds outwards what floating point may have rounded; no value is below
    /// zero.
    pub(crate) fn new(
        bound: f64,
        achieved: f64,
        gross: f64,
        pools_covered: u32,
        excluded: Excluded,
    ) -> Result<Self, Uncertified> {
        if !bound.is_finite() || !achieved.is_finite() {
            return Err(Uncertified::NoBound);
        }
        let is_exceeded = achieved > bound + Tuning::EXCEEDED_BOUND_SHARE * bound.abs();
        let bound = (bound + Tuning::BOUND_ROUNDING * bound.abs()).max(achieved);
        let gap_bps = if gross > 0.0 { (bound - achieved) / gross * 1e4 } else { f64::INFINITY };
        if !gap_bps.is_finite() {
            return Err(Uncertified::NoBound);
        }
        let wei = |value: f64| U256::try_from(value.max(0.0)).unwrap_or(U256::MAX);
        Ok(Self {
            upper_bound_value_wei: wei(bound.ceil()),
            achieved_value_wei: wei(achieved.floor()),
            gap_bps,
            is_exceeded,
            pools_covered,
            excluded,
        })
    }
}

/// A route and its certificate.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// The route.
    pub route: Route,
    /// Its certificate, or the reason why it has none.
    pub certificate: Result<Certificate, Uncertified>,
    /// Number of pools that the solver considered: open pools between tokens that lead to the output.
    pub pools_visited: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_says_if_the_route_is_worth_more_than_the_bound() {
        let certificate = |bound| Certificate::new(bound, 1e18, 1e18, 1, Excluded::default()).unwrap();
        let [above, rounded, below] = [1.001e18, 0.999_999_999_9e18, 0.999_999e18].map(certificate);
        assert!(!above.is_exceeded && (above.gap_bps - 10.0).abs() < 1e-6);
        // Floating point alone may put the bound this far below.
        assert!(!rounded.is_exceeded && rounded.gap_bps == 0.0);
        assert!(below.is_exceeded && below.gap_bps == 0.0);
        assert_eq!(below.upper_bound_value_wei, below.achieved_value_wei);
    }
}
