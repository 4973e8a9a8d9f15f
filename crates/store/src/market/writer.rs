//! Writes the newest change to the market database, one transaction for all that waits.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use braid_market::Market;

use super::{change::Change, disk::Disk, shared::Shared};
use crate::StoreError;
use crate::background;

/// Pauses after failed transactions: the first, which doubles with each failure, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// A request to write what waits; answered when that was tried.
pub(super) type Flush = SyncSender<()>;

pub(super) struct Writer {
    shared: Arc<Shared>,
    /// `None` after a failure: the database accepts no more transactions then, so it is opened again.
    disk: Option<Disk>,
    path: PathBuf,
    /// The market that the tables hold.
    base: Option<Arc<Market>>,
    sequence: u64,
    /// The market of a transaction that failed, which may have reached the disk all the same.
    attempted: Option<Arc<Market>>,
    pause: Duration,
}

impl Writer {
    pub(super) fn new(shared: Arc<Shared>, disk: Disk, base: Option<Arc<Market>>, path: PathBuf) -> Self {
        let sequence = disk.sequence;
        Self { shared, disk: Some(disk), path, base, sequence, attempted: None, pause: PAUSES.0 }
    }

    fn write_one(&mut self, change: &Change) -> Result<(), StoreError> {
        let mut disk = self.take_disk()?;
        match disk.write(self.base.as_deref(), change) {
            Ok(()) => {
                self.base = Some(Arc::clone(&change.market));
                self.sequence = disk.sequence;
                self.disk = Some(disk);
                Ok(())
            }
            Err(error) => {
                self.attempted = Some(Arc::clone(&change.market));
                Err(error)
            }
        }
    }

    /// Returns the open database; after a failure opens it again and checks where it stands.
    fn take_disk(&mut self) -> Result<Disk, StoreError> {
        if let Some(disk) = self.disk.take() {
            return Ok(disk);
        }
        let disk = Disk::open(&self.path)?;
        let attempted = self.attempted.take();
        if disk.sequence == self.sequence.wrapping_add(1) && attempted.is_some() {
            // The transaction that failed had reached the disk.
            (self.base, self.sequence) = (attempted, disk.sequence);
        } else if disk.sequence != self.sequence {
            return Err(StoreError::Replaced);
        }
        Ok(disk)
    }
}

impl background::Writer for Writer {
    type Request = Flush;
    type Error = StoreError;

    /// Writes the waiting change. It stops waiting only when it is safe on disk.
    fn write(&mut self) -> Result<(), StoreError> {
        let Some(change) = self.shared.waiting.lock().take() else { return Ok(()) };
        if let Err(error) = self.write_one(&change) {
            tracing::error!(%error, "the market could not be stored: serving goes on, and storing is tried again");
            self.shared.failing.store(true, Ordering::Relaxed);
            self.shared.put_back(change);
            return Err(error);
        }
        if self.shared.failing.swap(false, Ordering::Relaxed) {
            tracing::info!("the market is stored again");
        }
        self.pause = PAUSES.0;
        self.shared.stored.store(change.market.block().number.saturating_add(1), Ordering::Relaxed);
        Ok(())
    }

    fn pause(&mut self) -> Duration {
        let pause = self.pause;
        self.pause = pause.saturating_mul(2).min(PAUSES.1);
        pause
    }

    fn answer(&mut self, flush: Flush, _written: Result<(), StoreError>) {
        let _ = flush.send(());
    }
}
