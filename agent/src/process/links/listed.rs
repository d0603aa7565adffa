//! Hosts beside its own of which a sitemap lists URLs.

use crivello_common::discard::Discard;
use crivello_common::hash::HostKey;
use std::sync::Arc;

/// Maximum number of hosts beside its own of which a sitemap may list URLs: a sitemap may list 50,000
/// URLs, and the owner of each host has to look its robots.txt up.
pub(super) const HOSTS_MAX: usize = 32;

/// The hosts so far.
#[derive(Debug, Default)]
pub(super) struct ListedHosts {
    hosts: Vec<HostKey>,
    sitemap: Option<Arc<str>>,
}

impl ListedHosts {
    /// Adds a host. Returns the URL of the sitemap, which is that of the page.
    ///
    /// # Errors
    /// [`Discard::ForeignInSitemap`] if the sitemap lists URLs of too many hosts.
    pub fn add(&mut self, host: HostKey, sitemap: &str) -> Result<Arc<str>, Discard> {
        if !self.hosts.contains(&host) {
            if self.hosts.len() == HOSTS_MAX {
                return Err(Discard::ForeignInSitemap);
            }
            self.hosts.push(host);
        }
        Ok(Arc::clone(self.sitemap.get_or_insert_with(|| sitemap.into())))
    }
}
