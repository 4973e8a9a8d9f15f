//! Stores what must outlive the process in one data directory: the market, quotes and API keys.
//!
//! The market is in an embedded database, updated block by block ([`MarketStore`]). Quotes are in files of a minute
//! each behind a bounded cache ([`QuoteStore`]); one process owns them. Keys are in a small file ([`KeyStore`]) that
//! any process may replace atomically, so that `braid keys` works while the server runs, and a revoked key is refused
//! at the next request.
//!
//! Times of day are arguments: this crate reads no clock for them.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

mod background;
pub mod error;
mod files;
pub mod keys;
pub mod market;
pub mod node_limits;
pub mod quarantine;
pub mod quotes;
pub mod replicas;

pub use error::StoreError;
pub use keys::{ApiKey, KeyId, KeyRecord, KeyState, KeyStore, KeyTerms};
pub use market::MarketStore;
pub use quotes::{DiskState, QuoteRecord, QuoteStore};
pub use replicas::{NoAnswer, Replicas, SharedKeys};

use std::path::Path;

/// Makes a directory that is missing, with those above it, for the process's own user alone: quotes say who trades
/// what.
fn private_dir(dir: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(dir)
}

/// Creates the data directory if it is missing, readable by its owner alone, and checks that it can be written.
///
/// # Errors
/// [`StoreError::Unwritable`] with the operating system's reason.
pub fn prepare_dir(dir: &Path) -> Result<(), StoreError> {
    let unwritable = |source| StoreError::Unwritable { path: dir.to_path_buf(), source };
    private_dir(dir).map_err(unwritable)?;
    let probe = dir.join(format!(".probe-{}", std::process::id()));
    std::fs::write(&probe, b"").map_err(unwritable)?;
    std::fs::remove_file(&probe).map_err(unwritable)
}
