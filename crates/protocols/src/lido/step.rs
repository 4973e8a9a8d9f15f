//! Steps that stake, wrap and unwrap.

use crate::{StepCode, step::Funding};

/// Opcode of staking.
pub const STAKE_OPCODE: u8 = 0x50;

/// Opcode of wrapping.
pub const WRAP_OPCODE: u8 = 0x51;

/// Opcode of unwrapping.
pub const UNWRAP_OPCODE: u8 = 0x52;

/// Encodes the step. There are no operands, because the proxy knows the contracts.
pub(crate) fn step_code(stakes: bool, coin_in: u8) -> StepCode {
    let (opcode, funding) = match (stakes, coin_in) {
        (true, _) => (STAKE_OPCODE, Funding::Ether),
        (_, 0) => (WRAP_OPCODE, Funding::Approval),
        _ => (UNWRAP_OPCODE, Funding::Held),
    };
    // these pay stETH, and do not count it by a balance
    let runs_last = opcode != WRAP_OPCODE;
    StepCode { funding, runs_last, ..StepCode::bare(opcode) }
}
