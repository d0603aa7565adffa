//! Free space on disks.

use std::path::Path;

/// Returns the bytes on the disk of `dir` that this process may still use; `None` if that is not
/// known.
#[must_use]
pub fn free_space(dir: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(dir).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}
