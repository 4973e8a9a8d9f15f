//! Whether a Permit2 signature is the taker's for its quote.

use braid_execution::permit2;
use braid_primitives::{B256, Bytes};
use braid_protocols::Call;

use super::stored::Plan;
use crate::app::App;
use crate::feed::Published;
use crate::problem::{FieldCode, FieldError, Problem};

/// Checks a signature: by recovery for an account with a key, by EIP-1271 for one with code.
///
/// # Errors
/// `PERMIT2_SIGNATURE_INVALID` with the reason.
pub async fn verify(app: &App, published: &Published, plan: &Plan, signature: &Bytes) -> Result<(), Problem> {
    let Some(data) = permit2::typed_data(&plan.order, &plan.program.bytes, &plan.permit) else {
        return Err(invalid("the quote sells native ether only: there is nothing to permit"));
    };
    let recovered = permit2::recover_signer(data.hash, signature);
    if recovered.as_ref().is_ok_and(|signer| *signer == plan.taker) {
        return Ok(());
    }
    if by_contract(app, published.head.block().hash, plan, data.hash, signature).await? {
        return Ok(());
    }
    Err(match recovered {
        Ok(signer) => invalid(&format!("signed by {}, expected the taker", signer.to_checksum(None))),
        Err(error) => invalid(&error.to_string()),
    })
}

async fn by_contract(app: &App, block: B256, plan: &Plan, hash: B256, signature: &Bytes) -> Result<bool, Problem> {
    let Some(node) = &app.node else { return Ok(false) };
    let data = permit2::is_valid_signature_calldata(hash, signature.clone());
    let question = async {
        if node.code(block, plan.taker).await?.is_empty() {
            return Ok(false);
        }
        let answers = node.read(block, vec![Call { to: plan.taker, data }]).await?;
        let answer = answers.into_iter().next().flatten().unwrap_or_default();
        Ok::<bool, braid_ethereum::NodeError>(permit2::is_valid_signature_answer(&answer))
    };
    match tokio::time::timeout(app.config.account_timeout, question).await {
        Ok(Ok(valid)) => Ok(valid),
        Ok(Err(error)) => {
            tracing::warn!(%error, "the node could not be asked about a contract's signature");
            Ok(false)
        }
        Err(_) => Ok(false),
    }
}

fn invalid(detail: &str) -> Problem {
    Problem::field(
        crate::problem::Code::Permit2SignatureInvalid,
        FieldError::new("/permit2_signature", FieldCode::Permit2SignatureInvalid, detail),
    )
}
