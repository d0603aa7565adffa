//! An earlier page, to which a note refers.

use crivello_common::config::AssignBy;
use crivello_common::url::{CrawlUrl, group_name};

/// An earlier page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierPage {
    /// Its URL.
    pub url: String,
    /// `WARC-Date` of its record.
    pub date: String,
}

impl EarlierPage {
    /// Returns true if this is the registrable domain of its host.
    pub(super) fn has_domain(&self, domain: &str) -> bool {
        CrawlUrl::parse(&self.url).is_ok_and(|url| domain_of(&url) == domain)
    }
}

/// Returns the registrable domain of a host.
pub(super) fn domain_of(url: &CrawlUrl) -> &str {
    group_name(url.host(), AssignBy::Domain)
}
