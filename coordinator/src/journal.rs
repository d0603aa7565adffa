//! What the coordinator must not forget, on disk before anyone hears of it.
//!
//! ```text
//! journal   magic, then records: length (4 bytes), checksum of length and payload (8), payload
//! lock      held for as long as a coordinator works in the directory
//! ```
//! All numbers are little-endian. Each [`Record`] is the whole state, so only the last counts, and
//! a journal that has grown is written anew with that one. A new file is complete and synced
//! before it takes the old one's place; so it never is without a whole record, and what can be
//! torn is the end of the last.
//!
//! * A last record that is not whole was never published: it is left out, and [`Opened::cut`]
//!   says so.
//! * Anything else that does not add up is damage, and refused: to go on from an older record
//!   would be to use epochs twice.

mod frame;
mod record;
#[cfg(test)]
mod tests;

pub use record::{Crawl, Record};

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The journal's name in the coordinator's directory.
pub const JOURNAL: &str = "journal";
const JOURNAL_NEW: &str = "journal.new";
const LOCK: &str = "lock";

/// A journal is written anew beyond this many bytes, but not before it holds
/// [`RECORDS_MIN`] records of the present length.
const SIZE_MAX: u64 = 1 << 20;
const RECORDS_MIN: u64 = 8;

/// Why a journal cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Another coordinator has it.
    #[error("another coordinator works in {}: two would give out the same epochs", .0.display())]
    Locked(PathBuf),
    /// It does not add up.
    #[error("{} is damaged {what}; nothing was changed", .path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// How, and where.
        what: String,
    },
    /// The system says no.
    #[error("{}: {source}", .path.display())]
    Io {
        /// What was touched.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
}

/// A journal that this process alone may write.
#[derive(Debug)]
pub struct Journal {
    dir: PathBuf,
    _lock: File,
    /// The file and its length, while it certainly ends with a whole record.
    file: Option<(File, u64)>,
}

/// A journal as it was found.
#[derive(Debug)]
pub struct Opened {
    /// Ready to be written.
    pub journal: Journal,
    /// The last record; `None` where there is no journal yet.
    pub last: Option<Record>,
    /// Whether an unfinished record behind it was left out.
    pub cut: bool,
}

impl Journal {
    /// Opens the journal in `dir`, which exists, and keeps others out. Nothing is changed before
    /// the first [`Self::append`].
    ///
    /// # Errors
    /// When another coordinator has it, when it is damaged, and those of the disk.
    pub fn open(dir: &Path) -> Result<Opened, JournalError> {
        let lock = take_lock(dir)?;
        let path = dir.join(JOURNAL);
        let io = |source| JournalError::Io { path: path.clone(), source };
        let damaged = |what| JournalError::Damaged { path: path.clone(), what };
        let (last, cut) = match fs::read(&path) {
            Ok(bytes) => {
                let found = frame::last(&bytes).map_err(damaged)?;
                let record = Record::read(found.payload).map_err(damaged)?;
                (Some(record), found.cut)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => (None, false),
            Err(error) => return Err(io(error)),
        };
        let journal = Self { dir: dir.to_owned(), _lock: lock, file: None };
        Ok(Opened { journal, last, cut })
    }

    /// Writes `record` down; when this returns it survives a power cut.
    ///
    /// # Errors
    /// Those of the disk. The record counts as not written, although a restart may find it; the
    /// next one is written to a new file.
    pub fn append(&mut self, record: &Record) -> io::Result<()> {
        let frame = frame::frame(&record.bytes())?;
        let long = frame.len() as u64;
        match self.file.take() {
            Some((file, len)) if len + long <= SIZE_MAX.max(RECORDS_MIN * long) => {
                file.write_all_at(&frame, len)?;
                file.sync_data()?;
                self.file = Some((file, len + long));
            }
            _ => self.file = Some(self.begin(&frame)?),
        }
        Ok(())
    }

    /// A new file with this one record, in the place of the old.
    fn begin(&self, frame: &[u8]) -> io::Result<(File, u64)> {
        let new = self.dir.join(JOURNAL_NEW);
        let mut file = File::create(&new)?;
        file.write_all(frame::MAGIC)?;
        file.write_all(frame)?;
        file.sync_all()?;
        fs::rename(&new, self.dir.join(JOURNAL))?;
        File::open(&self.dir)?.sync_all()?;
        Ok((file, (frame::MAGIC.len() + frame.len()) as u64))
    }
}

fn take_lock(dir: &Path) -> Result<File, JournalError> {
    let path = dir.join(LOCK);
    let io = |source| JournalError::Io { path: path.clone(), source };
    let lock = File::create(&path).map_err(io)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(JournalError::Locked(dir.to_owned())),
        Err(TryLockError::Error(source)) => Err(io(source)),
    }
}
