//! Whether another process has the database open: it holds RocksDB's lock on the file `LOCK`
//! (`fcntl`, the whole file).

use super::DiskError;
use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;
use std::fs::File;
use std::path::Path;

/// The lock, held for as long as the database is only looked at. `None` where there is no such
/// file, or it cannot be locked: opening the database will then say what is wrong.
///
/// # Errors
/// [`DiskError::InUse`] when another process holds it.
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
