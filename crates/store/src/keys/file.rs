//! The key file: read whole, replaced whole, by one process at a time.

use std::fs::{File, Metadata, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::KeyRecord;
use crate::StoreError;
use crate::files::{self, PRIVATE};

/// Layout of the file; 1 is the only one so far.
const VERSION: u32 = 1;

/// Content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyFile {
    version: u32,
    /// Every key, oldest first.
    pub(super) keys: Vec<KeyRecord>,
}

/// Distinguishes one replacement of the file from the next: by its inode while the old file is open, by its time of
/// change otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    changed_ns: i128,
    len: u64,
}

impl Stamp {
    /// Returns the stamp of a file; `None` if there is no file.
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
        files::read_text(path)?.map_or_else(|| Ok(Self::default()), |text| Self::parse(path, &text))
    }

    fn parse(path: &Path, text: &str) -> Result<Self, StoreError> {
        serde_json::from_str(text)
            .map_err(|error| StoreError::DamagedKeys { path: path.into(), reason: error.to_string() })
    }

    /// Returns the record of an id.
    pub(super) fn record(&mut self, id: &str) -> Result<&mut KeyRecord, StoreError> {
        let found = self.keys.iter_mut().find(|record| record.id.0 == id);
        found.ok_or_else(|| StoreError::UnknownKey(id.into()))
    }

    fn to_text(&self) -> Result<String, StoreError> {
        serde_json::to_string_pretty(self).map_err(|error| StoreError::Encoding { reason: error.to_string() })
    }

    /// Reads, changes and replaces the file while no other process does the same.
    pub(super) fn change<T>(
        path: &Path,
        change: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let _lock = lock(path)?;
        let mut file = Self::read(path)?;
        let answer = change(&mut file)?;
        file.version = VERSION;
        files::replace(path, file.to_text()?.as_bytes(), PRIVATE)?;
        Ok(answer)
    }
}

/// Merges the texts of two copies of a key file. No key is lost, a key that one copy revoked is revoked, and of two
/// secrets the newer one counts. The result does not depend on the order of the copies. A text without keys is empty.
///
/// # Errors
/// When a text is no key file.
pub(crate) fn merged(path: &Path, texts: [&str; 2]) -> Result<String, StoreError> {
    let mut keys: Vec<KeyRecord> = Vec::new();
    for text in texts.into_iter().filter(|text| !text.is_empty()) {
        for record in KeyFile::parse(path, text)?.keys {
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
    KeyFile { version: VERSION, keys }.to_text()
}

/// Merges a text into the file while no other process changes it.
///
/// # Errors
/// When the file cannot be read or replaced.
pub(crate) fn merge_into(path: &Path, text: &str) -> Result<(), StoreError> {
    let _lock = lock(path)?;
    let own = text_of(path)?;
    let all = merged(path, [text, &own])?;
    if all == own { Ok(()) } else { files::replace(path, all.as_bytes(), PRIVATE) }
}

/// Returns the file's text; empty if there is no file.
pub(crate) fn text_of(path: &Path) -> Result<String, StoreError> {
    Ok(files::read_text(path)?.unwrap_or_default())
}

/// Waits for the lock on changes of the file; it is held until the returned file is dropped.
fn lock(path: &Path) -> Result<File, StoreError> {
    let path = path.with_extension("lock");
    let open = match files::create_new(&path, PRIVATE, &path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => OpenOptions::new().write(true).open(&path),
        created => created,
    };
    let locked = open.and_then(|file| file.lock().map(|()| file));
    locked.map_err(|source| StoreError::Unwritable { path, source })
}
