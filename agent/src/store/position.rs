//! How far the archive goes: kept in the state's commits, so that state and archive agree.

use super::error::Error;

/// The format of [`Position::to_bytes`].
const VERSION: u8 = 1;

/// The end of the last record: everything beyond it is cut off when the archive is opened.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Position {
    /// The WARC file's name; empty while none has been begun.
    pub file: String,
    /// Bytes of the WARC file.
    pub warc_len: u64,
    /// Bytes of its index, as it is while the file is written.
    pub index_len: u64,
}

impl Position {
    /// A version byte, both lengths (little-endian), the name.
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
    /// [`Error::Position`] for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Self::decode(bytes).ok_or_else(|| Error::Position(bytes.escape_ascii().to_string()))
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

/// Where a page's indexed record is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The file's serial number.
    pub file: u32,
    /// Where its gzip member begins.
    pub offset: u64,
    /// The bytes of the member.
    pub length: u32,
}
