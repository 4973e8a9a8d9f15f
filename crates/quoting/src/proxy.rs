//! Whether the execution proxy is on the chain.

use std::sync::atomic::{AtomicU8, Ordering};

use braid_ethereum::{Node, NodeError};
use braid_primitives::B256;

/// What stands at the proxy's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyState {
    /// Nobody looked yet, or the node did not answer.
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
pub struct ProxyWatch(AtomicU8);

impl ProxyWatch {
    /// What was found last.
    pub fn state(&self) -> ProxyState {
        match self.0.load(Ordering::Relaxed) {
            1 => ProxyState::Deployed,
            2 => ProxyState::Missing,
            3 => ProxyState::Foreign,
            _ => ProxyState::Unknown,
        }
    }

    /// Looks at the address at a block. Says in the log what it found when that is news.
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
        if self.replace(found) != found {
            match found {
                ProxyState::Deployed => tracing::info!(%address, "the execution proxy is deployed"),
                ProxyState::Missing => {
                    tracing::warn!(%address, "the execution proxy is not deployed: transactions would do nothing");
                }
                ProxyState::Foreign | ProxyState::Unknown => {
                    tracing::error!(%address, "other code stands at the execution proxy's address");
                }
            }
        }
        Ok(found)
    }

    fn replace(&self, state: ProxyState) -> ProxyState {
        let before = self.state();
        let number = match state {
            ProxyState::Unknown => 0,
            ProxyState::Deployed => 1,
            ProxyState::Missing => 2,
            ProxyState::Foreign => 3,
        };
        self.0.store(number, Ordering::Relaxed);
        before
    }
}
