//! State read from a node, pinned to a block hash.

use std::time::Duration;

use braid_ethereum::{Node, NodeError};
use braid_primitives::{Address, B256, U256};
use tokio::runtime::Handle;

use crate::{Account, SourceError, StateSource};

/// How long one read may take before the simulation is given up as unavailable.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// The state of one block of a node.
pub struct NodeState {
    node: Node,
    block_hash: B256,
    runtime: Handle,
}

impl NodeState {
    /// The state after the block of that hash. `runtime` drives the requests while the calling threads wait for them.
    pub fn new(node: Node, block_hash: B256, runtime: Handle) -> Self {
        Self { node, block_hash, runtime }
    }

    fn wait<T>(&self, what: &'static str, read: impl Future<Output = Result<T, NodeError>>) -> Result<T, SourceError> {
        match self.runtime.block_on(async { tokio::time::timeout(READ_TIMEOUT, read).await }) {
            Ok(answer) => answer.map_err(|error| SourceError { what, why: error.to_string() }),
            Err(_) => Err(SourceError { what, why: "it took too long".into() }),
        }
    }
}

impl StateSource for NodeState {
    fn account(&self, address: Address) -> Result<Account, SourceError> {
        let state = self.wait("an account", self.node.account(self.block_hash, address))?;
        Ok(Account { balance_wei: state.balance_wei, nonce: state.nonce, code: state.code })
    }

    fn storage(&self, address: Address, slot: U256) -> Result<U256, SourceError> {
        self.wait("a storage word", self.node.storage(self.block_hash, address, slot))
    }

    fn block_hash(&self, number: u64) -> Result<B256, SourceError> {
        let block = self.wait("a block hash", self.node.block_at(number))?;
        let unknown = || SourceError { what: "a block hash", why: "the block is unknown".into() };
        block.map(|block| block.hash).ok_or_else(unknown)
    }
}
