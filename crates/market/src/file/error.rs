//! What can be wrong with a market file.

use std::path::{Path, PathBuf};

use braid_primitives::PoolKey;

use crate::MarketError;

/// Why a market file could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// The file system refused.
    #[error("{path}: {why}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        why: String,
    },
    /// The file begins with something else.
    #[error("not a market file; `braid-lab market load` makes one of a recorded market in JSON")]
    NotAMarket,
    /// Another version of the layout.
    #[error("market file of version {got}, expected {expected}: save it again with this version of Braid")]
    Version {
        /// Version in the file.
        got: u64,
        /// Version that is read.
        expected: u32,
    },
    /// Bytes are missing, or there are too many.
    #[error("market file of {got} bytes, expected {expected}: it was cut or added to")]
    Length {
        /// Bytes found.
        got: u64,
        /// Bytes that the header promises.
        expected: u64,
    },
    /// The file is larger than any market.
    #[error("not a market file: it has more than {most} bytes")]
    TooLarge {
        /// Most bytes that are read.
        most: u64,
    },
    /// The content is not what was written.
    #[error("the market file is damaged: its checksum does not match")]
    Checksum,
    /// The content is no market.
    #[error("the market file cannot be read: {why}")]
    Body {
        /// What is wrong.
        why: String,
    },
    /// A pool is in a state that it cannot be in.
    #[error("the market file has pool {pool} in an impossible state: {what}")]
    State {
        /// The pool.
        pool: PoolKey,
        /// What is impossible.
        what: &'static str,
    },
    /// The pools do not make a market.
    #[error(transparent)]
    Market(#[from] MarketError),
}

impl FileError {
    pub(super) fn io(path: &Path, error: &std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), why: error.to_string() }
    }
}
