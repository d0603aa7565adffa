//! Cross-submission: a sitemap may list URLs of another host if the robots.txt of that host names the
//! sitemap (sitemaps.org, "Sitemaps & Cross Submits"). The owner of the host decides, because it has the
//! robots.txt.

use super::frontier::Frontier;
use super::hosts::Map;
use crate::messages::RobotsRecord;
use crate::storage::{DiskError, keys};
use crivello_common::config::Live;
use crivello_common::hash::HostKey;
use crivello_common::url::{CrawlUrl, Origin, Rewriter, Scheme};

/// The rule of cross-submission, and what it has read for the links of one commit.
#[derive(Debug)]
pub struct CrossSubmission {
    /// URLs are rewritten before they are fetched, that of a sitemap too.
    rewriter: Option<Rewriter>,
    /// Sitemaps of other hosts that each robots.txt names.
    named: Map<(HostKey, Origin), Vec<CrawlUrl>>,
}

impl CrossSubmission {
    /// Creates the rule of these settings.
    pub fn of(settings: &Live) -> Self {
        let links = &settings.links;
        let rewriter = Rewriter::compile(&links.rewrite, &links.drop_parameters);
        Self { rewriter, named: Map::default() }
    }

    /// Returns true if the robots.txt of a host, as of the last commit, names `sitemap`, which lists URLs of
    /// its origin `origin`. The host must be in memory, unless it is unknown.
    ///
    /// The robots.txt of that origin counts, and those of the usual ones: often only one of them has been
    /// requested.
    pub fn permits(
        &mut self,
        frontier: &Frontier,
        (host, name, origin): (HostKey, &str, Origin),
        sitemap: &str,
    ) -> Result<bool, DiskError> {
        let entry = frontier.hosts.get(host);
        if !entry.is_some_and(|entry| entry.is_named(host, name) && entry.row.robots) {
            return Ok(false);
        }
        let usual = Scheme::ALL.map(|scheme| Origin { scheme, port: scheme.default_port() });
        for origin in [origin].into_iter().chain(usual) {
            if !self.named.contains_key(&(host, origin)) {
                let record = frontier.disk.row::<RobotsRecord>(&keys::robots(host, origin))?;
                let named = record.map(|record| self.named_by(&record)).unwrap_or_default();
                self.named.insert((host, origin), named);
            }
            if self.named[&(host, origin)].iter().any(|url| url.as_str() == sitemap) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Forgets what was read, because a robots.txt may change.
    pub fn forget(&mut self) {
        self.named.clear();
    }

    fn named_by(&self, record: &RobotsRecord) -> Vec<CrawlUrl> {
        let lines = record.rules.iter().flat_map(|rules| rules.sitemaps());
        let urls = lines.filter_map(|line| CrawlUrl::parse(line).ok());
        let rewritten = urls.map(|url| match &self.rewriter {
            Some(rewriter) => rewriter.rewrite(url),
            None => url,
        });
        rewritten.collect()
    }
}
