//! Small files in the data directory, replaced whole.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown};
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
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StoreError::Unreadable { path: path.into(), source }),
    }
}

/// Replaces a file, whole or not at all, and waits for the disk.
pub(crate) fn replace(path: &Path, text: &[u8], permissions: u32) -> Result<(), StoreError> {
    let next = path.with_extension("next");
    let write = || {
        // remove what a crash left: opening it could follow a link
        std::fs::remove_file(&next)
            .or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })?;
        let mut file = create_new(&next, permissions, path)?;
        file.write_all(text)?;
        file.sync_all()?;
        std::fs::rename(&next, path)?;
        sync_dir(path)
    };
    write().map_err(|source| StoreError::Unwritable { path: path.into(), source })
}

/// Creates a file that is, or will replace, the one at `path`. A file that root creates is given to the owner of the
/// directory, or else of the file at `path`: the service may run as that user, and could not read root's.
pub(crate) fn create_new(new: &Path, permissions: u32, path: &Path) -> io::Result<File> {
    let owners = [path.parent().unwrap_or(Path::new(".")), path].map(std::fs::metadata);
    let file = OpenOptions::new().create_new(true).write(true).mode(permissions).open(new)?;
    let is_root = file.metadata()?.uid() == 0;
    if let Some(owner) = owners.into_iter().flatten().find(|owner| is_root && owner.uid() != 0) {
        // root without the capability keeps it
        let _ = fchown(&file, Some(owner.uid()), Some(owner.gid()));
    }
    Ok(file)
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
