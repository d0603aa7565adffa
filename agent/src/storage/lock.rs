//! RocksDB's lock on the file `LOCK` (`fcntl`, the whole file), held by a process that has the
//! database open.

use super::DiskError;
use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;
use std::fs::File;
use std::path::Path;

/// Takes the lock while the database is only read. Returns `None` if there is no such file, or it
/// cannot be locked: opening the database then reports the problem.
///
/// # Errors
/// [`DiskError::InUse`] if another process holds the lock.
pub fn hold(path: &Path) -> Result<Option<File>, DiskError> {
    let Ok(file) = File::options().read(true).write(true).open(path.join("LOCK")) else {
        return Ok(None);
    };
    match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::AGAIN | Errno::ACCESS) => Err(DiskError::InUse { path: path.to_owned() }),
        Err(_) => Ok(None),
    }
}
