//! The programs and packages that the chain needs: anvil, node, and the npm packages in `contracts/`.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use alloy::primitives::Bytes;
use serde::Deserialize;

use crate::DevnetError;

/// The paths of the contracts folder and of anvil.
#[derive(Debug, Clone)]
pub struct Kit {
    contracts: PathBuf,
    anvil: PathBuf,
}

/// The bytecode of a contract in the bundle.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Code {
    /// Creation code, without constructor arguments.
    Initcode(Bytes),
    /// Runtime code.
    Runtime(Bytes),
}

/// All bytecode by contract name.
pub(crate) type Bundle = BTreeMap<String, Code>;

impl Kit {
    /// Finds the packages; `contracts` defaults to this repository's folder.
    ///
    /// # Errors
    /// [`DevnetError::PackagesMissing`] if they are not installed.
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

    /// Returns the path of the anvil binary.
    #[must_use]
    pub fn anvil(&self) -> &Path {
        &self.anvil
    }

    /// Returns the path of the contracts folder.
    #[must_use]
    pub fn contracts(&self) -> &Path {
        &self.contracts
    }

    /// Returns the contents of all files that the bundle depends on, for hashing: our sources, the script, and the
    /// exact versions of the packages.
    pub(crate) fn bundle_inputs(&self) -> Result<Vec<Vec<u8>>, DevnetError> {
        let mut paths = files_under(&self.contracts.join("devnet"))?;
        paths.sort();
        paths.push(self.contracts.join("package-lock.json"));
        paths.into_iter().map(|path| std::fs::read(&path).map_err(DevnetError::file(path))).collect()
    }

    /// Compiles and collects the bytecode. This takes about seven seconds.
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

/// Returns every file in a folder and its subfolders.
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

/// Returns the root of this repository: that of the package that cargo runs. If cargo runs none, that which was compiled; it
/// may be another checkout, if several share a target folder.
fn repository() -> PathBuf {
    let root = |package: &Path| package.ancestors().nth(2).unwrap_or(package).to_owned();
    let running = std::env::var_os("CARGO_MANIFEST_DIR").map(|package| root(Path::new(&package)));
    let running = running.filter(|root| root.join("contracts").is_dir());
    running.unwrap_or_else(|| root(Path::new(env!("CARGO_MANIFEST_DIR"))))
}

/// Returns the folder for files that can be rebuilt: cargo's target folder.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository().join("target"), PathBuf::from)
}
