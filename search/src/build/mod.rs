//! Building an index: captures to batches, batches to segments, segments to larger ones.
//!
//! ```text
//!  archive files ─► pages ─► batch (terms to lists, in memory) ─► segment ─┐
//!                                                                          ├─► manifest (replaced whole)
//!                                        several segments ─► merge ─► segment ─┘
//! ```
//! A batch is the transpose of a part of the term–document matrix (Notes 2): documents come as rows of terms, and
//! go as rows of documents by term. It ends when its memory is full, or with its archive file.

mod anchors;
mod batch;
mod captures;
mod dead;
mod documents;
mod job;
mod manifest;
mod merge;
mod recovery;
mod sorter;
mod term_ids;
#[cfg(test)]
pub(crate) mod testing;
mod update;

pub use documents::index_documents;
pub(crate) use manifest::{Manifest, UrlHasher};
pub use update::{IndexOptions, IndexProgress, IndexReport, IndexUpdate};
