//! Selection of the links to follow, and their priorities.
//!
//! - *Input:* the hrefs of a page with the URL they are relative to; single URLs (seeds, the sitemaps
//!   that robots.txt names).
//! - *Output:* [`Found`], each once per page and in its order; a count of rejected links by reason.
//! - *State:* nothing between pages.
//! - *Does not know:* whether a URL is new, its owner, the rules of robots.txt.
//! - *Errors:* [`LinksError`] if a rule or a condition does not compile, before any link is judged.

mod budget;
mod listed;
mod recent;
mod scope;
mod shape;
#[cfg(test)]
mod tests;

use crate::messages::{Finder, Found, LinkKind};
use budget::{LinkBudget, SITEMAP_BYTES};
use crivello_common::config::{Blocklist, Fixed, Live};
use crivello_common::discard::{Discard, DiscardTally};
use crivello_common::fields::link::{LinkRecord, ParentRecord, compile_condition};
use crivello_common::fields::priority::{PRIORITY_DEFAULT, PriorityRule};
use crivello_common::hash::{GroupHash, HostKey, UrlHash};
use crivello_common::identity::KeyedHasher;
use crivello_common::ports::PortPolicy;
use crivello_common::url::{Base, CrawlUrl, Rewriter};
use crivello_expressions::Expression;
use crivello_html::{ExtractedLink, LinkSource, SITEMAP_LINKS_MAX};
use crivello_ranks::RanksInForce;
use foldhash::fast::RandomState;
use listed::ListedOrigins;
use recent::RecentHosts;
use scope::Scope;
use shape::Shape;
use std::collections::HashSet;

pub use scope::{LinksError, RejectingRule};

/// Maximum number of redirects in a row whose targets keep the depth of a seed. Chains of a few are
/// usual: https, `www.`, language.
const SEED_REDIRECTS_MAX: u8 = 5;

/// The page on which links are found.
#[derive(Clone, Copy, Debug)]
pub struct Parent<'a> {
    /// Its response, for expressions.
    pub page: ParentRecord<'a>,
    /// Group of its host.
    pub group: GroupHash,
    /// Kind of link by which it was found.
    pub kind: LinkKind,
    /// Number of links from a seed.
    pub depth: u16,
    /// Number of redirects that led to it from a seed, whose depth it has; otherwise 0.
    pub redirects: u8,
    /// True if it is a redirect itself.
    pub is_redirect: bool,
}

impl Parent<'_> {
    /// Returns the depth of its links, and the number of redirects that led to them from a seed. The
    /// target of a seed's redirect has the seed's depth, so that a list of seeds can be crawled alone.
    const fn distance_of_links(&self) -> (u16, u8) {
        if self.is_redirect && self.depth == 0 && self.redirects < SEED_REDIRECTS_MAX {
            (0, self.redirects + 1)
        } else {
            (self.depth.saturating_add(1), 0)
        }
    }
}

/// The rules of a crawl, compiled: rewriting, scope, condition, trap guards and limits.
#[derive(Clone, Debug)]
pub struct LinkRules {
    rewriter: Option<Rewriter>,
    scope: Scope,
    admit: Option<Expression>,
    priority: Option<PriorityRule>,
    shape: Shape,
    depth_max: Option<u16>,
    per_page_max: usize,
    bytes_max: usize,
    work_max: u64,
    respect_nofollow: bool,
    hasher: KeyedHasher,
    blocked: Blocklist,
    ports: PortPolicy,
    ranks: RanksInForce,
}

impl LinkRules {
    /// Compiles the rules in live settings, with the ports of `fixed`. `hasher` computes the keys of
    /// the links.
    ///
    /// # Errors
    /// [`LinksError`] if a regular expression or a condition does not compile.
    pub fn compile(live: &Live, fixed: &Fixed, hasher: KeyedHasher) -> Result<Self, LinksError> {
        let links = &live.links;
        Ok(Self {
            rewriter: Rewriter::compile(&links.rewrite, &links.drop_parameters),
            scope: Scope::compile(&links.include, &links.exclude)?,
            admit: compile_condition(&links.admit).map_err(LinksError::Condition)?,
            priority: PriorityRule::compile(&links.priority).map_err(LinksError::Priority)?,
            shape: Shape {
                length_max: links.url_length_max as usize,
                repeats_max: links.repeated_segments_max as usize,
                segments_max: links.path_depth_max as usize,
            },
            depth_max: live.limits.depth_max,
            per_page_max: links.per_page_max as usize,
            bytes_max: links.bytes_per_page_max.as_usize(),
            work_max: links.work_per_page_max,
            respect_nofollow: links.respect_nofollow,
            hasher,
            blocked: Blocklist::new(&links.blocked),
            ports: PortPolicy::new(&fixed.fetch.ports_allowed),
            ranks: RanksInForce::default(),
        })
    }

