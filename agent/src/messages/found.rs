//! A URL on its way to the sieve.

use crivello_common::hash::{HostKey, UrlHash};
use crivello_common::url::CrawlUrl;

/// A URL on its way to the sieve: a seed, a link of a stored page, or a peer's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// In normal form.
    pub url: CrawlUrl,
    /// The host and its group.
    pub host: HostKey,
    /// The hash of the whole URL.
    pub hash: UrlHash,
    /// Links away from a seed, along this path.
    pub depth: u16,
    /// What it was found as.
    pub kind: LinkKind,
}

/// What a URL was found as; decides how its page is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum LinkKind {
    /// A page, or a file of any kind.
    #[default]
    Page = 0,
    /// A sitemap or a sitemap index.
    Sitemap = 1,
}
