//! Encoding of the step through a DEX T1 pool.

use alloy_primitives::Address;

use super::State;
use crate::{
    StepCode,
    fluid::reading::ETHER,
    step::{Funding, Receivers},
};

/// Opcode of a step through a DEX T1 pool.
const OPCODE: u8 = 0x60;

/// Encodes the step. Operands: the pool, and one to sell token 0 or zero to sell token 1.
pub(crate) fn step_code(pool: Address, state: &State, coin_in: u8) -> StepCode {
    let ether = state.token_at(coin_in) == Some(ETHER);
    let funding = if ether { Funding::Ether } else { Funding::Approval };
    let code = StepCode::bare(OPCODE).with(pool.as_slice()).with(&[u8::from(coin_in == 0)]);
    StepCode { receivers: Receivers::Pools, funding, ..code }
}
