//! What a whole transaction costs, modelled: no node is asked, and nothing depends on what the taker holds.
//!
//! The model walks the program as the proxy runs it and keeps account of what the EVM keeps account of: which accounts
//! and storage slots are cold, which balances go from zero to something and back, what is refunded (EIP-2929, EIP-2200,
//! EIP-3529). Pools contribute what their protocol says of a step (`braid_protocols`: ticks crossed and so on); tokens
//! count as plain ERC-20s. It assumes the ordinary case: the allowance of the proxy is what `approvals` asks for and is
//! used up, that of Permit2 is the largest and is counted down, the payer keeps some of every input, the recipient holds some of every output already, and the owner of a signature has
//! used the word of its nonce before.

mod costs;
mod meter;
mod walk;

use braid_market::Market;
use braid_primitives::{Address, Bytes, NATIVE_ETHER, U256};
use braid_routing::Route;

pub use walk::Authorization;

use crate::{EncodeError, Order, Permit, Program, calldata, calldata_with_permit2};

/// The highest gas limit that is ever suggested: half of EIP-7825's cap, so that a client may double it.
pub const MAX_GAS_LIMIT: u64 = 8_388_608;

/// What every transaction pays before its first instruction.
const INTRINSIC_GAS_UNITS: u64 = 21_000;

/// The modelled cost of a transaction, in gas units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GasEstimate {
    /// What the receipt is expected to say: after refunds, and not below the floor of EIP-7623.
    pub total_gas_units: u64,
    /// What to send along: enough before refunds, with head-room, at most [`MAX_GAS_LIMIT`].
    pub gas_limit: u64,
    /// For every step of the route, in the route's order: what it adds, after its refunds.
    pub step_gas_units: Vec<u64>,
}

impl GasEstimate {
    /// Replaces the modelled total and limit by measured ones, in gas units. What belongs to no step stays as modelled; the steps share
    /// the difference by their size, each rounded down and the last taking the rest, so that all parts still add up to the total.
    pub fn measure(&mut self, total_gas_units: u64, gas_limit: u64) {
        let modelled: u64 = self.step_gas_units.iter().sum();
        let outside = self.total_gas_units.saturating_sub(modelled).min(total_gas_units);
        let of_steps = total_gas_units - outside;
        let mut left = of_steps;
        let last = self.step_gas_units.len().saturating_sub(1);
        for (index, step) in self.step_gas_units.iter_mut().enumerate() {
            let scaled = u128::from(of_steps) * u128::from(*step) / u128::from(modelled.max(1));
            *step = if index == last { left } else { u64::try_from(scaled).unwrap_or(left).min(left) };
            left -= *step;
        }
        (self.total_gas_units, self.gas_limit) = (total_gas_units, gas_limit);
    }
}

/// Models the transaction that runs `program` for `order`, sent by `payer`.
///
/// # Errors
/// [`EncodeError`] where the route does not fit the market.
pub fn estimate(
    market: &Market,
    route: &Route,
    order: &Order,
    program: &Program,
    payer: Address,
    authorization: Authorization,
) -> Result<GasEstimate, EncodeError> {
    let calldata = calldata_for_size(order, program, payer, authorization);
    let walked = walk::walk(market, route, order, program, payer, authorization)?;
    let used = intrinsic_gas_units(&calldata) + walked.gas_units;
    // EIP-3529: at most a fifth of what was used is refunded
    let refunded = walked.refund_gas_units.min(used / 5);
    let floor = floor_gas_units(&calldata);
    let total_gas_units = (used - refunded).max(floor);
    let gas_limit = gas_limit(used.max(floor), order);
    Ok(GasEstimate { total_gas_units, gas_limit, step_gas_units: walked.step_gas_units })
}

