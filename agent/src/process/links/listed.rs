//! Origins of other hosts of which a sitemap lists URLs.

use crivello_common::discard::Discard;
use crivello_common::hash::HostKey;
use crivello_common::url::Origin;
use std::sync::Arc;

/// Maximum number of origins of other hosts of which a sitemap may list URLs: a sitemap may list 50,000
/// URLs, and the owner of each host has to look its robots.txt up.
pub(super) const ORIGINS_MAX: usize = 32;

/// The origins so far.
#[derive(Debug, Default)]
pub(super) struct ListedOrigins {
    origins: Vec<(HostKey, Origin)>,
    sitemap: Option<Arc<str>>,
}

impl ListedOrigins {
    /// Adds an origin of a host. Returns the URL of the sitemap, which is that of the page.
    ///
    /// # Errors
    /// [`Discard::ForeignInSitemap`] if the sitemap lists URLs of too many origins.
    pub fn add(
        &mut self,
        (host, origin): (HostKey, Origin),
        sitemap: &str,
    ) -> Result<Arc<str>, Discard> {
        if !self.origins.contains(&(host, origin)) {
            if self.origins.len() == ORIGINS_MAX {
                return Err(Discard::ForeignInSitemap);
            }
            self.origins.push((host, origin));
        }
        Ok(Arc::clone(self.sitemap.get_or_insert_with(|| sitemap.into())))
    }
}
