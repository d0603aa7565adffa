//! Positions in an archive: its committed end, and the location of a record.

use crate::error::ArchiveError;

/// Format version of [`ArchivePosition::to_bytes`].
const VERSION: u8 = 1;

/// The end of the last complete record. The owner's commits store it, so that the owner's state and
/// the archive agree: everything beyond it is cut off when the archive is opened.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ArchivePosition {
    /// Name of the WARC file; empty if there is none yet.
    pub file: String,
    /// Length of the WARC file in bytes.
    pub warc_len: u64,
    /// Length of its index in bytes, in the form used while the file is written.
    pub index_len: u64,
}

impl ArchivePosition {
    /// Encodes a version byte, both lengths (little-endian), and the name.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(17 + self.file.len());
        bytes.push(VERSION);
        bytes.extend_from_slice(&self.warc_len.to_le_bytes());
        bytes.extend_from_slice(&self.index_len.to_le_bytes());
        bytes.extend_from_slice(self.file.as_bytes());
        bytes
    }

    /// Decodes the output of [`Self::to_bytes`].
    ///
    /// # Errors
    /// Returns [`ArchiveError::Position`] for any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ArchiveError> {
        Self::decode(bytes).ok_or_else(|| ArchiveError::Position(bytes.escape_ascii().to_string()))
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (version, rest) = bytes.split_first()?;
        let (warc_len, rest) = rest.split_first_chunk()?;
        let (index_len, name) = rest.split_first_chunk()?;
        (*version == VERSION).then_some(())?;
        Some(Self {
            file: str::from_utf8(name).ok()?.to_owned(),
            warc_len: u64::from_le_bytes(*warc_len),
            index_len: u64::from_le_bytes(*index_len),
        })
    }
}

/// The location of a page's indexed record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordLocation {
    /// Serial number of the file.
    pub file: u32,
    /// Offset of the record's gzip member or zstd frame in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u32,
}
