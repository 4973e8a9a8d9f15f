//! Creates the database file, whole or not at all.

use std::fs::{OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::Path;

use redb::{Builder, Database, DatabaseError};

use crate::files::sync_dir;

/// Creates an empty database under another name and gives it its own when it is complete. A process that ends before,
/// or a disk that is full, leaves the path free: a file with half a header would be taken for a damaged database.
///
/// Returns [`DatabaseError::DatabaseAlreadyOpen`] when another process creates it at the same time.
pub(super) fn create(builder: &Builder, path: &Path) -> Result<Database, DatabaseError> {
    let next = path.with_extension("redb.next");
    let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&next)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(DatabaseError::DatabaseAlreadyOpen),
        Err(TryLockError::Error(error)) => return Err(error.into()),
    }
    // The other process may have renamed its file just before this one opened a new one.
    if !is_absent(path) {
        return Err(DatabaseError::DatabaseAlreadyOpen);
    }
    file.set_len(0)?;
    let database = builder.create_file(file)?;
    std::fs::rename(&next, path)?;
    sync_dir(path)?;
    Ok(database)
}

/// Returns whether there is no file at a path, or one without content.
pub(super) fn is_absent(path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(data) => data.len() == 0,
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}
