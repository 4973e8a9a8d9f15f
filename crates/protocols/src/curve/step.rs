//! Steps through Curve pools.

use alloy_primitives::Address;

use super::pool::{ExchangeKind, Model, State};
use crate::{StepCode, step::Funding};

/// Opcode of `exchange` with signed coin positions: StableSwap and metapools.
pub const STABLE_OPCODE: u8 = 0x20;

/// Opcode of `exchange` with unsigned coin positions: CryptoSwap.
pub const CRYPTO_OPCODE: u8 = 0x21;

/// Opcode of `exchange_underlying`.
pub const UNDERLYING_OPCODE: u8 = 0x22;

/// Encodes the step. Operands: the pool, and the positions of two coins as the called function counts them. Coins that
/// do not trade with each other give a step that the pool reverts.
pub(crate) fn step_code(pool: Address, state: &State, coin_in: u8, coin_out: u8) -> StepCode {
    let (opcode, i, j) = match (&state.model, state.exchange_kind(coin_in, coin_out)) {
        (Model::Crypto(_), _) => (CRYPTO_OPCODE, coin_in, coin_out),
        (_, Some(ExchangeKind::Underlying(i, j))) => (UNDERLYING_OPCODE, i, j),
        _ => (STABLE_OPCODE, coin_in, coin_out),
    };
    let funding = if state.ether_coin == Some(coin_in) { Funding::Ether } else { Funding::Approval };
    StepCode { funding, ..StepCode::bare(opcode).with(pool.as_slice()).with(&[i, j]) }
}
