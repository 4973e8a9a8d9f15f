//! The store of quotes: files, memory in front of them, and the thread that writes.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use tokio::sync::watch;
use uuid::Uuid;

use super::disk::Disk;
use super::record::QuoteRecord;
use super::shared::{RECORD_BYTES, Shared};
use super::writer;
use crate::StoreError;

/// Name of the directory of quotes inside the data directory.
pub const QUOTE_DIR: &str = "quotes";

/// Bytes of quotes kept in memory in front of the files.
const CACHE_BYTES: u64 = 64 << 20;

/// Bytes of quotes that may wait for the disk.
const WAITING_BYTES: usize = 64 << 20;

/// How the disk does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskState {
    /// It takes quotes.
    Ok,
    /// It has not answered in time; quotes wait in memory.
    Slow,
    /// It refuses; quotes wait in memory and are written once it takes them again.
    Failing,
}

/// Quotes by id.
///
/// A quote can be found by [`get`](Self::get) as soon as [`put`](Self::put) returns, and by the next process once
/// [`stored`](Self::stored) is true. A background thread writes all that wait as one batch, with one wait for the disk, again and again.
#[derive(Debug)]
pub struct QuoteStore {
    shared: Arc<Shared>,
    orders: SyncSender<writer::Order>,
    writer: Option<JoinHandle<()>>,
}

impl QuoteStore {
    /// Opens or makes the directory of quotes in a data directory. Damaged quotes are told of in the log and are not found.
    ///
    /// # Errors
    /// [`StoreError::InUse`] when another process has it, [`StoreError::Unwritable`].
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        Self::with_limit(dir, WAITING_BYTES)
    }

    /// As [`QuoteStore::open`], with the bytes of quotes that may wait for the disk.
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
        // one wake-up is enough however many quotes wait
        let (orders, inbox) = sync_channel(16);
        let writer = writer::spawn(Arc::clone(&shared), inbox)?;
        Ok(Self { shared, orders, writer: Some(writer) })
    }

    /// Keeps a quote, in place of what was kept of that id. It can be found the instant this returns.
    ///
    /// # Errors
    /// [`StoreError::Backlog`] when as much waits for the disk as may; the quote is then not kept.
    pub fn put(&self, id: Uuid, record: QuoteRecord) -> Result<(), StoreError> {
        self.shared.wait_for_disk(id, record)?;
        // a full inbox means that the writer has orders to come back for more
        let _ = self.orders.try_send(writer::Order::Write);
        Ok(())
    }

    /// Waits until the disk has a quote that was put: then it outlives the process and a loss of power. False when the disk fails,
    /// or does not answer within `patience`; from then on false at once, until it takes quotes again.
    pub async fn stored(&self, id: Uuid, patience: Duration) -> bool {
        let mut batches = self.shared.batches.subscribe();
        let waits = || self.shared.waiting().quotes.contains_key(&id);
        if self.state() != DiskState::Ok {
            return !waits();
        }
        // A failure counts as a batch, so that it ends the waiting.
        let taken = batches.wait_for(|_| !waits() || self.shared.failing.load(Ordering::Relaxed));
        if tokio::time::timeout(patience, taken).await.is_err() {
            self.shared.stalled_at.store(*self.shared.batches.borrow(), Ordering::Relaxed);
        }
        !waits()
    }

    /// The quote of an id, if it is still kept. May read the disk.
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

    /// The quote of an id if it is in memory: never waits for the disk.
    pub fn recent(&self, id: Uuid) -> Option<QuoteRecord> {
        self.shared.cache.get(&id).or_else(|| self.shared.waiting().quotes.get(&id).cloned())
    }

    /// How the disk does.
    pub fn state(&self) -> DiskState {
        if self.shared.failing.load(Ordering::Relaxed) {
            DiskState::Failing
        } else if self.shared.stalled_at.load(Ordering::Relaxed) == *self.shared.batches.borrow() {
            DiskState::Slow
        } else {
            DiskState::Ok
        }
    }

    /// How many quotes wait for the disk, and how many bytes of memory they take.
    pub fn waiting(&self) -> (usize, usize) {
        let waiting = self.shared.waiting();
        (waiting.quotes.len(), waiting.bytes)
    }

    /// Waits until everything put so far is on disk.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`] when the disk refuses it; it stays in memory. [`StoreError::WriterStopped`].
    pub fn flush(&self) -> Result<(), StoreError> {
        self.ask(writer::Order::Flush)
    }

    /// Drops what need not be kept at this time (unix milliseconds), file by file; returns how many quotes went.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`] when a file cannot be deleted, [`StoreError::WriterStopped`].
    pub fn prune(&self, now_ms: u64) -> Result<usize, StoreError> {
        self.ask(|reply| writer::Order::Prune(now_ms, reply))
    }

    fn ask<T>(&self, order: impl FnOnce(writer::Reply<T>) -> writer::Order) -> Result<T, StoreError> {
        let (done, wait) = sync_channel(1);
        self.orders.send(order(done)).map_err(|_| StoreError::WriterStopped)?;
        wait.recv().map_err(|_| StoreError::WriterStopped)?
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
