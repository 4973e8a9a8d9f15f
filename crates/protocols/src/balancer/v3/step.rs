//! Encoding of the step through the V3 vault.

use alloy_primitives::Address;

use crate::{
    StepCode,
    step::{Funding, Receivers},
};

/// Opcode of a step through a pool of Balancer's V3 vault.
pub const OPCODE: u8 = 0x31;

/// Encodes the step. Operand: the pool. The vault calls back for its input.
pub(crate) fn step_code(pool: Address) -> StepCode {
    let code = StepCode::bare(OPCODE).with(pool.as_slice());
    StepCode { receivers: Receivers::Anyone, funding: Funding::Straight, ..code }
}
