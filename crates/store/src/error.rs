//! Why something could not be kept or found.

use std::path::{Path, PathBuf};

use redb::DatabaseError;

/// A failure of the disk or of what is on it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The data directory, or a file in it, cannot be written.
    #[error("cannot write to {}: {source}", path.display())]
    Unwritable {
        /// Directory or file.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// A file exists but cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// Another process owns the database.
    #[error("{} is in use by another process", path.display())]
    InUse {
        /// The database file.
        path: PathBuf,
    },
    /// The key file is not what this version writes.
    #[error("{} is damaged: {reason}", path.display())]
    DamagedKeys {
        /// The key file.
        path: PathBuf,
        /// What the parser said.
        reason: String,
    },
    /// The key file was replaced by something that cannot be used.
    #[error("{0}")]
    NoKeys(String),
    /// The database failed underneath a read or a write.
    #[error("the database failed: {0}")]
    Database(Box<redb::Error>),
    /// The database's pages are not what was written.
    #[error("the database's pages contradict each other")]
    DamagedDatabase,
    /// A record cannot be written as text.
    #[error("a record cannot be encoded: {reason}")]
    Encoding {
        /// What the encoder said.
        reason: String,
    },
    /// The database is not where our last transaction left it.
    #[error("the market database was changed by somebody else; a restart reads the market from the chain")]
    Replaced,
    /// More is waiting to be written than may wait.
    #[error("the disk does not take quotes: {waiting_bytes} bytes of them wait in memory, at most {limit_bytes} may")]
    Backlog {
        /// Bytes that wait.
        waiting_bytes: usize,
        /// Bytes that may wait.
        limit_bytes: usize,
    },
    /// There is no key with this id.
    #[error("there is no key {0}")]
    UnknownKey(String),
    /// A revoked key stays revoked.
    #[error("the key {0} is revoked: make a new one")]
    KeyRevoked(String),
    /// What a key shall allow makes no sense.
    #[error("these terms are of no use: {0}")]
    BadKeyTerms(String),
    /// A key needs a name that a person can tell it by.
    #[error("a key's name is 1 to 64 printable characters, got {0:?}")]
    BadKeyName(String),
    /// The operating system gave no random bytes, so that no key can be made.
    #[error("the operating system gives no random bytes")]
    NoRandomness,
    /// The background writer has ended.
    #[error("the background writer has stopped")]
    WriterStopped,
}

impl<E: Into<redb::Error>> From<E> for StoreError {
    fn from(error: E) -> Self {
        Self::Database(Box::new(error.into()))
    }
}

/// Why a database file cannot be opened.
pub(crate) fn open_error(path: &Path, error: DatabaseError) -> StoreError {
    match error {
        DatabaseError::DatabaseAlreadyOpen => StoreError::InUse { path: path.into() },
        DatabaseError::Storage(redb::StorageError::Io(error)) => {
            StoreError::Unwritable { path: path.into(), source: std::io::Error::other(error.to_string()) }
        }
        other => other.into(),
    }
}
