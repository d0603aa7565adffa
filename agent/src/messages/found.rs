//! A URL on its way to the sieve.

use crivello_common::hash::{HostKey, UrlHash};
use crivello_common::url::CrawlUrl;
use crivello_html::LinkKind;

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
