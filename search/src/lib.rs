//! An inverted index of archived pages, and queries over it.
//!
//! ```text
//!  archives ─► pages (crate export) ─► terms ─► batches ─► segments ◄─► merges        crivello index
//!                                                             │
//!  query ─► plan ─► operators over posting lists ─► ranks ─► results                  crivello search
//! ```
//! - `text`: words, their normal form, stems, stop-words. `document`: the terms of a page, by field.
//! - `postings`: lists of documents, counts and positions as gaps in the codes of the crate `codes`, with skips.
//! - `file`: sections of bytes with checksums; what is damaged is never decoded.
//! - `segment`: an index of some documents, in files that never change.
//! - `ranks`: static ranks of hosts or URLs, from a table or from the feed of a crawl.
//! - `build`: an [`IndexUpdate`] reads what is new in archives, keeps the segments few, and makes the words of links.
//! - `query`, `operator`, `search`: a [`Searcher`] answers queries by lazy operators, and ranks by BM25. Several indexes
//!   answer as one does if they exchange [`QueryStatistics`]. A [`CrawlIndex`] follows a crawl, and is searched meanwhile.
//!
//! *Notes* are the lecture notes *Algoritmica per il web*, chapter 2.
#![forbid(unsafe_code)]

/// Name of the directory of an index in that of its crawl.
pub const INDEX_DIR: &str = "index";

mod build;
mod crawl_index;
mod document;
mod error;
mod field;
mod file;
mod operator;
mod postings;
mod query;
mod ranks;
mod search;
mod segment;
mod text;

#[cfg(test)]
mod tests;

pub use build::{IndexOptions, IndexProgress, IndexReport, IndexUpdate, index_documents};
pub use crawl_index::{CrawlIndex, OfState, StateStatistics};
pub use document::{Document, DocumentLink};
pub use error::{IndexError, QuerySyntaxError, SearchError};
pub use file::FORMAT_VERSION;
pub use operator::{Bound, Explained, SearchBounds};
pub use postings::Preset;
pub use query::{SearchQuery, parse};
pub use search::{
    Bm25, CodeSizes, Hit, IndexStats, PrefixStatistics, QueryStatistics, SearchOptions,
    SearchResults, Searcher, Snippet, StoredPage, TermCounts,
};
pub use segment::SegmentBytes;
pub use text::Stemming;
