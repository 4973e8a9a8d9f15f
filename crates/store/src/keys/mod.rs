//! API keys: kept as hashes, compared in constant time, in effect without a restart.

mod file;
mod key;

pub use key::{ApiKey, KeyHash, KeyId, KeyRecord, KeyState, KeyTerms, Retiring};

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use file::{KeyFile, Stamp};
pub(crate) use file::{merge_into, merged, text_of};

use crate::StoreError;

/// Name of the key file inside the data directory.
pub const KEY_FILE: &str = "keys.json";

/// The keys of one service: those of the key file, and those given on the command line.
///
/// Each check of a key looks at the file (one `stat`), and reads it again if another process replaced it.
#[derive(Debug)]
pub struct KeyStore {
    path: PathBuf,
    fixed: Vec<KeyRecord>,
    seen: Mutex<Seen>,
}

/// The file as last read.
#[derive(Debug)]
struct Seen {
    stamp: Option<Stamp>,
    /// The keys, or why there are none.
    records: Result<Arc<Vec<KeyRecord>>, String>,
}

impl Seen {
    /// Takes over the content of the file at a stamp. It is not read again before it changes, unless the operating system
    /// refused the read: that may pass, as when too many files are open, and leaves the file as it is.
    fn learn(&mut self, stamp: Option<Stamp>, read: Result<KeyFile, StoreError>) {
        self.stamp = stamp.filter(|_| !matches!(read, Err(StoreError::Unreadable { .. })));
        let records = read.map(|file| Arc::new(file.keys)).map_err(|error| error.to_string());
        if let Err(error) = &records
            && self.records.as_ref().err() != Some(error)
        {
            tracing::error!(%error, "the keys of the key file give no access until the file is mended");
        }
        self.records = records;
    }
}

