//! Packages of web archives: WACZ 1.1.1 (<https://specs.webrecorder.net/wacz/1.1.1/>).
//!
//! ```text
//!  files ─► index (lines, pages) ─┬─► parts ─► archive/NAME.warc.gz     as they are, or what is selected
//!                                 ├─► sorter ─► indexes/index.cdx.gz    blocks, and index.idx
//!                                 └─► sorter ─► pages/pages.jsonl       seeds and home pages first
//! ```
//! A file is copied as soon as it has been read, while the next ones are read.

mod job;
mod package;
mod pages;
mod parts;
mod warc_names;
mod zip_num;

pub use job::PackageJob;
