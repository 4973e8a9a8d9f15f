//! Encoding of the step through a pool.

use alloy_primitives::Address;

use crate::{
    StepCode,
    step::{Factory, Origin, Receivers},
};

/// Opcode of a step through a V3 pool.
pub const OPCODE: u8 = 0x11;

/// Encodes the step. Operand: the pool's address.
pub(crate) fn step_code(factory: Factory, pool: Address, fee_pips: u32) -> StepCode {
    let origin = Some(Origin { factory, pool, fee_pips: Some(fee_pips) });
    let code = StepCode::bare(OPCODE).with(pool.as_slice());
    StepCode { receivers: Receivers::Pools, origin, begins_straight: true, ..code }
}
