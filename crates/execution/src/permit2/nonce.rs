//! Permit2's unordered nonces: one bit each in a bitmap of 256-bit words per owner.

use alloy_primitives::keccak256;
use alloy_sol_types::{SolCall, sol};
use braid_primitives::{Address, Bytes, U256};

sol! {
    /// Permit2's bitmap of used nonces.
    #[allow(missing_docs)]
    interface ISignatureTransfer {
        function nonceBitmap(address owner, uint256 wordPosition) external view returns (uint256 bitmap);
    }
}

/// Keeps these nonces apart from those of any other use of the same id.
const DOMAIN: &[u8] = b"braid permit2 nonce";

/// The nonce of a quote: keccak over the quote's id and the number of the attempt.
///
/// Deterministic, and different for every quote; 248 bits of it pick a word of the bitmap, so that two nonces meet in one word
/// only by design of an attacker against himself. Should the bit be used already, take the next attempt.
pub fn nonce(quote_id: &[u8; 16], attempt: u32) -> U256 {
    let parts = [DOMAIN, quote_id, &attempt.to_be_bytes()].concat();
    keccak256(parts).into()
}

/// Calldata, for Permit2, of the bitmap word that holds a nonce.
pub fn nonce_bitmap_calldata(owner: Address, nonce: U256) -> Bytes {
    ISignatureTransfer::nonceBitmapCall { owner, wordPosition: nonce >> 8 }.abi_encode().into()
}

/// Whether the bitmap word that holds a nonce says that it was used.
pub fn nonce_is_used(bitmap: U256, nonce: U256) -> bool {
    bitmap.bit(usize::from(nonce.byte(0)))
}

/// The first nonce at or after `nonce`, within its word of the bitmap, that was not used; `None` where the whole word is used.
pub fn unused_nonce(bitmap: U256, nonce: U256) -> Option<U256> {
    let first = nonce.byte(0);
    let word = nonce >> 8 << 8;
    let candidates = (0..=u8::MAX).map(|offset| word | U256::from(first.wrapping_add(offset)));
    candidates.into_iter().find(|candidate| !nonce_is_used(bitmap, *candidate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_depends_on_the_quote_and_the_attempt_alone() {
        let id = [7; 16];
        assert_eq!(nonce(&id, 0), nonce(&id, 0));
        assert_ne!(nonce(&id, 0), nonce(&id, 1));
        assert_ne!(nonce(&id, 0), nonce(&[8; 16], 0));
    }

    #[test]
    fn the_low_byte_names_the_bit_and_the_rest_the_word() {
        let nonce = U256::from(0x1_05);
        let data = nonce_bitmap_calldata(Address::ZERO, nonce);
        let call = ISignatureTransfer::nonceBitmapCall::abi_decode(&data).unwrap();
        assert_eq!(data[..4], [0x4f, 0xe0, 0x2b, 0x44]);
        assert_eq!(call.wordPosition, U256::from(1));
        assert!(nonce_is_used(U256::from(1 << 5), nonce));
        assert!(!nonce_is_used(!U256::from(1 << 5), nonce));
    }

    #[test]
    fn a_used_nonce_gives_way_to_the_next_one_of_its_word() {
        let nonce = U256::from(0x1_fe);
        assert_eq!(unused_nonce(U256::ZERO, nonce), Some(nonce));
        let used = (U256::from(1) << 254) | (U256::from(1) << 255) | U256::from(1);
        assert_eq!(unused_nonce(used, nonce), Some(U256::from(0x1_01)));
        assert_eq!(unused_nonce(U256::MAX, nonce), None);
    }
}
