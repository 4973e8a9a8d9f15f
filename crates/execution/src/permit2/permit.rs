//! What a signature permits, and where.

use alloy_primitives::keccak256;
use braid_primitives::{Address, B256, Bytes, U256, address};
use serde::{Deserialize, Serialize};

use crate::Order;

/// Permit2, at one address on every chain.
pub const ADDRESS: Address = address!("000000000022D473030F116dDEE9F6B43aC78BA3");

/// The terms of a signature, apart from the order that it binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permit {
    /// Who signs and pays.
    pub owner: Address,
    /// Unordered nonce: a bit of Permit2's bitmap for the owner, used once.
    pub nonce: U256,
    /// Unix seconds: the last second at which Permit2 accepts the signature.
    pub deadline: u64,
    /// Who may send the transaction; the zero address stands for anyone.
    pub sender: Address,
}

/// Returns whether an order can be paid by a signature: it has an ERC-20 input.
pub fn applies_to(order: &Order) -> bool {
    order.erc20_inputs().next().is_some()
}

/// Keccak hash of a program, as the witness has it.
pub fn program_hash(program: &Bytes) -> B256 {
    keccak256(program)
}
