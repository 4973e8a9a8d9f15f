//! Steps that wrap and unwrap ether.

use super::ETHER_COIN;
use crate::StepCode;

/// Opcode of a wrap.
pub const WRAP_OPCODE: u8 = 0x01;

/// Opcode of an unwrap.
pub const UNWRAP_OPCODE: u8 = 0x02;

/// Encodes the step. There are no operands, because the proxy knows the contract.
pub(crate) fn step_code(coin_in: u8) -> StepCode {
    StepCode::bare(if coin_in == ETHER_COIN { WRAP_OPCODE } else { UNWRAP_OPCODE })
}
