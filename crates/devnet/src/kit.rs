//! The programs and packages that the chain is made with: anvil, node, and the npm packages in `contracts/`.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use alloy::primitives::Bytes;
use serde::Deserialize;

use crate::DevnetError;

/// Where the contracts folder and anvil are.
#[derive(Debug, Clone)]
pub struct Kit {
    contracts: PathBuf,
    anvil: PathBuf,
}

/// A contract's bytecode as the bundle has it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Code {
    /// Creation code, without constructor arguments.
    Initcode(Bytes),
    /// Code as it lies on chain.
    Runtime(Bytes),
}

/// All bytecode by contract name.
pub(crate) type Bundle = BTreeMap<String, Code>;

impl Kit {
    /// Looks for the packages; `contracts` defaults to this repository's folder.
    ///
    /// # Errors
    /// [`DevnetError::PackagesMissing`] when they are not installed.
    pub fn find(contracts: Option<&Path>) -> Result<Self, DevnetError> {
        let contracts = match contracts {
            Some(folder) => folder.to_owned(),
            None => repository().join("contracts"),
        };
        let modules = contracts.join("node_modules");
        let anvil = modules.join("@foundry-rs/anvil-linux-amd64/bin/anvil");
        let last_of_the_bytecode = modules.join("canonical-weth/contracts/WETH9.sol");
        for missing in [&anvil, &last_of_the_bytecode] {
            if !missing.is_file() {
                return Err(DevnetError::PackagesMissing { missing: missing.clone(), contracts });
            }
        }
        Ok(Self { contracts, anvil })
    }

    /// The anvil binary.
    #[must_use]
    pub fn anvil(&self) -> &Path {
        &self.anvil
    }

    /// The contracts folder.
    #[must_use]
    pub fn contracts(&self) -> &Path {
        &self.contracts
    }

    /// Everything that the bundle depends on, to be hashed: our sources, the script, and the packages' exact versions.
    pub(crate) fn bundle_inputs(&self) -> Result<Vec<Vec<u8>>, DevnetError> {
        let mut paths = files_under(&self.contracts.join("devnet"))?;
        paths.sort();
        paths.push(self.contracts.join("package-lock.json"));
        paths.into_iter().map(|path| std::fs::read(&path).map_err(DevnetError::file(path))).collect()
    }

    /// Compiles and gathers the bytecode, about seven seconds.
    pub(crate) fn bundle(&self, scratch: &Path) -> Result<Bundle, DevnetError> {
        let out = scratch.join("bytecode.json");
        let script = self.contracts.join("devnet/bundle.mjs");
        let result = Command::new("node")
            .arg("--no-warnings")
            .arg(&script)
            .arg(&out)
            .output()
            .map_err(|source| DevnetError::Spawn { program: "node".into(), source })?;
        if !result.status.success() {
            let output = String::from_utf8_lossy(&result.stderr).trim().to_owned();
            return Err(DevnetError::Failed { program: format!("node {}", script.display()), output });
        }
        let text = std::fs::read(&out).map_err(DevnetError::file(&out))?;
        serde_json::from_slice(&text).map_err(|e| DevnetError::BadFile { path: out, problem: e.to_string() })
    }
}

/// Every file in a folder and in its folders.
fn files_under(folder: &Path) -> Result<Vec<PathBuf>, DevnetError> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(DevnetError::file(folder.to_owned()))? {
        let path = entry.map_err(DevnetError::file(folder.to_owned()))?.path();
        if path.is_dir() {
            files.extend(files_under(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}

/// The root of this repository.
fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// The folder for what can be made again: cargo's target folder.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from)
}
