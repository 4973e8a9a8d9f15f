//! The directory of quotes: its files, and the lock of the process that owns them.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use uuid::Uuid;

use super::record::QuoteRecord;
use super::segment::Segment;
use crate::StoreError;

/// File in which earlier versions stored quotes, beside the directory.
const FORMER_FILE: &str = "quotes.redb";

/// The files of quotes of one data directory, oldest first.
#[derive(Debug)]
pub(super) struct Disk {
    dir: PathBuf,
    segments: RwLock<Vec<Arc<Segment>>>,
    /// Held for as long as the files are ours.
    _lock: File,
}

impl Disk {
    /// Opens or creates the directory. Files that cannot be read are logged and skipped.
    pub(super) fn open(dir: PathBuf) -> Result<Self, StoreError> {
        let unwritable = |source| StoreError::Unwritable { path: dir.clone(), source };
        crate::private_dir(&dir).map_err(unwritable)?;
        let lock = lock(&dir.join("lock")).map_err(unwritable)?;
        let lock = lock.ok_or_else(|| StoreError::InUse { path: dir.clone() })?;
        if std::fs::remove_file(dir.with_file_name(FORMER_FILE)).is_ok() {
            tracing::info!("{FORMER_FILE} was removed: quotes are stored in {} now", dir.display());
        }
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(&dir).map_err(unwritable)? {
            paths.push(entry.map_err(unwritable)?.path());
        }
        // Names begin with the time: a quote that a later file holds again counts.
        paths.sort_unstable();
        let mut segments = Vec::new();
        for path in paths {
            match Segment::open(path.clone()) {
                None => {}
                Some(Err(error)) => {
                    tracing::warn!(%error, file = %path.display(), "a file of quotes cannot be read: its quotes are not found")
                }
                Some(Ok((segment, lost_bytes))) => {
                    if lost_bytes > 0 {
                        tracing::warn!(lost_bytes, file = %path.display(), "a file of quotes is cut short or damaged: the damaged quotes are not found");
                    }
                    segments.push(Arc::new(segment));
                }
            }
        }
        Ok(Self { dir, segments: RwLock::new(segments), _lock: lock })
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the quote of an id, from the newest file that has it.
    pub(super) fn find(&self, id: Uuid) -> Result<Option<QuoteRecord>, StoreError> {
        for segment in self.all().iter().rev() {
            let found = segment.find(id);
            let found = found.map_err(|source| StoreError::Unreadable { path: segment.path().into(), source })?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Creates a file for quotes that end from this time on.
    pub(super) fn begin(&self, first_end_ms: u64) -> io::Result<Arc<Segment>> {
        let segment = Arc::new(Segment::create(&self.dir, first_end_ms)?);
        self.segments.write().push(Arc::clone(&segment));
        Ok(segment)
    }

    /// Deletes every file whose quotes have all ended; returns how many quotes.
    pub(super) fn prune(&self, now_ms: u64) -> io::Result<usize> {
        self.delete(|segment| segment.is_over(now_ms))
    }

    /// Deletes files without a quote, which failed writes leave behind.
    pub(super) fn delete_empty(&self) -> io::Result<usize> {
        self.delete(|segment| segment.len() == 0)
    }

    /// Deletes unwanted files. One that cannot be deleted stays, and its error is returned after the others are gone.
    fn delete(&self, unwanted: impl Fn(&Segment) -> bool) -> io::Result<usize> {
        let (mut gone, mut failed) = (0, Ok(()));
        for segment in self.all().into_iter().filter(|segment| unwanted(segment)) {
            match std::fs::remove_file(segment.path()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    failed = Err(error);
                    continue;
                }
                _ => gone += segment.len(),
            }
            self.segments.write().retain(|other| !Arc::ptr_eq(other, &segment));
        }
        failed.map(|()| gone)
    }

    fn all(&self) -> Vec<Arc<Segment>> {
        self.segments.read().clone()
    }
}

/// Takes the lock; `None` if another process holds it. A file opened for reading holds it, so that the file system can
/// be remounted read-only; NFS locks only files opened for writing.
fn lock(path: &Path) -> io::Result<Option<File>> {
    let writable = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
    let file = File::open(path)?;
    let (file, locked) = match file.try_lock() {
        Err(TryLockError::Error(_)) => {
            let locked = writable.try_lock();
            (writable, locked)
        }
        locked => (file, locked),
    };
    match locked {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
