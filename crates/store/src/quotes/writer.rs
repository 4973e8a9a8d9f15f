//! The background writer: one transaction for all that waits.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender};
use std::thread::JoinHandle;
use std::time::Duration;

use uuid::Uuid;

use super::{record::QuoteRecord, shared::Shared};
use crate::StoreError;

/// How long the writer pauses after a failed transaction before it tries the same quotes again.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(200);

/// What the writer is told.
#[derive(Debug)]
pub(super) enum Order {
    /// Something waits.
    Write,
    /// Write all that waits, then say so.
    Flush(SyncSender<()>),
    /// Write all that waits, then end.
    Stop,
}

pub(super) fn spawn(shared: Arc<Shared>, inbox: Receiver<Order>) -> Result<JoinHandle<()>, StoreError> {
    std::thread::Builder::new()
        .name("quote-writer".into())
        .spawn(move || run(&shared, &inbox))
        .map_err(|_| StoreError::WriterStopped)
}

fn run(shared: &Shared, inbox: &Receiver<Order>) {
    while let Ok(order) = inbox.recv() {
        let written = write_all(shared);
        shared.failing.store(written.is_err(), Ordering::Relaxed);
        if let Err(error) = &written {
            tracing::error!(%error, "quotes could not be written; they are kept in memory and tried again");
            std::thread::sleep(PAUSE_AFTER_FAILURE);
        }
        match order {
            Order::Write => {}
            Order::Flush(done) => drop(done.send(())),
            Order::Stop => return,
        }
    }
}

/// Writes what waits. Quotes leave the waiting room only when they are safe on disk.
fn write_all(shared: &Shared) -> Result<(), StoreError> {
    let batch: Vec<(Uuid, QuoteRecord)> =
        shared.waiting().quotes.iter().map(|(id, record)| (*id, record.clone())).collect();
    if batch.is_empty() {
        return Ok(());
    }
    shared.disk.insert(&batch)?;
    let mut waiting = shared.waiting();
    for (id, record) in &batch {
        if waiting.quotes.remove(id).is_some() {
            waiting.bytes = waiting.bytes.saturating_sub(record.body.len());
        }
    }
    Ok(())
}
