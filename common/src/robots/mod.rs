//! robots.txt: permission to fetch a URL (RFC 9309).
//!
//! [`Rules::parse`] compiles a robots.txt for one agent, once per origin. [`Rules::allows`] takes
//! bounded time for any file: rules without inner wildcards are found by search. Rules with inner
//! wildcards are tried one by one up to a bound, after which everything that they might disallow is
//! disallowed. Failed requests for robots.txt are handled elsewhere.
//!
//! ```text
//! body ─► sanitize ─► robotstxt::parse_robotstxt ─► read (groups) ─► table ─► Rules
//!                                                   path ─► escape ─► table ─► Decision
//! ```
//!
//! Where RFC 9309 and Google's parser differ, this module follows RFC 9309: `Sitemap` and unknown
//! lines do not end a group, escapes of unreserved characters are decoded on both sides, and
//! `Allow: /x/index.html` does not allow `/x/`. Like Google's parser, it tolerates misspelt keys,
//! missing colons and stray text after a product token.

mod encode;
mod escape;
mod pattern;
mod read;
mod redirect;
mod sanitize;
mod site_signals;
mod table;
mod tdm_rules;
#[cfg(test)]
mod tests;

pub use encode::DecodeError;
pub use read::CRAWL_DELAY_MAX;
pub use redirect::{follows_redirect, is_robots_in_scope};
pub use sanitize::SIZE_MAX;
pub use site_signals::{SIGNAL_LINES_MAX, SiteSignals};
pub use tdm_rules::{TDM_FILE, TdmRule};

use crate::url::CrawlUrl;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use table::Table;

/// Maximum number of sitemaps of other hosts that are kept with the rules of one robots.txt: rules of
/// many hosts are in memory.
pub const FOREIGN_SITEMAPS_MAX: usize = 16;
/// Maximum length of such a line in bytes.
const SITEMAP_LENGTH_MAX: usize = 2_048;
/// Number of `Sitemap` lines among which they are looked for: each is parsed.
const SITEMAP_LINES_READ: usize = 1_000;

/// The compiled rules of one robots.txt for one agent. The default allows everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    table: Table,
    sitemaps: Box<[Box<str>]>,
    crawl_delay: Option<Duration>,
    /// True if everything but `/robots.txt` is disallowed, regardless of the table.
    disallow_all: bool,
    /// Rules that apply as well: a URL is allowed if both allow it. They have none of their own.
    also: Option<Box<Self>>,
    /// Signals of the site about uses of its pages; `None` if it states nothing.
    signals: Option<Arc<SiteSignals>>,
}

/// The result of [`Rules::decide`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// True if the URL may be fetched.
    pub allowed: bool,
    /// Deciding rule; `None` if no rule matched.
    pub by: Option<RuleRef>,
}

/// One line of a robots.txt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleRef {
    /// Line number, from 1.
    pub line: u32,
    /// Rule in normal form, for example `Disallow: /a*.pdf$`.
    pub text: String,
}

impl Rules {
    /// Returns the rules of a missing robots.txt: none (RFC 9309 section 2.3.1.3).
    #[must_use]
    pub fn allow_all() -> Self {
        Self::default()
    }

    /// Returns the rules of an unreachable robots.txt: only `/robots.txt` is allowed (RFC 9309
    /// section 2.3.1.4).
    #[must_use]
    pub fn disallow_all() -> Self {
        Self { disallow_all: true, ..Self::default() }
    }

    /// Returns true if a URL may be fetched, given its path with the query (`/a/b?c`). An empty
    /// path counts as `/`. `/robots.txt` is always allowed (RFC 9309 section 2.2.2).
    pub fn allows(&self, path_and_query: &str) -> bool {
        self.evaluate(path_and_query, &mut 0).0
            && self.also.as_ref().is_none_or(|also| also.allows(path_and_query))
    }

