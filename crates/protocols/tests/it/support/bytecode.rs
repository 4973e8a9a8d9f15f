//! The contracts' bytecode, from the npm packages pinned in `contracts/package.json`.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use alloy_primitives::{Bytes, keccak256};
use serde_json::Value;

static BUNDLE: OnceLock<BTreeMap<String, Value>> = OnceLock::new();

/// Returns the creation code of a contract, without constructor arguments.
///
/// Panics with the remedy if the packages are not installed.
pub fn initcode(name: &str) -> Bytes {
    let bundle = BUNDLE.get_or_init(load);
    let code = &bundle.get(name).unwrap_or_else(|| panic!("the bundle of bytecode has no {name}"))["initcode"];
    code.as_str().unwrap().parse().unwrap()
}

/// Returns the runtime code of a contract.
pub fn runtime(name: &str) -> Bytes {
    let code = &BUNDLE.get_or_init(load).get(name).unwrap_or_else(|| panic!("the bundle of bytecode has no {name}"))["runtime"];
    code.as_str().unwrap().parse().unwrap()
}

/// Collects the bytecode, once for each version of its inputs.
fn load() -> BTreeMap<String, Value> {
    let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let contracts = crate_root.join("../../contracts");
    assert!(
        contracts.join("node_modules/@uniswap/v3-core").is_dir() && contracts.join("node_modules/solc").is_dir(),
        "the contracts' npm packages are not installed: run `make setup` first"
    );
    let script = crate_root.join("tests/contracts/bytecode.mjs");
    let mut inputs = vec![
        script.clone(),
        crate_root.join("tests/contracts/Harness.sol"),
        crate_root.join("tests/contracts/Vaults.sol"),
        contracts.join("package-lock.json"),
    ];
    inputs.extend(files_under(&contracts.join("devnet")));
    let texts: Vec<Vec<u8>> = inputs.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let key = keccak256(texts.concat());
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bytecode-{}.json", &key.to_string()[2..18]));
    if !file.is_file() {
        let draft = file.with_extension(format!("{}.draft", std::process::id()));
        let run = Command::new("node").arg("--no-warnings").arg(script).arg(&draft).output().unwrap();
        assert!(run.status.success(), "the bytecode could not be gathered: {}", String::from_utf8_lossy(&run.stderr));
        std::fs::rename(draft, &file).unwrap();
    }
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

/// Returns every file in a folder and its subfolders, in order.
fn files_under(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let files = entries.into_iter().flat_map(|path| if path.is_dir() { files_under(&path) } else { vec![path] });
    files.collect()
}
