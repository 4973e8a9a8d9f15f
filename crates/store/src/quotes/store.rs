//! The store of quotes: files, a cache, and the thread that writes.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use parking_lot::Mutex;
use tokio::sync::watch;
use uuid::Uuid;

use super::disk::Disk;
use super::record::QuoteRecord;
use super::shared::{RECORD_BYTES, Shared};
use super::writer::{Request, Writer};
use crate::StoreError;
use crate::background::Background;

/// Name of the directory of quotes inside the data directory.
pub const QUOTE_DIR: &str = "quotes";

/// Bytes of quotes that are cached in memory.
const CACHE_BYTES: u64 = 64 << 20;

/// Bytes of quotes that may wait for the disk.
const WAITING_BYTES: usize = 64 << 20;

/// State of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskState {
    /// It accepts quotes.
    Ok,
    /// It has not answered in time; quotes wait in memory.
    Slow,
    /// It refuses; quotes wait in memory and are written once it accepts them again.
    Failing,
    /// It is slow or refuses, and as many bytes wait in memory as may: quotes are refused.
    Full,
}

/// Quotes by id.
///
/// A quote is found by [`get`](Self::get) as soon as [`put`](Self::put) returns, and by the next process once
/// [`stored`](Self::stored) is true. A background thread writes waiting quotes in batches, with one wait for the disk
/// each.
#[derive(Debug)]
pub struct QuoteStore {
    shared: Arc<Shared>,
    writer: Background<Request>,
}

impl QuoteStore {
    /// Opens or creates the directory of quotes in a data directory. Damaged quotes are logged and not found.
    ///
    /// # Errors
    /// [`StoreError::InUse`] when another process has it, [`StoreError::Unwritable`].
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        Self::with_limit(dir, WAITING_BYTES)
    }

    /// Opens the store with a bound on the bytes of quotes that may wait for the disk.
    ///
    /// # Errors
    /// As [`QuoteStore::open`].
    pub fn with_limit(dir: &Path, waiting_limit_bytes: usize) -> Result<Self, StoreError> {
        let weight =
            |_: &Uuid, record: &QuoteRecord| u32::try_from(record.body.len() + RECORD_BYTES).unwrap_or(u32::MAX);
        let cache = Cache::builder().max_capacity(CACHE_BYTES).weigher(weight).eviction_policy(EvictionPolicy::lru());
        let shared = Arc::new(Shared {
            disk: Disk::open(dir.join(QUOTE_DIR))?,
            cache: cache.build(),
            waiting: Mutex::default(),
            waiting_limit_bytes,
            failing: AtomicBool::new(false),
            batches: watch::Sender::new(0),
            stalled_at: AtomicU64::new(u64::MAX),
        });
        let writer = Background::spawn("quote-writer", Writer::new(Arc::clone(&shared)))?;
        Ok(Self { shared, writer })
    }

    /// Stores a quote, in place of an earlier one with that id. It is found as soon as this returns.
    ///
    /// # Errors
    /// [`StoreError::Backlog`] when as many bytes wait for the disk as may; the quote is then not stored.
    pub fn put(&self, id: Uuid, record: QuoteRecord) -> Result<(), StoreError> {
        self.shared.wait_for_disk(id, record)?;
        self.writer.wake();
        Ok(())
    }

    /// Waits until a quote is on disk, where it survives the process and a loss of power. Returns false when the disk
    /// fails, or does not answer within `patience`; from then on at once, until the disk accepts quotes again.
    pub async fn stored(&self, id: Uuid, patience: Duration) -> bool {
        let mut batches = self.shared.batches.subscribe();
        let waits = || self.shared.waiting.lock().quotes.contains_key(&id);
        if self.state() != DiskState::Ok {
            return !waits();
        }
        // A failure counts as a batch, so that it ends the wait.
        let taken = batches.wait_for(|_| !waits() || self.shared.failing.load(Ordering::Relaxed));
        if tokio::time::timeout(patience, taken).await.is_err() {
            self.shared.stalled_at.store(*self.shared.batches.borrow(), Ordering::Relaxed);
        }
        !waits()
    }

    /// Returns the quote of an id, if it is still stored. May read the disk.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] when the read fails.
    pub fn get(&self, id: Uuid) -> Result<Option<QuoteRecord>, StoreError> {
        if let Some(record) = self.recent(id) {
            return Ok(Some(record));
        }
        let found = self.shared.disk.find(id)?;
        if let Some(record) = &found {
            self.shared.cache.insert(id, record.clone());
        }
        Ok(found)
    }

    /// Returns the quote of an id if it is in memory. Never waits for the disk.
    pub fn recent(&self, id: Uuid) -> Option<QuoteRecord> {
        self.shared.cache.get(&id).or_else(|| self.shared.waiting.lock().quotes.get(&id).cloned())
    }

    /// Returns the state of the disk.
    pub fn state(&self) -> DiskState {
        if self.shared.waiting.lock().refuses {
            DiskState::Full
        } else if self.shared.failing.load(Ordering::Relaxed) {
            DiskState::Failing
        } else if self.shared.stalled_at.load(Ordering::Relaxed) == *self.shared.batches.borrow() {
            DiskState::Slow
        } else {
            DiskState::Ok
        }
    }

    /// Returns how many quotes wait for the disk, and their bytes in memory.
    pub fn waiting(&self) -> (usize, usize) {
        let waiting = self.shared.waiting.lock();
        (waiting.quotes.len(), waiting.bytes)
    }

    /// Waits until everything put so far is on disk.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`] when the disk refuses it; it stays in memory. [`StoreError::WriterStopped`].
    pub fn flush(&self) -> Result<(), StoreError> {
        self.writer.ask(Request::Flush)?
    }

    /// Deletes quotes that ended before a time, in unix milliseconds, file by file; returns how many.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`] when a file cannot be deleted, [`StoreError::WriterStopped`].
    pub fn prune(&self, now_ms: u64) -> Result<usize, StoreError> {
        self.writer.ask(|reply| Request::Prune(now_ms, reply))?
    }
}
