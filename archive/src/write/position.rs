//! Positions in an archive: its committed end, and the location of a record.

use crate::error::ArchiveError;

/// The format of [`ArchivePosition::to_bytes`].
const VERSION: u8 = 1;

/// The end of the last complete record. The owner's commits store it, so that its state and the
/// archive agree: everything beyond it is cut off when the archive is opened.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ArchivePosition {
    /// The name of the WARC file; empty if there is none yet.
    pub file: String,
    /// Bytes of the WARC file.
    pub warc_len: u64,
    /// Bytes of its index, in the form that it has while the file is written.
    pub index_len: u64,
}

impl ArchivePosition {
    /// Encodes a version byte, both lengths (little-endian), and the name.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(17 + self.file.len());
        bytes.push(VERSION);
        bytes.extend_from_slice(&self.warc_len.to_le_bytes());
        bytes.extend_from_slice(&self.index_len.to_le_bytes());
        bytes.extend_from_slice(self.file.as_bytes());
        bytes
    }

    /// The inverse of [`Self::to_bytes`].
    ///
    /// # Errors
    /// [`ArchiveError::Position`] for anything else.
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
    /// The file's serial number.
    pub file: u32,
    /// Where the record's gzip member begins.
    pub offset: u64,
    /// Bytes of the member.
    pub length: u32,
}
