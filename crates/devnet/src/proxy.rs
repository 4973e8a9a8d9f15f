//! The execution proxy, deployed at its CREATE2 address.

use std::path::PathBuf;

use alloy::primitives::{Address, B256, Bytes, U256, keccak256};
use serde::Deserialize;
use serde_json::json;

use crate::{
    DevnetError, Kit,
    accounts::MAKER,
    addresses::CREATE2_DEPLOYER,
    rpc::{Rpc, Tx},
};

/// The contents of `contracts/artifacts/ExecutionProxy.json`.
#[derive(Debug, Clone, Deserialize)]
pub struct ProxyArtifact {
    /// The creation code, with constructor arguments if there are any.
    pub bytecode: Bytes,
    /// The inputs of the deployment.
    pub create2: Create2,
    /// The address that the artifact states for the deployed proxy.
    pub address: Address,
}

/// The inputs of CREATE2 other than the creation code.
#[derive(Debug, Clone, Deserialize)]
pub struct Create2 {
    /// The contract that deploys it.
    pub deployer: Address,
    /// The salt.
    pub salt: B256,
}

impl ProxyArtifact {
    /// Reads the artifact; `None` if the file does not exist.
    ///
    /// # Errors
    /// When the file exists but is not valid.
    pub fn find(kit: &Kit) -> Result<Option<Self>, DevnetError> {
        let path: PathBuf = kit.contracts().join("artifacts/ExecutionProxy.json");
        if !path.is_file() {
            return Ok(None);
        }
        let text = std::fs::read(&path).map_err(DevnetError::file(&path))?;
        let bad = |problem: String| DevnetError::BadFile { path: path.clone(), problem };
        let artifact: Self = serde_json::from_slice(&text).map_err(|e| bad(e.to_string()))?;
        let derived = CREATE2_DEPLOYER.create2(artifact.create2.salt, keccak256(&artifact.bytecode));
        if artifact.address != derived {
            return Err(bad(format!("address: got {}, expected {derived} by CREATE2", artifact.address)));
        }
        Ok(Some(artifact))
    }
}

/// Deploys the proxy unless it is already deployed, and returns its address.
///
/// # Errors
/// When the node fails or the creation reverts.
pub async fn deploy_proxy(rpc: &Rpc, artifact: &ProxyArtifact) -> Result<Address, DevnetError> {
    let address = artifact.address;
    let there: Bytes = rpc.get("eth_getCode", json!([address, "latest"])).await?;
    if !there.is_empty() {
        return Ok(address);
    }
    let data: Bytes = [artifact.create2.salt.as_slice(), &artifact.bytecode].concat().into();
    let tx = Tx { from: MAKER, to: CREATE2_DEPLOYER, data, value_wei: U256::ZERO, gas_units: Some(10_000_000) };
    let hash = rpc.submit(&tx).await?;
    // Mines the transaction at once, whatever the chain's mining mode.
    rpc.call("evm_mine", json!([])).await?;
    match rpc.status(hash).await? {
        Some(true) => Ok(address),
        _ => Err(DevnetError::Reverted { what: "the execution proxy's creation".into(), to: CREATE2_DEPLOYER }),
    }
}
