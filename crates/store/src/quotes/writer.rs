//! The background writer: one batch for all that waits, again until the disk takes it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::thread::JoinHandle;
use std::time::Duration;

use uuid::Uuid;

use super::record::QuoteRecord;
use super::segment::Segment;
use super::shared::Shared;
use crate::StoreError;

/// How long the writer pauses after a failure before it tries the same quotes again.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(250);

/// Bytes of a batch: the disk is waited for after so many.
const BATCH_BYTES: usize = 4 << 20;

/// Where an answer goes.
pub(super) type Reply<T> = SyncSender<Result<T, StoreError>>;

/// What the writer is told.
#[derive(Debug)]
pub(super) enum Order {
    /// Something waits.
    Write,
    /// Write all that waits, then say so.
    Flush(Reply<()>),
    /// Drop what is over at this time.
    Prune(u64, Reply<usize>),
    /// Write all that waits, then end.
    Stop,
}

struct Writer {
    shared: Arc<Shared>,
    /// The file that is written to, and where it ends. None after a failure: nobody knows what that left in the file.
    current: Option<(Arc<Segment>, u64)>,
}

pub(super) fn spawn(shared: Arc<Shared>, inbox: Receiver<Order>) -> Result<JoinHandle<()>, StoreError> {
    let writer = Writer { shared, current: None };
    std::thread::Builder::new()
        .name("quote-writer".into())
        .spawn(move || run(writer, &inbox))
        .map_err(|_| StoreError::WriterStopped)
}

fn run(mut writer: Writer, inbox: &Receiver<Order>) {
    loop {
        let order = if writer.shared.failing.load(Ordering::Relaxed) {
            match inbox.recv_timeout(PAUSE_AFTER_FAILURE) {
                // New quotes do not hurry a disk that refuses.
                Ok(Order::Write) => {
                    std::thread::sleep(PAUSE_AFTER_FAILURE);
                    Order::Write
                }
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
        let written = writer.write_all();
        let path = writer.shared.disk.dir().to_path_buf();
        let unwritable = |source| StoreError::Unwritable { path, source };
        match order {
            Order::Write => {}
            Order::Flush(done) => drop(done.send(written.map_err(unwritable))),
            Order::Prune(now_ms, done) => drop(done.send(writer.prune(now_ms).map_err(unwritable))),
            Order::Stop => return,
        }
    }
}

impl Writer {
    /// Writes what waits, batch by batch, and tells of a change for the worse or the better.
    fn write_all(&mut self) -> io::Result<()> {
        let written = loop {
            match self.write_batch() {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        let was_failing = self.shared.failing.swap(written.is_err(), Ordering::Relaxed);
        match &written {
            Ok(()) if was_failing => tracing::info!("quotes are stored again"),
            Err(error) if !was_failing => {
                tracing::error!(
                    %error,
                    "quotes cannot be written to disk: they are kept in memory, are lost if the service stops, and are tried again"
                );
                self.shared.batches.send_modify(|batches| *batches += 1);
            }
            _ => {}
        }
        written
    }

    /// Writes the oldest quotes that wait and belong in one file; whether there were any. A quote leaves the waiting room only when
    /// it is safe on disk.
    fn write_batch(&mut self) -> io::Result<bool> {
        let mut batch: Vec<(Uuid, QuoteRecord)> =
            self.shared.waiting().quotes.iter().map(|(id, record)| (*id, record.clone())).collect();
        batch.sort_unstable_by_key(|(id, record)| (record.keep_until_ms, *id));
        let Some((_, first)) = batch.first() else { return Ok(false) };
        let current = self.current.take().filter(|(segment, end)| segment.takes(first, *end));
        let (segment, end) = match current {
            Some(current) => current,
            None => (self.shared.disk.begin(first.keep_until_ms)?, 0),
        };
        let mut bytes = 0;
        let fits = batch.iter().take_while(|(_, record)| {
            let before = bytes;
            bytes += record.body.len();
            before < BATCH_BYTES && segment.takes(record, end)
        });
        let fits = fits.count();
        batch.truncate(fits);
        match segment.append(end, &batch) {
            Ok(end) => self.current = Some((segment, end)),
            Err(error) => {
                // What cannot be deleted now is deleted with what is over.
                let _ = self.shared.disk.delete_empty();
                return Err(error);
            }
        }
        {
            let mut waiting = self.shared.waiting();
            batch.iter().for_each(|(id, record)| waiting.remove(id, record));
        }
        self.shared.batches.send_modify(|batches| *batches += 1);
        Ok(true)
    }

    fn prune(&mut self, now_ms: u64) -> io::Result<usize> {
        self.current.take_if(|(segment, _)| segment.is_over(now_ms));
        let forgotten = self.shared.waiting().prune(now_ms);
        Ok(forgotten.saturating_add(self.shared.disk.prune(now_ms)?))
    }
}
