//! Why a quote has the route that it has.

use serde::Serialize;
use utoipa::ToSchema;

use super::{Amount, Eip55, PoolName};

/// Why this route, in words and numbers. Values are in wei of ether at the quote's reference prices.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Explanation {
    /// One sentence after the other, for a person.
    pub words: Vec<String>,
    /// What the inputs are worth.
    pub input_value_wei: Option<Amount>,
    /// What the outputs are worth, before gas.
    pub output_value_wei: Option<Amount>,
    /// What gas costs.
    pub gas: GasShare,
    /// The best single chain of pools for the whole amount; `null` for several inputs or outputs, and where there is none.
    pub best_single_route: Option<SingleRoute>,
    /// What splitting added to it, net of gas.
    pub splitting: Option<Gain>,
    /// What the request's filters exclude; `null` where they exclude nothing.
    pub exclusions: Option<Exclusions>,
    /// What the next unit of each token of the route would be worth: the dual prices behind the certificate. Empty where there
    /// is no certificate.
    pub marginal_prices: Vec<MarginalPrice>,
    /// The price of each step on the average and for the next unit.
    pub step_prices: Vec<StepPrice>,
}

/// What gas costs beside what the trade is worth.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct GasShare {
    /// Units.
    pub gas_units: u64,
    /// Wei.
    pub cost_wei: Amount,
    /// Of the outputs' value.
    pub share_bps: Option<f64>,
}

/// A chain of pools that takes the whole amount.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SingleRoute {
    /// Its pools, in order.
    pub steps: Vec<SingleStep>,
    /// What it would pay, before a partner fee on the output.
    pub expected_amount: Amount,
    /// Gas of its steps alone.
    pub gas_units: u64,
    /// What it is worth, net of the gas of its steps.
    pub net_value_wei: Option<Amount>,
}

/// One pool of a chain.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SingleStep {
    /// Protocol id.
    pub protocol: &'static str,
    /// The pool.
    pub pool: PoolName,
    /// Token in.
    pub token_in: Eip55,
    /// Token out.
    pub token_out: Eip55,
}

/// A difference in value.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Gain {
    /// Wei.
    pub value_wei: Amount,
    /// Of the outputs' value.
    pub bps: f64,
}

/// What the request's filters exclude and what that costs.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Exclusions {
    /// The protocols that are excluded although the market has pools of them.
    pub protocols: Vec<ExcludedProtocol>,
    /// How many pools of other protocols are excluded one by one.
    pub pools: usize,
    /// What these pools alone cost; `null` where there are none.
    pub pools_cost: Option<Gain>,
    /// What all of it cost together: by how much the best route of the whole market is worth more, net of gas.
    pub cost: Option<Gain>,
}

/// A protocol that is excluded.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ExcludedProtocol {
    /// Its id.
    pub protocol: &'static str,
    /// Its pools in the market.
    pub pools: usize,
    /// By how much the best route would be worth more, net of gas, were this protocol alone allowed again.
    pub cost: Option<Gain>,
}

/// What the next unit of a token would be worth, in ether per whole token.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct MarginalPrice {
    /// Token.
    pub token: Eip55,
    /// After this trade, decimal.
    pub value: String,
    /// Before any trade: the reference price, decimal.
    pub reference: Option<String>,
}

/// The price of a step, in whole tokens out for one whole token in.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct StepPrice {
    /// Step id.
    pub step: String,
    /// Over the whole amount.
    pub average: f64,
    /// For a thousandth more than the amount.
    pub marginal: Option<f64>,
}
