//! The step through a pool.

use alloy_primitives::Address;

use crate::StepCode;

/// Opcode of a step through a V3 pool.
pub const OPCODE: u8 = 0x11;

/// Operand: the pool.
pub(crate) fn step_code(pool: Address) -> StepCode {
    StepCode { pays_anyone: true, begins_straight: true, ..StepCode::bare(OPCODE).with(pool.as_slice()) }
}
