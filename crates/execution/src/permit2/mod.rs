//! Permit2: the typed data that binds an order and its program, and the checks on its signature.
//!
//! The message is Permit2's `permitWitnessTransferFrom` in its signature form: the permitted tokens are the order's
//! ERC-20 inputs, the spender is the proxy, and the witness holds every field of the order, who may send it and the
//! hash of the program (`docs/internals/program.md`, section 5). A signature therefore allows this outcome and no
//! other, and nobody else can use it.

mod nonce;
mod permit;
mod signature;
mod typed_data;

pub use nonce::{WORDS, fresh_nonce, nonce_bitmap_calldata, nonce_is_used, shared_nonce, unused_nonce};
pub use permit::{ADDRESS, Permit, applies_to, program_hash};
pub use signature::{
    EIP1271_MAGIC_VALUE, ERC6492_MAGIC_SUFFIX, SignatureError, Undeployed, is_valid_signature_answer,
    is_valid_signature_calldata, recover_signer, unwrap_erc6492,
};
pub use typed_data::{TypedData, typed_data};
