//! Whether a URL may be fetched (RFC 9309).
//!
//! [`Rules::parse`] turns a robots.txt into the compiled rules for one agent, once per origin;
//! [`Rules::allows`] answers in bounded time, whatever the file contains: it searches rules without
//! inner wildcards, and tries those with some one by one up to a bound, beyond which all that they
//! might forbid is forbidden. What a *failed* request for a robots.txt means is no matter of rules.
//!
//! ```text
//! body ─► clean ─► robotstxt::parse_robotstxt ─► read (groups) ─► table ─► Rules
//!                                                path ─► escape ─► table ─► Decision
//! ```
//!
//! Where RFC 9309 and Google's parser differ, RFC 9309 is followed: `Sitemap` and unknown lines
//! end no group, escapes of unreserved characters are decoded on both sides, and
//! `Allow: /x/index.html` does not allow `/x/`. Google's tolerance for misspelt keys, missing
//! colons and stray text after a product token is kept.

mod clean;
mod encode;
mod escape;
mod pattern;
mod read;
mod table;
#[cfg(test)]
mod tests;

pub use clean::SIZE_MAX;
pub use encode::DecodeError;
pub use read::CRAWL_DELAY_MAX;

use std::sync::{Arc, LazyLock};
use std::time::Duration;
use table::Table;

/// The compiled rules of one robots.txt for one agent. The default allows everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    table: Table,
    sitemaps: Box<[Box<str>]>,
    crawl_delay: Option<Duration>,
    /// Nothing is allowed, whatever the table says.
    closed: bool,
}

/// The answer of [`Rules::decide`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether the URL may be fetched.
    pub allowed: bool,
    /// The rule that decided; `None` when no rule matched.
    pub by: Option<RuleRef>,
}

/// One line of a robots.txt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleRef {
    /// Counted from 1.
    pub line: u32,
    /// The rule in normal form, for instance `Disallow: /a*.pdf$`.
    pub text: String,
}

impl Rules {
    /// Reads the body of a robots.txt: any bytes, of which [`SIZE_MAX`] are looked at.
    ///
    /// `agent` is the crawler's product token, compared without regard to case (RFC 9309 section
    /// 2.2.1); in `Name/1.0` only the name counts.
    #[must_use]
    pub fn parse(body: &[u8], agent: &str) -> Self {
        let mut reader = read::Reader::new(agent);
        robotstxt::parse_robotstxt(&clean::clean(body), &mut reader);
        let found = reader.findings();
        Self {
            table: found.table,
            sitemaps: found.sitemaps,
            crawl_delay: found.crawl_delay,
            closed: false,
        }
    }

    /// No rules: what a missing robots.txt means (RFC 9309 section 2.3.1.3).
    #[must_use]
    pub fn allow_all() -> Self {
        Self::default()
    }

    /// Nothing but `/robots.txt`: what an unreachable one means (RFC 9309 section 2.3.1.4).
    #[must_use]
    pub fn disallow_all() -> Self {
        Self { closed: true, ..Self::default() }
    }

    /// Whether a URL may be fetched, given its path with the query (`/a/b?c`); an empty path is
    /// `/`. `/robots.txt` always may (RFC 9309 section 2.2.2).
    #[must_use]
    pub fn allows(&self, path_and_query: &str) -> bool {
        self.judge(path_and_query, &mut 0).0
    }

    /// Like [`Self::allows`], with the rule that decides.
    #[must_use]
    pub fn decide(&self, path_and_query: &str) -> Decision {
        let (allowed, rule) = self.judge(path_and_query, &mut 0);
        let by = rule.map(|r| RuleRef { line: r.line, text: self.table.readable(r) });
        Decision { allowed, by }
    }

    /// `steps` counts the bytes and rules that were looked at.
    fn judge(&self, path_and_query: &str, steps: &mut u64) -> (bool, Option<&table::Rule>) {
        if self.closed {
            return (&*escape::path(path_and_query) == b"/robots.txt", None);
        }
        if self.table.is_empty() {
            return (true, None);
        }
        let path = escape::path(path_and_query);
        if &*path == b"/robots.txt" {
            return (true, None);
        }
        let rule = self.table.find(&path, steps);
        (rule.is_none_or(|r| r.allow), rule)
    }

    /// The pause between requests that the site asks for: the longest `Crawl-delay` of the groups
    /// that count for the agent, at most [`CRAWL_DELAY_MAX`], in whole milliseconds.
    #[must_use]
    pub const fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }

    /// The values of all `Sitemap` lines, in their order, as they stand in the file but ASCII
    /// (other bytes are percent-encoded); they need not be URLs.
    #[must_use]
    pub const fn sitemaps(&self) -> &[Box<str>] {
        &self.sitemaps
    }

    /// The same rules for those who keep them. All without a rule, a delay or a sitemap are one: those
    /// of most hosts.
    #[must_use]
    pub fn shared(self) -> Arc<Self> {
        static ALLOW_ALL: LazyLock<Arc<Rules>> = LazyLock::new(Arc::default);
        if self == **ALLOW_ALL { Arc::clone(&ALLOW_ALL) } else { Arc::new(self) }
    }

    /// The same rules without the `Sitemap` lines, for those who keep them.
    #[must_use]
    pub fn without_sitemaps(mut self) -> Self {
        self.sitemaps = Box::default();
        self
    }

    /// Bytes on the heap, without the allocator's share.
    #[must_use]
    pub fn heap_size(&self) -> usize {
        self.table.heap_size()
            + size_of_val(&*self.sitemaps)
            + self.sitemaps.iter().map(|s| s.len()).sum::<usize>()
    }

    /// A compact form for the disk; see [`Self::from_bytes`].
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        encode::encode(self)
    }

    /// The inverse of [`Self::to_bytes`].
    ///
    /// # Errors
    /// When the bytes are of another version, are not what `to_bytes` writes, or are too many.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        encode::decode(bytes)
    }
}
