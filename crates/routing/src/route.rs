//! What the router answers.

use braid_primitives::{PoolId, TokenId, U256};

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
    /// Share of the balance at hand of the token in, in units of 2⁻³²; 0 takes all that is left.
    pub share: u32,
    /// What the step takes, in atomic units, as the proxy will compute it.
    pub amount_in: U256,
    /// What the pool pays, in atomic units.
    pub amount_out: U256,
    /// What the step costs, in gas units.
    pub gas_units: u64,
}

/// Steps in the order in which the proxy runs them: every step that makes a token comes before those that spend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The steps.
    pub steps: Vec<Step>,
    /// What the taker receives of each output, in the order of the request, in atomic units.
    pub amounts_out: Vec<U256>,
}

impl Route {
    /// Gas of all steps, without what a transaction costs around them.
    pub fn gas_units(&self) -> u64 {
        self.steps.iter().map(|step| step.gas_units).sum()
    }
}

/// How close to the best a route is. Values are in wei of ether at the market's reference prices, net of gas.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    /// No route over the covered pools could have been worth more than this.
    pub upper_bound_value_wei: U256,
    /// What the route is worth.
    pub achieved_value_wei: U256,
    /// The distance between the two, in basis points of the gross output value.
    pub gap_bps: f64,
    /// How many pools the bound covers.
    pub pools_covered: u32,
    /// What it leaves out.
    pub excluded: Excluded,
}

/// What a bound leaves out: routes through these pools, and longer ones, may be worth more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Excluded {
    /// Pools that the request leaves out.
    pub filtered: u32,
    /// Longest chain of pools that the bound allows for.
    pub max_hops: u8,
}

/// Why a route has no certificate.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Uncertified {
    /// Without a reference price of the output, gas cannot be weighed against it.
    #[error("the output has no reference price")]
    NoReferencePrice,
    /// The bound cannot be told: prices or amounts are beyond what floating point holds.
    #[error("the bound is not a number")]
    NoBound,
}

impl Certificate {
    /// From values in wei; what floating point may have rounded is rounded outwards, and nothing is below zero.
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
        let bound = (bound + 1e-12 * bound.abs()).max(achieved);
        let gap_bps = if gross > 0.0 { (bound - achieved) / gross * 1e4 } else { f64::INFINITY };
        if !gap_bps.is_finite() {
            return Err(Uncertified::NoBound);
        }
        let wei = |value: f64| U256::try_from(value.max(0.0)).unwrap_or(U256::MAX);
        Ok(Self {
            upper_bound_value_wei: wei(bound.ceil()),
            achieved_value_wei: wei(achieved.floor()),
            gap_bps,
            pools_covered,
            excluded,
        })
    }
}

/// A route and what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// The route.
    pub route: Route,
    /// How close to the best it is, or why that cannot be told.
    pub certificate: Result<Certificate, Uncertified>,
    /// How many pools the solver looked at: those that are open and lie between tokens that lead to the output.
    pub pools_visited: u32,
}
