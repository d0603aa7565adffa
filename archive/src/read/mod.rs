//! The streaming reader: records of WARC files in order, with damage named and skipped.

mod cdxj_line;
pub(crate) mod check;
pub(crate) mod damage;
mod decoder;
pub(crate) mod fields;
pub(crate) mod head;
pub(crate) mod http_message;
pub(crate) mod index_check;
mod input;
mod member_text;
pub(crate) mod originals;
pub(crate) mod reader;
mod resync;
