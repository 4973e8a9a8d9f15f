//! The execution proxy, at the address that CREATE2 gives it.

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

/// What `contracts/artifacts/ExecutionProxy.json` says.
#[derive(Debug, Clone, Deserialize)]
pub struct ProxyArtifact {
    /// Creation code with constructor arguments, if there are any.
    pub bytecode: Bytes,
    /// How it is deployed.
    pub create2: Create2,
    /// Where the artifact's maker says that it comes to lie.
    pub address: Address,
}

/// The inputs of CREATE2 besides the creation code.
#[derive(Debug, Clone, Deserialize)]
pub struct Create2 {
    /// The contract that creates.
    pub deployer: Address,
    /// The salt.
    pub salt: B256,
}

impl ProxyArtifact {
    /// Reads the artifact; `None` when there is none.
    ///
    /// # Errors
    /// When the file is there and does not hold what it should.
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

/// Deploys the proxy unless it is there already, and gives its address.
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
    // Mined at once, whatever the chain's pace.
    rpc.call("evm_mine", json!([])).await?;
    match rpc.status(hash).await? {
        Some(true) => Ok(address),
        _ => Err(DevnetError::Reverted { what: "the execution proxy's creation".into(), to: CREATE2_DEPLOYER }),
    }
}
