//! Signatures of Permit2: what a quote asks to sign, read before it is signed.

use alloy_primitives::{Address, B256, U256, address};
use alloy_sol_types::{Eip712Domain, SolStruct, eip712_domain, sol};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::Permit2;

sol! {
    #[derive(Deserialize)]
    struct TokenPermissions { address token; uint256 amount; }
    #[derive(Deserialize)]
    struct Input { address token; uint256 amount; }
    #[derive(Deserialize)]
    struct Output { address token; uint256 minimum; }
    #[derive(Deserialize)]
    struct BraidOrder {
        Input[] inputs; Output[] outputs; address recipient; uint256 deadline; address partner; uint16 partnerFeeBps;
        bool partnerFeeOnOutput; address sender; bytes32 programHash;
    }
    #[derive(Deserialize)]
    struct PermitWitnessTransferFrom { TokenPermissions permitted; address spender; uint256 nonce; uint256 deadline; BraidOrder witness; }
    #[derive(Deserialize)]
    struct PermitBatchWitnessTransferFrom { TokenPermissions[] permitted; address spender; uint256 nonce; uint256 deadline; BraidOrder witness; }
}

/// What a signature allows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Terms {
    /// What leaves the signer, token by token.
    pub pays: Vec<(Address, U256)>,
    /// What the recipient gets at least, or nothing happens.
    pub minimums: Vec<(Address, U256)>,
    /// Who gets it.
    pub recipient: Address,
    /// Who may send the transaction; zero stands for anyone.
    pub sender: Address,
    /// The contract that may use the signature: the execution proxy.
    pub spender: Address,
    /// The integrator's fee, in basis points.
    pub partner_fee_bps: u16,
    /// The last second at which it counts, unix seconds.
    pub deadline: U256,
    /// What is signed (EIP-712), worked out here and not taken from the service.
    pub hash: B256,
}

/// Typed data that is not to be signed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SigningError {
    /// It is not a message of Permit2 with one of Braid's orders.
    #[error("the typed data is not an order of Braid's: {0}")]
    Unreadable(#[from] serde_json::Error),
    /// The hash that the service gave is of something else.
    #[error("the typed data hashes to {got}, the service says {said}")]
    HashMismatch {
        /// The hash of the message.
        got: B256,
        /// The hash in the quote.
        said: B256,
    },
}

impl Permit2 {
    /// Reads what a signature would allow. Fails where the message and its hash do not belong together.
    pub fn terms(&self) -> Result<Terms, SigningError> {
        let terms = if self.eip712["primaryType"] == "PermitBatchWitnessTransferFrom" {
            let (message, hash) = self.read::<PermitBatchWitnessTransferFrom>()?;
            terms(message.permitted, message.spender, message.deadline, message.witness, hash)
        } else {
            let (message, hash) = self.read::<PermitWitnessTransferFrom>()?;
            terms(vec![message.permitted], message.spender, message.deadline, message.witness, hash)
        };
        if terms.hash != self.hash {
            return Err(SigningError::HashMismatch { got: terms.hash, said: self.hash });
        }
        Ok(terms)
    }

    fn read<T: SolStruct + DeserializeOwned>(&self) -> Result<(T, B256), SigningError> {
        let message = T::deserialize(&self.eip712["message"])?;
        let hash = message.eip712_signing_hash(&DOMAIN);
        Ok((message, hash))
    }
}

/// The Permit2 contract, on every chain.
pub(crate) const PERMIT2: Address = address!("000000000022D473030F116dDEE9F6B43aC78BA3");

const DOMAIN: Eip712Domain = eip712_domain! {
    name: "Permit2",
    chain_id: 1,
    verifying_contract: PERMIT2,
};

fn terms(permitted: Vec<TokenPermissions>, spender: Address, deadline: U256, order: BraidOrder, hash: B256) -> Terms {
    Terms {
        pays: permitted.into_iter().map(|entry| (entry.token, entry.amount)).collect(),
        minimums: order.outputs.into_iter().map(|output| (output.token, output.minimum)).collect(),
        recipient: order.recipient,
        sender: order.sender,
        spender,
        partner_fee_bps: order.partnerFeeBps,
        deadline,
        hash,
    }
}
