//! A URL on its way to the sieve.

use super::Finder;
use crivello_common::hash::{HostKey, UrlHash, UrlKey};
use crivello_common::url::CrawlUrl;
use crivello_html::LinkKind;
use std::sync::Arc;

/// URL on its way to the sieve: a seed, a link of a stored page, or a URL from a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// URL in normal form.
    pub url: CrawlUrl,
    /// Key of its host, with the group.
    pub host: HostKey,
    /// Hash of the whole URL.
    pub hash: UrlHash,
    /// Number of links from a seed, along this path.
    pub depth: u16,
    /// Number of redirects that led to it from a seed, whose depth it has; otherwise 0.
    pub redirects: u8,
    /// Kind of link by which it was found.
    pub kind: LinkKind,
    /// Class of who found it.
    pub finder: Finder,
    /// Priority within its host's queue, from 0 to 254; smaller ones are fetched first.
    pub priority: u8,
    /// URL of the sitemap on another host that lists it: it is admitted only if the robots.txt of its
    /// own host names that sitemap. `None` for any other link.
    pub listed_by: Option<Arc<str>>,
}

impl Found {
    /// Returns the key of the URL.
    pub const fn key(&self) -> UrlKey {
        UrlKey { group: self.host.group, url: self.hash }
    }
}
