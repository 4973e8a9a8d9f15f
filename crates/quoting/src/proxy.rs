//! Checks whether the execution proxy is deployed.

use std::sync::{Mutex, PoisonError};

use braid_ethereum::{Node, NodeError};
use braid_primitives::B256;

/// State of the proxy's address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProxyState {
    /// Not checked yet, or the node did not answer.
    #[default]
    Unknown,
    /// The proxy of this version.
    Deployed,
    /// No code.
    Missing,
    /// Other code.
    Foreign,
}

/// The latest known state of the proxy's address.
#[derive(Debug, Default)]
pub struct ProxyWatch(Mutex<ProxyState>);

impl ProxyWatch {
    /// Returns the latest known state.
    pub fn state(&self) -> ProxyState {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks the address at a block, and logs a changed state.
    ///
    /// # Errors
    /// If the node does not answer.
    pub async fn look(&self, node: &Node, block_hash: B256) -> Result<ProxyState, NodeError> {
        let address = braid_execution::proxy::address();
        let code = node.code(block_hash, address).await?;
        let found = match code.as_ref() {
            [] => ProxyState::Missing,
            code if braid_execution::proxy::is_proxy_code(code) => ProxyState::Deployed,
            _ => ProxyState::Foreign,
        };
        let before = std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), found);
        match found {
            found if found == before => {}
            ProxyState::Deployed => tracing::info!(%address, "the execution proxy is deployed"),
            ProxyState::Missing => {
                tracing::warn!(%address, "the execution proxy is not deployed: transactions would swap nothing");
            }
            ProxyState::Foreign | ProxyState::Unknown => {
                tracing::error!(%address, "the code at the execution proxy's address is not the proxy's");
            }
        }
        Ok(found)
    }
}
