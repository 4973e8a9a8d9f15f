//! Writes waiting quotes to files, batch by batch.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use uuid::Uuid;

use super::record::QuoteRecord;
use super::segment::Segment;
use super::shared::Shared;
use crate::StoreError;
use crate::background;

/// Pause after a failure before the same quotes are tried again.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(250);

/// Bytes of bodies after which a batch ends.
const BATCH_BYTES: usize = 4 << 20;

/// Channel for an answer.
type Reply<T> = SyncSender<Result<T, StoreError>>;

/// A request that a caller waits for.
#[derive(Debug)]
pub(super) enum Request {
    /// Writes all that waits.
    Flush(Reply<()>),
    /// Deletes quotes that ended before this time, in unix milliseconds; answers how many.
    Prune(u64, Reply<usize>),
}

pub(super) struct Writer {
    shared: Arc<Shared>,
    /// The file that is written to, and its end in bytes. `None` after a failure, which may have left a partial record.
    current: Option<(Arc<Segment>, u64)>,
}

impl Writer {
    pub(super) const fn new(shared: Arc<Shared>) -> Self {
        Self { shared, current: None }
    }

    /// Writes the oldest waiting quotes that belong in one file; returns whether there were any. A quote stops waiting
    /// only when it is safe on disk.
    fn write_batch(&mut self) -> io::Result<bool> {
        let waiting = self.shared.waiting.lock();
        let mut batch: Vec<(Uuid, QuoteRecord)> =
            waiting.quotes.iter().map(|(id, record)| (*id, record.clone())).collect();
        drop(waiting);
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
                // A file that cannot be deleted now is deleted when its quotes end.
                let _ = self.shared.disk.delete_empty();
                return Err(error);
            }
        }
        let mut waiting = self.shared.waiting.lock();
        batch.iter().for_each(|(id, record)| waiting.remove(id, record));
        drop(waiting);
        self.shared.batches.send_modify(|batches| *batches += 1);
        Ok(true)
    }

    fn prune(&mut self, now_ms: u64) -> io::Result<usize> {
        self.current.take_if(|(segment, _)| segment.is_over(now_ms));
        let dropped = self.shared.waiting.lock().prune(now_ms);
        Ok(dropped.saturating_add(self.shared.disk.prune(now_ms)?))
    }
}

impl background::Writer for Writer {
    type Request = Request;
    type Error = io::Error;

    /// Writes all waiting quotes, and logs when writing starts or stops to fail.
    fn write(&mut self) -> io::Result<()> {
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
                    "quotes cannot be written to disk: they stay in memory, are lost if the service stops, and are tried again"
                );
                self.shared.batches.send_modify(|batches| *batches += 1);
            }
            _ => {}
        }
        written
    }

    fn pause(&mut self) -> Duration {
        PAUSE_AFTER_FAILURE
    }

    fn answer(&mut self, request: Request, written: io::Result<()>) {
        let path = self.shared.disk.dir().to_path_buf();
        let unwritable = |source| StoreError::Unwritable { path, source };
        match request {
            Request::Flush(reply) => drop(reply.send(written.map_err(unwritable))),
            Request::Prune(now_ms, reply) => drop(reply.send(self.prune(now_ms).map_err(unwritable))),
        }
    }
}
