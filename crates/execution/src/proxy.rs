//! The execution proxy as it was compiled: code, address, ABI.
//!
//! Everything comes from `contracts/artifacts/ExecutionProxy.json`, which `make contracts` writes and which is embedded
//! here. The address follows from the code: CREATE2 by the canonical deployer gives the same one on every chain.

use std::sync::LazyLock;

use alloy_primitives::{address, keccak256};
use braid_primitives::{Address, B256, Bytes};
use serde::Deserialize;
use serde_json::Value;

/// The canonical CREATE2 deployer: takes `salt ‖ creation code` as calldata.
pub const CREATE2_DEPLOYER: Address = address!("4e59b44847b379578588920cA78FbF26c0B4956C");

const TEXT: &str = include_str!("../../../contracts/artifacts/ExecutionProxy.json");

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Artifact {
    address: Address,
    create2: Create2,
    code_hash: B256,
    abi: Value,
    bytecode: Bytes,
    deployed_bytecode: Bytes,
}

#[derive(Debug, Default, Deserialize)]
struct Create2 {
    salt: B256,
}

/// The artifact is part of this binary; a test reads it, so that what is embedded can be read.
static ARTIFACT: LazyLock<Artifact> = LazyLock::new(|| serde_json::from_str(TEXT).unwrap_or_default());

/// Returns where the proxy is, on every chain.
pub fn address() -> Address {
    ARTIFACT.address
}

/// Returns the code at [`address`] once the proxy is deployed.
pub fn runtime_code() -> &'static Bytes {
    &ARTIFACT.deployed_bytecode
}

/// Keccak hash of [`runtime_code`]: what `EXTCODEHASH` says of a deployed proxy.
pub fn code_hash() -> B256 {
    ARTIFACT.code_hash
}

/// Returns the code whose creation leaves [`runtime_code`].
pub fn creation_code() -> &'static Bytes {
    &ARTIFACT.bytecode
}

/// Returns the CREATE2 salt.
pub fn salt() -> B256 {
    ARTIFACT.create2.salt
}

/// Calldata for [`CREATE2_DEPLOYER`] that deploys the proxy.
pub fn deployment_calldata() -> Bytes {
    [salt().as_slice(), creation_code()].concat().into()
}

/// Returns the ABI as the compiler writes it.
pub fn abi_json() -> &'static Value {
    &ARTIFACT.abi
}

/// Returns whether code found at [`address`] is the proxy's.
pub fn is_proxy_code(code: &[u8]) -> bool {
    keccak256(code) == code_hash()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use alloy_sol_types::SolInterface;

    use super::*;
    use crate::abi::IExecutionProxy::IExecutionProxyErrors;

    #[test]
    fn the_embedded_artifact_can_be_read() {
        serde_json::from_str::<Artifact>(TEXT).unwrap();
        assert!(runtime_code().len() > 1_000 && runtime_code().len() <= 22_000);
    }

    #[test]
    fn the_address_follows_from_salt_and_creation_code() {
        let expected = CREATE2_DEPLOYER.create2(salt(), keccak256(creation_code()));
        assert_eq!(address(), expected);
    }

    #[test]
    fn the_code_hash_is_that_of_the_runtime_code() {
        assert!(is_proxy_code(runtime_code()));
        assert!(!is_proxy_code(&[]));
        assert_eq!(keccak256(runtime_code()), code_hash());
    }

    #[test]
    fn our_bindings_know_every_error_of_the_contract() {
        let abi: alloy::json_abi::JsonAbi = serde_json::from_value(abi_json().clone()).unwrap();
        let contract: BTreeSet<[u8; 4]> = abi.errors().map(|error| error.selector().0).collect();
        let ours: BTreeSet<[u8; 4]> = IExecutionProxyErrors::selectors().collect();
        assert_eq!(contract, ours);
    }
}
