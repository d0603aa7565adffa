//! File operations whose errors name the action and the file.

use crate::error::ArchiveError;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Writes all of `bytes` at `offset`.
pub(crate) fn write_at(
    file: &File,
    path: &Path,
    bytes: &[u8],
    offset: u64,
) -> Result<(), ArchiveError> {
    faulty::write_all_at(file, bytes, offset).map_err(ArchiveError::io("write", path))
}

/// Creates an empty file. An existing file is emptied.
pub(crate) fn create(path: &Path) -> Result<File, ArchiveError> {
    File::create(path).map_err(ArchiveError::io("create", path))
}

/// Opens an existing file for writing.
pub(crate) fn open_existing(path: &Path) -> Result<File, ArchiveError> {
    OpenOptions::new().write(true).open(path).map_err(ArchiveError::io("open", path))
}

/// Truncates the file to `length`.
pub(crate) fn truncate(file: &File, path: &Path, length: u64) -> Result<(), ArchiveError> {
    file.set_len(length).map_err(ArchiveError::io("truncate", path))
}

/// Syncs the file's bytes and length to the disk. Never returns [`ArchiveError::Full`], because a
/// failed sync must not be retried: the system discards what it could not write, and the next sync
/// succeeds without it.
pub(crate) fn sync(file: &File, path: &Path) -> Result<(), ArchiveError> {
    faulty::sync_data(file, path).map_err(|source| not_synced(path, source))
}

/// Syncs the names in the directory to the disk.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), ArchiveError> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(|source| not_synced(dir, source))
}

fn not_synced(path: &Path, source: io::Error) -> ArchiveError {
    ArchiveError::Io { action: "sync", path: path.to_owned(), source }
}

/// Removes a file if it exists.
pub(crate) fn remove(path: &Path) -> Result<(), ArchiveError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(ArchiveError::io("remove", path)(source))
        }
        _ => Ok(()),
    }
}

/// Renames a file within its directory. An existing file with the new name is replaced.
pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), ArchiveError> {
    fs::rename(from, to).map_err(ArchiveError::io("rename", from))
}

#[cfg(not(test))]
mod faulty {
    use super::{File, FileExt, Path, io};

    pub(super) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        file.write_all_at(bytes, offset)
    }

    pub(super) fn sync_data(file: &File, _: &Path) -> io::Result<()> {
        file.sync_data()
    }
}

/// Simulated faults for tests: the disk of a thread can be full after a number of bytes, and the
/// length of each file at its last sync is recorded.
#[cfg(test)]
pub(crate) mod faulty {
    use super::{File, FileExt, Path, io};
    use std::cell::{Cell, RefCell};
    use std::collections::HashMap;
    use std::path::PathBuf;

    thread_local! {
        static FREE_BYTES: Cell<Option<u64>> = const { Cell::new(None) };
        static SYNCED: RefCell<HashMap<PathBuf, u64>> = RefCell::default();
    }

    /// Returns the number of bytes of the file that survive a power cut.
    pub(crate) fn synced_len(path: &Path) -> u64 {
        SYNCED.with_borrow(|synced| synced.get(path).copied().unwrap_or_default())
    }

    pub(super) fn sync_data(file: &File, path: &Path) -> io::Result<()> {
        file.sync_data()?;
        let len = file.metadata()?.len();
        SYNCED.with_borrow_mut(|synced| synced.insert(path.to_owned(), len));
        Ok(())
    }

    pub(crate) fn set_free_bytes(free: Option<u64>) {
        FREE_BYTES.set(free);
    }

    pub(super) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        let Some(free) = FREE_BYTES.get() else { return file.write_all_at(bytes, offset) };
        let fits = bytes.len().min(usize::try_from(free).unwrap_or(usize::MAX));
        file.write_all_at(&bytes[..fits], offset)?;
        FREE_BYTES.set(Some(free - fits as u64));
        if fits < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}
