//! How the archive can fail.

use std::io;
use std::path::{Path, PathBuf};

/// Why the archive could not be opened or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The disk, the quota or the file-size limit is exhausted. What was half written has been cut
    /// back; the same append may be tried again when there is room.
    #[error("no room to {action} {}: {source}", path.display())]
    Full {
        /// What was being done.
        action: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Any other error of the file system.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was being done.
        action: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Damage: a file that the state speaks of is not there.
    #[error("damaged archive: {} is missing, but the state speaks of it", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// Damage: a file is shorter than the state says, which speaks only of what was synced.
    #[error("damaged archive: {} has {found} bytes, but the state speaks of {recorded}", path.display())]
    Short {
        /// The file.
        path: PathBuf,
        /// What the state says.
        recorded: u64,
        /// What is there.
        found: u64,
    },
    /// Damage: an index does not have the lines of the records up to the recorded position.
    #[error("damaged archive: the index {} does not fit its WARC file", path.display())]
    Index {
        /// The index.
        path: PathBuf,
    },
    /// There are archives, but no state that speaks of them: this is another crawl's directory.
    #[error("{} is there already, but no state speaks of it", path.display())]
    Occupied {
        /// One of the files.
        path: PathBuf,
    },
    /// The recorded position is of another crawl's file, or not readable at all.
    #[error("damaged state: {0:?} is no position in this crawl's archive")]
    Position(String),
}

impl Error {
    /// Whether the same may succeed once there is room on the disk.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }

    /// Names the action and the file of a system error: `map_err(Error::while_doing(…))`.
    pub(super) fn while_doing(
        action: &'static str,
        path: &Path,
    ) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::Full { action, path, source },
            _ => Self::Io { action, path, source },
        }
    }
}
