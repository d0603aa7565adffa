//! Selection of the links to follow.
//!
//! - *In*: the hrefs of a page with the URL they are relative to; single URLs (seeds, the sitemaps
//!   that robots.txt names).
//! - *Out*: [`Found`], each once per page and in its order; a count of rejected links by reason.
//! - *State*: nothing between pages.
//! - *Never knows*: whether a URL is new, its owner, the rules of robots.txt.
//! - *Errors*: [`LinksError`] if a rule does not compile, before any link is judged.

mod recent;
mod scope;
mod shape;
#[cfg(test)]
mod tests;

use crate::messages::{Found, LinkKind};
use crivello_common::config::{AssignBy, Blocklist, Live};
use crivello_common::discard::{Discard, DiscardTally};
use crivello_common::hash::{HostKey, UrlHash};
use crivello_common::url::{Base, CrawlUrl, host_key};
use crivello_html::SITEMAP_URLS_MAX;
use recent::RecentHosts;
use scope::Scope;
use shape::Shape;

pub use scope::{LinksError, RejectingRule};

/// The rules of a crawl, compiled: scope, trap guards and limits.
#[derive(Clone, Debug)]
pub struct LinkRules {
    scope: Scope,
    shape: Shape,
    depth_max: Option<u16>,
    per_page_max: usize,
    respect_nofollow: bool,
    assign_by: AssignBy,
    blocked: Blocklist,
}

impl LinkRules {
    /// Compiles the rules in live settings, for groups that are assigned by `assign_by`.
    ///
    /// # Errors
    /// [`LinksError::Regex`] if a regular expression does not compile.
    pub fn compile(live: &Live, assign_by: AssignBy) -> Result<Self, LinksError> {
        let links = &live.links;
        Ok(Self {
            scope: Scope::compile(&links.include, &links.exclude)?,
            shape: Shape {
                length_max: links.url_length_max as usize,
                repeats_max: links.repeated_segments_max as usize,
                segments_max: links.path_depth_max as usize,
            },
            depth_max: live.limits.depth_max,
            per_page_max: links.per_page_max as usize,
            respect_nofollow: links.respect_nofollow,
            assign_by,
            blocked: Blocklist::new(&links.blocked),
        })
    }

    /// Admits `url`, `depth` links away from its seed (a seed is 0), or returns the reason why not.
    ///
    /// # Errors
    /// [`Discard::Depth`], [`Discard::TooLong`], [`Discard::PathDepth`],
    /// [`Discard::RepeatedSegments`], [`Discard::Blocked`] or [`Discard::OutOfScope`].
    pub fn admit(&self, url: CrawlUrl, depth: u16, kind: LinkKind) -> Result<Found, Discard> {
        self.judge(&url, depth)?;
        let host = host_key(url.host(), self.assign_by);
        let hash = url.hash();
        Ok(Found { url, host, hash, depth, kind })
    }

    /// Returns the include or exclude rule that rejects `url`; `None` for a URL within the scope.
    #[must_use]
    pub fn rejecting_rule(&self, url: &CrawlUrl) -> Option<RejectingRule> {
        self.scope.rejecting_rule(url)
    }

    /// Returns the links of one page that pass the rules, and a count of the others by reason.
    /// Links are resolved against `base`, in normal form, in the order of the page and each once.
    /// Each of `hrefs` is the text, the kind of its target, and whether it (or the whole page) has
    /// `nofollow`. `parent` is the kind and the depth of the page itself.
    ///
    /// A URL that occurs again counts once. Beyond `links.per-page-max` links of a page, or
    /// [`SITEMAP_URLS_MAX`] of a sitemap, hrefs are counted as [`Discard::TooManyLinks`] and not
    /// examined.
    pub fn collect<'h>(
        &self,
        base: &url::Url,
        hrefs: impl Iterator<Item = (&'h str, LinkKind, bool)>,
        parent: (LinkKind, u16),
    ) -> (Vec<Found>, DiscardTally) {
        let base = Base::new(base);
        let depth = parent.1.saturating_add(1);
        let links_max = match parent.0 {
            LinkKind::Page => self.per_page_max,
            LinkKind::Sitemap => SITEMAP_URLS_MAX,
        };
        let mut seen = foldhash::HashSet::<UrlHash>::default();
        let mut hosts = RecentHosts::new(self.assign_by);
        let mut links: Vec<Found> = Vec::new();
        let mut tally = DiscardTally::default();
        for (href, kind, nofollow) in hrefs {
            if links.len() >= links_max {
                tally.count(Discard::TooManyLinks);
                continue;
            }
            if nofollow && self.respect_nofollow {
                tally.count(Discard::Nofollow);
                continue;
            }
            let url = match base.join(href) {
                Ok(url) => url,
                Err(reason) => {
                    tally.count(reason);
                    continue;
                }
            };
            let hash = url.hash();
            if !seen.insert(hash) {
                continue;
            }
            match self.judge(&url, depth) {
                Ok(()) => {
                    let host: HostKey = hosts.key(url.host());
                    links.push(Found { url, host, hash, depth, kind });
                }
                Err(reason) => tally.count(reason),
            }
        }
        (links, tally)
    }

    /// Checks the cheap rules first: most traps never reach a regular expression.
    fn judge(&self, url: &CrawlUrl, depth: u16) -> Result<(), Discard> {
        if self.depth_max.is_some_and(|max| depth > max) {
            return Err(Discard::Depth);
        }
        self.shape.check(url)?;
        if self.blocked.by_name(url.host()).is_some() {
            return Err(Discard::Blocked);
        }
        if self.scope.admits(url) { Ok(()) } else { Err(Discard::OutOfScope) }
    }
}
