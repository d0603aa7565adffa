//! Space on disks, and whether a directory can be written to.

use super::OpenError;
use std::fs;
use std::io::Write as _;
use std::path::Path;

/// Bytes that [`check_writable`] writes.
const PROBE_BYTES: usize = 1 << 20;

/// Returns the bytes on the disk of `dir` that this process may still use; `None` if that is not
/// known.
#[must_use]
pub fn free_space(dir: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(dir).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Checks that a directory can be written to.
///
/// # Errors
/// [`OpenError::Write`] if not.
pub fn check_writable(dir: &Path) -> Result<(), OpenError> {
    let probe = dir.join(".probe");
    let write = || {
        let mut file = fs::File::create(&probe)?;
        file.write_all(&vec![0; PROBE_BYTES])?;
        file.sync_all()
    };
    let written = write();
    // Best effort: the file is empty or small, and is overwritten the next time.
    let _ = fs::remove_file(&probe);
    written.map_err(|error| OpenError::write(dir, error))
}
