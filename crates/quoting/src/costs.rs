//! Gas costs: fees per unit, totals, and the breakdown by step.

use braid_ethereum::Head;
use braid_execution::fees::Fees;
use braid_execution::gas::GasEstimate;
use braid_primitives::{GasTier, U256};

use crate::model::{CostStep, Costs};
use crate::path::step_id;
use crate::prices;

/// Returns a tier's fees per gas unit in the block after a head, in wei.
pub fn fees(head: &Head, tier: GasTier) -> Fees {
    Fees::of(tier, head.fees.next_base_fee_per_gas_wei, head.fees.priority_fee_wei(tier))
}

/// Returns the expected total gas cost, in wei.
pub(crate) fn cost_wei(gas: &GasEstimate, fees: &Fees) -> U256 {
    U256::from(gas.total_gas_units).saturating_mul(U256::from(fees.expected_per_gas()))
}

/// Returns the costs of an answer; `partner_fee_ether` is the value of the integrator's fee.
pub(crate) fn costs(
    gas: &GasEstimate,
    fees: &Fees,
    tier: GasTier,
    dollars_per_ether: Option<f64>,
    partner_fee_ether: Option<f64>,
) -> Costs {
    let cost_wei = cost_wei(gas, fees);
    let dollars = dollars_per_ether.map(|rate| rate * f64::from(cost_wei) / 1e18);
    let fee_dollars = dollars_per_ether.zip(partner_fee_ether).map(|(rate, fee)| rate * fee);
    let max_cost_wei = U256::from(gas.gas_limit).saturating_mul(U256::from(fees.max_fee_per_gas));
    Costs {
        gas_priority: tier.name(),
        total_gas_units: gas.total_gas_units,
        gas_limit: gas.gas_limit,
        base_fee_per_gas: fees.base_fee_per_gas,
        max_fee_per_gas: fees.max_fee_per_gas,
        max_priority_fee_per_gas: fees.max_priority_fee_per_gas,
        gas_cost_wei: cost_wei.into(),
        max_gas_cost_wei: max_cost_wei.into(),
        gas_cost_usd: dollars.map(prices::sum_in_dollars),
        total_cost_usd: dollars.zip(fee_dollars).map(|(gas, fee)| prices::sum_in_dollars(gas + fee)),
        breakdown: breakdown(gas),
    }
}

/// Returns one part per step, and one for the rest of the transaction: together the total.
fn breakdown(gas: &GasEstimate) -> Vec<CostStep> {
    let steps = gas.step_gas_units.iter().enumerate();
    let mut parts: Vec<CostStep> =
        steps.map(|(index, gas_units)| CostStep { step: step_id(index), gas_units: *gas_units }).collect();
    let in_steps: u64 = gas.step_gas_units.iter().sum();
    parts.push(CostStep { step: "transaction".into(), gas_units: gas.total_gas_units.saturating_sub(in_steps) });
    parts
}
