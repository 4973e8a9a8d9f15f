//! What a wallet does with a quote: approve or sign, and send. For alloy's providers and signers.

use alloy::network::Ethereum;
use alloy::providers::{PendingTransactionBuilder, PendingTransactionError, Provider};
use alloy::rpc::types::TransactionRequest;
use alloy::signers::Signer;
use alloy::transports::{RpcError, TransportErrorKind};
use alloy_primitives::{Address, B256, Bytes};
use alloy_sol_types::SolCall as _;

use crate::permit2::PERMIT2;
use crate::proxy::{Ordered, order_of};
use crate::{Approval, Braid, Built, Call, Permit2, Quote, SigningError, Transaction, Warning};

use erc20::approveCall;

mod erc20 {
    alloy_sol_types::sol! {
        function approve(address spender, uint256 amount) external returns (bool);
    }
}

/// A step on the way to the chain that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WalletError {
    /// The node refused a transaction, or did not answer.
    #[error("the node: {0}")]
    Node(#[from] RpcError<TransportErrorKind>),
    /// A transaction was sent, and its receipt did not come.
    #[error("the receipt: {0}")]
    Receipt(#[from] PendingTransactionError),
    /// An approval was mined and reverted.
    #[error("the transaction {0} reverted")]
    Reverted(B256),
    /// The simulation of the swap reverted: nothing was sent.
    #[error("the simulation reverted: {0}")]
    SimulationReverted(String),
    /// The execution proxy is not deployed, and nothing was sent: an address without code keeps the ether that it is sent.
    #[error("{0}")]
    ProxyNotDeployed(String),
    /// The transaction is to another contract than the execution proxy, and nothing was sent: whoever answers in the
    /// service's place could name any.
    #[error("the transaction is to {to}, not to the execution proxy {proxy}")]
    NotToProxy {
        /// Where the transaction goes.
        to: Address,
        /// The proxy that the client knows.
        proxy: Address,
    },
    /// The transaction calls something else of the proxy than a swap, and nothing was sent.
    #[error("the transaction calls no swap of the execution proxy")]
    NoSwap,
    /// The order that would be signed or sent is not the quote's, and nothing was.
    #[error("the order takes more than the quote says, pays less, or pays somebody else")]
    OtherOrder,
    /// Somebody other than the proxy or Permit2 would be allowed to take tokens, and nothing was sent or signed.
    #[error("{spender} would take the tokens, which is not the execution proxy {proxy}")]
    OtherSpender {
        /// Who would take them.
        spender: Address,
        /// The proxy that the client knows.
        proxy: Address,
    },
    /// A transaction of an approval does something else, and nothing was sent: whoever answers in the service's place
    /// could name a transfer as an approval.
    #[error("a transaction of the approvals is not an approval of {spender} to take {token}")]
    NoApproval {
        /// The token that the approval names.
        token: Address,
        /// Who may take it, by the approval or, for a signature, Permit2.
        spender: Address,
    },
    /// The typed data is not to be signed.
    #[error(transparent)]
    Typed(#[from] SigningError),
    /// The signer refused.
    #[error("the signer: {0}")]
    Signer(#[from] alloy::signers::Error),
    /// The service did not answer.
    #[error(transparent)]
    Service(#[from] crate::Error),
}

/// Lets the proxy take the inputs: by Permit2 where the quote has something to sign (approving Permit2 first where that
/// is missing), by approvals of the proxy otherwise. Waits until the service knows of the approvals. Gives the
/// signature for the build, `None` where none is needed.
pub async fn authorize<P: Provider, S: Signer>(
    braid: &Braid,
    provider: &P,
    signer: &S,
    quote: &Quote,
) -> Result<Option<Bytes>, WalletError> {
    refuse_without_proxy(&quote.warnings)?;
    if let Some(permit2) = &quote.permit2 {
        let terms = permit2.terms()?;
        refuse_other_spender(braid, terms.spender)?;
        refuse_other_order(quote, &terms.into())?;
        if let Some(Approval { token, .. }) = permit2.approvals.iter().find(|approval| approval.spender != PERMIT2) {
            return Err(WalletError::NoApproval { token: *token, spender: PERMIT2 });
        }
    }
    let approvals = quote.permit2.as_ref().map_or(&quote.approvals, |permit2| &permit2.approvals);
    if let Some(block_number) = approve(braid, provider, approvals).await? {
        braid.reached(block_number).await?;
    }
    match &quote.permit2 {
        Some(permit2) => Ok(Some(sign(braid, signer, permit2).await?)),
        None => Ok(None),
    }
}

/// Sends the approvals that are missing, one after the other, and waits for each. Gives the block of the last. Sends no
/// other call than an approval of the proxy or Permit2.
pub async fn approve<P: Provider>(
    braid: &Braid,
    provider: &P,
    approvals: &[Approval],
) -> Result<Option<u64>, WalletError> {
    let mut last = None;
    let missing: Vec<_> = approvals.iter().filter(|approval| approval.satisfied != Some(true)).collect();
    for approval in &missing {
        if !approval.transactions.iter().all(|call| is_approval(approval, call)) {
            return Err(WalletError::NoApproval { token: approval.token, spender: approval.spender });
        }
        if approval.spender != PERMIT2 {
            refuse_other_spender(braid, approval.spender)?;
        }
    }
    for call in missing.into_iter().flat_map(|approval| &approval.transactions) {
        let request = TransactionRequest::default().to(call.to).input(call.data.clone().into()).value(call.value);
        let receipt = provider.send_transaction(request).await?.get_receipt().await?;
        if !receipt.status() {
            return Err(WalletError::Reverted(receipt.transaction_hash));
        }
        last = receipt.block_number;
    }
    Ok(last)
}

fn is_approval(approval: &Approval, call: &Call) -> bool {
    let spender = approveCall::abi_decode(&call.data).ok().map(|approve| approve.spender);
    call.to == approval.token && call.value.is_zero() && spender == Some(approval.spender)
}

/// Signs a quote's typed data, whose hash is worked out here, unless another contract than the proxy could use it.
pub async fn sign<S: Signer>(braid: &Braid, signer: &S, permit2: &Permit2) -> Result<Bytes, WalletError> {
    let terms = permit2.terms()?;
    refuse_other_spender(braid, terms.spender)?;
    Ok(signer.sign_hash(&terms.hash).await?.as_bytes().into())
}

/// Sends the transaction of a quote's build, unless it is not the quote's order to the proxy, its simulation reverted, or
/// the proxy is not deployed.
pub async fn send<P: Provider>(
    braid: &Braid,
    provider: &P,
    quote: &Quote,
    built: &Built,
) -> Result<PendingTransactionBuilder<Ethereum>, WalletError> {
    refuse_without_proxy(&built.warnings)?;
    let (to, proxy) = (built.transaction.to, braid.proxy());
    if to != proxy {
        return Err(WalletError::NotToProxy { to, proxy });
    }
    let order = order_of(&built.transaction.data).ok_or(WalletError::NoSwap)?;
    refuse_other_order(quote, &order)?;
    if let Some(revert) = built.simulation.as_ref().and_then(|simulation| simulation.revert.as_ref()) {
        return Err(WalletError::SimulationReverted(revert.message.clone()));
    }
    Ok(provider.send_transaction((&built.transaction).into()).await?)
}

fn refuse_other_spender(braid: &Braid, spender: Address) -> Result<(), WalletError> {
    let proxy = braid.proxy();
    if spender == proxy { Ok(()) } else { Err(WalletError::OtherSpender { spender, proxy }) }
}

fn refuse_other_order(quote: &Quote, order: &Ordered) -> Result<(), WalletError> {
    if order.keeps(quote) { Ok(()) } else { Err(WalletError::OtherOrder) }
}

fn refuse_without_proxy(warnings: &[Warning]) -> Result<(), WalletError> {
    match warnings.iter().find(|warning| warning.code == "PROXY_NOT_DEPLOYED") {
        Some(warning) => Err(WalletError::ProxyNotDeployed(warning.message.clone())),
        None => Ok(()),
    }
}

impl From<&Transaction> for TransactionRequest {
    fn from(transaction: &Transaction) -> Self {
        Self {
            chain_id: Some(transaction.chain_id),
            gas: Some(transaction.gas),
            max_fee_per_gas: Some(transaction.max_fee_per_gas),
            max_priority_fee_per_gas: Some(transaction.max_priority_fee_per_gas),
            ..Self::default()
                .from(transaction.from)
                .to(transaction.to)
                .input(transaction.data.clone().into())
                .value(transaction.value)
        }
    }
}
