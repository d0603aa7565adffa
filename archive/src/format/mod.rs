//! The WARC format: records, their fields and digests, and the names of files.

pub(crate) mod compress;
pub(crate) mod digest;
pub(crate) mod fields;
pub(crate) mod file_names;
pub(crate) mod http_head;
mod record_id;
pub(crate) mod records;
pub(crate) mod redacted;
mod sha1_x2;
pub(crate) mod warcinfo;
