//! Where state comes from.

use braid_primitives::{Address, B256, Bytes, U256};

/// An account as a block left it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Ether, in wei.
    pub balance_wei: U256,
    /// Transactions sent, or contracts created.
    pub nonce: u64,
    /// Runtime code; empty for an account without code.
    pub code: Bytes,
}

/// State of one block, read on demand. Every answer must be of the same block.
pub trait StateSource: Send + Sync {
    /// The account at an address; the default account where there is none.
    ///
    /// # Errors
    /// [`SourceError`] when the state cannot be had.
    fn account(&self, address: Address) -> Result<Account, SourceError>;

    /// One storage word of an account.
    ///
    /// # Errors
    /// [`SourceError`] when the state cannot be had.
    fn storage(&self, address: Address, slot: U256) -> Result<U256, SourceError>;

    /// The hash of an ancestor block.
    ///
    /// # Errors
    /// [`SourceError`] when the block cannot be had.
    fn block_hash(&self, number: u64) -> Result<B256, SourceError>;
}

/// The node did not serve the state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the node did not serve {what}: {why}")]
pub struct SourceError {
    /// What was asked for.
    pub what: &'static str,
    /// The node's answer in words, without its address.
    pub why: String,
}

impl revm::database_interface::DBErrorMarker for SourceError {}
