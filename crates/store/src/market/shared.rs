//! What waits for the disk, and how the writer does.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::change::Change;

/// What the store and its writer share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) waiting: Mutex<Option<Change>>,
    pub(super) failing: AtomicBool,
    /// Height of the block that is safe on disk, plus one; 0 before the first.
    pub(super) stored: AtomicU64,
}

impl Shared {
    pub(super) fn waiting(&self) -> MutexGuard<'_, Option<Change>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a change in line, before whatever came meanwhile.
    pub(super) fn put_back(&self, change: Change) {
        let mut waiting = self.waiting();
        *waiting = Some(match waiting.take() {
            Some(later) => change.and(later),
            None => change,
        });
    }
}
