//! The streaming reader: records of WARC files in order, with damage named and skipped.

pub(crate) mod capture_tail;
mod cdxj_line;
pub(crate) mod check;
pub(crate) mod damage;
mod decoder;
pub(crate) mod fields;
pub(crate) mod head;
pub(crate) mod http_message;
pub(crate) mod index_check;
pub(crate) mod index_notes;
mod input;
pub(crate) mod known;
mod member_text;
pub(crate) mod notes;
pub(crate) mod originals;
pub(crate) mod reader;
mod resync;
pub(crate) mod sealed_files;
