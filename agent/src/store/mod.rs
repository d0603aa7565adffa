//! The store: pages become standard web archives.
//!
//! - *Comes in*: a fetched response with the digest of its body, on the parser threads
//!   ([`Recorder`]); the finished records of pages, on the one thread that owns the [`Archive`].
//! - *Goes out*: `<dir>/crivello-<crawl>-<time>-<serial>.warc.gz` (WARC/1.1, ISO 28500:2017, one
//!   gzip member a record) and a CDXJ index beside each; for each page the [`Place`] of its record.
//! - *Remembers*: in memory the file that grows; on disk nothing but the archive. How much of it
//!   counts is the [`Position`], which the state's commits keep.
//! - *Never knows*: whether a page is a duplicate, when pages are committed, what is in the state.
//! - *Goes wrong*: a full disk (cut back to the last complete page, to be tried again), an archive
//!   that is not what the state says ([`Error`] says which file; nothing is started anew).
//!
//! After a crash everything beyond the committed position is cut off, so no page is archived
//! twice and no record is ever broken. After a power cut too: what a commit may speak of was
//! synced before ([`Archive::sync`]).

mod archive;
mod cdxj;
mod digest;
mod disk;
mod error;
mod fields;
mod http_head;
mod identity;
mod member;
mod names;
mod position;
mod recorder;
mod repair;
mod segment;
mod sorting;
mod surt;
mod warcinfo;

#[cfg(test)]
mod tests;

pub use archive::Archive;
pub use digest::{Digests, PayloadDigest};
pub use error::Error;
pub use names::file_of;
pub use position::{Place, Position};
pub use recorder::{DuplicateOf, Recorder};
pub use surt::surt;
pub use warcinfo::CrawlLabel;