/// Returns the limit for a transaction that is expected to use so much before refunds: a quarter more for ticks that
/// others' trades put in the way, and for outputs that the recipient has none of yet.
fn gas_limit(used_gas_units: u64, order: &Order) -> u64 {
    let fresh_slots = 20_000 * u64::try_from(order.outputs.len()).unwrap_or(u64::MAX);
    let fresh_slots = fresh_slots.saturating_add(ether_fee_reserve(order));
    used_gas_units
        .saturating_add(used_gas_units / 4)
        .saturating_add(fresh_slots)
        .saturating_add(30_000)
        .min(MAX_GAS_LIMIT)
}

/// Returns what must be left when a partner is offered its fee in ether, beyond what that usually takes: the proxy
/// refuses to run with less, so that no partner can be starved (`docs/internals/program.md`, section 3).
pub fn ether_fee_reserve(order: &Order) -> u64 {
    const RESERVE_GAS_UNITS: u64 = 75_000;
    let Some(fee) = order.partner_fee.filter(|fee| fee.bps > 0) else { return 0 };
    let side = if fee.on_output { &order.outputs } else { &order.inputs };
    if side.iter().any(|entry| entry.token == NATIVE_ETHER) { RESERVE_GAS_UNITS } else { 0 }
}

/// 21,000 and 4 for every zero byte, 16 for every other (EIP-2028).
pub fn intrinsic_gas_units(calldata: &[u8]) -> u64 {
    let (zero, other) = count(calldata);
    INTRINSIC_GAS_UNITS + 4 * zero + 16 * other
}

/// Returns the least that a transaction with this calldata pays (EIP-7623): 10 for every zero byte, 40 for every other.
pub fn floor_gas_units(calldata: &[u8]) -> u64 {
    let (zero, other) = count(calldata);
    INTRINSIC_GAS_UNITS + 10 * zero + 40 * other
}

fn count(calldata: &[u8]) -> (u64, u64) {
    let zero = calldata.iter().filter(|byte| **byte == 0).count();
    let widen = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    (widen(zero), widen(calldata.len() - zero))
}

/// Calldata of the size that will be sent; where a signature is still to come, one without zero bytes stands in.
fn calldata_for_size(order: &Order, program: &Program, payer: Address, authorization: Authorization) -> Bytes {
    match authorization {
        Authorization::Allowance => calldata(order, program),
        Authorization::Permit2 => {
            let permit = Permit { owner: payer, nonce: U256::MAX, deadline: order.deadline, sender: payer };
            calldata_with_permit2(order, program, &permit, &Bytes::from(vec![0xff; 65]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calldata_is_priced_by_its_bytes() {
        assert_eq!(intrinsic_gas_units(&[]), 21_000);
        assert_eq!(intrinsic_gas_units(&[0, 0, 1]), 21_000 + 2 * 4 + 16);
        assert_eq!(floor_gas_units(&[0, 0, 1]), 21_000 + 2 * 10 + 40);
    }

    #[test]
    fn measured_gas_is_shared_by_the_steps_and_adds_up() {
        let modelled =
            GasEstimate { total_gas_units: 250_000, gas_limit: 1, step_gas_units: vec![100_000, 50_001, 70_000] };
        for measured_gas_units in [0, 21_000, 29_999, 30_000, 200_000, 250_000, 500_001] {
            let mut gas = modelled.clone();
            gas.measure(measured_gas_units, 2);
            let of_steps: u64 = gas.step_gas_units.iter().sum();
            assert_eq!(gas.total_gas_units - of_steps, measured_gas_units.min(29_999));
            assert_eq!((gas.total_gas_units, gas.gas_limit), (measured_gas_units, 2));
        }
        let mut gas = modelled.clone();
        gas.measure(modelled.total_gas_units, modelled.gas_limit);
        assert_eq!(gas, modelled);
    }

    #[test]
    fn a_limit_leaves_room_and_never_passes_the_cap() {
        let order = Order { inputs: vec![], outputs: vec![], recipient: Address::ZERO, deadline: 0, partner_fee: None };
        assert_eq!(gas_limit(400_000, &order), 530_000);
        assert_eq!(gas_limit(u64::MAX / 2, &order), MAX_GAS_LIMIT);
    }
}
