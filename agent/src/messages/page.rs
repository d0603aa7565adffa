//! A request's result with everything to store: from the parsers to the writer.

use super::{ChangeSignal, Found, PageFingerprint, Queued, Validators};
use crate::storage::values::is_success;
use crivello_archive::WarcRecord;
use crivello_common::discard::{Discard, DiscardTally};
use crivello_common::failure::Failure;
use crivello_common::hash::ContentDigest;
use crivello_common::hash::{HostKey, UrlHash};
use crivello_common::time::Timestamp;
use std::sync::Arc;
use std::time::Duration;

/// Result of a request with everything to store: archive records ready to be appended, and links
/// ready for the sieve.
#[derive(Debug)]
pub struct Page {
    /// The host.
    pub host: HostKey,
    /// Name of the host.
    pub name: Arc<str>,
    /// Row of the frontier; `None` for a robots.txt.
    pub row: Option<Queued>,
    /// Time when the request began.
    pub at: Timestamp,
    /// Duration of the request.
    pub took: Duration,
    /// Outcome of the request.
    pub end: PageEnd,
    /// Archive records, complete gzip members or zstd frames, in order. Empty when nothing is archived.
    pub records: Vec<WarcRecord>,
    /// Links that passed the rules, in the order of the page, without repeats.
    pub links: Vec<Found>,
    /// Changes of other pages, by the dates of a sitemap or feed.
    pub signals: Vec<ChangeSignal>,
    /// Tally of the links that did not pass the rules.
    pub discards: DiscardTally,
    /// Hash of the URL if it is traced: see [`url_tracing`](crate::url_tracing).
    pub traced: Option<UrlHash>,
    /// Time of the capture that the record refers to; `None` if it is no `revisit`.
    pub original: Option<Timestamp>,
    /// Fingerprint of the text; `None` if it is not archived, has none, is an exact duplicate, or
    /// near-duplicates are not recognized.
    pub fingerprint: Option<PageFingerprint>,
    /// Data for the next fetch of the URL; `None` if pages are fetched once.
    pub revisit_data: Option<Box<RevisitData>>,
}

/// Data of a response for the next fetch of its URL.
#[derive(Clone, Debug, PartialEq)]
pub struct RevisitData {
    /// The lower half of the fingerprint of the main text, or of the body if there is no text. That of
    /// the last content if the server called it unmodified.
    pub content: u64,
    /// True if the server called the last content unmodified (304).
    pub is_not_modified: bool,
    /// True if the response is a sitemap or feed; as last time if it has no body.
    pub is_list: bool,
    /// Validators for the next request.
    pub validators: Validators,
    /// Date of the last change by the server.
    pub modified: Option<Timestamp>,
    /// Time for which the server calls the content fresh.
    pub lifetime: Option<Duration>,
    /// Value of `recrawl.weight`; `None` if it has none.
    pub weight: Option<f64>,
    /// Value of `recrawl.interval` in seconds; `None` if it has none.
    pub interval: Option<f64>,
}

impl Page {
    /// Returns the bytes that its records and links hold in memory.
    pub fn held_bytes(&self) -> usize {
        let records = self.records.iter().map(|record| record.bytes.len());
        let links = self.links.iter().map(|found| size_of::<Found>() + found.url.as_str().len());
        records.sum::<usize>() + links.sum::<usize>()
    }
}

/// Outcome of a request, after parsing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageEnd {
    /// A response.
    Response {
        /// The HTTP status code.
        status: u16,
        /// Bytes of the body as received.
        bytes: u64,
        /// Digest for the detection of exact duplicates; `None` if they are not detected.
        digest: Option<ContentDigest>,
        /// True if the content was archived before (the record is a `revisit`).
        duplicate: bool,
        /// True if the body was cut off.
        truncated: bool,
    },
    /// The attempt failed.
    Failed(Failure),
    /// The request was not sent, or its response was not used.
    Discarded(Discard),
}

impl PageEnd {
    /// Returns true for a response with success (2xx).
    #[must_use]
    pub const fn is_success(&self) -> bool {
        matches!(self, Self::Response { status, .. } if is_success(*status))
    }
}
