//! Gas: units, limit, fees per unit, totals.

use braid_ethereum::Head;
use braid_execution::fees::{Fees, base_fee_after_full_blocks, full_blocks_outlived};
use braid_primitives::{GasTier, U256};
use braid_routing::Route;

use super::path::step_id;
use crate::model::{CostStep, Costs};

/// The highest gas limit that a transaction is given: half of what EIP-7825 allows (2^24), so that a client may double it.
pub const MAX_GAS_LIMIT: u64 = 8_388_608;

/// Room above the expected gas, in percent: pools move between quote and block.
const HEADROOM_PERCENT: u64 = 30;

/// What a unit of gas costs in the block after a head, by tier.
pub fn fees(head: &Head, tier: GasTier) -> Fees {
    let base_fee_per_gas = head.fees.next_base_fee_per_gas_wei;
    let max_priority_fee_per_gas = head.fees.priority_fee_wei(tier);
    let later = base_fee_after_full_blocks(base_fee_per_gas, full_blocks_outlived(tier));
    Fees { max_priority_fee_per_gas, max_fee_per_gas: later.saturating_add(max_priority_fee_per_gas), base_fee_per_gas }
}

/// Units of gas of a whole transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gas {
    /// What the transaction is expected to use.
    pub total_units: u64,
    /// What it should be sent with.
    pub limit_units: u64,
}

impl Gas {
    /// From the expected total.
    pub fn expected(total_units: u64) -> Self {
        let room = total_units.saturating_mul(HEADROOM_PERCENT).div_ceil(100);
        Self { total_units, limit_units: total_units.saturating_add(room).min(MAX_GAS_LIMIT) }
    }

    /// What the gas is expected to cost, in wei.
    pub fn cost_wei(self, fees: &Fees) -> U256 {
        U256::from(self.total_units).saturating_mul(U256::from(fees.expected_per_gas()))
    }
}

/// The costs as the answer shows them.
pub fn costs(route: &Route, gas: Gas, fees: &Fees, tier: GasTier, dollars_per_ether: Option<f64>) -> Costs {
    let cost_wei = gas.cost_wei(fees);
    let dollars = dollars_per_ether.map(|rate| rate * f64::from(cost_wei) / 1e18);
    let max_cost_wei = U256::from(gas.limit_units).saturating_mul(U256::from(fees.max_fee_per_gas));
    Costs {
        gas_priority: tier.name(),
        total_gas_units: gas.total_units,
        gas_limit: gas.limit_units,
        base_fee_per_gas: fees.base_fee_per_gas,
        max_fee_per_gas: fees.max_fee_per_gas,
        max_priority_fee_per_gas: fees.max_priority_fee_per_gas,
        gas_cost_wei: cost_wei.into(),
        max_gas_cost_wei: max_cost_wei.into(),
        gas_cost_usd: dollars,
        total_cost_usd: dollars,
        breakdown: breakdown(route, gas),
    }
}

fn breakdown(route: &Route, gas: Gas) -> Vec<CostStep> {
    let steps = route.steps.iter().enumerate();
    let mut parts: Vec<CostStep> =
        steps.map(|(index, step)| CostStep { step: step_id(index), gas_units: step.gas_units }).collect();
    let around = gas.total_units.saturating_sub(route.gas_units());
    parts.push(CostStep { step: "transaction".into(), gas_units: around });
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_leaves_room_and_can_be_doubled() {
        assert_eq!(Gas::expected(100_000).limit_units, 130_000);
        assert_eq!(Gas::expected(100_000_000).limit_units, MAX_GAS_LIMIT);
        const { assert!(MAX_GAS_LIMIT * 2 <= 1 << 24) }
    }
}
