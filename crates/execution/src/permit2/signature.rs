//! Signatures as Permit2 checks them: ECDSA for accounts without code, EIP-1271 for accounts with it.
//!
//! Whether an account has code is the node's to say; this module recovers the signer, and gives the EIP-1271 call and
//! the meaning of its answer.

use alloy_primitives::Signature;
use alloy_sol_types::{SolCall, SolValue, sol};
use braid_primitives::{Address, B256, Bytes};

sol! {
    /// EIP-1271.
    #[allow(missing_docs)]
    interface IERC1271 {
        function isValidSignature(bytes32 hash, bytes signature) external view returns (bytes4 magicValue);
    }
}

/// What an account answers to [`is_valid_signature_calldata`] when it stands by the signature (EIP-1271).
pub const EIP1271_MAGIC_VALUE: [u8; 4] = [0x16, 0x26, 0xba, 0x7e];

/// How a signature of an account without code yet ends (ERC-6492).
pub const ERC6492_MAGIC_SUFFIX: [u8; 32] = [
    0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, //
    0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92,
];

/// A signature of an account that a call has yet to deploy (ERC-6492).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undeployed {
    /// Who deploys the account.
    pub factory: Address,
    /// What to call it with.
    pub factory_calldata: Bytes,
    /// What the deployed account checks, and what Permit2 must be given.
    pub signature: Bytes,
}

/// Opens the wrapping of ERC-6492; `None` where there is none, or where it does not hold what it should.
pub fn unwrap_erc6492(signature: &[u8]) -> Option<Undeployed> {
    let wrapped = signature.strip_suffix(&ERC6492_MAGIC_SUFFIX)?;
    let (factory, factory_calldata, signature) = <(Address, Bytes, Bytes)>::abi_decode_params(wrapped).ok()?;
    Some(Undeployed { factory, factory_calldata, signature })
}

/// Why bytes are not an ECDSA signature that Permit2 would accept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// Neither 65 bytes (r, s, v) nor 64 (EIP-2098).
    #[error("a signature has 65 bytes, or 64 in its compact form, got {got}")]
    Length {
        /// How many bytes.
        got: usize,
    },
    /// The last byte of the long form.
    #[error("the last byte of a signature is 27 or 28, got {got}")]
    Parity {
        /// What it is.
        got: u8,
    },
    /// No public key fits the numbers.
    #[error("no account can have made this signature")]
    Unrecoverable,
}

/// Returns the account that signed a hash: what the `ecrecover` precompile finds, for the two forms that Permit2 takes.
///
/// # Errors
/// [`SignatureError`] where Permit2 would revert with `InvalidSignatureLength` or `InvalidSignature`.
pub fn recover_signer(hash: B256, signature: &[u8]) -> Result<Address, SignatureError> {
    let signature = match signature.len() {
        64 => Signature::from_erc2098(signature),
        65 => {
            let parity = match signature[64] {
                27 => false,
                28 => true,
                got => return Err(SignatureError::Parity { got }),
            };
            Signature::from_bytes_and_parity(signature, parity)
        }
        got => return Err(SignatureError::Length { got }),
    };
    signature.recover_address_from_prehash(&hash).map_err(|_| SignatureError::Unrecoverable)
}

/// Calldata of `isValidSignature(hash, signature)`, for an account that has code.
pub fn is_valid_signature_calldata(hash: B256, signature: Bytes) -> Bytes {
    IERC1271::isValidSignatureCall { hash, signature }.abi_encode().into()
}

/// Returns whether the account's answer stands by the signature: the magic value, left-aligned in one word.
pub fn is_valid_signature_answer(answer: &[u8]) -> bool {
    answer.len() >= 32 && answer[..4] == EIP1271_MAGIC_VALUE
}

#[cfg(test)]
mod tests {
    use alloy::signers::{SignerSync, local::PrivateKeySigner};
    use proptest::prelude::*;

    use super::*;

    fn signer() -> PrivateKeySigner {
        PrivateKeySigner::from_bytes(&B256::repeat_byte(0x11)).unwrap()
    }

    #[test]
    fn both_forms_name_the_signer() {
        let hash = B256::repeat_byte(0x22);
        let signature = signer().sign_hash_sync(&hash).unwrap();
        assert_eq!(recover_signer(hash, &signature.as_bytes()), Ok(signer().address()));
        assert_eq!(recover_signer(hash, &signature.as_erc2098()), Ok(signer().address()));
    }

    #[test]
    fn another_hash_names_another_account() {
        let signature = signer().sign_hash_sync(&B256::repeat_byte(0x22)).unwrap().as_bytes();
        assert_ne!(recover_signer(B256::repeat_byte(0x23), &signature), Ok(signer().address()));
    }

    #[test]
    fn what_permit2_refuses_is_refused() {
        let hash = B256::repeat_byte(0x22);
        let mut bytes = signer().sign_hash_sync(&hash).unwrap().as_bytes();
        bytes[64] -= 27;
        let parity = bytes[64];
        assert_eq!(recover_signer(hash, &bytes), Err(SignatureError::Parity { got: parity }));
        assert_eq!(recover_signer(hash, &bytes[..63]), Err(SignatureError::Length { got: 63 }));
        assert_eq!(recover_signer(hash, &[]), Err(SignatureError::Length { got: 0 }));
        assert_eq!(recover_signer(hash, &[0; 64]), Err(SignatureError::Unrecoverable));
    }

    #[test]
    fn only_the_magic_value_is_a_yes() {
        let mut word = [0; 32];
        assert!(!is_valid_signature_answer(&word));
        word[..4].copy_from_slice(&EIP1271_MAGIC_VALUE);
        assert!(is_valid_signature_answer(&word));
        assert!(!is_valid_signature_answer(&word[..4]));
        assert_eq!(IERC1271::isValidSignatureCall::SELECTOR, EIP1271_MAGIC_VALUE);
    }

    #[test]
    fn a_wrapped_signature_is_opened() {
        let (factory, calldata, inner) = (Address::repeat_byte(1), Bytes::from(vec![2; 40]), Bytes::from(vec![3; 65]));
        let mut wrapped = (factory, calldata.clone(), inner.clone()).abi_encode_params();
        assert_eq!(unwrap_erc6492(&wrapped), None);
        wrapped.extend(ERC6492_MAGIC_SUFFIX);
        assert_eq!(
            unwrap_erc6492(&wrapped),
            Some(Undeployed { factory, factory_calldata: calldata, signature: inner })
        );
        assert_eq!(unwrap_erc6492(&ERC6492_MAGIC_SUFFIX), None);
    }

    proptest! {
        #[test]
        fn no_wrapping_panics(mut bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            bytes.extend(ERC6492_MAGIC_SUFFIX);
            let _ = unwrap_erc6492(&bytes);
        }

        #[test]
        fn no_bytes_panic(hash: [u8; 32], bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = recover_signer(B256::from(hash), &bytes);
            let _ = is_valid_signature_answer(&bytes);
        }
    }
}
