//! State shared by the market store and its writer.

use std::sync::atomic::{AtomicBool, AtomicU64};

use parking_lot::Mutex;

use super::change::Change;

/// State shared by the store and its writer.
#[derive(Debug)]
pub(super) struct Shared {
    /// What the disk has not taken yet.
    pub(super) waiting: Mutex<Option<Change>>,
    pub(super) failing: AtomicBool,
    /// Height of the block that is safe on disk, plus one; 0 before the first.
    pub(super) stored: AtomicU64,
}

impl Shared {
    /// Adds a change after what waits.
    pub(super) fn add(&self, change: Change) {
        let mut waiting = self.waiting.lock();
        *waiting = Some(match waiting.take() {
            Some(earlier) => earlier.and(change),
            None => change,
        });
    }

    /// Puts a change back that could not be written, before what came meanwhile.
    pub(super) fn put_back(&self, change: Change) {
        let mut waiting = self.waiting.lock();
        *waiting = Some(match waiting.take() {
            Some(later) => change.and(later),
            None => change,
        });
    }
}
