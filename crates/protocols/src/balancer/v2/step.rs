//! Encoding of the step through the V2 vault.

use alloy_primitives::B256;

use crate::{
    StepCode,
    step::{Funding, Receivers},
};

/// Opcode of a step through a pool of Balancer's V2 vault.
pub const OPCODE: u8 = 0x30;

/// Encodes the step. Operand: the pool's id.
pub(crate) fn step_code(pool_id: B256) -> StepCode {
    let code = StepCode::bare(OPCODE).with(pool_id.as_slice());
    StepCode { receivers: Receivers::Anyone, funding: Funding::Approval, ..code }
}
