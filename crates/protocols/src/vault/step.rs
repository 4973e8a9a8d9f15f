//! The steps that deposit with a vault and redeem from it, whichever product it is.

use super::ASSET_COIN;
use crate::{
    StepCode,
    step::{Funding, Receivers},
};

/// Opcode of the step that deposits.
pub const DEPOSIT_OPCODE: u8 = 0x40;

/// Opcode of the step that redeems.
pub const REDEEM_OPCODE: u8 = 0x41;

/// No operands: the vault is one of the step's tokens.
pub(crate) fn step_code(coin_in: u8) -> StepCode {
    // a deposit pays the vault's own token; an asset that a vault pays out is counted at the proxy
    let (opcode, funding, receivers) = if coin_in == ASSET_COIN {
        (DEPOSIT_OPCODE, Funding::Approval, Receivers::Anyone)
    } else {
        (REDEEM_OPCODE, Funding::Held, Receivers::Pools)
    };
    StepCode { receivers, funding, ..StepCode::bare(opcode) }
}