impl KeyStore {
    /// Opens the keys of a data directory; the file need not exist yet.
    ///
    /// # Errors
    /// When the file exists and cannot be read or understood.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(KEY_FILE);
        let stamp = Stamp::of(&path);
        let records = Ok(Arc::new(KeyFile::read(&path)?.keys));
        Ok(Self { path, fixed: Vec::new(), seen: Mutex::new(Seen { stamp, records }) })
    }

    /// Adds a key that is not in the file, given by flag or environment variable. Only its hash is kept.
    #[must_use]
    pub fn with_fixed(mut self, name: &str, key: &str) -> Self {
        let id = KeyId(format!("fixed-{}", self.fixed.len() + 1));
        self.fixed.push(KeyRecord::new(id, name, KeyHash::of(key), KeyTerms::default(), 0));
        self
    }

    /// Returns the key's record if it gives access at a time, in unix seconds.
    ///
    /// Every hash is compared, each in constant time, so that the duration tells nothing about the keys.
    ///
    /// # Errors
    /// When the key file was replaced by one that cannot be read: its keys then give no access.
    pub fn check(&self, key: &str, now_s: u64) -> Result<Option<KeyRecord>, StoreError> {
        let hash = KeyHash::of(key);
        if let Some(record) = find(&self.fixed, &hash, now_s) {
            return Ok(Some(record.clone()));
        }
        Ok(find(&self.current()?, &hash, now_s).cloned())
    }

    /// Makes a key, stores its hash, and returns the key itself, which is shown only this once.
    ///
    /// # Errors
    /// [`StoreError::BadKeyName`], [`StoreError::BadKeyTerms`], or when the file cannot be replaced.
    pub fn create(&self, name: &str, terms: KeyTerms, now_s: u64) -> Result<(ApiKey, KeyRecord), StoreError> {
        if name.is_empty() || name.chars().count() > 64 || name.chars().any(char::is_control) {
            return Err(StoreError::BadKeyName(name.into()));
        }
        if terms.per_min == Some(0) || terms.burst == Some(0) {
            return Err(StoreError::BadKeyTerms("a rate and a burst are at least 1".into()));
        }
        if terms.expires_at_s.is_some_and(|expires_at_s| expires_at_s <= now_s) {
            return Err(StoreError::BadKeyTerms("the expiry is in the past".into()));
        }
        let key = ApiKey::random()?;
        let record = KeyRecord::new(KeyId::random()?, name, KeyHash::of(key.reveal()), terms, now_s);
        let added = record.clone();
        KeyFile::change(&self.path, move |file| {
            file.keys.push(added);
            Ok(())
        })?;
        Ok((key, record))
    }

    /// Revokes a key by its id. Revoking twice keeps the first time.
    ///
    /// # Errors
    /// [`StoreError::UnknownKey`], or when the file cannot be replaced.
    pub fn revoke(&self, id: &str, now_s: u64) -> Result<KeyRecord, StoreError> {
        KeyFile::change(&self.path, |file| {
            let record = file.record(id)?;
            record.revoked_at_s.get_or_insert(now_s);
            Ok(record.clone())
        })
    }

    /// Replaces a key's secret and returns the new one; id, name and limits stay. The old secret is accepted for
    /// `keep_old_s` more seconds, so that its users can change over.
    ///
    /// # Errors
    /// [`StoreError::UnknownKey`], [`StoreError::KeyRevoked`], or when the file cannot be replaced.
    pub fn rotate(&self, id: &str, keep_old_s: u64, now_s: u64) -> Result<(ApiKey, KeyRecord), StoreError> {
        let key = ApiKey::random()?;
        let hash = KeyHash::of(key.reveal());
        let record = KeyFile::change(&self.path, move |file| {
            let record = file.record(id)?;
            if record.revoked_at_s.is_some() {
                return Err(StoreError::KeyRevoked(id.into()));
            }
            let old = Retiring { hash: record.hash, until_s: now_s.saturating_add(keep_old_s) };
            record.retiring = (keep_old_s > 0).then_some(old);
            record.hash = hash;
            record.rotated_at_s = Some(now_s);
            Ok(record.clone())
        })?;
        Ok((key, record))
    }

    /// Returns every key of the file, including revoked ones, oldest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn list(&self) -> Result<Vec<KeyRecord>, StoreError> {
        Ok(self.current()?.as_ref().clone())
    }

    /// Returns whether any key gives access at a time, in unix seconds.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn has_active(&self, now_s: u64) -> Result<bool, StoreError> {
        let current = self.current()?;
        Ok(self.fixed.iter().chain(current.iter()).any(|record| record.state(now_s) == KeyState::Active))
    }

    /// Returns whether the key file, if there is one, can be read.
    pub fn is_healthy(&self) -> bool {
        self.current().is_ok()
    }

    fn current(&self) -> Result<Arc<Vec<KeyRecord>>, StoreError> {
        let mut seen = self.seen.lock();
        let stamp = Stamp::of(&self.path);
        if stamp != seen.stamp {
            seen.learn(stamp, KeyFile::read(&self.path));
        }
        seen.records.clone().map_err(StoreError::NoKeys)
    }
}

/// Returns the record that a secret belongs to. Every record is compared, so that the duration tells nothing.
fn find<'a>(records: &'a [KeyRecord], hash: &KeyHash, now_s: u64) -> Option<&'a KeyRecord> {
    records.iter().fold(None, |found, record| if record.opens(hash, now_s) { Some(record) } else { found })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// While too many files were open, one look at a changed file refused all of its keys until it changed again.
    #[test]
    fn a_read_that_the_system_refused_is_tried_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(KEY_FILE);
        let keys = KeyStore::open(dir.path()).unwrap();
        let (key, _) = keys.create("bot", KeyTerms::default(), 1).unwrap();
        let stamp = Stamp::of(&path);
        let source = std::io::Error::other("Too many open files");
        keys.seen.lock().learn(stamp, Err(StoreError::Unreadable { path: path.clone(), source }));
        assert!(keys.check(key.reveal(), 2).unwrap().is_some() && keys.is_healthy());
        // A file that is damaged is read again once it changes.
        let reason = "it ends early".to_owned();
        keys.seen.lock().learn(stamp, Err(StoreError::DamagedKeys { path, reason }));
        assert!(keys.check(key.reveal(), 2).is_err() && !keys.is_healthy());
    }
}
