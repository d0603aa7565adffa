//! Web archives: WARC files, and the CDXJ indexes beside them.
//!
//! - `format`: what a record is made of. A [`RecordBuilder`] turns a response ([`Capture`]) into
//!   records, each a gzip member of its own. There is one builder a thread.
//! - `write`: an [`ArchiveWriter`] appends the records of many pages to
//!   `<dir>/crivello-<crawl>-<time>-<serial>.warc.gz` (WARC/1.1, ISO 28500:2017) and returns where
//!   each page's record is ([`RecordLocation`]). One thread owns it.
//! - `index`: the lines of the CDXJ index, their keys ([`surt`]) and their order.
//! - `recover`: what a crash left behind is truncated to the last committed position.
//!
//! How much of an archive counts is its [`ArchivePosition`], which the owner's commits store. After
//! a crash everything beyond the committed position is cut off: no page is archived twice, and no
//! record is incomplete. The same holds after a power cut, because [`ArchiveWriter::sync`] is the
//! only source of a position.
//!
//! When the disk is full, the archive is truncated to the last complete page, and the append can be
//! retried. An archive that does not match the committed position is refused with the name of the
//! file ([`ArchiveError`]); nothing is started anew.

mod capture;
mod error;
mod format;
mod index;
mod recover;
mod write;

#[cfg(test)]
mod tests;

pub use capture::{Capture, OriginalCapture, Truncation};
pub use error::ArchiveError;
pub use format::digest::{ContentDigest, Digests, WarcDigest};
pub use format::file_names::find_file;
pub use format::records::{IndexEntry, RecordBuilder, WarcRecord};
pub use format::warcinfo::CrawlLabel;
pub use index::surt::surt;
pub use write::ArchiveWriter;
pub use write::position::{ArchivePosition, RecordLocation};
