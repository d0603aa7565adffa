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

/// The file's bytes and length outlive a power cut.
pub(super) fn sync(file: &File, path: &Path) -> Result<(), Error> {
    file.sync_data().map_err(Error::while_doing("sync", path))
}

/// The directory's names outlive a power cut.
pub(super) fn sync_dir(dir: &Path) -> Result<(), Error> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(Error::while_doing("sync", dir))
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
    use super::{File, FileExt, io};

    pub(super) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        file.write_all_at(bytes, offset)
    }
}

/// In tests a thread's disk can fill up after so many bytes.
#[cfg(test)]
pub(super) mod faulty {
    use super::{File, FileExt, io};
    use std::cell::Cell;

    thread_local! {
        static ROOM: Cell<Option<u64>> = const { Cell::new(None) };
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
