//! The one RocksDB of an agent: its column families, keys and the small encodings of values.
//!
//! The on-disk format is this module's doc. All integers in keys are big-endian, so that the order
//! of keys is the order of numbers. Keys begin with the 8-byte group hash, so one group is one
//! contiguous range in `seen`, `frontier`, `hosts` and `robots`: it can be read, streamed to
//! another agent and deleted as a range.
//!
//! | column family | key | value |
//! | --- | --- | --- |
//! | `seen` | group(8) url(8) | [`values::Seen`]: nothing or the place in the queue, then [`values::UrlOutcome`] |
//! | `frontier` | group(8) host(8) priority(1) seq(8) | [`values::encode_queued`]; with priority 255 the page is archived and waits for its links |
//! | `hosts` | group(8) host(8) | [`values::HostRow`]; host 0 is the group's own row |
//! | `robots` | group(8) host(8) scheme(1) port(2) | [`values::RobotsRow`] |
//! | `schedule` | time(8) group(8) host(8) | nothing: a host with a queue, of a group that is open, at the time it falls due |
//! | `groups` | group(8) | [`GroupState`]: what custody remembers of it; without a row it is open |
//! | `content` | payload digest(16) | time(8), URL: where this content was first archived |
//! | `outbox` | kind(1) agent(4) seq(8) | facts not yet acknowledged by that agent ([`facts`]), and the pages that wait for it |
//! | `meta` | name | format version, crawl id, settings fingerprint, totals, archive position |
//!
//! Beside RocksDB's own files `SYNCED` holds the sequence number up to which the log was certainly
//! synced, in decimal: a database that ends before it has lost something.
//!
//! Remembers: everything. Never knows: the web, threads, time. Goes wrong: [`DiskError`].

mod batch;
mod codec;
pub mod crawl_dir;
mod database;
pub mod facts;
mod group_state;
pub mod keys;
mod lock;
pub mod values;

pub use batch::Batch;
pub use codec::{RowReader, RowWriter};
pub use database::{Database, Family, FamilyHealth, Health};
pub use group_state::GroupState;

/// What can go wrong on disk.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// RocksDB says so.
    #[error("the state database in {path} {what}: {source}", path = .path.display())]
    Database {
        /// Where.
        path: std::path::PathBuf,
        /// What was tried.
        what: &'static str,
        /// RocksDB's own words.
        source: rocksdb::Error,
    },
    /// Another process has it open.
    #[error("the state database in {path} is in use by another process", path = .path.display())]
    InUse {
        /// Where.
        path: std::path::PathBuf,
    },
    /// Something of it is missing.
    #[error("the state database in {path} is damaged: it ends at change {found}, but had been synced up to {synced}; nothing was changed", path = .path.display())]
    Behind {
        /// Where.
        path: std::path::PathBuf,
        /// The last change that is there.
        found: u64,
        /// The last change known to have been there.
        synced: u64,
    },
    /// A file beside it.
    #[error("the file {path} {what}: {source}", path = .path.display())]
    File {
        /// Where.
        path: std::path::PathBuf,
        /// What was tried.
        what: &'static str,
        /// What went wrong.
        source: std::io::Error,
    },
    /// A row cannot be understood: damage, or a format of another version.
    #[error(
        "the state database holds a row of `{family}` that cannot be read ({what}); it is damaged, or was written by another version"
    )]
    Row {
        /// The column family.
        family: &'static str,
        /// What is wrong with it.
        what: &'static str,
    },
}

/// The reason why a directory, or a place in a cluster, cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The directory holds something that this crawl must not touch, or settings that a crawl cannot
    /// change once it has begun, or the coordinator refuses: another command can mend it.
    #[error("{0}")]
    Refused(String),
    /// Something broke.
    #[error("{0}")]
    Broken(String),
    /// The state on disk.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

impl DiskError {
    /// Whether room on the disk would mend it.
    #[must_use]
    pub fn is_full(&self) -> bool {
        match self {
            Self::Database { source, .. } => source.to_string().to_lowercase().contains("no space"),
            Self::File { source, .. } => source.kind() == std::io::ErrorKind::StorageFull,
            _ => false,
        }
    }
}
