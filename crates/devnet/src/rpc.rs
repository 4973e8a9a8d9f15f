//! JSON-RPC calls to a node by method name.

use alloy::{
    primitives::{Address, B256, Bytes, U256},
    rpc::client::{ClientBuilder, RpcClient},
    sol_types::SolCall,
};
use serde_json::{Value, json};

use crate::DevnetError;

/// A JSON-RPC client of a node over http.
#[derive(Debug, Clone)]
pub struct Rpc {
    client: RpcClient,
}

/// A transaction for `eth_sendTransaction`. The sender must be unlocked or impersonated.
#[derive(Debug, Clone)]
pub struct Tx {
    /// The sender.
    pub from: Address,
    /// The target.
    pub to: Address,
    /// Calldata.
    pub data: Bytes,
    /// The ether sent with it, in wei.
    pub value_wei: U256,
    /// The gas limit; estimated by the node if absent.
    pub gas_units: Option<u64>,
}

impl Tx {
    /// Creates a call of a contract's function, without ether.
    pub fn call<C: SolCall>(from: Address, to: Address, call: &C) -> Self {
        Self { from, to, data: call.abi_encode().into(), value_wei: U256::ZERO, gas_units: None }
    }

    /// Returns the same transaction with this gas limit.
    #[must_use]
    pub fn gas(mut self, units: u64) -> Self {
        self.gas_units = Some(units);
        self
    }

    fn to_json(&self) -> Value {
        let mut tx = json!({"from": self.from, "to": self.to, "data": self.data, "value": self.value_wei});
        if let Some(gas) = self.gas_units {
            tx["gas"] = json!(U256::from(gas));
        }
        tx
    }
}

impl Rpc {
    /// Creates a client of the node at `url` (http).
    ///
    /// # Errors
    /// When the address is not a URL.
    pub fn new(url: &str) -> Result<Self, DevnetError> {
        let parsed =
            url.parse().map_err(|e| DevnetError::Rpc { method: "connect".into(), reason: format!("{url}: {e}") })?;
        Ok(Self { client: ClientBuilder::default().http(parsed) })
    }

    /// Calls a method.
    ///
    /// # Errors
    /// The error of the node or of the transport.
    pub async fn call(&self, method: &str, params: Value) -> Result<Value, DevnetError> {
        self.client
            .request(method.to_owned(), params)
            .await
            .map_err(|e| DevnetError::Rpc { method: method.to_owned(), reason: e.to_string() })
    }

    /// Calls a method and parses its result as `T`.
    ///
    /// # Errors
    /// The error of the node or of the transport, or a result that is not a `T`.
    pub async fn get<T: serde::de::DeserializeOwned>(&self, method: &str, params: Value) -> Result<T, DevnetError> {
        let result = self.call(method, params).await?;
        serde_json::from_value(result)
            .map_err(|e| DevnetError::Rpc { method: method.to_owned(), reason: format!("unexpected answer: {e}") })
    }

    /// Makes an `eth_call` at the newest block and decodes the result.
    ///
    /// # Errors
    /// A revert, an error of the transport, or bytes that cannot be decoded.
    pub async fn view<C: SolCall>(&self, to: Address, call: &C) -> Result<C::Return, DevnetError> {
        self.view_from(Address::ZERO, to, call).await
    }

    /// Does the same as [`Self::view`], with `from` as the sender.
    ///
    /// # Errors
    /// As for [`Self::view`].
    pub async fn view_from<C: SolCall>(&self, from: Address, to: Address, call: &C) -> Result<C::Return, DevnetError> {
        let tx = json!({"from": from, "to": to, "data": Bytes::from(call.abi_encode())});
        let bytes: Bytes = self.get("eth_call", json!([tx, "latest"])).await?;
        C::abi_decode_returns(&bytes)
            .map_err(|e| DevnetError::Rpc { method: "eth_call".into(), reason: format!("{}: {e}", C::SIGNATURE) })
    }

    /// Submits a transaction to the node's pool and returns its hash.
    ///
    /// # Errors
    /// When the node refuses it.
    pub async fn submit(&self, tx: &Tx) -> Result<B256, DevnetError> {
        self.get("eth_sendTransaction", json!([tx.to_json()])).await
    }

    /// Submits a transaction, waits until it is mined, and returns its hash and whether it succeeded.
    ///
    /// # Errors
    /// When the node refuses it, or does not mine it in time.
    pub async fn submit_and_wait(&self, tx: &Tx) -> Result<(B256, bool), DevnetError> {
        let receipt: Value = self.get("eth_sendTransactionSync", json!([tx.to_json()])).await?;
        let hash = receipt.get("transactionHash").cloned().unwrap_or_default();
        let hash = serde_json::from_value(hash).map_err(|e| DevnetError::Rpc {
            method: "eth_sendTransactionSync".into(),
            reason: format!("unexpected receipt: {e}"),
        })?;
        Ok((hash, succeeded(&receipt).unwrap_or(false)))
    }

    /// Returns whether a mined transaction succeeded; `None` while it is not mined.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn status(&self, hash: B256) -> Result<Option<bool>, DevnetError> {
        let receipt = self.call("eth_getTransactionReceipt", json!([hash])).await?;
        Ok(succeeded(&receipt))
    }

    /// Returns the number of the newest block.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn block_number(&self) -> Result<u64, DevnetError> {
        Ok(self.get::<U256>("eth_blockNumber", json!([])).await?.saturating_to())
    }

    /// Returns the timestamp of the newest block, in Unix seconds.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn head_timestamp(&self) -> Result<u64, DevnetError> {
        let block = self.call("eth_getBlockByNumber", json!(["latest", false])).await?;
        let timestamp = block.get("timestamp").cloned().unwrap_or_default();
        let seconds: U256 = serde_json::from_value(timestamp).map_err(|e| DevnetError::Rpc {
            method: "eth_getBlockByNumber".into(),
            reason: format!("unexpected timestamp: {e}"),
        })?;
        Ok(seconds.saturating_to())
    }
}

fn succeeded(receipt: &Value) -> Option<bool> {
    receipt.get("status").and_then(Value::as_str).map(|status| status == "0x1")
}
