//! A wallet with the taker's public key pair. It signs locally and sends raw transactions to the node.

use std::time::Duration;

use alloy::{
    consensus::{SignableTransaction, TxEip1559, TxEnvelope},
    eips::Encodable2718,
    network::TxSignerSync,
    primitives::{Address, B256, Bytes, TxKind, U256},
    signers::local::PrivateKeySigner,
};
use braid_devnet::rpc::Rpc;
use eyre::{WrapErr, bail};
use serde::Deserialize;
use serde_json::{Value, json};

/// Interval between two requests for a receipt, and how long they go on.
const POLL: Duration = Duration::from_millis(100);
const RECEIPT_TIMEOUT: Duration = Duration::from_secs(60);

/// A transaction to sign.
pub(crate) struct Unsigned {
    pub(crate) to: Address,
    pub(crate) data: Bytes,
    pub(crate) value_wei: U256,
    pub(crate) gas_units: Option<u64>,
    /// The maximum fee and the maximum priority fee, per gas unit, in wei.
    pub(crate) fees_wei: Option<(u128, u128)>,
}

/// The fields of a mined transaction's receipt that the demo uses.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Receipt {
    pub(crate) transaction_hash: B256,
    pub(crate) block_number: U256,
    pub(crate) gas_used: U256,
    pub(crate) effective_gas_price: U256,
    status: U256,
}

impl Receipt {
    pub(crate) fn fee_wei(&self) -> U256 {
        self.gas_used.saturating_mul(self.effective_gas_price)
    }
}

pub(crate) struct Wallet<'a> {
    rpc: &'a Rpc,
    signer: PrivateKeySigner,
}

impl<'a> Wallet<'a> {
    pub(crate) fn new(rpc: &'a Rpc, key: B256) -> eyre::Result<Self> {
        Ok(Self { rpc, signer: PrivateKeySigner::from_bytes(&key)? })
    }

    pub(crate) fn address(&self) -> Address {
        self.signer.address()
    }

    /// Signs a transaction, sends it, and returns its receipt once it has succeeded. Refuses to call an address without
    /// code, because such a call would succeed and do nothing.
    pub(crate) async fn send(&self, what: &str, unsigned: Unsigned) -> eyre::Result<Receipt> {
        let code: Bytes = self.rpc.get("eth_getCode", json!([unsigned.to, "latest"])).await?;
        if code.is_empty() {
            bail!("the {what} goes to {}, where there is no contract on this node's chain", unsigned.to);
        }
        let raw = self.sign(&unsigned).await.wrap_err_with(|| format!("cannot prepare the {what}"))?;
        let hash: B256 = self.rpc.get("eth_sendRawTransaction", json!([raw])).await?;
        let receipt = tokio::time::timeout(RECEIPT_TIMEOUT, self.receipt(hash))
            .await
            .map_err(|_| eyre::eyre!("the {what} {hash} was not mined within {RECEIPT_TIMEOUT:?}"))??;
        if receipt.status.is_zero() {
            bail!("the {what} {hash} reverted");
        }
        Ok(receipt)
    }

    async fn sign(&self, unsigned: &Unsigned) -> eyre::Result<Bytes> {
        let from = self.address();
        let nonce: U256 = self.rpc.get("eth_getTransactionCount", json!([from, "pending"])).await?;
        let gas_limit = match unsigned.gas_units {
            Some(gas) => gas,
            None => self.estimate(unsigned).await?,
        };
        let (max_fee_per_gas, max_priority_fee_per_gas) = match unsigned.fees_wei {
            Some(fees) => fees,
            None => self.fees().await?,
        };
        let mut tx = TxEip1559 {
            chain_id: 1,
            nonce: nonce.saturating_to(),
            gas_limit,
            max_fee_per_gas,
            max_priority_fee_per_gas,
            to: TxKind::Call(unsigned.to),
            value: unsigned.value_wei,
            input: unsigned.data.clone(),
            ..TxEip1559::default()
        };
        let signature = self.signer.sign_transaction_sync(&mut tx)?;
        Ok(TxEnvelope::from(tx.into_signed(signature)).encoded_2718().into())
    }

    async fn estimate(&self, unsigned: &Unsigned) -> eyre::Result<u64> {
        let call =
            json!({"from": self.address(), "to": unsigned.to, "data": unsigned.data, "value": unsigned.value_wei});
        let gas: U256 = self.rpc.get("eth_estimateGas", json!([call])).await?;
        Ok(gas.saturating_to::<u64>().saturating_mul(6) / 5)
    }

    /// Returns twice the base fee plus the tip, and a tip of one gwei, in wei.
    async fn fees(&self) -> eyre::Result<(u128, u128)> {
        let tip = 1_000_000_000_u128;
        let block = self.rpc.call("eth_getBlockByNumber", json!(["latest", false])).await?;
        let base: U256 = serde_json::from_value(block.get("baseFeePerGas").cloned().unwrap_or_default())?;
        Ok((base.saturating_to::<u128>().saturating_mul(2).saturating_add(tip), tip))
    }

    async fn receipt(&self, hash: B256) -> eyre::Result<Receipt> {
        loop {
            let answer = self.rpc.call("eth_getTransactionReceipt", json!([hash])).await?;
            if answer != Value::Null {
                return Ok(serde_json::from_value(answer)?);
            }
            tokio::time::sleep(POLL).await;
        }
    }
}