    /// Uses these ranks of hosts.
    #[must_use]
    pub fn ranked(self, ranks: RanksInForce) -> Self {
        Self { ranks, ..self }
    }

    /// Returns the rank of a host; 0 if it has none.
    pub fn host_rank(&self, host: &str) -> u8 {
        self.ranks.rank(host)
    }

    /// Checks that the rules in live settings can be compiled.
    ///
    /// # Errors
    /// [`LinksError`] if a regular expression or a condition does not compile.
    pub fn check(live: &Live) -> Result<(), LinksError> {
        Scope::compile(&live.links.include, &live.links.exclude)?;
        compile_condition(&live.links.admit).map_err(LinksError::Condition)?;
        PriorityRule::compile(&live.links.priority).map_err(LinksError::Priority).map(drop)
    }

    /// Returns `url` as `links.rewrite` and `links.drop-parameters` say.
    pub fn rewrite(&self, url: CrawlUrl) -> CrawlUrl {
        match &self.rewriter {
            Some(rewriter) => rewriter.rewrite(url),
            None => url,
        }
    }

    /// Rewrites a link of a page, whose budget pays for it.
    fn rewrite_charged(&self, url: CrawlUrl, budget: &mut LinkBudget) -> Result<CrawlUrl, Discard> {
        let Some(rewriter) = &self.rewriter else { return Ok(url) };
        budget.charge(rewriter.cost(&url))?;
        Ok(rewriter.rewrite(url))
    }

    /// Admits `url`, which a person asks for, rewritten, `depth` links away from its seed (a seed is 0), or
    /// returns the reason why not.
    ///
    /// # Errors
    /// [`Discard::Depth`], [`Discard::TooLong`], [`Discard::PathDepth`],
    /// [`Discard::RepeatedSegments`], [`Discard::PortDenied`], [`Discard::Blocked`],
    /// [`Discard::OutOfScope`], [`Discard::NotAdmitted`] or [`Discard::ConditionFailed`].
    pub fn admit(&self, url: CrawlUrl, depth: u16, kind: LinkKind) -> Result<Found, Discard> {
        let url = self.rewrite(url);
        let record = LinkRecord::seed(&url, depth, kind == LinkKind::Sitemap);
        self.judge(&record)?;
        let priority = self.priority(&record);
        let host = self.hasher.host_key(url.host());
        let hash = self.hasher.url(&url);
        let finder = Finder::SEED;
        let (redirects, listed_by) = (0, None);
        Ok(Found { url, host, hash, depth, redirects, kind, finder, priority, listed_by })
    }

    /// Returns the key of a host with this name in normal form.
    pub fn host_key(&self, name: &str) -> HostKey {
        self.hasher.host_key(name)
    }

    /// Returns the include or exclude rule that rejects `url`; `None` for a URL within the scope.
    pub fn rejecting_rule(&self, url: &CrawlUrl) -> Option<RejectingRule> {
        self.scope.rejecting_rule(url)
    }

    /// Returns the part of `links.admit` that refuses `url`, judged as a seed, and its value.
    pub fn refusing_condition(&self, url: &CrawlUrl) -> Option<String> {
        let record = LinkRecord::seed(url, 0, false);
        let condition = self.admit.as_ref()?;
        match condition.bool(&record) {
            Ok(_) => condition.reason_for_false(&record).map(|reason| reason.to_string()),
            Err(error) => Some(error.to_string()),
        }
    }

