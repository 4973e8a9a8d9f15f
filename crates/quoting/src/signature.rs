//! Verifies Permit2 signatures as Permit2 itself does.

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

/// Most undeployed accounts that are asked at once: the node runs their factories' code.
const MAX_DEPLOYMENTS: usize = 2;

/// Verifies signatures. Limits the runs of factories, which are code of a caller's choice, per caller and in all.
#[derive(Debug)]
pub(crate) struct Signatures {
    deployments: Semaphore,
    /// Callers with a factory that runs.
    callers: Mutex<HashSet<Caller>>,
}

impl Default for Signatures {
    fn default() -> Self {
        Self { deployments: Semaphore::new(MAX_DEPLOYMENTS), callers: Mutex::default() }
    }
}

/// A valid signature of the taker.
#[derive(Clone, Debug)]
pub(crate) struct Verified {
    /// The signature for Permit2, without an ERC-6492 wrapper.
    pub signature: Bytes,
    /// Warning to the caller.
    pub warning: Option<Warning>,
}

impl Signatures {
    /// Verifies a signature. As Permit2 does, asks an account with code by EIP-1271, and recovers the signer for one without.
    /// An undeployed account (ERC-6492) is deployed and asked in one call of the node, which changes no state.
    ///
    /// # Errors
    /// `PERMIT2_SIGNATURE_INVALID` with the reason; `NOT_READY` if the node is needed and does not answer; `OVERLOADED` if
    /// another factory of the caller runs.
    pub(crate) async fn verify(
        &self,
        accounts: &Accounts,
        caller: Caller,
        block: &Block,
        plan: &Plan,
        bytes: &Bytes,
    ) -> Result<Verified, Problem> {
        let Some(data) = permit2::typed_data(&plan.order, plan.program.sent(), &plan.permit) else {
            return Err(invalid(
                "the quote sells native ether only, which needs no signature: leave permit2_signature out",
            ));
        };
        let wrapped = permit2::unwrap_erc6492(bytes);
        let signature = wrapped.as_ref().map_or_else(|| bytes.clone(), |wrapped| wrapped.signature.clone());
        let verified = Verified { signature, warning: None };
        match accounts.has_code(block.hash, plan.taker).await {
            // without a node only the recovery is possible
            None => match check_signer(data.hash, plan.taker, &verified.signature) {
                Ok(()) => Ok(verified),
                Err(_) if accounts.node.is_some() => Err(no_answer()),
                Err(problem) => {
                    let asks = "only a service with a node can ask a contract wallet";
                    Err(invalid(&format!("{}; {asks}", problem.detail)))
                }
            },
            Some(true) => {
                let data = permit2::is_valid_signature_calldata(data.hash, verified.signature.clone());
                let answers =
                    accounts.answers(block.hash, vec![Call { to: plan.taker, data }]).await.ok_or_else(no_answer)?;
                check_eip1271_answer(answers.into_iter().next().flatten().unwrap_or_default()).map(|()| verified)
            }
            Some(false) => match wrapped {
                None => check_signer(data.hash, plan.taker, &verified.signature).map(|()| verified),
                Some(wrapped) => {
                    self.check_undeployed(accounts, caller, block, plan.taker, data.hash, wrapped).await?;
                    Ok(Verified { warning: Some(warnings::not_deployed()), ..verified })
                }
            },
        }
    }

    /// Deploys an account and asks it, in one call of the node that changes no state.
    async fn check_undeployed(
        &self,
        accounts: &Accounts,
        caller: Caller,
        block: &Block,
        taker: Address,
        hash: B256,
        wrapped: Undeployed,
    ) -> Result<(), Problem> {
        let _slot = FactorySlot::take(&self.callers, caller).ok_or_else(|| {
            let detail = "another signature with a factory is being verified for this key: retry after it";
            Problem::new(Code::Overloaded, detail)
        })?;
        let deployment = Call { to: wrapped.factory, data: wrapped.factory_calldata };
        let question = Call { to: taker, data: permit2::is_valid_signature_calldata(hash, wrapped.signature) };
        let ask = async {
            let _permit = self.deployments.acquire().await;
            accounts.answers(block.hash, vec![deployment, question]).await
        };
        let answers = tokio::time::timeout(accounts.timeout, ask).await.ok().flatten().ok_or_else(no_answer)?;
        check_eip1271_answer(answers.into_iter().nth(1).flatten().unwrap_or_default())
    }
}

/// A caller's right to run a factory, until dropped.
struct FactorySlot<'a> {
    callers: &'a Mutex<HashSet<Caller>>,
    caller: Caller,
}

impl<'a> FactorySlot<'a> {
    /// Takes the caller's slot; `None` if it is taken.
    fn take(callers: &'a Mutex<HashSet<Caller>>, caller: Caller) -> Option<Self> {
        let is_free = callers.lock().unwrap_or_else(PoisonError::into_inner).insert(caller);
        is_free.then_some(Self { callers, caller })
    }
}

impl Drop for FactorySlot<'_> {
    fn drop(&mut self) {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.caller);
    }
}

fn check_signer(hash: B256, taker: Address, signature: &[u8]) -> Result<(), Problem> {
    match permit2::recover_signer(hash, signature) {
        Ok(signer) if signer == taker => Ok(()),
        Ok(signer) => Err(invalid(&format!("signed by {}, expected the taker", signer.to_checksum(None)))),
        Err(error) => Err(invalid(&error.to_string())),
    }
}

fn check_eip1271_answer(answer: Bytes) -> Result<(), Problem> {
    if permit2::is_valid_signature_answer(&answer) {
        return Ok(());
    }
    Err(invalid("the taker's account rejects the signature (EIP-1271)"))
}

fn no_answer() -> Problem {
    let detail = "the node does not answer, so the signature is unverified: retry";
    Problem::new(Code::NotReady, detail).retry_after(2)
}

fn invalid(detail: &str) -> Problem {
    Problem::field(
        Code::Permit2SignatureInvalid,
        FieldError::new("/permit2_signature", FieldCode::Permit2SignatureInvalid, detail),
    )
}
