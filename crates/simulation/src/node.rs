//! State read from a node over JSON-RPC, pinned to a block hash.

use std::time::Duration;

use alloy::eips::BlockId;
use alloy::providers::{DynProvider, Provider};
use alloy::transports::{RpcError, TransportErrorKind};
use braid_primitives::{Address, B256, U256};
use tokio::runtime::Handle;

use crate::{Account, SourceError, StateSource};

/// How long one read may take before the simulation is given up as unavailable.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// The state of one block of a node.
pub struct NodeState {
    provider: DynProvider,
    block: BlockId,
    runtime: Handle,
}

impl NodeState {
    /// The state after the block of that hash. `runtime` drives the requests; the calling threads wait for them.
    pub fn new(provider: DynProvider, block_hash: B256, runtime: Handle) -> Self {
        Self { provider, block: BlockId::hash(block_hash), runtime }
    }

    fn wait<T>(
        &self,
        what: &'static str,
        read: impl Future<Output = Result<T, RpcError<TransportErrorKind>>>,
    ) -> Result<T, SourceError> {
        let answer = self.runtime.block_on(async { tokio::time::timeout(READ_TIMEOUT, read).await });
        match answer {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(RpcError::ErrorResp(error))) => Err(SourceError { what, why: error.message.to_string() }),
            Ok(Err(_)) => Err(SourceError { what, why: "the connection failed".into() }),
            Err(_) => Err(SourceError { what, why: "it took too long".into() }),
        }
    }
}

impl StateSource for NodeState {
    fn account(&self, address: Address) -> Result<Account, SourceError> {
        self.wait("an account", async {
            let (balance, nonce, code) = tokio::try_join!(
                async { self.provider.get_balance(address).block_id(self.block).await },
                async { self.provider.get_transaction_count(address).block_id(self.block).await },
                async { self.provider.get_code_at(address).block_id(self.block).await },
            )?;
            Ok(Account { balance_wei: balance, nonce, code })
        })
    }

    fn storage(&self, address: Address, slot: U256) -> Result<U256, SourceError> {
        self.wait("a storage word", async { self.provider.get_storage_at(address, slot).block_id(self.block).await })
    }

    fn block_hash(&self, number: u64) -> Result<B256, SourceError> {
        let block = self.wait("a block hash", async { self.provider.get_block_by_number(number.into()).await })?;
        let missing = || SourceError { what: "a block hash", why: "the block is unknown".into() };
        block.map(|block| block.header.hash).ok_or_else(missing)
    }
}
