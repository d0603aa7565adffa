//! Searches: a query over all segments of an index, ranked by BM25.
//!
//! ```text
//!  text ─► SearchQuery ─► Plan (words to terms of the index) ─► operators of each segment ─► scores ─► best results
//! ```

mod bm25;
mod codes_report;
mod collector;
mod open_index;
mod options;
mod plan;
mod results;
mod searcher;
mod snippet;
mod statistics;
mod top;

pub use bm25::Bm25;
pub use codes_report::CodeSizes;
pub use options::SearchOptions;
pub use results::{Hit, SearchResults};
pub use searcher::{IndexStats, Searcher, StoredPage};
pub use snippet::Snippet;
pub use statistics::{PrefixStatistics, QueryStatistics, TermCounts};
