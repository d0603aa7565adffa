//! The few things done to files, each named in its error.

use super::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Writes all of `bytes` at `offset`.
pub(super) fn write_at(file: &File, path: &Path, bytes: &[u8], offset: u64) -> Result<(), Error> {
    faulty::write_all_at(file, bytes, offset).map_err(Error::while_doing("write", path))
}

/// A new file, empty; one that is there already is emptied.
pub(super) fn create(path: &Path) -> Result<File, Error> {
    File::create(path).map_err(Error::while_doing("create", path))
}

/// Opens a file that is there to be written.
pub(super) fn open_existing(path: &Path) -> Result<File, Error> {
    OpenOptions::new().write(true).open(path).map_err(Error::while_doing("open", path))
}

/// Cuts the file off at `length`.
pub(super) fn truncate(file: &File, path: &Path, length: u64) -> Result<(), Error> {
    file.set_len(length).map_err(Error::while_doing("cut back", path))
}

/// The file's bytes and length outlive a power cut. Never [`Error::Full`]: a sync that failed must
/// not be tried again, the system forgets what it could not write and then says that all is well.
pub(super) fn sync(file: &File, path: &Path) -> Result<(), Error> {
    faulty::sync_data(file, path).map_err(|source| not_synced(path, source))
}

/// The directory's names outlive a power cut.
pub(super) fn sync_dir(dir: &Path) -> Result<(), Error> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(|source| not_synced(dir, source))
}

fn not_synced(path: &Path, source: io::Error) -> Error {
    Error::Io { action: "sync", path: path.to_owned(), source }
}

/// Removes a file; one that is not there will do.
pub(super) fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(Error::while_doing("remove", path)(source))
        }
        _ => Ok(()),
    }
}

/// Renames within a directory, replacing what is there.
pub(super) fn rename(from: &Path, to: &Path) -> Result<(), Error> {
    fs::rename(from, to).map_err(Error::while_doing("rename", from))
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

/// In tests a thread's disk can fill up after so many bytes, and it is known how long each file was
/// when it was last synced.
#[cfg(test)]
pub(super) mod faulty {
    use super::{File, FileExt, Path, io};
    use std::cell::{Cell, RefCell};
    use std::collections::HashMap;
    use std::path::PathBuf;

    thread_local! {
        static ROOM: Cell<Option<u64>> = const { Cell::new(None) };
        static SYNCED: RefCell<HashMap<PathBuf, u64>> = RefCell::default();
    }

    /// The bytes of the file that outlive a power cut.
    pub(in crate::store) fn synced_len(path: &Path) -> u64 {
        SYNCED.with_borrow(|synced| synced.get(path).copied().unwrap_or_default())
    }

    pub(super) fn sync_data(file: &File, path: &Path) -> io::Result<()> {
        file.sync_data()?;
        let len = file.metadata()?.len();
        SYNCED.with_borrow_mut(|synced| synced.insert(path.to_owned(), len));
        Ok(())
    }

    pub(in crate::store) fn set_room(room: Option<u64>) {
        ROOM.set(room);
    }

    pub(super) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        let Some(room) = ROOM.get() else {
            return file.write_all_at(bytes, offset);
        };
        let fits = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        file.write_all_at(&bytes[..fits], offset)?;
        ROOM.set(Some(room - fits as u64));
        if fits < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}
