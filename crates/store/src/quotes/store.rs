//! The store of quotes: a cache and a database, and the thread that writes to it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use moka::sync::Cache;
use uuid::Uuid;

use super::disk::Disk;
use super::record::QuoteRecord;
use super::shared::Shared;
use super::writer;
use crate::StoreError;

/// Name of the database inside the data directory.
pub const QUOTE_FILE: &str = "quotes.redb";

/// Bytes of quotes kept in memory in front of the database.
const CACHE_BYTES: u64 = 64 << 20;

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
