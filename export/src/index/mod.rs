//! Indexes of WARC files: CDXJ lines, made anew from the records, so that files of all programs get one.

mod job;
mod key;
mod reader;
mod record;

pub use job::IndexJob;
pub(crate) use reader::{IndexItem, IndexReader};
pub(crate) use record::IndexedRecord;
