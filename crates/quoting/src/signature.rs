//! Whether a Permit2 signature is the taker's for its quote, as Permit2 itself will judge it.

use braid_execution::permit2::{self, Undeployed};
use braid_primitives::{Address, B256, Block, Bytes, U256};
use braid_protocols::Call;
use braid_simulation::{Simulator, Transaction, Unavailable, view_after};

use crate::accounts::Accounts;
use crate::model::Warning;
use crate::problem::{Code, FieldCode, FieldError, Problem};
use crate::stored::Plan;
use crate::warnings;

/// Gas for the deployment of an account whose signature is checked before it exists.
const DEPLOYMENT_GAS: u64 = 10_000_000;

/// A signature that is the taker's.
#[derive(Clone, Debug)]
pub(crate) struct Verified {
    /// What Permit2 is given: without the wrapping of ERC-6492.
    pub signature: Bytes,
    /// What a caller should know.
    pub warning: Option<Warning>,
}

/// Checks a signature. Permit2 asks an account that has code by EIP-1271, whatever a recovery says, and recovers the signer
/// where there is none; an account that has yet to be deployed (ERC-6492) is asked on a copy of the chain's state.
///
/// # Errors
/// `PERMIT2_SIGNATURE_INVALID` with the reason; `NOT_READY` where the node's word is needed and it does not answer.
pub(crate) async fn verify(
    accounts: &Accounts,
    simulator: &Simulator,
    block: &Block,
    plan: &Plan,
    bytes: &Bytes,
) -> Result<Verified, Problem> {
    let Some(data) = permit2::typed_data(&plan.order, &plan.program.bytes, &plan.permit) else {
        return Err(invalid("the quote sells native ether only: there is nothing to permit"));
    };
    let wrapped = permit2::unwrap_erc6492(bytes);
    let signature = wrapped.as_ref().map_or_else(|| bytes.clone(), |wrapped| wrapped.signature.clone());
    let verified = Verified { signature, warning: None };
    match accounts.has_code(block.hash, plan.taker).await {
        // nobody to ask: a recovery is all there is
        None => match by_key(data.hash, plan.taker, &verified.signature) {
            Ok(()) => Ok(verified),
            Err(_) if accounts.node.is_some() => Err(silent()),
            Err(problem) => Err(problem),
        },
        Some(true) => {
            let data = permit2::is_valid_signature_calldata(data.hash, verified.signature.clone());
            let answer = accounts.answer(block.hash, Call { to: plan.taker, data }).await;
            stands_by(answer.ok_or_else(silent)?).map(|()| verified)
        }
        Some(false) => match wrapped {
            None => by_key(data.hash, plan.taker, &verified.signature).map(|()| verified),
            Some(wrapped) => {
                by_undeployed(simulator, block, plan.taker, data.hash, wrapped).await?;
                Ok(Verified { warning: Some(warnings::not_deployed()), ..verified })
            }
        },
    }
}

fn by_key(hash: B256, taker: Address, signature: &[u8]) -> Result<(), Problem> {
    match permit2::recover_signer(hash, signature) {
        Ok(signer) if signer == taker => Ok(()),
        Ok(signer) => Err(invalid(&format!("signed by {}, expected the taker", signer.to_checksum(None)))),
        Err(error) => Err(invalid(&error.to_string())),
    }
}

async fn by_undeployed(
    simulator: &Simulator,
    block: &Block,
    taker: Address,
    hash: B256,
    wrapped: Undeployed,
) -> Result<(), Problem> {
    let question = permit2::is_valid_signature_calldata(hash, wrapped.signature);
    let deployment = Transaction {
        // not the taker: an account that has sent something cannot be created any more
        from: Address::ZERO,
        to: wrapped.factory,
        data: wrapped.factory_calldata,
        value_wei: U256::ZERO,
        gas_limit: DEPLOYMENT_GAS,
    };
    match simulator.run(block, move |fork| view_after(fork, &deployment, taker, question)).await {
        Ok(Ok(answer)) => stands_by(answer.unwrap_or_default()),
        Ok(Err(error)) => {
            tracing::warn!(%error, "an account's deployment could not be simulated");
            Err(silent())
        }
        Err(Unavailable::NoNode) => Err(silent()),
        Err(Unavailable::Work(error)) => Err(error.into()),
    }
}

fn stands_by(answer: Bytes) -> Result<(), Problem> {
    if permit2::is_valid_signature_answer(&answer) {
        return Ok(());
    }
    Err(invalid("the taker's account does not stand by it (EIP-1271)"))
}

fn silent() -> Problem {
    let detail = "the node does not answer, so that the signature could not be verified";
    Problem::new(Code::NotReady, detail).retry_after(2)
}

fn invalid(detail: &str) -> Problem {
    Problem::field(
        Code::Permit2SignatureInvalid,
        FieldError::new("/permit2_signature", FieldCode::Permit2SignatureInvalid, detail),
    )
}
