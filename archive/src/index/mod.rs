//! The CDXJ index of a WARC file: its lines, their keys, and their order.

pub(crate) mod cdxj;
pub(crate) mod sort;
pub(crate) mod surt;
