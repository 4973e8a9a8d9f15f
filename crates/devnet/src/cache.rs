//! The cache of the world: a state file that is built once for each version of its inputs.

use std::{
    fs::File,
    path::{Path, PathBuf},
    pin::Pin,
};

use alloy::primitives::{B256, Keccak256, hex};

use crate::{
    DevnetError, Kit, Mining,
    node::{Node, NodeOptions},
    world::{self, Progress},
};

/// The sources that decide the contents of the world.
const WORLD_SOURCES: &[&str] = &[
    include_str!("abi.rs"),
    include_str!("accounts.rs"),
    include_str!("addresses.rs"),
    include_str!("tokens.rs"),
    include_str!("world/mod.rs"),
    include_str!("world/aave.rs"),
    include_str!("world/balancer.rs"),
    include_str!("world/balancer_v3.rs"),
    include_str!("world/buffers.rs"),
    include_str!("world/curve.rs"),
    include_str!("world/curve/alone.rs"),
    include_str!("world/curve/lending.rs"),
    include_str!("world/curve/metapools.rs"),
    include_str!("world/deploy.rs"),
    include_str!("world/fluid.rs"),
    include_str!("world/history.rs"),
    include_str!("world/liquidity.rs"),
    include_str!("world/listed.rs"),
    include_str!("world/morpho.rs"),
    include_str!("world/placement.rs"),
    include_str!("world/pools.rs"),
    include_str!("world/shape.rs"),
    include_str!("world/vault_v2.rs"),
    include_str!("world/vaults.rs"),
];

/// Returns the path of the state file and builds the file first if it does not exist. Processes that want the same file
/// at the same time wait for the one that builds it.
///
/// Returns a boxed future, which is compiled here: the compiler would repeat what builds the world in every part of every
/// program that starts a chain.
pub(crate) fn state_file<'a>(
    kit: &'a Kit,
    folder: &'a Path,
    progress: &'a Progress,
) -> Pin<Box<dyn Future<Output = Result<PathBuf, DevnetError>> + Send + 'a>> {
    Box::pin(async move {
        let file = folder.join(format!("world-{}.json", &hex::encode(key(kit)?)[..16]));
        if file.is_file() {
            return Ok(file);
        }
        std::fs::create_dir_all(folder).map_err(DevnetError::file(folder))?;
        let _lock = lock(folder.join("world.lock")).await?;
        if !file.is_file() {
            make(kit, folder, &file, progress).await?;
        }
        Ok(file)
    })
}

/// Returns a hash of all inputs of the world: the inputs of the bytecode bundle and the sources that build the world.
fn key(kit: &Kit) -> Result<B256, DevnetError> {
    let mut hasher = Keccak256::new();
    for input in kit.bundle_inputs()? {
        hasher.update(B256::from(alloy::primitives::keccak256(input)));
    }
    for source in WORLD_SOURCES {
        hasher.update(alloy::primitives::keccak256(source));
    }
    Ok(hasher.finalize())
}

async fn lock(path: PathBuf) -> Result<File, DevnetError> {
    let open = move || {
        let file = File::create(&path).map_err(DevnetError::file(&path))?;
        file.lock().map_err(DevnetError::file(&path))?;
        Ok(file)
    };
    tokio::task::spawn_blocking(open)
        .await
        .map_err(|e| DevnetError::Failed { program: "the lock on the cache".into(), output: e.to_string() })?
}

async fn make(kit: &Kit, folder: &Path, file: &Path, progress: &Progress) -> Result<(), DevnetError> {
    let scratch = tempfile::tempdir_in(folder).map_err(DevnetError::file(folder))?;
    let (maker, place) = (kit.clone(), scratch.path().to_owned());
    progress(0, 0, "gathering bytecode");
    let bundle = tokio::task::spawn_blocking(move || maker.bundle(&place))
        .await
        .map_err(|e| DevnetError::Failed { program: "node".into(), output: e.to_string() })??;
    let dump = scratch.path().join("world.json");
    let options = NodeOptions {
        port: 0,
        mining: Mining::Manual,
        load_state: None,
        fork_url: None,
        dump_state: Some(dump.clone()),
        timestamp: Some(world::BIRTH),
        block_gas_units: Some(world::BLOCK_GAS_UNITS),
    };
    let node = Node::start(kit, options).await?;
    world::build(node.rpc(), &bundle, progress).await?;
    node.stop();
    slim(&dump)?;
    // The rename is atomic: another process sees the whole file or none.
    std::fs::rename(&dump, file).map_err(DevnetError::file(file))
}

/// Removes from the state file what nothing reads: the call traces of the building transactions, which are three
/// quarters of its size, and storage slots that hold zero, which the node would hash for every block.
fn slim(path: &Path) -> Result<(), DevnetError> {
    let text = std::fs::read(path).map_err(DevnetError::file(path))?;
    let mut state: serde_json::Value = serde_json::from_slice(&text)
        .map_err(|e| DevnetError::BadFile { path: path.to_owned(), problem: e.to_string() })?;
    let transactions = state.get_mut("transactions").and_then(serde_json::Value::as_array_mut);
    for transaction in transactions.into_iter().flatten() {
        if let Some(traces) = transaction.pointer_mut("/info/traces") {
            *traces = serde_json::Value::Array(Vec::new());
        }
    }
    let zero = serde_json::Value::String(B256::ZERO.to_string());
    let accounts = state.get_mut("accounts").and_then(serde_json::Value::as_object_mut);
    for (_, account) in accounts.into_iter().flatten() {
        if let Some(storage) = account.get_mut("storage").and_then(serde_json::Value::as_object_mut) {
            storage.retain(|_, value| *value != zero);
        }
    }
    std::fs::write(path, state.to_string()).map_err(DevnetError::file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_builds_the_world_is_in_its_name() {
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/world")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let source = std::fs::read_to_string(&path).unwrap();
                    assert!(WORLD_SOURCES.contains(&source.as_str()), "{} is not listed", path.display());
                }
            }
        }
    }
}