    /// Returns the links of one page that pass the rules, and a count of the others by reason.
    /// Links are resolved against `base`, in normal form, in the order of the page and each once.
    /// `parent` is the page itself.
    ///
    /// A URL that occurs again counts once. Beyond `links.per-page-max` links of a page, or
    /// [`SITEMAP_LINKS_MAX`] of a sitemap, hrefs are counted as [`Discard::TooManyLinks`] and not
    /// examined; beyond `links.work-per-page-max` as [`Discard::TooMuchWork`], and links beyond
    /// `links.bytes-per-page-max` as [`Discard::TooManyLinkBytes`].
    pub fn collect<'h>(
        &self,
        base: &url::Url,
        hrefs: impl Iterator<Item = ExtractedLink<'h>>,
        parent: Parent<'_>,
    ) -> (Vec<Found>, DiscardTally) {
        self.collect_list(base, hrefs, parent, |_| {})
    }

    /// Returns the links of a sitemap or feed, as [`Self::collect`] does. Those that a sitemap lists
    /// beyond the bound of other origins count as [`Discard::ForeignInSitemap`]. `takes` is called with the
    /// index among `hrefs` of each link that is returned.
    pub fn collect_list<'h>(
        &self,
        base: &url::Url,
        hrefs: impl Iterator<Item = ExtractedLink<'h>>,
        parent: Parent<'_>,
        mut takes: impl FnMut(usize),
    ) -> (Vec<Found>, DiscardTally) {
        let mut budget = self.budget(base, parent.kind);
        let base = Base::new(base);
        let (depth, redirects) = parent.distance_of_links();
        let n_hrefs = hrefs.size_hint().0.min(budget.links);
        let mut seen =
            HashSet::<UrlHash, _>::with_capacity_and_hasher(n_hrefs, RandomState::default());
        let mut hosts = RecentHosts::new(self.hasher);
        let (mut links, mut listed) = (Vec::new(), ListedOrigins::default());
        let mut tally = DiscardTally::default();
        for (index, link) in hrefs.enumerate() {
            let ExtractedLink { href, kind, source, nofollow } = link;
            if nofollow && self.respect_nofollow && budget.links > 0 {
                tally.count(Discard::Nofollow);
                continue;
            }
            let checked = budget.check(href);
            let joined = checked.and_then(|()| base.join_charged(href, |n| budget.charge(n)));
            let url = match joined.and_then(|url| self.rewrite_charged(url, &mut budget)) {
                Ok(url) => url,
                Err(reason) => {
                    tally.count(reason);
                    continue;
                }
            };
            let hash = self.hasher.url(&url);
            if !seen.insert(hash) {
                continue;
            }
            let record = LinkRecord {
                url: &url,
                inlinks: 1,
                host_rank: 0,
                depth,
                is_sitemap: kind == LinkKind::Sitemap,
                kind: source.kind(),
                nofollow,
                parent: Some(parent.page),
            };
            let is_listed = source == LinkSource::Sitemap;
            let is_foreign = is_listed && url.host() != parent.page.url.host();
            let judged = self.judge(&record).and_then(|()| {
                let sitemap = parent.page.url.as_str();
                let add = || listed.add((hosts.key(url.host()), url.origin()), sitemap);
                let listed_by = is_foreign.then(add).transpose()?;
                // The owner of the host gets both URLs.
                let len = url.as_str().len() + listed_by.as_ref().map_or(0, |url| url.len());
                budget.take(len).map(|()| listed_by)
            });
            match judged {
                Ok(listed_by) => {
                    takes(index);
                    let priority = self.priority(&record);
                    let host: HostKey = hosts.key(url.host());
                    let finder = Finder::of_link(parent.group, host.group);
                    links.push(Found {
                        url,
                        host,
                        hash,
                        depth,
                        redirects,
                        kind,
                        finder,
                        priority,
                        listed_by,
                    });
                }
                Err(reason) => tally.count(reason),
            }
        }
        (links, tally)
    }

    fn priority(&self, link: &LinkRecord<'_>) -> u8 {
        let Some(rule) = &self.priority else { return PRIORITY_DEFAULT };
        if rule.names_host_rank() {
            let host_rank = self.host_rank(link.url.host());
            return rule.priority(&LinkRecord { host_rank, ..*link });
        }
        rule.priority(link)
    }

    fn budget(&self, base: &url::Url, kind: LinkKind) -> LinkBudget {
        let (links, bytes) = match kind {
            LinkKind::Page => (self.per_page_max, self.bytes_max),
            LinkKind::Sitemap => (SITEMAP_LINKS_MAX, self.bytes_max.saturating_mul(SITEMAP_BYTES)),
        };
        LinkBudget {
            links,
            bytes,
            work: self.work_max,
            length_max: self.shape.length_max,
            base_len: base.as_str().len(),
        }
    }

    /// Checks the cheap rules first: most traps never reach a regular expression.
    fn judge(&self, link: &LinkRecord<'_>) -> Result<(), Discard> {
        let url = link.url;
        if self.depth_max.is_some_and(|max| link.depth > max) {
            return Err(Discard::Depth);
        }
        self.shape.check(url)?;
        if !self.ports.admits(url.origin().port) {
            return Err(Discard::PortDenied);
        }
        if self.blocked.by_name(url.host()).is_some() {
            return Err(Discard::Blocked);
        }
        if !self.scope.admits(url) {
            return Err(Discard::OutOfScope);
        }
        match self.admit.as_ref().map(|condition| condition.bool(link)) {
            None | Some(Ok(true)) => Ok(()),
            Some(Ok(false)) => Err(Discard::NotAdmitted),
            Some(Err(_)) => Err(Discard::ConditionFailed),
        }
    }
}
