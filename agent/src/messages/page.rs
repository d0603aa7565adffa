//! From the parsers to the writer: what is to be kept of one request.

use super::{Found, Queued};
use crivello_archive::{ContentDigest, WarcRecord};
use crivello_common::discard::{Discard, DiscardTally};
use crivello_common::failure::Failure;
use crivello_common::hash::{HostKey, UrlHash};
use crivello_common::time::Timestamp;
use std::sync::Arc;
use std::time::Duration;

/// A request's result with all that is to be remembered of it: archive records ready to be
/// appended, links ready for the sieve.
#[derive(Debug)]
pub struct Page {
    /// The host.
    pub host: HostKey,
    /// Its name.
    pub name: Arc<str>,
    /// The frontier's row; `None` for robots.txt.
    pub row: Option<Queued>,
    /// When the request began.
    pub at: Timestamp,
    /// How long it took.
    pub took: Duration,
    /// What came of it.
    pub end: PageEnd,
    /// Archive records, complete gzip members, in order. Empty when nothing is archived.
    pub records: Vec<WarcRecord>,
    /// The links that passed the rules, in the order of the page, each once.
    pub links: Vec<Found>,
    /// The links that did not.
    pub discards: DiscardTally,
    /// The hash of its URL, if its way is followed: see [`traces`](crate::url_tracing).
    pub traced: Option<UrlHash>,
}

impl Page {
    /// Bytes that its records and links hold in memory.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let records = self.records.iter().map(|record| record.bytes.len());
        let links = self.links.iter().map(|found| size_of::<Found>() + found.url.as_str().len());
        records.sum::<usize>() + links.sum::<usize>()
    }
}

/// See [`Page::end`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageEnd {
    /// A response.
    Response {
        /// The HTTP status code.
        status: u16,
        /// Bytes of the body as received.
        bytes: u64,
        /// The digest by which exact duplicates are known; `None` where they are not looked for.
        digest: Option<ContentDigest>,
        /// Whether the content was seen before (archived as `revisit`).
        duplicate: bool,
        /// Whether the body was cut off.
        truncated: bool,
    },
    /// The attempt failed.
    Failed(Failure),
    /// It was not asked for, or not used.
    Discarded(Discard),
}
