//! The one RocksDB of an agent: its column families, its keys and the encodings of values.
//!
//! This documentation defines the format on disk. All integers in keys are big-endian, so that the
//! order of keys is the order of numbers. Keys begin with the 8-byte group hash, so one group is
//! one contiguous range in `seen`, `frontier`, `hosts` and `robots`: it can be read, sent to
//! another agent and deleted as a range.
//!
//! | column family | key | value |
//! | --- | --- | --- |
//! | `seen` | group(8) url(8) | [`values::Seen`]: empty or the place in the queue; once finished, [`values::UrlOutcome`] |
//! | `frontier` | group(8) host(8) queue(1) priority(1) seq(8) | [`values::encode_queued`]; in the third queue, the page is archived and waits for its links |
//! | `hosts` | group(8) host(8) | [`values::HostRow`]; host 0 is the group's own row, [`group_row::GroupRow`] |
//! | `robots` | group(8) host(8) scheme(1) port(2) | [`RobotsRecord`](crate::messages::RobotsRecord) |
//! | `schedule` | class(1) time(8) group(8) host(8) | empty; each host with a queue, of a group that is open, at the time it falls due |
//! | `due` | time(8) group(8) url(8) | empty; each finished URL that is to be queued again, at that time |
//! | `groups` | group(8) | [`GroupState`]: the agent's role, and whether the group is open; a group without a row is open |
//! | `content` | payload digest(16) | time(8), URL: the page that was archived first with this payload |
//! | `known` | payload digest(20 or 32) | time(8), URL: a capture that an index of an earlier crawl lists |
//! | `near` | archive file(2) offset(4) | fingerprint(8), the rest of a [`near::NearEntry`] (1): an archived page that is in no file of the [index](near) yet |
//! | `outbox` | kind(1) agent(4) seq(8) | facts not yet acknowledged by that agent ([`facts`]), and the pages that wait for it |
//! | `meta` | name | format version, crawl id, settings fingerprint, totals, archive position |
//!
//! The directory `near` beside RocksDB's own files has the files of the [index of near-duplicates](near). `SYNCED` contains in decimal the sequence number up to which the log
//! was certainly synced. A database that ends before it has lost data.
//!
//! - *State:* all that an agent stores, except the archive.
//! - *Does not know:* the web, threads, time.
//! - *Errors:* [`DiskError`].

mod batch;
pub mod crawl_dir;
mod database;
pub mod facts;
mod family;
mod free_space;
pub mod group_row;
mod group_state;
pub mod keys;
mod lock;
pub mod near;
mod outbox;
pub mod ranks;
pub mod values;

pub use batch::Batch;
pub use crivello_common::codec::{RowReader, RowWriter};
pub use database::{Database, FamilyHealth, Health};
pub use family::Family;
pub use free_space::{check_writable, free_space};
pub use group_state::GroupState;

use crivello_common::disk_full::is_disk_full;
use std::io;
use std::path::{Path, PathBuf};

/// A value of a column family.
pub trait Row: Sized {
    /// The column family.
    const FAMILY: Family;

    /// Reads the value; `None` if it is malformed.
    fn read(r: &mut RowReader<'_>) -> Option<Self>;

    /// Decodes the value.
    ///
    /// # Errors
    /// [`DiskError::Row`] if the value is damaged.
    fn decode(value: &[u8]) -> Result<Self, DiskError> {
        let row = Self::read(&mut RowReader(value));
        row.ok_or(DiskError::Row { family: Self::FAMILY.name(), what: MALFORMED })
    }
}

/// Flaw of a value that cannot be read.
const MALFORMED: &str = "too short or malformed";

/// An error on disk.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// An error of RocksDB.
    #[error(
        "the state database in {path} {what}: {source}{hint}",
        path = .path.display(),
        hint = hint(source)
    )]
    Database {
        /// Directory of the database.
        path: PathBuf,
        /// Failed operation.
        what: &'static str,
        /// RocksDB's message.
        source: rocksdb::Error,
    },
    /// Another process has the database open.
    #[error("the state database in {path} is in use by another process", path = .path.display())]
    InUse {
        /// Directory of the database.
        path: PathBuf,
    },
    /// The end of the log is missing.
    #[error("the state database in {path} is damaged: it ends at change {found}, but had been synced up to {synced}; nothing was changed", path = .path.display())]
    Behind {
        /// Directory of the database.
        path: PathBuf,
        /// Sequence number of the last change that was found.
        found: u64,
        /// Sequence number of the last change that is known to have been synced.
        synced: u64,
    },
    /// A file of the index of near-duplicates cannot be read or written.
    #[error("the index of near-duplicates in {path} cannot be used: {source}", path = .path.display())]
    Near {
        /// Directory of the files.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A row cannot be decoded: it is damaged, or has the format of another version.
    #[error(
        "the state database holds a row of `{family}` that cannot be read ({what}); it is damaged, or was written by another version"
    )]
    Row {
        /// The column family.
        family: &'static str,
        /// Flaw of the row.
        what: &'static str,
    },
}

/// The reason why a directory, or a place in a cluster, cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The directory contains something that this crawl must not touch, settings differ that a
    /// crawl cannot change once it has begun, or the coordinator refuses. Another command can solve
    /// it.
    #[error("{0}")]
    Refused(String),
    /// Something is damaged or failed.
    #[error("{0}")]
    Broken(String),
    /// A file cannot be written.
    #[error("{path} cannot be written: {source}")]
    Write {
        /// Path of the file or directory.
        path: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// An error of the state on disk.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

impl OpenError {
    /// Returns the error of a file or directory that cannot be written.
    #[must_use]
    pub fn write(path: &Path, source: io::Error) -> Self {
        Self::Write { path: path.display().to_string(), source }
    }

    /// Returns the error of a directory that cannot be created. `option` chooses another one.
    #[must_use]
    pub fn create(dir: &Path, error: io::Error, option: &str) -> Self {
        match Self::write(dir, error) {
            full if full.is_full() => full,
            error => Self::Refused(format!("{error}; choose another {option}")),
        }
    }

    /// Returns true if more space on the disk would solve the problem.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Write { source, .. } => is_disk_full(source.kind()),
            Self::Disk(error) => error.is_full(),
            Self::Refused(_) | Self::Broken(_) => false,
        }
    }
}

/// Returns what to do about an error of RocksDB; empty if the message says it. RocksDB names the
/// damaged file.
fn hint(error: &rocksdb::Error) -> &'static str {
    match error.kind() {
        rocksdb::ErrorKind::Corruption => {
            "; see \"A damaged agent directory\" in docs/operating.md"
        }
        _ => "",
    }
}

impl DiskError {
    /// Returns true if the same database can go on once there is space. It cannot after an exhausted
    /// quota: RocksDB recovers from a full disk only.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Database { source, .. } => source.to_string().to_lowercase().contains("no space"),
            Self::Near { source, .. } => is_disk_full(source.kind()),
            _ => false,
        }
    }
}
