//! Copies of archive files in an object store: their state, as it is reported, and the tables that are made for them.

use crate::time::Timestamp;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicU64;

/// The archive files that wait to be copied, and those that were.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UploadStatus {
    /// Sealed archive files that are not verified in the store, or whose index or table is not.
    pub files_waiting: u64,
    /// Bytes of the WARC files and indexes that wait. The length of a table is not known before it is made.
    pub bytes_waiting: u64,
    /// Archive files that were read back from the store with their indexes, in this and earlier runs.
    pub files_stored: u64,
    /// Their bytes, with their indexes and tables.
    pub bytes_stored: u64,
    /// Archive files with lower serial numbers are stored, or were deleted here; `None` before that is known.
    pub safe_files: Option<u32>,
    /// Files deleted on this machine in this run, because their copies are verified.
    pub files_deleted: u64,
    /// Attempts that failed in this run.
    pub failures: u64,
    /// Tables that could not be made in this run.
    pub tables_failed: u64,
    /// Damaged places that tables leave out, in this run.
    pub table_damage: u64,
    /// Last error since the last success, and the time of the first one; none while copying works.
    pub problem: Option<(Timestamp, String)>,
}

/// A function that makes the table of a sealed WARC file. It blocks. Its errors are those of reading the file and of
/// writing the table; damage inside the file is none.
pub type TableMaker = fn(&TableRequest<'_>) -> io::Result<MadeTable>;

/// The table that is to be made.
pub struct TableRequest<'a> {
    /// The WARC file.
    pub warc: &'a Path,
    /// Name that the rows have for it.
    pub name: &'a str,
    /// Directory of unnamed files.
    pub scratch: &'a Path,
    /// Counter of captures that were read.
    pub captures: &'a AtomicU64,
    /// Returns true once nobody waits for the table. The maker may then return any error.
    pub stopped: &'a (dyn Fn() -> bool + Sync),
}

/// A table. The same WARC file has the same bytes.
#[derive(Debug)]
pub struct MadeTable {
    /// An unnamed file of it, which vanishes with its last handle.
    pub file: File,
    /// Number of rows.
    pub rows: u64,
    /// Captures that have no row, by the reason.
    pub skipped: BTreeMap<&'static str, u64>,
    /// Number of damaged places in the WARC file.
    pub damaged: u64,
}
