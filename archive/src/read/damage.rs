//! Damage in a WARC file: what is wrong, where, and how much was skipped.

use std::{fmt, io};

/// A part of a file that is not readable as records.
#[derive(Debug)]
pub struct Damage {
    /// Offset in bytes at which the damaged part begins: a gzip member, a zstd frame, or in a plain
    /// file a record.
    pub offset: u64,
    /// Number of bytes of the file from `offset` to the next readable record, or to the end.
    pub skipped: u64,
    /// Kind of the damage.
    pub kind: DamageKind,
}

/// Kind of damage to a part of a file.
#[derive(Debug, thiserror::Error)]
pub enum DamageKind {
    /// The file cannot be read. It is the last item of a reader.
    #[error("cannot read: {0}")]
    Io(io::Error),
    /// The file ends inside a record or a member.
    #[error("the file ends inside a record")]
    CutTail,
    /// A gzip member or zstd frame is invalid: its data, checksum or length.
    #[error("the compressed data are invalid")]
    Compression,
    /// Bytes between members that belong to none.
    #[error("these bytes begin no gzip member or zstd frame")]
    BetweenMembers,
    /// A record does not begin with `WARC/1.0` or `WARC/1.1`.
    #[error("the record has no line WARC/1.0 or WARC/1.1")]
    Version,
    /// The head of a record is longer than a reader accepts.
    #[error("the head of the record is longer than 1 MiB")]
    HeadLength,
    /// A member ends inside the head of a record.
    #[error("the head of the record has no end")]
    HeadEnd,
    /// A record has no `Content-Length`.
    #[error("the record has no Content-Length")]
    NoContentLength,
    /// A `Content-Length` is not a number of bytes.
    #[error("the Content-Length {0:?} is not a number of bytes")]
    ContentLength(String),
    /// A member ends before the number of bytes that `Content-Length` states.
    #[error("the block is shorter than its Content-Length")]
    ShortBlock,
    /// After a block there is something other than the end of its record.
    #[error("the block is longer than its Content-Length")]
    LongBlock,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset {}: {}; {} bytes skipped", self.offset, self.kind, self.skipped)
    }
}

impl From<io::Error> for DamageKind {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<DamageKind> for io::Error {
    fn from(kind: DamageKind) -> Self {
        match kind {
            DamageKind::Io(error) => error,
            damage => Self::new(io::ErrorKind::InvalidData, damage.to_string()),
        }
    }
}
