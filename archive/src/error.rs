//! Errors of the archive.

use crivello_common::disk_full::is_disk_full;
use std::io;
use std::path::{Path, PathBuf};

/// The reason why the archive could not be opened or written.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The disk, the quota or the file-size limit is exhausted. A partial write has been cut off;
    /// the append can be retried when there is space.
    #[error("no space to {action} {}: {source}", path.display())]
    Full {
        /// Attempted action.
        action: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Any other error of the file system.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// Attempted action.
        action: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Damage: a file named by the committed position does not exist.
    #[error("damaged archive: {} is missing, but the committed state refers to it", path.display())]
    Missing {
        /// Path of the file.
        path: PathBuf,
    },
    /// Damage: a file is shorter than the committed position, which covers synced bytes only.
    #[error("damaged archive: {} has {found} bytes, but {recorded} bytes are committed", path.display())]
    Short {
        /// Path of the file.
        path: PathBuf,
        /// Committed length in bytes.
        recorded: u64,
        /// Length of the file in bytes.
        found: u64,
    },
    /// Damage: an index lacks lines of records before the committed position.
    #[error("damaged archive: the index {} does not match its WARC file", path.display())]
    Index {
        /// Path of the index.
        path: PathBuf,
    },
    /// The directory has archives but no committed position: it belongs to another crawl.
    #[error("{} already exists, but no committed state refers to it", path.display())]
    Occupied {
        /// Path of one of the files.
        path: PathBuf,
    },
    /// The committed position names another crawl's file, or cannot be decoded.
    #[error("damaged state: {0:?} is not a position in this crawl's archive")]
    Position(String),
}

impl ArchiveError {
    /// Returns true if a retry can succeed once there is space on the disk.
    pub const fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }

    /// Adds the action and the file to a system error: `map_err(ArchiveError::io(…))`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| match is_disk_full(source.kind()) {
            true => Self::Full { action, path, source },
            false => Self::Io { action, path, source },
        }
    }
}
