//! A client of a node, for sending transactions.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use alloy::network::EthereumWallet;
use alloy::providers::{DynProvider, Provider as _, ProviderBuilder};
use alloy::rpc::types::{TransactionReceipt, TransactionRequest};
use alloy::signers::local::PrivateKeySigner;
use alloy::transports::{RpcError, TransportError, TransportErrorKind};
use braid_execution::proxy;
use braid_primitives::{Address, B256};
use eyre::{Result, eyre};
use indicatif::ProgressBar;

use crate::exit::{Exit, Failed};
use crate::out;

/// Timeout of a request to a node.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Timeout for a transaction to be mined.
const MINED_TIMEOUT: Duration = Duration::from_secs(600);

/// True from the first transaction on that this process gave to a node.
static HAS_SENT: AtomicBool = AtomicBool::new(false);

/// Returns whether this process may have sent a transaction.
pub(crate) fn has_sent() -> bool {
    HAS_SENT.load(Ordering::Relaxed)
}

/// Code at the proxy's address.
pub(crate) enum ProxyCode {
    Proxy,
    None,
    Other(B256),
}

/// A node of the expected chain.
pub(crate) struct Chain {
    pub provider: DynProvider,
    pub id: u64,
    /// Scheme, host and port of the node's URL, without path and credentials, which may be secret.
    pub host: String,
}

impl Chain {
    /// Connects to a node. Signs transactions with the key, if given.
    pub(crate) async fn connect(url: &str, key: Option<PrivateKeySigner>) -> Result<Self> {
        braid_ethereum::Endpoint::parse(url)?;
        let host = host_of(url);
        let provider = match key {
            Some(key) => {
                let builder = ProviderBuilder::new().wallet(EthereumWallet::from(key));
                answer(&host, builder.connect(url)).await?.erased()
            }
            None => answer(&host, ProviderBuilder::new().connect(url)).await?.erased(),
        };
        let id = answer(&host, async { provider.get_chain_id().await }).await?;
        Ok(Self { provider, id, host })
    }

    /// Refuses another chain than the expected one. `advice` says what else the caller can do.
    pub(crate) fn expect(self, chain_id: u64, advice: impl FnOnce(u64) -> String) -> Result<Self> {
        if self.id == chain_id {
            return Ok(self);
        }
        let (host, got, advice) = (&self.host, self.id, advice(self.id));
        Err(eyre!("the node at {host} is on chain {got}, not {chain_id}: name a node of that chain{advice}"))
    }

    pub(crate) async fn ask<T>(&self, question: impl Future<Output = Result<T, TransportError>>) -> Result<T> {
        answer(&self.host, question).await
    }

    /// Sends a transaction and waits for its block.
    pub(crate) async fn send(&self, transaction: TransactionRequest) -> Result<TransactionReceipt> {
        HAS_SENT.store(true, Ordering::Relaxed);
        let pending = self.ask(self.provider.send_transaction(transaction)).await?;
        let hash = *pending.tx_hash();
        // say it before the wait: whoever ends the command meanwhile can still look it up
        out::note(format_args!("sent {hash}, waiting for its block"));
        let spinner = ProgressBar::new_spinner().with_message("waiting");
        spinner.enable_steady_tick(Duration::from_millis(100));
        let receipt = pending.with_timeout(Some(MINED_TIMEOUT)).get_receipt().await;
        spinner.finish_and_clear();
        receipt.map_err(|_| {
            eyre!(
                "{hash} is sent, but not mined within {} s: look it up before anything is sent again",
                MINED_TIMEOUT.as_secs()
            )
        })
    }

    /// Returns the hash of the code at an address; `None` if it has no code.
    pub(crate) async fn code_hash(&self, address: Address) -> Result<Option<B256>> {
        let code = self.ask(async { self.provider.get_code_at(address).await }).await?;
        Ok((!code.is_empty()).then(|| alloy::primitives::keccak256(code)))
    }

    /// Checks the code at the proxy's address.
    pub(crate) async fn proxy(&self) -> Result<ProxyCode> {
        Ok(match self.code_hash(proxy::address()).await? {
            None => ProxyCode::None,
            Some(hash) if hash == proxy::code_hash() => ProxyCode::Proxy,
            Some(hash) => ProxyCode::Other(hash),
        })
    }
}

/// Waits for a node's answer, with an error of one sentence.
async fn answer<T>(host: &impl fmt::Display, question: impl Future<Output = Result<T, TransportError>>) -> Result<T> {
    let answered = tokio::time::timeout(TIMEOUT, question).await;
    let answered = answered.map_err(|_| {
        Failed::new(Exit::Unreachable, format!("the node at {host} gave no answer within {} s", TIMEOUT.as_secs()))
    })?;
    answered.map_err(|error| match error {
        RpcError::ErrorResp(refusal) => eyre!("the node at {host} refused: {}", refusal.message),
        RpcError::Transport(kind) => {
            Failed::new(Exit::Unreachable, format!("cannot reach the node at {host}{}", reason(&kind))).into()
        }
        _ => eyre!("the node at {host} gave an answer that cannot be decoded"),
    })
}

/// Returns the operating system's reason of a failure, after a colon. Texts of libraries may contain the whole URL, with a
/// key in it.
fn reason(error: &TransportErrorKind) -> String {
    let (mut cause, mut of_system): (&dyn std::error::Error, _) = (error, None);
    while let Some(inner) = cause.source() {
        of_system = inner.downcast_ref::<std::io::Error>().or(of_system);
        cause = inner;
    }
    of_system.map(|error| format!(": {error}")).unwrap_or_default()
}

/// Returns scheme, host and port of a URL; the path of a socket.
pub(crate) fn host_of(url: &str) -> String {
    match reqwest::Url::parse(url) {
        Ok(parsed) if parsed.has_host() => {
            let port = parsed.port().map(|port| format!(":{port}")).unwrap_or_default();
            format!("{}://{}{port}", parsed.scheme(), parsed.host_str().unwrap_or_default())
        }
        _ => url.to_owned(),
    }
}
