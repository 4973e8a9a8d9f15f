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

/// How many words of an owner's bitmap are kept in use: the nonces of so many times 256 transactions.
pub const WORDS: u8 = 4;

/// Returns the nonce of a quote in a word of its own: keccak over the quote's id.
///
/// Deterministic, and different for every quote; 248 bits of it pick a word of the bitmap, so that two nonces meet in
/// one word only by design of an attacker against himself. The first use of a word costs its owner about 17,100 gas
/// more than any later one.
pub fn fresh_nonce(quote_id: &[u8; 16]) -> U256 {
    keccak256([DOMAIN, quote_id].concat()).into()
}

/// Returns the nonce that a quote tries first in one of the words that all quotes of an owner share, `word` of
/// [`WORDS`].
///
/// The word is the same for every quote, and apart from those of other services; the bit is the quote's own, so that
/// two services that know nothing of each other seldom meet. Should it be used already, take [`unused_nonce`].
pub fn shared_nonce(quote_id: &[u8; 16], word: u8) -> U256 {
    let place = U256::from_be_bytes(keccak256([DOMAIN, &[word]].concat()).0);
    (place >> 8 << 8) | U256::from(fresh_nonce(quote_id).byte(0))
}

/// Calldata, for Permit2, of the bitmap word that holds a nonce.
pub fn nonce_bitmap_calldata(owner: Address, nonce: U256) -> Bytes {
    ISignatureTransfer::nonceBitmapCall { owner, wordPosition: nonce >> 8 }.abi_encode().into()
}

/// Returns whether the bitmap word that holds a nonce says that it was used.
pub fn nonce_is_used(bitmap: U256, nonce: U256) -> bool {
    bitmap.bit(usize::from(nonce.byte(0)))
}

/// Returns the first nonce at or after `nonce`, within its word of the bitmap, whose bit is not set in `bitmap`; `None`
/// where all are.
pub fn unused_nonce(bitmap: U256, nonce: U256) -> Option<U256> {
    let first = nonce.byte(0);
    let word = nonce >> 8 << 8;
    let mut bits = (0..=u8::MAX).map(|offset| first.wrapping_add(offset));
    bits.find(|bit| !bitmap.bit(usize::from(*bit))).map(|bit| word | U256::from(bit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_depends_on_the_quote_alone() {
        assert_eq!(fresh_nonce(&[7; 16]), fresh_nonce(&[7; 16]));
        assert_ne!(fresh_nonce(&[7; 16]) >> 8, fresh_nonce(&[8; 16]) >> 8);
    }

    #[test]
    fn quotes_share_words_and_not_bits() {
        let (one, other) = ([7; 16], [8; 16]);
        for word in 0..WORDS {
            assert_eq!(shared_nonce(&one, word) >> 8, shared_nonce(&other, word) >> 8);
            assert_ne!(shared_nonce(&one, word), shared_nonce(&other, word));
        }
        assert_ne!(shared_nonce(&one, 0) >> 8, shared_nonce(&one, 1) >> 8);
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
        assert_eq!(unused_nonce(!(U256::ONE << 0xfd_usize), nonce), Some(U256::from(0x1_fd)));
        assert_eq!(unused_nonce(U256::MAX, nonce), None);
    }
}
