//! State shared by readers and the writer of quotes: the cache, quotes that wait for the disk, and the disk.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use moka::sync::Cache;
use parking_lot::Mutex;
use tokio::sync::watch;
use uuid::Uuid;

use super::disk::Disk;
use super::record::QuoteRecord;
use crate::StoreError;

/// Bytes that a quote takes in memory besides its body.
pub(super) const RECORD_BYTES: usize = 128;

/// State shared by readers and the writer.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) disk: Disk,
    pub(super) cache: Cache<Uuid, QuoteRecord>,
    pub(super) waiting: Mutex<Waiting>,
    /// Bytes of quotes that may wait for the disk.
    pub(super) waiting_limit_bytes: usize,
    pub(super) failing: AtomicBool,
    /// Batches that the disk accepted, and failures.
    pub(super) batches: watch::Sender<u64>,
    /// Value of `batches` when a caller last waited for the next one in vain.
    pub(super) stalled_at: AtomicU64,
}

/// Quotes that are not on disk yet.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub(super) quotes: HashMap<Uuid, QuoteRecord>,
    pub(super) bytes: usize,
    /// True from a refused quote until bytes no longer wait.
    pub(super) refuses: bool,
}

impl Waiting {
    fn add(&mut self, id: Uuid, record: QuoteRecord) {
        self.bytes = self.bytes.saturating_add(record.body.len() + RECORD_BYTES);
        if let Some(old) = self.quotes.insert(id, record) {
            self.subtract_bytes(&old);
        }
    }

    fn subtract_bytes(&mut self, record: &QuoteRecord) {
        self.refuses = false;
        self.bytes = self.bytes.saturating_sub(record.body.len() + RECORD_BYTES);
    }

    /// Removes a quote that is on disk, unless it was replaced since.
    pub(super) fn remove(&mut self, id: &Uuid, record: &QuoteRecord) {
        if self.quotes.get(id).is_some_and(|waiting| Arc::ptr_eq(&waiting.body, &record.body)) {
            self.quotes.remove(id);
            self.subtract_bytes(record);
        }
    }

    /// Drops quotes that ended; returns how many.
    pub(super) fn prune(&mut self, now_ms: u64) -> usize {
        let over = self.quotes.extract_if(|_, record| record.keep_until_ms < now_ms);
        let over: Vec<QuoteRecord> = over.map(|(_, record)| record).collect();
        over.iter().for_each(|record| self.subtract_bytes(record));
        over.len()
    }
}

impl Shared {
    /// Caches a quote, and adds it to those that wait for the disk.
    pub(super) fn wait_for_disk(&self, id: Uuid, record: QuoteRecord) -> Result<(), StoreError> {
        let mut waiting = self.waiting.lock();
        if waiting.bytes.saturating_add(record.body.len()) > self.waiting_limit_bytes {
            waiting.refuses = true;
            let (waiting_bytes, limit_bytes) = (waiting.bytes, self.waiting_limit_bytes);
            return Err(StoreError::Backlog { waiting_bytes, limit_bytes });
        }
        self.cache.insert(id, record.clone());
        waiting.add(id, record);
        Ok(())
    }
}
