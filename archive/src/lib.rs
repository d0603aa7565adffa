//! Web archives: WARC files and their CDXJ indexes.
//!
//! - `format`: the parts of a record. A [`RecordBuilder`] converts a response ([`Capture`]) to
//!   records, each in a separate gzip member or zstd frame. There is one builder per thread.
//! - `write`: an [`ArchiveWriter`] appends the records of many pages to
//!   `<dir>/crivello-<crawl>-<time>-<serial>.warc.gz` or `.warc.zst` (WARC/1.1, ISO 28500:2017) and returns the
//!   location of each page's record ([`RecordLocation`]). One thread owns it.
//! - `index`: the lines of the CDXJ index, their keys ([`surt`]) and their order.
//! - `read`: a [`WarcReader`] reads the records of any WARC file in order, names and skips damage
//!   ([`Damage`]), and checks digests ([`check_record`]) and indexes ([`IndexLines`]). An
//!   [`OriginalIndex`] resolves revisits over several files. A [`CaptureTail`] follows the captures of an archive
//!   that grows.
//! - `redact`: replacement of captures by redacted records of the same length ([`FileRedaction`]).
//! - `recover`: truncation of an archive to the last committed position after a crash.
//!
//! The valid part of an archive ends at its [`ArchivePosition`], which is stored by the owner's
//! commits. After a crash everything beyond the committed position is cut off: no page is archived
//! twice, and no record is incomplete. The same is true after a power cut, because
//! [`ArchiveWriter::sync`] is the only source of a position.
//!
//! When the disk is full, the archive is truncated to the last complete page, and the append can be
//! retried. An archive that does not match the committed position is refused with the name of the
//! file ([`ArchiveError`]); no new archive is started.

mod capture;
mod error;
mod format;
mod index;
mod read;
mod recover;
mod redact;
mod write;

#[cfg(test)]
mod tests;

pub use capture::{Capture, CaptureNotes, OriginalCapture, RevisitReason, Truncation};
pub use error::ArchiveError;
pub use format::digest::{Digests, WarcDigest};
pub use format::file_names::find_file;
pub use format::records::{IndexEntry, RecordBuilder, WarcRecord};
pub use format::warcinfo::CrawlLabel;
pub use index::cdxj::IndexLine;
pub use index::surt::surt;
pub use read::capture_tail::{CaptureTail, TailBatch, TailLine, TailPosition};
pub use read::check::{DigestCheck, RecordCheck, check_record};
pub use read::damage::{Damage, DamageKind};
pub use read::fields::FieldList;
pub use read::head::{RecordHead, WarcVersion};
pub use read::http_message::HttpMessageHead;
pub use read::index_check::{IndexDifference, IndexLines};
pub use read::index_notes::IndexNotes;
pub use read::known::{KnownPayload, known_payloads};
pub use read::notes::read_notes;
pub use read::originals::{ArchivedPlace, OriginalIndex};
pub use read::reader::{ArchivedRecord, WarcReader};
pub use read::sealed_files::{FilePart, SealedFile, sealed_files};
pub use redact::{FileRedaction, RedactedCapture, RedactionCause};
pub use write::ArchiveWriter;
pub use write::position::{ArchivePosition, RecordLocation};
