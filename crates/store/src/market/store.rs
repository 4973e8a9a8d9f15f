//! The store of the market: its database, and the thread that writes to it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::change::Change;
use super::load::{self, Found};
use super::shared::Shared;
use super::writer::{Flush, Writer};
use crate::StoreError;
use crate::background::Background;

/// Name of the database inside the data directory.
pub const MARKET_FILE: &str = "market.redb";

/// The market's database, with a thread that writes to it.
///
/// [`record`](Self::record) never waits: changes that the disk has not taken yet are merged, and the newest market
/// counts. A write that fails is tried again; meanwhile [`is_healthy`](Self::is_healthy) is false, and no change is
/// lost.
#[derive(Debug)]
pub struct MarketStore {
    shared: Arc<Shared>,
    writer: Background<Flush>,
    path: PathBuf,
}

impl MarketStore {
    /// Opens or creates the database in a data directory, reads what it holds, and starts the writer.
    ///
    /// # Errors
    /// [`StoreError::InUse`] when another process has it, [`StoreError::Unwritable`], [`StoreError::Database`] when the
    /// disk fails. A damaged database is no error: it is renamed to `market.redb.unusable` and reported as
    /// [`Found::Unusable`].
    pub fn open(dir: &Path) -> Result<(Self, Found), StoreError> {
        let path = dir.join(MARKET_FILE);
        let (disk, found) = load::open(&path)?;
        let base = match &found {
            Found::Market(saved) => Some(Arc::clone(&saved.market)),
            _ => None,
        };
        let stored = base.as_ref().map_or(0, |market| market.block().number.saturating_add(1));
        let shared = Arc::new(Shared {
            waiting: Mutex::default(),
            failing: AtomicBool::new(false),
            stored: AtomicU64::new(stored),
        });
        let writer = Writer::new(Arc::clone(&shared), disk, base, path.clone());
        let writer = Background::spawn("market-writer", writer)?;
        Ok((Self { shared, writer, path }, found))
    }

    /// Checks that the database in a data directory, if there is one, can be read and written. Neither opens nor changes it.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`].
    pub fn check(dir: &Path) -> Result<(), StoreError> {
        let path = dir.join(MARKET_FILE);
        if path.exists() { load::check_access(&path) } else { Ok(()) }
    }

    /// Returns whether the database in a data directory holds a usable market, as [`MarketStore::open`] would find. One that
    /// another process uses is taken to hold one. Changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`], [`StoreError::Database`] when the disk fails.
    pub fn holds_market(dir: &Path) -> Result<bool, StoreError> {
        load::holds_market(&dir.join(MARKET_FILE))
    }

    /// Returns the path of the database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Hands a change to the writer. Never waits.
    pub fn record(&self, change: Change) {
        self.shared.add(change);
        self.writer.wake();
    }

    /// Returns whether the last write reached the disk.
    pub fn is_healthy(&self) -> bool {
        !self.shared.failing.load(Ordering::Relaxed)
    }

    /// Returns the height of the newest block that is safe on disk.
    pub fn stored_block(&self) -> Option<u64> {
        self.shared.stored.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Waits until everything recorded so far was written, or failed to be.
    ///
    /// # Errors
    /// [`StoreError::WriterStopped`] when the writer has ended.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.writer.ask(|done| done)
    }
}
