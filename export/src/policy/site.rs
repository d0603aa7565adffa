//! Pages and sites of sorted lines, and counts of them.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

/// The statements of the pages of one host.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SitePolicy {
    /// The host.
    pub host: String,
    /// Number of its pages.
    pub pages: u64,
    /// Number of those with any signal.
    pub pages_with_signals: u64,
    /// Number of pages by statement: a field and its value, which is empty if any counts.
    pub statements: BTreeMap<(String, String), u64>,
}

/// Counts of sites and their pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PolicyCount {
    /// Number of hosts.
    pub sites: u64,
    /// Number of pages.
    pub pages: u64,
}

/// Counts over all sites.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PolicyCounts {
    /// All.
    pub all: PolicyCount,
    /// Those with any signal.
    pub with_signals: PolicyCount,
    /// Those with a statement: a field and its value, which is empty if any counts.
    pub statements: BTreeMap<(String, String), PolicyCount>,
}

impl PolicyCount {
    fn add(&mut self, pages: u64) {
        if pages > 0 {
            self.sites += 1;
            self.pages += pages;
        }
    }
}

impl PolicyCounts {
    /// Adds a site.
    pub(super) fn add(&mut self, site: &SitePolicy) {
        self.all.add(site.pages);
        self.with_signals.add(site.pages_with_signals);
        for (statement, pages) in &site.statements {
            match self.statements.get_mut(statement) {
                Some(count) => count.add(*pages),
                None => {
                    let count = PolicyCount { sites: 1, pages: *pages };
                    self.statements.insert(statement.clone(), count);
                }
            }
        }
    }
}

/// Joins lines, in their order, to pages and sites. A page has the statements of its last capture.
#[derive(Default)]
pub(super) struct SiteReader {
    site: SitePolicy,
    /// URL of the last line, and its statements.
    page: Option<(String, BTreeSet<String>)>,
}

impl SiteReader {
    /// Adds a line. Returns the site before it if it is the first of another one.
    pub(super) fn push(&mut self, line: &str) -> Option<SitePolicy> {
        let mut parts = line.split('\t');
        let (host, url) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let statements = parts.nth(1).unwrap_or_default();
        let statements = statements.split(' ').filter(|one| !one.is_empty()).map(str::to_owned);
        let done = if host == self.site.host { None } else { self.finish() };
        if self.page.as_ref().is_some_and(|(before, _)| before != url) {
            self.end_page();
        }
        if self.site.host != host {
            host.clone_into(&mut self.site.host);
        }
        self.page = Some((url.to_owned(), statements.collect()));
        done
    }

    /// Returns the last site.
    pub(super) fn finish(&mut self) -> Option<SitePolicy> {
        self.end_page();
        let site = mem::take(&mut self.site);
        (site.pages > 0).then_some(site)
    }

    fn end_page(&mut self) {
        let Some((_, statements)) = self.page.take() else { return };
        self.site.pages += 1;
        self.site.pages_with_signals += u64::from(!statements.is_empty());
        for statement in statements {
            let (name, value) = statement.split_once('=').unwrap_or((&statement, ""));
            let key = (name.to_owned(), value.to_owned());
            *self.site.statements.entry(key).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(sites: u64, pages: u64) -> PolicyCount {
        PolicyCount { sites, pages }
    }

    #[test]
    fn the_last_capture_of_a_page_counts() {
        let lines = [
            "a.test\thttp://a.test/1\t2026-01-01T00:00:00Z\trobots=noarchive robots=noindex",
            "a.test\thttp://a.test/1\t2026-02-01T00:00:00Z\trobots=noindex",
            "a.test\thttp://a.test/2\t2026-01-01T00:00:00Z\t",
            "a.test\thttp://a.test/3\t2026-01-01T00:00:00Z\tlicense= robots=noindex",
            "b.test\thttp://b.test/1\t2026-01-01T00:00:00Z\trobots=noindex",
            "c.test\thttp://c.test/1\t2026-01-01T00:00:00Z\tlicense=",
            "c.test\thttp://c.test/1\t2026-01-02T00:00:00Z\t",
        ];
        let (mut reader, mut sites) = (SiteReader::default(), Vec::new());
        lines.iter().for_each(|line| sites.extend(reader.push(line)));
        sites.extend(reader.finish());
        let found: Vec<_> =
            sites.iter().map(|s| (s.host.as_str(), s.pages, s.pages_with_signals)).collect();
        assert_eq!(found, [("a.test", 3, 2), ("b.test", 1, 1), ("c.test", 1, 0)]);
        let mut counts = PolicyCounts::default();
        sites.iter().for_each(|site| counts.add(site));
        assert_eq!((counts.all, counts.with_signals), (count(3, 5), count(2, 3)));
        let of = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let wanted = [(of("license", ""), count(1, 1)), (of("robots", "noindex"), count(2, 3))];
        assert_eq!(counts.statements, wanted.into());
    }

    #[test]
    fn no_lines_are_no_sites() {
        assert_eq!(SiteReader::default().finish(), None);
    }
}
