//! The explanation of a quote's route.

use serde::Serialize;
use utoipa::ToSchema;

use super::{Amount, Eip55, PoolName};

/// Explanation of the route. Values are in wei of ether at the quote's reference prices.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Explanation {
    /// Sentences for a person.
    pub words: Vec<String>,
    /// Value of the inputs.
    pub input_value_wei: Option<Amount>,
    /// Value of the outputs, before gas.
    pub output_value_wei: Option<Amount>,
    /// Cost of gas.
    pub gas: GasShare,
    /// The best single path for the whole amount; `null` for several inputs or outputs, and if there is none.
    pub best_single_route: Option<SingleRoute>,
    /// Gain of the route over that path, net of gas.
    pub splitting: Option<Gain>,
    /// Exclusions of the request's filters; `null` if there are none.
    pub exclusions: Option<Exclusions>,
    /// Marginal price of each token of the route: the dual prices of the certificate. Empty if there is no certificate.
    pub marginal_prices: Vec<MarginalPrice>,
    /// Average and marginal price of each step.
    pub step_prices: Vec<StepPrice>,
}

/// Cost of gas, relative to the outputs.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct GasShare {
    /// Gas units.
    pub gas_units: u64,
    /// Wei.
    pub cost_wei: Amount,
    /// Cost in basis points of the outputs' value.
    pub share_bps: Option<f64>,
}

/// A path that takes the whole amount.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SingleRoute {
    /// Its pools, in order.
    pub steps: Vec<SingleStep>,
    /// Its output, before a partner fee on the output.
    pub expected_amount: Amount,
    /// Gas units of its steps alone.
    pub gas_units: u64,
    /// Value of its output, net of the gas of its steps.
    pub net_value_wei: Option<Amount>,
}

/// One step of a path.
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
    /// Difference in basis points of the outputs' value.
    pub bps: f64,
}

/// Exclusions of the request's filters, with their cost.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Exclusions {
    /// The protocols that are excluded although the market has pools of them.
    pub protocols: Vec<ExcludedProtocol>,
    /// Number of pools of other protocols that are excluded one by one.
    pub pools: usize,
    /// Cost of excluding these pools alone; `null` if there are none.
    pub pools_cost: Option<Gain>,
    /// Cost of all exclusions: by how much more the best route of the whole market is worth, net of gas.
    pub cost: Option<Gain>,
}

/// A protocol that is excluded.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ExcludedProtocol {
    /// Its id.
    pub protocol: &'static str,
    /// Its pools in the market.
    pub pools: usize,
    /// By how much more the best route would be worth, net of gas, if this protocol alone were allowed; null without a price, and
    /// beyond the six excluded protocols with the most pools.
    pub cost: Option<Gain>,
}

/// Marginal price of a token, in ether per whole token.
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
    /// Price over the whole amount.
    pub average: f64,
    /// Price of a further thousandth of the amount.
    pub marginal: Option<f64>,
}
