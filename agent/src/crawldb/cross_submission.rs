//! Cross-submission: a sitemap may list URLs of another host if the robots.txt of that host names the
//! sitemap (sitemaps.org, "Sitemaps & Cross Submits"). The owner of the host decides, because it has the
//! robots.txt.

use super::frontier::Frontier;
use super::hosts::Map;
use crate::messages::RobotsRecord;
use crate::storage::DiskError;
use crivello_common::config::Live;
use crivello_common::hash::HostKey;
use crivello_common::url::{CrawlUrl, Origin, Rewriter};
use std::sync::Arc;

/// The rule of cross-submission, and its answers for the links of one commit.
#[derive(Debug)]
pub struct CrossSubmission {
    /// URLs are rewritten before they are fetched, that of a sitemap too.
    rewriter: Option<Rewriter>,
    answers: Map<(HostKey, Origin, Arc<str>), bool>,
}

impl CrossSubmission {
    /// Creates the rule of these settings.
    pub fn of(settings: &Live) -> Self {
        let links = &settings.links;
        let rewriter = Rewriter::compile(&links.rewrite, &links.drop_parameters);
        Self { rewriter, answers: Map::default() }
    }

    /// Returns true if the robots.txt of a host names `sitemap`, which lists URLs of its origin `origin`.
    /// The host must be in memory, unless it is unknown.
    ///
    /// The robots.txt of that origin counts, and those of the usual ones: often only one of them has been
    /// requested.
    pub fn permits(
        &mut self,
        frontier: &Frontier,
        (host, name, origin): (HostKey, &str, Origin),
        sitemap: &Arc<str>,
    ) -> Result<bool, DiskError> {
        let key = (host, origin, Arc::clone(sitemap));
        if let Some(permits) = self.answers.get(&key) {
            return Ok(*permits);
        }
        let is_known = frontier.hosts.get(host).is_some_and(|entry| entry.is_named(host, name));
        let speaks = |of: Origin| of == origin || of.port == of.scheme.default_port();
        let permits = is_known
            && frontier
                .read_robots(host)?
                .iter()
                .any(|(of, record)| speaks(*of) && self.names(record, sitemap));
        self.answers.insert(key, permits);
        Ok(permits)
    }

    /// Forgets the answers, because a robots.txt may change.
    pub fn forget(&mut self) {
        self.answers.clear();
    }

    fn names(&self, record: &RobotsRecord, sitemap: &str) -> bool {
        let lines = record.rules.iter().flat_map(|rules| rules.sitemaps());
        let urls = lines.filter_map(|line| CrawlUrl::parse(line).ok());
        let mut urls = urls.map(|url| match &self.rewriter {
            Some(rewriter) => rewriter.rewrite(url),
            None => url,
        });
        urls.any(|url| url.as_str() == sitemap)
    }
}
