//! Whether the execution proxy is on the chain.

use std::sync::{Mutex, PoisonError};

use braid_ethereum::{Node, NodeError};
use braid_primitives::B256;

/// What stands at the proxy's address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProxyState {
    /// Nobody looked yet, or the node did not answer.
    #[default]
    Unknown,
    /// The proxy that quotes are made for.
    Deployed,
    /// Nothing.
    Missing,
    /// Other code.
    Foreign,
}

/// Remembers what was found last.
#[derive(Debug, Default)]
pub struct ProxyWatch(Mutex<ProxyState>);

impl ProxyWatch {
    /// Returns what was found last.
    pub fn state(&self) -> ProxyState {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the address at a block, and logs what it found when that is news.
    ///
    /// # Errors
    /// When the node does not answer.
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
                tracing::warn!(%address, "the execution proxy is not deployed: transactions would do nothing");
            }
            ProxyState::Foreign | ProxyState::Unknown => {
                tracing::error!(%address, "the code at the execution proxy's address is not the proxy's");
            }
        }
        Ok(found)
    }
}
