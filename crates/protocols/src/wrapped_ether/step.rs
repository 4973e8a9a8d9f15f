//! The steps that wrap and unwrap ether.

use super::ETHER_COIN;
use crate::StepCode;

/// Opcode of the step that wraps.
pub const WRAP_OPCODE: u8 = 0x01;

/// Opcode of the step that unwraps.
pub const UNWRAP_OPCODE: u8 = 0x02;

/// No operands: the contract is known.
pub(crate) fn step_code(coin_in: u8) -> StepCode {
    StepCode::bare(if coin_in == ETHER_COIN { WRAP_OPCODE } else { UNWRAP_OPCODE })
}
