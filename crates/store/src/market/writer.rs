//! The background writer: one transaction for all that waits, again until the disk takes it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::thread::JoinHandle;
use std::time::Duration;

use braid_market::Market;

use super::{change::Change, disk::Disk, shared::Shared};
use crate::StoreError;

/// Pauses after a failed transaction: the first, and the longest that doubling leads to.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// What the writer is told.
#[derive(Debug)]
pub(super) enum Order {
    /// Something waits.
    Write,
    /// Write what waits, once, then say so.
    Flush(SyncSender<()>),
    /// Write what waits, once, then end.
    Stop,
}

struct Writer {
    shared: Arc<Shared>,
    /// `None` after a failure: the database refuses to go on after one, so it is opened again.
    disk: Option<Disk>,
    path: PathBuf,
    /// The market that the tables hold.
    base: Option<Arc<Market>>,
    sequence: u64,
    /// The market of a transaction that failed, which may yet have reached the disk.
    attempted: Option<Arc<Market>>,
}

pub(super) fn spawn(
    shared: Arc<Shared>,
    disk: Disk,
    base: Option<Arc<Market>>,
    path: PathBuf,
    inbox: Receiver<Order>,
) -> Result<JoinHandle<()>, StoreError> {
    let sequence = disk.sequence;
    let writer = Writer { shared, disk: Some(disk), path, base, sequence, attempted: None };
    std::thread::Builder::new()
        .name("market-writer".into())
        .spawn(move || run(writer, &inbox))
        .map_err(|_| StoreError::WriterStopped)
}

fn run(mut writer: Writer, inbox: &Receiver<Order>) {
    let mut pause = PAUSES.0;
    loop {
        let order = if writer.shared.failing.load(Ordering::Relaxed) {
            match inbox.recv_timeout(pause) {
                // New blocks do not hurry a disk that refuses.
                Ok(Order::Write) => continue,
                Ok(order) => order,
                Err(RecvTimeoutError::Timeout) => Order::Write,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        } else {
            match inbox.recv() {
                Ok(order) => order,
                Err(_) => return,
            }
        };
        match writer.write() {
            Ok(()) => pause = PAUSES.0,
            Err(error) => {
                tracing::error!(%error, "the market could not be stored; serving goes on, and it is tried again");
                pause = pause.saturating_mul(2).min(PAUSES.1);
            }
        }
        match order {
            Order::Write => {}
            Order::Flush(done) => drop(done.send(())),
            Order::Stop => return,
        }
    }
}

impl Writer {
    /// Writes what waits. A change leaves the waiting room only when it is safe on disk.
    fn write(&mut self) -> Result<(), StoreError> {
        let Some(change) = self.shared.waiting().take() else { return Ok(()) };
        let written = self.write_one(&change);
        match &written {
            Ok(()) => {
                if self.shared.failing.swap(false, Ordering::Relaxed) {
                    tracing::info!("the market is stored again");
                }
                self.shared.stored.store(change.market.block().number.saturating_add(1), Ordering::Relaxed);
            }
            Err(_) => {
                self.shared.failing.store(true, Ordering::Relaxed);
                self.shared.put_back(change);
            }
        }
        written
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

    /// The open database; after a failure opened again, and held to where it must stand.
    fn take_disk(&mut self) -> Result<Disk, StoreError> {
        if let Some(disk) = self.disk.take() {
            return Ok(disk);
        }
        let disk = Disk::open(&self.path)?;
        let attempted = self.attempted.take();
        if disk.sequence == self.sequence.wrapping_add(1) && attempted.is_some() {
            // The transaction that failed had reached the disk after all.
            (self.base, self.sequence) = (attempted, disk.sequence);
        } else if disk.sequence != self.sequence {
            return Err(StoreError::Replaced);
        }
        Ok(disk)
    }
}
