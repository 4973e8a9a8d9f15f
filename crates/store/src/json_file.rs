//! A small JSON file in the data directory, replaced whole.

use std::io::Write as _;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::StoreError;

/// What the file says; the default where there is none.
pub(crate) fn load<T: DeserializeOwned + Default>(dir: &Path, name: &str) -> Result<T, StoreError> {
    let path = dir.join(name);
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(T::default()),
        Err(source) => return Err(StoreError::Unreadable { path, source }),
    };
    serde_json::from_slice(&text).map_err(|error| StoreError::Unreadable { path, source: error.into() })
}

/// Writes the file in the place of the one before, which stays where that fails.
pub(crate) fn save<T: Serialize + ?Sized>(dir: &Path, name: &str, content: &T) -> Result<(), StoreError> {
    let path = dir.join(name);
    let next = path.with_extension("next");
    let write = || {
        let mut file = std::fs::File::create(&next)?;
        file.write_all(&serde_json::to_vec_pretty(content)?)?;
        file.sync_all()?;
        std::fs::rename(&next, &path)
    };
    write().map_err(|source| StoreError::Unwritable { path: path.clone(), source })
}
