//! Encoding of the step through a pair.

use alloy_primitives::Address;

use crate::{
    StepCode,
    step::{Factory, Origin, Receivers},
};

/// Opcode of a step through a V2 pair.
pub const OPCODE: u8 = 0x10;

/// Encodes the step. Operands: the pair's address, and its fee in basis points as 16 bits.
pub(crate) fn step_code(factory: Factory, pair: Address, fee_bps: u16) -> StepCode {
    let code = StepCode::bare(OPCODE).with(pair.as_slice()).with(&fee_bps.to_be_bytes());
    let origin = Some(Origin { factory, pool: pair, fee_pips: None });
    StepCode { receivers: Receivers::Pools, origin, prepayable: true, begins_straight: true, ..code }
}
