//! Steps that deposit into and redeem from a vault of any product.

use super::ASSET_COIN;
use crate::{
    StepCode,
    step::{Funding, Receivers},
};

/// Opcode of a deposit.
pub const DEPOSIT_OPCODE: u8 = 0x40;

/// Opcode of a redemption.
pub const REDEEM_OPCODE: u8 = 0x41;

/// Encodes a deposit or redemption. There are no operands: the vault is one of the step's tokens.
pub(crate) fn step_code(coin_in: u8) -> StepCode {
    // a deposit mints the vault's own token to any receiver; the asset of a redemption is counted at the proxy
    let (opcode, funding, receivers) = if coin_in == ASSET_COIN {
        (DEPOSIT_OPCODE, Funding::Approval, Receivers::Anyone)
    } else {
        (REDEEM_OPCODE, Funding::Held, Receivers::Pools)
    };
    StepCode { receivers, funding, ..StepCode::bare(opcode) }
}
