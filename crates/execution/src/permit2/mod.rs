//! Permit2: the typed data that binds an order and its program, and the checks on its signature.
//!
//! The message is Permit2's `permitWitnessTransferFrom` in its signature form: the permitted tokens are the order's ERC-20
//! inputs, the spender is the proxy, and the witness holds every field of the order and the hash of the program
//! (`docs/program.md`, section 5). A signature therefore allows this outcome and no other, whoever sends it.

mod nonce;
mod signature;
mod typed_data;

use braid_primitives::{Address, Bytes, U256, address};
use serde::{Deserialize, Serialize};

pub use nonce::{WORDS, fresh_nonce, nonce_bitmap_calldata, nonce_is_used, shared_nonce, unused_nonce};
pub use signature::{
    EIP1271_MAGIC_VALUE, ERC6492_MAGIC_SUFFIX, SignatureError, Undeployed, is_valid_signature_answer,
    is_valid_signature_calldata, recover_signer, unwrap_erc6492,
};
pub use typed_data::{TypedData, typed_data};

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
}

/// Whether an order can be paid by a signature: it has an ERC-20 input.
pub fn applies_to(order: &Order) -> bool {
    order.erc20_inputs().next().is_some()
}

/// Keccak hash of a program, as the witness has it.
pub fn program_hash(program: &Bytes) -> braid_primitives::B256 {
    alloy_primitives::keccak256(program)
}
