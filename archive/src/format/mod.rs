//! The WARC format: records, their fields and digests, and the names of files.

pub(crate) mod digest;
pub(crate) mod fields;
pub(crate) mod file_names;
mod gzip_member;
pub(crate) mod http_head;
mod record_id;
pub(crate) mod records;
mod sha1_x2;
pub(crate) mod warcinfo;
