//! Small files in the data directory, replaced whole.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::StoreError;

/// Permissions of a file that only its owner may read.
pub(crate) const PRIVATE: u32 = 0o600;

/// Permissions of other files, before the process's umask.
const PUBLIC: u32 = 0o666;

/// Reads a file's text; `None` if there is no file.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, StoreError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StoreError::Unreadable { path: path.into(), source }),
    }
}

/// Replaces a file, whole or not at all, and waits for the disk.
pub(crate) fn replace(path: &Path, text: &[u8], permissions: u32) -> Result<(), StoreError> {
    let next = path.with_extension("next");
    let write = || {
        let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(permissions).open(&next)?;
        file.write_all(text)?;
        file.sync_all()?;
        std::fs::rename(&next, path)?;
        sync_dir(path)
    };
    write().map_err(|source| StoreError::Unwritable { path: path.into(), source })
}

/// Makes a file's new name survive a loss of power.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

/// Reads a JSON file; the default if there is no file.
pub(crate) fn load_json<T: DeserializeOwned + Default>(path: &Path) -> Result<T, StoreError> {
    let Some(text) = read_text(path)? else { return Ok(T::default()) };
    serde_json::from_str(&text).map_err(|error| StoreError::Unreadable { path: path.into(), source: error.into() })
}

/// Replaces a JSON file.
pub(crate) fn save_json<T: Serialize + ?Sized>(path: &Path, content: &T) -> Result<(), StoreError> {
    let encoding = |error: serde_json::Error| StoreError::Encoding { reason: error.to_string() };
    replace(path, &serde_json::to_vec_pretty(content).map_err(encoding)?, PUBLIC)
}
