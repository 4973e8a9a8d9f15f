//! What readers and the writer share: quotes in memory, those that wait for the disk, and the disk.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

use moka::sync::Cache;
use uuid::Uuid;

use super::disk::Disk;
use super::record::QuoteRecord;
use crate::StoreError;

/// Bytes of quotes that may wait for the disk.
const BACKLOG_BYTES: usize = 64 << 20;

/// What readers and the writer share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) disk: Disk,
    pub(super) cache: Cache<Uuid, QuoteRecord>,
    pub(super) waiting: Mutex<Waiting>,
    pub(super) failing: AtomicBool,
}

/// Quotes that are not on disk yet.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub(super) quotes: HashMap<Uuid, QuoteRecord>,
    pub(super) bytes: usize,
}

impl Shared {
    pub(super) fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wait_for_disk(&self, id: Uuid, record: QuoteRecord) -> Result<(), StoreError> {
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
