//! The key file: read whole, replaced whole, never half-written.

use std::fs::{File, Metadata, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::KeyRecord;
use crate::StoreError;

/// The file's whole content.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyFile {
    /// Layout of the file; 1 is the only one so far.
    version: u32,
    /// Every key, oldest first.
    pub(super) keys: Vec<KeyRecord>,
}

/// Tells one replacement of the file from the next: a replaced file has another inode while the old one is open, and another
/// time of change otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    changed_ns: i128,
    len: u64,
}

impl Stamp {
    /// The stamp of a file; `None` when there is none.
    pub(super) fn of(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().as_ref().map(Self::from)
    }
}

impl From<&Metadata> for Stamp {
    fn from(meta: &Metadata) -> Self {
        let changed_ns = i128::from(meta.ctime()) * 1_000_000_000 + i128::from(meta.ctime_nsec());
        Self { inode: meta.ino(), changed_ns, len: meta.len() }
    }
}

impl KeyFile {
    /// Reads the file; a missing one holds no keys.
    pub(super) fn read(path: &Path) -> Result<Self, StoreError> {
        let Some(text) = text_of(path)? else { return Ok(Self::default()) };
        serde_json::from_str(&text)
            .map_err(|error| StoreError::DamagedKeys { path: path.into(), reason: error.to_string() })
    }

    /// Reads, changes and replaces the file while no other process does the same.
    pub(super) fn change<T>(
        path: &Path,
        change: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let unwritable = |source| StoreError::Unwritable { path: path.into(), source };
        let lock = private(&path.with_extension("lock")).map_err(unwritable)?;
        lock.lock().map_err(unwritable)?;
        let mut file = Self::read(path)?;
        let answer = change(&mut file)?;
        file.version = 1;
        file.replace(path).map_err(unwritable)?;
        Ok(answer)
    }

    fn replace(&self, path: &Path) -> std::io::Result<()> {
        replace(path, &serde_json::to_vec_pretty(self)?)
    }
}

fn replace(path: &Path, text: &[u8]) -> std::io::Result<()> {
    let next = path.with_extension("next");
    let mut out = private(&next)?;
    out.set_len(0)?;
    out.write_all(text)?;
    out.sync_all()?;
    std::fs::rename(&next, path)?;
    let dir = path.parent().unwrap_or(Path::new("."));
    File::open(dir)?.sync_all()
}

/// What two files of one set of keys say together: nothing that either of them knows is forgotten. A key that one of them revoked is revoked,
/// and of two secrets the newer counts. The order does not depend on which is which.
///
/// # Errors
/// When a text is no key file.
pub(crate) fn merged(path: &Path, texts: [&str; 2]) -> Result<String, StoreError> {
    let damaged = |error: serde_json::Error| StoreError::DamagedKeys { path: path.into(), reason: error.to_string() };
    let mut keys: Vec<KeyRecord> = Vec::new();
    for text in texts.into_iter().filter(|text| !text.is_empty()) {
        for record in serde_json::from_str::<KeyFile>(text).map_err(damaged)?.keys {
            match keys.iter_mut().find(|known| known.id == record.id) {
                Some(known) => known.learn(record),
                None => keys.push(record),
            }
        }
    }
    if keys.is_empty() {
        return Ok(String::new());
    }
    keys.sort_by(|a, b| (a.created_at_s, &a.id.0).cmp(&(b.created_at_s, &b.id.0)));
    serde_json::to_string_pretty(&KeyFile { version: 1, keys }).map_err(damaged)
}

/// Replaces the file while no other process does the same, unless it says so already.
///
/// # Errors
/// When it cannot be read or replaced.
pub(crate) fn write_merged(path: &Path, text: &str) -> Result<(), StoreError> {
    let unwritable = |source| StoreError::Unwritable { path: path.into(), source };
    let lock = private(&path.with_extension("lock")).map_err(unwritable)?;
    lock.lock().map_err(unwritable)?;
    // a key that was made meanwhile stays
    let own = text_of(path)?.unwrap_or_default();
    let all = merged(path, [text, &own])?;
    if all == own { Ok(()) } else { replace(path, all.as_bytes()).map_err(unwritable) }
}

/// The file's text; `None` where there is no file.
pub(crate) fn text_of(path: &Path) -> Result<Option<String>, StoreError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StoreError::Unreadable { path: path.into(), source }),
    }
}

/// Opens a file that only its owner may read.
fn private(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)
}
