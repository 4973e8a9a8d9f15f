//! Single accounts and storage words at a block, for simulations on forked state.

use braid_primitives::{Address, B256, Bytes, U256};
use serde_json::json;

use super::{
    client::Request,
    connect::Node,
    health::Class,
    wire::{at, parse},
};
use crate::NodeError;

/// An account as a block left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountState {
    /// Ether, in wei.
    pub balance_wei: U256,
    /// Transactions sent, or contracts created.
    pub nonce: u64,
    /// Runtime code; empty for an account without code.
    pub code: Bytes,
}

impl Node {
    /// An account's ether in wei, at a block.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn native_balance(&self, block_hash: B256, account: Address) -> Result<U256, NodeError> {
        self.get("eth_getBalance", json!([account, at(block_hash)])).await
    }

    /// An account's code at a block; empty for an account without code.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn code(&self, block_hash: B256, account: Address) -> Result<Bytes, NodeError> {
        self.get("eth_getCode", json!([account, at(block_hash)])).await
    }

    /// An account at a block, in one message.
    ///
    /// # Errors
    /// [`NodeError`] when the node does not answer, or does not know the block.
    pub async fn account(&self, block_hash: B256, account: Address) -> Result<AccountState, NodeError> {
        const METHODS: [&str; 3] = ["eth_getBalance", "eth_getTransactionCount", "eth_getCode"];
        let requests = &METHODS.map(|method| Request { method, params: json!([account, at(block_hash)]) });
        self.ask(Class::Quick, |member| async move {
            let mut answers = member.connection.batch(requests).await?.into_iter();
            let mut next = |method| {
                let missing = || NodeError::Malformed { method, why: "there is no answer".into() };
                answers.next().unwrap_or_else(|| Err(missing()))
            };
            let balance_wei = parse(METHODS[0], &next(METHODS[0])?)?;
            let nonce: alloy::primitives::U64 = parse(METHODS[1], &next(METHODS[1])?)?;
            let code = parse(METHODS[2], &next(METHODS[2])?)?;
            Ok(AccountState { balance_wei, nonce: nonce.to(), code })
        })
        .await
    }

    /// A storage word at a block.
    ///
    /// # Errors
    /// [`NodeError`] when the node does not answer, or does not know the block.
    pub async fn storage(&self, block_hash: B256, account: Address, slot: U256) -> Result<U256, NodeError> {
        self.get("eth_getStorageAt", json!([account, B256::from(slot), at(block_hash)])).await
    }
}
