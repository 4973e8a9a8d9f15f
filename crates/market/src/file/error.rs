//! Errors of market files.

use std::path::{Path, PathBuf};

use braid_primitives::PoolKey;

use crate::MarketError;

/// Reason for which a market file could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// The file system reported an error.
    #[error("{path}: {why}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Error text of the operating system.
        why: String,
    },
    /// The file does not begin with the magic bytes.
    #[error("not a market file; `braid market save FILE` writes one")]
    NotAMarket,
    /// The layout has another version.
    #[error("market file of version {got}, expected {expected}: save it again with this version of Braid")]
    Version {
        /// Version in the file.
        got: u64,
        /// Supported version.
        expected: u32,
    },
    /// The file is too short or too long.
    #[error("market file of {got} bytes, expected {expected}: it was truncated or extended")]
    Length {
        /// Bytes in the file.
        got: u64,
        /// Bytes announced in the header.
        expected: u64,
    },
    /// The file is larger than any market.
    #[error("not a market file: it has more than {most} bytes")]
    TooLarge {
        /// Maximum size in bytes.
        most: u64,
    },
    /// The content does not match its checksum.
    #[error("the market file is damaged: its checksum does not match")]
    Checksum,
    /// The content is not a market.
    #[error("the market file cannot be read: {why}")]
    Body {
        /// Description of the violation.
        why: String,
    },
    /// A pool has an impossible state.
    #[error("the market file has pool {pool} in an impossible state: {what}")]
    State {
        /// The pool.
        pool: PoolKey,
        /// Description of the violation.
        what: &'static str,
    },
    /// The pools do not form a market.
    #[error(transparent)]
    Market(#[from] MarketError),
}

impl FileError {
    pub(super) fn io(path: &Path, error: &std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), why: error.to_string() }
    }
}
