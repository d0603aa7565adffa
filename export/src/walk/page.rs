//! A capture and its page, as [`super::PageWalk`] returns them.

use crate::counts::Skip;
use crate::page::PageFacts;
use crivello_common::url::CrawlUrl;

/// A capture, and the page in it.
#[derive(Clone, Debug)]
pub struct WalkedCapture {
    /// URL as archived; empty if the record has none.
    pub url: String,
    /// `WARC-Date`; empty if the record has none.
    pub date: String,
    /// HTTP status.
    pub status: Option<u16>,
    /// Offset of the record in its file, in bytes.
    pub offset: u64,
    /// The page, or the reason why there is none.
    pub page: Result<Box<WalkedPage>, Skip>,
}

/// An HTML page of status 2xx. That of a revisit has the payload of its original.
#[derive(Clone, Debug)]
pub struct WalkedPage {
    /// URL in normal form.
    pub url: CrawlUrl,
    /// Title, language, main text and directives.
    pub facts: PageFacts,
    /// True if the page, or its capture, has `noindex`.
    pub noindex: bool,
    /// URL of the page of which the crawl noted that it is a near-duplicate.
    pub near_duplicate_of: Option<String>,
    /// True if the payload is that of an earlier capture.
    pub is_revisit: bool,
    /// Links to HTTP URLs, at most 10,000, in the order of the page; empty if they are not read.
    pub links: Vec<WalkedLink>,
}

/// A link of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkedLink {
    /// Its target.
    pub url: CrawlUrl,
    /// Text of the link; at most 512 bytes.
    pub text: String,
    /// True if it has `rel=nofollow`.
    pub nofollow: bool,
}
