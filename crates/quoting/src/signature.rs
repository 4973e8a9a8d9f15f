//! Whether a Permit2 signature is the taker's for its quote, as Permit2 itself will judge it.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use braid_execution::permit2::{self, Undeployed};
use braid_primitives::{Address, B256, Block, Bytes};
use braid_protocols::Call;
use braid_simulation::Caller;
use tokio::sync::Semaphore;

use crate::accounts::Accounts;
use crate::model::Warning;
use crate::problem::{Code, FieldCode, FieldError, Problem};
use crate::stored::Plan;
use crate::warnings;

/// How many accounts that have yet to be deployed are asked at once: the node runs their factories' code.
const DEPLOYMENTS_AT_ONCE: usize = 2;

/// Checks signatures. What code of a caller's choosing may take of the node is bounded for each caller, and for all
/// together.
#[derive(Debug)]
pub(crate) struct Signatures {
    deployments: Semaphore,
    /// Callers whose factories run.
    callers: Mutex<HashSet<Caller>>,
}

impl Default for Signatures {
    fn default() -> Self {
        Self { deployments: Semaphore::new(DEPLOYMENTS_AT_ONCE), callers: Mutex::default() }
    }
}

/// A signature that is the taker's.
#[derive(Clone, Debug)]
pub(crate) struct Verified {
    /// What Permit2 is given: without the wrapping of ERC-6492.
    pub signature: Bytes,
    /// What a caller should know.
    pub warning: Option<Warning>,
}

impl Signatures {
    /// Checks a signature. Permit2 asks an account that has code by EIP-1271, whatever a recovery says, and recovers
    /// the signer where there is none; an account that has yet to be deployed (ERC-6492) is asked after its deployment,
    /// all in one call of the node.
    ///
    /// # Errors
    /// `PERMIT2_SIGNATURE_INVALID` with the reason; `NOT_READY` where the node's word is needed and it does not answer;
    /// `OVERLOADED` for a caller who has such a deployment under way.
    pub(crate) async fn verify(
        &self,
        accounts: &Accounts,
        caller: Caller,
        block: &Block,
        plan: &Plan,
        bytes: &Bytes,
    ) -> Result<Verified, Problem> {
        let Some(data) = permit2::typed_data(&plan.order, plan.program.sent(), &plan.permit) else {
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
                let answers =
                    accounts.answers(block.hash, vec![Call { to: plan.taker, data }]).await.ok_or_else(silent)?;
                stands_by(answers.into_iter().next().flatten().unwrap_or_default()).map(|()| verified)
            }
            Some(false) => match wrapped {
                None => by_key(data.hash, plan.taker, &verified.signature).map(|()| verified),
                Some(wrapped) => {
                    self.by_undeployed(accounts, caller, block, plan.taker, data.hash, wrapped).await?;
                    Ok(Verified { warning: Some(warnings::not_deployed()), ..verified })
                }
            },
        }
    }

    /// Asks an account that has yet to be deployed: its deployment and the question go in one call, of which the state
    /// keeps nothing.
    async fn by_undeployed(
        &self,
        accounts: &Accounts,
        caller: Caller,
        block: &Block,
        taker: Address,
        hash: B256,
        wrapped: Undeployed,
    ) -> Result<(), Problem> {
        let _turn = Turn::of(&self.callers, caller).ok_or_else(|| {
            let detail = "another signature with a factory is being checked for this key; try again when it is";
            Problem::new(Code::Overloaded, detail)
        })?;
        let deployment = Call { to: wrapped.factory, data: wrapped.factory_calldata };
        let question = Call { to: taker, data: permit2::is_valid_signature_calldata(hash, wrapped.signature) };
        let ask = async {
            let _permit = self.deployments.acquire().await;
            accounts.answers(block.hash, vec![deployment, question]).await
        };
        let answers = tokio::time::timeout(accounts.timeout, ask).await.ok().flatten().ok_or_else(silent)?;
        stands_by(answers.into_iter().nth(1).flatten().unwrap_or_default())
    }
}

/// A caller's turn; over when dropped.
struct Turn<'a> {
    callers: &'a Mutex<HashSet<Caller>>,
    caller: Caller,
}

impl<'a> Turn<'a> {
    /// Takes the caller's turn, unless it has one already.
    fn of(callers: &'a Mutex<HashSet<Caller>>, caller: Caller) -> Option<Self> {
        let is_free = callers.lock().unwrap_or_else(PoisonError::into_inner).insert(caller);
        is_free.then_some(Self { callers, caller })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.caller);
    }
}

fn by_key(hash: B256, taker: Address, signature: &[u8]) -> Result<(), Problem> {
    match permit2::recover_signer(hash, signature) {
        Ok(signer) if signer == taker => Ok(()),
        Ok(signer) => Err(invalid(&format!("signed by {}, expected the taker", signer.to_checksum(None)))),
        Err(error) => Err(invalid(&error.to_string())),
    }
}

fn stands_by(answer: Bytes) -> Result<(), Problem> {
    if permit2::is_valid_signature_answer(&answer) {
        return Ok(());
    }
    Err(invalid("the taker's account does not accept it (EIP-1271)"))
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
