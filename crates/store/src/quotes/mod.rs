//! Quotes: found at once by whoever asks, on disk a moment later, gone when nobody can ask any more.

mod disk;
mod writer;

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use moka::sync::Cache;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::StoreError;
use disk::Disk;

/// Name of the database inside the data directory.
pub const QUOTE_FILE: &str = "quotes.redb";

/// Bytes of quotes kept in memory in front of the database.
const CACHE_BYTES: u64 = 64 << 20;

/// Bytes of quotes that may wait for the disk.
const BACKLOG_BYTES: usize = 64 << 20;

/// A stored quote. The store does not look into it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuoteRecord {
    /// The record may be dropped after this time, unix milliseconds.
    pub keep_until_ms: u64,
    /// The quote as the server wrote it.
    pub body: Arc<[u8]>,
}

/// Quotes by id.
///
/// `put` returns as soon as the quote can be found by [`get`](Self::get); a background thread writes all that wait as one
/// transaction, again and again. A clean stop writes everything; a crash loses at most the transaction that was under way.
#[derive(Debug)]
pub struct QuoteStore {
    shared: Arc<Shared>,
    orders: SyncSender<writer::Order>,
    writer: Option<JoinHandle<()>>,
}

/// What readers and the writer share.
#[derive(Debug)]
struct Shared {
    disk: Disk,
    cache: Cache<Uuid, QuoteRecord>,
    waiting: Mutex<Waiting>,
    failing: AtomicBool,
}

/// Quotes that are not on disk yet.
#[derive(Debug, Default)]
struct Waiting {
    quotes: HashMap<Uuid, QuoteRecord>,
    bytes: usize,
}

impl QuoteStore {
    /// Opens or creates the database in a data directory.
    ///
    /// # Errors
    /// [`StoreError::InUse`] when another process has it, [`StoreError::Unwritable`], [`StoreError::Database`].
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        Self::start(Disk::open(&dir.join(QUOTE_FILE))?)
    }

    /// A store without a disk, for tests and for a service that may forget its quotes.
    ///
    /// # Errors
    /// [`StoreError::Database`] when memory cannot be had.
    pub fn in_memory() -> Result<Self, StoreError> {
        Self::start(Disk::in_memory()?)
    }

    fn start(disk: Disk) -> Result<Self, StoreError> {
        let weight = |_: &Uuid, record: &QuoteRecord| u32::try_from(record.body.len() + 128).unwrap_or(u32::MAX);
        let cache = Cache::builder().max_capacity(CACHE_BYTES).weigher(weight).build();
        let shared = Arc::new(Shared { disk, cache, waiting: Mutex::default(), failing: AtomicBool::new(false) });
        // one wake-up is enough however many quotes wait
        let (orders, inbox) = sync_channel(16);
        let writer = writer::spawn(Arc::clone(&shared), inbox)?;
        Ok(Self { shared, orders, writer: Some(writer) })
    }

    /// Keeps a quote. It can be found the instant this returns.
    ///
    /// # Errors
    /// [`StoreError::Backlog`] when the disk does not keep up; the quote is then not kept.
    pub fn put(&self, id: Uuid, record: QuoteRecord) -> Result<(), StoreError> {
        self.shared.wait_for_disk(id, record)?;
        // a full inbox means that the writer has orders to come back for more
        let _ = self.orders.try_send(writer::Order::Write);
        Ok(())
    }

    /// The quote of an id, if it is still kept. May read the disk.
    ///
    /// # Errors
    /// [`StoreError::Database`] when the read fails.
    pub fn get(&self, id: Uuid) -> Result<Option<QuoteRecord>, StoreError> {
        if let Some(record) = self.recent(id) {
            return Ok(Some(record));
        }
        let found = self.shared.disk.get(id)?;
        if let Some(record) = &found {
            self.shared.cache.insert(id, record.clone());
        }
        Ok(found)
    }

    /// The quote of an id if it is in memory: never waits for the disk.
    pub fn recent(&self, id: Uuid) -> Option<QuoteRecord> {
        self.shared.cache.get(&id).or_else(|| self.shared.waiting().quotes.get(&id).cloned())
    }

    /// Whether the last write went to disk.
    pub fn is_healthy(&self) -> bool {
        !self.shared.failing.load(Ordering::Relaxed)
    }

    /// Waits until everything put so far is on disk.
    ///
    /// # Errors
    /// [`StoreError::WriterStopped`] when the writer is gone.
    pub fn flush(&self) -> Result<(), StoreError> {
        let (done, wait) = sync_channel(1);
        self.orders.send(writer::Order::Flush(done)).map_err(|_| StoreError::WriterStopped)?;
        wait.recv().map_err(|_| StoreError::WriterStopped)
    }

    /// Drops what need not be kept at this time (unix milliseconds), at most a few thousand at once; returns how many.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn prune(&self, now_ms: u64) -> Result<usize, StoreError> {
        let gone = self.shared.disk.prune(now_ms)?;
        for id in &gone {
            self.shared.cache.invalidate(id);
        }
        Ok(gone.len())
    }
}

impl Drop for QuoteStore {
    fn drop(&mut self) {
        let _ = self.orders.send(writer::Order::Stop);
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for_disk(&self, id: Uuid, record: QuoteRecord) -> Result<(), StoreError> {
        let mut waiting = self.waiting();
        let bytes = waiting.bytes.saturating_add(record.body.len());
        if bytes > BACKLOG_BYTES {
            return Err(StoreError::Backlog { waiting_bytes: waiting.bytes, limit_bytes: BACKLOG_BYTES });
        }
        waiting.bytes = bytes;
        self.cache.insert(id, record.clone());
        waiting.quotes.insert(id, record);
        Ok(())
    }
}
