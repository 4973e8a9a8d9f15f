//! The step through the vault.

use alloy_primitives::Address;

use crate::{
    StepCode,
    step::{Funding, Receivers},
};

/// Opcode of a step through a pool of Balancer's third vault.
pub const OPCODE: u8 = 0x31;

/// Operand: the pool. The vault calls back for its input.
pub(crate) fn step_code(pool: Address) -> StepCode {
    let code = StepCode::bare(OPCODE).with(pool.as_slice());
    StepCode { receivers: Receivers::Anyone, funding: Funding::Straight, ..code }
}
