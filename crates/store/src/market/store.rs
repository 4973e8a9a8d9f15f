//! The store of the market: its database, and the thread that writes to it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use braid_market::Market;

use super::change::Change;
use super::disk::Disk;
use super::load::{self, Found};
use super::shared::Shared;
use super::writer;
use crate::StoreError;

/// Name of the database inside the data directory.
pub const MARKET_FILE: &str = "market.redb";

/// The market's database, with a thread that writes to it.
///
/// [`record`](Self::record) never waits: what the disk has not taken yet is merged, the newest market wins. A disk that fails
/// is tried again; meanwhile [`is_healthy`](Self::is_healthy) is false and nothing is lost but the time.
#[derive(Debug)]
pub struct MarketStore {
    shared: Arc<Shared>,
    orders: SyncSender<writer::Order>,
    writer: Option<JoinHandle<()>>,
    path: PathBuf,
}

impl MarketStore {
    /// Opens or creates the database in a data directory, reads what it holds, and starts the writer.
    ///
    /// # Errors
    /// [`StoreError::InUse`] when another process has it, [`StoreError::Unwritable`]. A damaged database is no error: it is put
    /// aside as `market.redb.unusable` and told of in [`Found::Unusable`].
    pub fn open(dir: &Path) -> Result<(Self, Found), StoreError> {
        let path = dir.join(MARKET_FILE);
        let (disk, found) = load::open(&path)?;
        let base = match &found {
            Found::Market(saved) => Some(Arc::clone(&saved.market)),
            _ => None,
        };
        Ok((Self::start(disk, base, path)?, found))
    }

    fn start(disk: Disk, base: Option<Arc<Market>>, path: PathBuf) -> Result<Self, StoreError> {
        let stored = base.as_ref().map_or(0, |market| market.block().number.saturating_add(1));
        let shared = Arc::new(Shared {
            waiting: Mutex::default(),
            failing: AtomicBool::new(false),
            stored: AtomicU64::new(stored),
        });
        // one wake-up is enough however much waits
        let (orders, inbox) = sync_channel(16);
        let writer = writer::spawn(Arc::clone(&shared), disk, base, path.clone(), inbox)?;
        Ok(Self { shared, orders, writer: Some(writer), path })
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Hands a change over to the writer. Does not wait.
    pub fn record(&self, change: Change) {
        {
            let mut waiting = self.shared.waiting();
            *waiting = Some(match waiting.take() {
                Some(earlier) => earlier.and(change),
                None => change,
            });
        }
        // a full inbox means that the writer has orders to come back for more
        let _ = self.orders.try_send(writer::Order::Write);
    }

    /// Whether the last write went to disk.
    pub fn is_healthy(&self) -> bool {
        !self.shared.failing.load(Ordering::Relaxed)
    }

    /// Height of the newest block that is safe on disk.
    pub fn stored_block(&self) -> Option<u64> {
        self.shared.stored.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Waits until what was recorded so far was written, or failed to be.
    ///
    /// # Errors
    /// [`StoreError::WriterStopped`] when the writer is gone.
    pub fn flush(&self) -> Result<(), StoreError> {
        let (done, wait) = sync_channel(1);
        self.orders.send(writer::Order::Flush(done)).map_err(|_| StoreError::WriterStopped)?;
        wait.recv().map_err(|_| StoreError::WriterStopped)
    }
}

impl Drop for MarketStore {
    fn drop(&mut self) {
        let _ = self.orders.send(writer::Order::Stop);
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}
