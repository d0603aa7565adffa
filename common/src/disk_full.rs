//! The errors of a full disk.

use std::io::ErrorKind;

/// Returns true if space would solve the problem: the disk, the quota or the maximum size of a file is
/// exhausted.
#[must_use]
pub const fn is_disk_full(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}
