//! Errors of the store.

use std::io;
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
        source: io::Error,
    },
    /// A file exists but cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// Another process owns the database.
    #[error("{} is in use by another process", path.display())]
    InUse {
        /// The database file.
        path: PathBuf,
    },
    /// The key file cannot be parsed.
    #[error("{} is damaged: {reason}", path.display())]
    DamagedKeys {
        /// The key file.
        path: PathBuf,
        /// The parser's reason.
        reason: String,
    },
    /// The key file was replaced by one that cannot be used.
    #[error("{0}")]
    NoKeys(String),
    /// The database failed to read or write.
    #[error("the database failed: {0}")]
    Database(Box<redb::Error>),
    /// The database's pages differ from what was written.
    #[error("the database's pages contradict each other")]
    DamagedDatabase,
    /// A record cannot be encoded.
    #[error("a record cannot be encoded: {reason}")]
    Encoding {
        /// The encoder's reason.
        reason: String,
    },
    /// The database is not in the state that our last transaction left.
    #[error("another process changed the market database; restart to read the market from the chain")]
    Replaced,
    /// Too many bytes wait to be written.
    #[error("the disk does not accept quotes: {waiting_bytes} bytes of them wait in memory, at most {limit_bytes} may")]
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
    /// A key's limits are invalid.
    #[error("these limits are invalid: {0}")]
    BadKeyTerms(String),
    /// A key's name is invalid.
    #[error("a key's name is 1 to 64 printable characters, got {0:?}")]
    BadKeyName(String),
    /// The operating system gave no random bytes.
    #[error("the operating system gives no random bytes, so that no key can be made")]
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

impl StoreError {
    /// Returns whether the operating system failed to read or write, which says nothing about the content of a file.
    pub(crate) fn is_of_system(&self) -> bool {
        match self {
            Self::Unwritable { source, .. } | Self::Unreadable { source, .. } => says_system(source),
            Self::Database(error) => match &**error {
                redb::Error::Io(source) => says_system(source),
                redb::Error::PreviousIo => true,
                _ => false,
            },
            _ => false,
        }
    }
}

/// Returns whether the operating system gave an error that a damaged file cannot cause: one that holds positions beyond
/// every file leads to requests that no system accepts.
fn says_system(error: &io::Error) -> bool {
    let is_refusal = matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::FileTooLarge);
    error.raw_os_error().is_some() && !is_refusal
}

/// Converts an error of opening a database file.
pub(crate) fn open_error(path: &Path, error: DatabaseError) -> StoreError {
    match error {
        DatabaseError::DatabaseAlreadyOpen => StoreError::InUse { path: path.into() },
        DatabaseError::Storage(redb::StorageError::Io(source)) => StoreError::Unwritable { path: path.into(), source },
        other => other.into(),
    }
}
