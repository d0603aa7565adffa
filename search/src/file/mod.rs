//! Files of an index: sections of bytes with checksums, written once and never changed.
//!
//! ```text
//! pages of 4096 bytes: sections one after another │ XXH3-64 of each page │ footer
//!
//! footer: number of sections (4) │ offset and length of each (8 + 8) │ length of all sections (8)
//!         │ XXH3-64 of the page checksums (8) │ kind of file (4) │ format version (4)
//!         │ length of the footer up to here (4) │ XXH3-64 of the footer up to here (8) │ magic number (8)
//! ```
//! All integers are little-endian. A page is checked before a byte of it is used, whenever it is read. So a
//! decoder, which may trust its input, never sees a damaged byte. Pages that were read stay in a bounded cache.

mod cache;
mod reader;
mod writer;

pub(crate) use cache::ChunkCache;
pub(crate) use reader::{CheckedBytes, CheckedFile};
pub(crate) use writer::CheckedFileWriter;

/// Version of the format of all files of an index.
pub const FORMAT_VERSION: u32 = 6;

/// Bytes of a page.
const PAGE: usize = 4096;
const MAGIC: [u8; 8] = *b"CrvIndex";
/// Bytes behind the variable part of the footer.
const TAIL: usize = 4 + 8 + MAGIC.len();
/// Sections of a file at most.
const SECTIONS_MAX: usize = 16;

/// Kinds of files. Bytes of one kind are not taken for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum FileKind {
    Terms = 1,
    Postings = 2,
    Positions = 3,
    Documents = 4,
    Texts = 5,
    Dead = 6,
    Ranks = 7,
    Links = 8,
    Run = 9,
}

#[cfg(test)]
mod tests;
