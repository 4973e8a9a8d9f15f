//! The market on disk: pools, tokens, what discovery learnt, and the block that all of it is of.
//!
//! One transaction a block, made by a thread of its own, holds only what changed; so a crash at any instant leaves the
//! market of some block, whole. Every record is part of one sum that is checked when the market is read: a database that is not
//! what was written is never used, but put aside, named, and begun anew.

mod disk;
mod load;
mod record;
mod sum;
mod writer;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use braid_market::Market;
use braid_primitives::PoolKey;

use crate::StoreError;
use disk::Disk;
pub use load::Damage;
pub use record::{JournalEntry, KnownPool, ListRecord, SourceSpan};

/// Name of the database inside the data directory.
pub const MARKET_FILE: &str = "market.redb";

/// Blocks whose changed pools are remembered, so that a restart after a reorganisation reads those alone.
pub const JOURNAL_BLOCKS: usize = 256;

/// What the follower knows, as it stood at one block.
#[derive(Clone, Debug)]
pub struct Saved {
    /// Every pool and token at the block. Pools are in the order of keys.
    pub market: Arc<Market>,
    /// Pools whose state was read for that very block rather than carried to it by logs.
    pub read: Vec<PoolKey>,
    /// Every pool that was ever announced.
    pub known: Vec<KnownPool>,
    /// Where the search for pools stands.
    pub sources: Vec<SourceSpan>,
    /// How far lists of pools have been read; none in a database from before there were any.
    pub lists: Vec<ListRecord>,
    /// The newest blocks that were stored, ascending, each with the pools that changed since the one before.
    pub journal: Vec<JournalEntry>,
}

/// What is to be stored: the market whole, of which only the difference is written, and differences of the rest.
#[derive(Clone, Debug)]
pub struct Change {
    /// The newest market.
    pub market: Arc<Market>,
    /// As [`Saved::read`].
    pub read: Vec<PoolKey>,
    /// Announced pools that are new or different; `None` for those that no longer are.
    pub known: BTreeMap<PoolKey, Option<KnownPool>>,
    /// Every source's span.
    pub sources: Vec<SourceSpan>,
    /// Every list that was read.
    pub lists: Vec<ListRecord>,
    /// Blocks above this height were replaced since the change before, if any were.
    pub rolled_back_to: Option<u64>,
}

impl Change {
    /// This change and a later one as one.
    fn and(mut self, later: Self) -> Self {
        self.known.extend(later.known);
        let rolled_back_to = match (self.rolled_back_to, later.rolled_back_to) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Self { known: self.known, rolled_back_to, ..later }
    }
}

/// What was found when the database was opened.
#[derive(Debug)]
pub enum Found {
    /// Nothing: this is a first start.
    Nothing,
    /// A market.
    Market(Box<Saved>),
    /// Something that cannot be used; it was put aside, and the market will be read from the chain again.
    Unusable(Damage),
}

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

#[derive(Debug)]
struct Shared {
    waiting: Mutex<Option<Change>>,
    failing: AtomicBool,
    /// Height of the block that is safe on disk, plus one; 0 before the first.
    stored: AtomicU64,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Option<Change>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a change in line, before whatever came meanwhile.
    fn put_back(&self, change: Change) {
        let mut waiting = self.waiting();
        *waiting = Some(match waiting.take() {
            Some(later) => change.and(later),
            None => change,
        });
    }
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