    /// Like [`Self::allows`], but also returns the deciding rule.
    pub fn decide(&self, path_and_query: &str) -> Decision {
        let (allowed, rule) = self.evaluate(path_and_query, &mut 0);
        if let Some(also) = self.also.as_ref().filter(|_| allowed) {
            let second = also.decide(path_and_query);
            if !second.allowed {
                return second;
            }
        }
        let by = rule.map(|r| RuleRef { line: r.line, text: self.table.readable(r) });
        Decision { allowed, by }
    }

    /// Decides and adds the number of bytes and rules examined to `steps`.
    fn evaluate(&self, path_and_query: &str, steps: &mut u64) -> (bool, Option<&table::Rule>) {
        let path = escape::path(path_and_query);
        let is_robots_txt = &*path == b"/robots.txt";
        if self.disallow_all || is_robots_txt {
            return (is_robots_txt, None);
        }
        let rule = self.table.find(&path, steps);
        (rule.is_none_or(|r| r.allow), rule)
    }

    /// Returns the rules under which a URL is allowed if these and `also` allow it, with the longer
    /// of their delays. `also` replaces the rules of an earlier call, so that the result is not
    /// larger than these rules and `also`; rules that `also` was combined with are ignored. Its signals
    /// count only if these rules have none.
    #[must_use]
    pub fn and(&self, also: &Self) -> Self {
        let first = Self { also: None, ..self.clone() };
        let signals = first.signals.clone().or_else(|| also.signals.clone());
        let first = Self { signals: None, ..first };
        let second = Self { also: None, sitemaps: Box::default(), signals: None, ..also.clone() };
        let adds_nothing = second == Self::default() || second == first;
        Self { also: (!adds_nothing).then(|| Box::new(second)), signals, ..first }
    }

    /// Returns the delay between requests that the site asks for: the longest `Crawl-delay` of the
    /// groups that apply to the agent, at most [`CRAWL_DELAY_MAX`], in whole milliseconds.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay.max(self.also.as_ref().and_then(|also| also.crawl_delay))
    }

    /// Returns the values of all `Sitemap` lines in order. Non-ASCII bytes are percent-encoded. The
    /// values are not necessarily URLs.
    pub const fn sitemaps(&self) -> &[Box<str>] {
        &self.sitemaps
    }

    /// Returns the signals of the site; `None` if there are none.
    pub const fn signals(&self) -> Option<&Arc<SiteSignals>> {
        self.signals.as_ref()
    }

    /// Returns these rules in an `Arc`. Rules without lines, delay and sitemaps, which most hosts
    /// have, share one allocation.
    #[must_use]
    pub fn shared(self) -> Arc<Self> {
        static ALLOW_ALL: LazyLock<Arc<Rules>> = LazyLock::new(Arc::default);
        if self == **ALLOW_ALL { Arc::clone(&ALLOW_ALL) } else { Arc::new(self) }
    }

    /// Returns these rules, of a robots.txt of `host`, with only those `Sitemap` lines that name a
    /// sitemap of another host. By them `host` permits that sitemap to list its pages (sitemaps.org,
    /// "Sitemaps & Cross Submits"). At most [`FOREIGN_SITEMAPS_MAX`] lines are kept.
    #[must_use]
    pub fn with_foreign_sitemaps(mut self, host: &str) -> Self {
        let is_foreign = |line: &&str| {
            line.len() <= SITEMAP_LENGTH_MAX
                && CrawlUrl::parse(line).is_ok_and(|url| url.host() != host)
        };
        let lines = self.sitemaps.iter().take(SITEMAP_LINES_READ).map(|line| &**line);
        let foreign = lines.filter(is_foreign).take(FOREIGN_SITEMAPS_MAX);
        self.sitemaps = foreign.map(Box::from).collect();
        self
    }

    /// Returns the size on the heap in bytes, without the allocator's overhead.
    pub fn heap_size(&self) -> usize {
        self.table.heap_size()
            + size_of_val(&*self.sitemaps)
            + self.sitemaps.iter().map(|s| s.len()).sum::<usize>()
            + self.also.as_ref().map_or(0, |also| size_of::<Self>() + also.heap_size())
            + self.signals.as_ref().map_or(0, |signals| signals.heap_size())
    }
}
