//! Cross-submission: a sitemap may list pages of another host if the robots.txt of that host names
//! the sitemap (sitemaps.org, "Sitemaps & Cross Submits").
//!
//! - *Input:* a sitemap; the URLs of other hosts that it lists.
//! - *Output:* whether the host of a URL permits it.
//! - *State:* the answers for the hosts of one sitemap. On disk, the rules of robots.txt, with the
//!   sitemaps of other hosts that it names.
//! - *Does not know:* a robots.txt that only another agent has: it permits nothing.
//! - *Errors:* none. If the disk fails, nothing is permitted, which is logged.

use super::links::LinkRules;
use crate::messages::RobotsRecord;
use crate::storage::values::HostRow;
use crate::storage::{Database, DiskError, keys};
use crivello_common::hash::HostKey;
use crivello_common::url::{CrawlUrl, Origin, Scheme};

/// Maximum number of hosts that are looked up for one sitemap: a sitemap may list 50,000. Others
/// permit nothing.
const HOSTS_MAX: usize = 32;

/// The permissions of other hosts for one sitemap.
pub(super) struct CrossSubmission<'a> {
    disk: &'a Database,
    rules: &'a LinkRules,
    sitemap: &'a CrawlUrl,
    /// Answers so far. An origin is looked up once.
    known: Vec<(HostKey, Origin, bool)>,
}

impl<'a> CrossSubmission<'a> {
    pub(super) const fn new(
        disk: &'a Database,
        rules: &'a LinkRules,
        sitemap: &'a CrawlUrl,
    ) -> Self {
        Self { disk, rules, sitemap, known: Vec::new() }
    }

    /// Returns true if the robots.txt of the host of `url`, which has this key, is known to name the
    /// sitemap.
    pub(super) fn permits(&mut self, url: &CrawlUrl, host: HostKey) -> bool {
        let origin = url.origin();
        let known = self.known.iter().find(|(of, at, _)| (*of, *at) == (host, origin));
        if let Some((.., permits)) = known {
            return *permits;
        }
        if self.known.len() == HOSTS_MAX {
            return false;
        }
        let permits = self.look_up(url, host).unwrap_or_else(|error| {
            tracing::warn!(%error, sitemap = %self.sitemap, "cannot read a robots.txt");
            false
        });
        self.known.push((host, origin, permits));
        permits
    }

    /// Looks up the robots.txt of the URL's origin, and those of the usual ones of the same host:
    /// often only one of them has been requested.
    fn look_up(&self, url: &CrawlUrl, host: HostKey) -> Result<bool, DiskError> {
        let row = self.disk.row::<HostRow>(&keys::host(host))?;
        if row.is_none_or(|row| *row.name != *url.host() || !row.robots) {
            return Ok(false);
        }
        let usual = Scheme::ALL.map(|scheme| Origin { scheme, port: scheme.default_port() });
        let others = usual.into_iter().filter(|origin| *origin != url.origin());
        for origin in std::iter::once(url.origin()).chain(others) {
            let record = self.disk.row::<RobotsRecord>(&keys::robots(host, origin))?;
            if record.is_some_and(|record| self.names_sitemap(&record)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn names_sitemap(&self, record: &RobotsRecord) -> bool {
        let lines = record.rules.iter().flat_map(|rules| rules.sitemaps());
        let mut urls = lines.filter_map(|line| CrawlUrl::parse(line).ok());
        urls.any(|url| self.rules.rewrite(url) == *self.sitemap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{Batch, Family};
    use crivello_common::config::{Settings, UrlRewrite};
    use crivello_common::identity::KeyedHasher;
    use crivello_common::robots::Rules;
    use crivello_common::time::Timestamp;
    use std::sync::Arc;
    use tempfile::TempDir;

    fn url(text: &str) -> CrawlUrl {
        CrawlUrl::parse(text).unwrap()
    }

    fn key(host: &str) -> HostKey {
        KeyedHasher::with_public_key().host_key(host)
    }

    fn rules(change: impl FnOnce(&mut Settings)) -> LinkRules {
        let mut settings = Settings::default();
        change(&mut settings);
        let hasher = KeyedHasher::with_public_key();
        LinkRules::compile(&settings.live, &settings.fixed, hasher).unwrap()
    }

    /// A database in which hosts have a robots.txt.
    struct Disk {
        _dir: TempDir,
        database: Database,
    }

    impl Disk {
        /// Each of `files` is the URL of a robots.txt and its `Sitemap` lines.
        fn of(files: &[(&str, &[&str])]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let database =
                Database::open(dir.path(), true, &Settings::default().fixed.state).unwrap();
            let mut batch = Batch::default();
            for (robots_txt, sitemaps) in files {
                let at = url(robots_txt);
                let lines: String = sitemaps.iter().map(|s| format!("Sitemap: {s}\n")).collect();
                let rules = Rules::parse(lines.as_bytes(), "x").with_foreign_sitemaps(at.host());
                let record = RobotsRecord {
                    asked: Timestamp::from_secs(1),
                    fetched: Timestamp::from_secs(1),
                    unreachable_since: None,
                    failures: 0,
                    rules: Some(rules.shared()),
                };
                let host = key(at.host());
                let row =
                    HostRow { name: Arc::from(at.host()), robots: true, ..HostRow::default() };
                batch.put(Family::Hosts, &keys::host(host), &row.encode());
                batch.put(Family::Robots, &keys::robots(host, at.origin()), &record.encode());
            }
            database.commit(&batch).unwrap();
            Self { _dir: dir, database }
        }

        fn permits(&self, rules: &LinkRules, sitemap: &str, listed: &str) -> bool {
            let (sitemap, listed) = (url(sitemap), url(listed));
            let host = key(listed.host());
            CrossSubmission::new(&self.database, rules, &sitemap).permits(&listed, host)
        }
    }

    #[test]
    fn a_host_permits_the_sitemaps_that_its_robots_txt_names() {
        let disk = Disk::of(&[
            ("http://b.test/robots.txt", &["http://a.test/for-b.xml", "/own.xml"]),
            ("https://c.test:8443/robots.txt", &["HTTP://A.test:80/%66or-c.xml"]),
            ("http://d.test/robots.txt", &[]),
        ]);
        let rules = rules(|_| {});
        for (sitemap, listed, permitted) in [
            ("http://a.test/for-b.xml", "http://b.test/x", true),
            // The usual origins speak for the others of their host.
            ("http://a.test/for-b.xml", "https://b.test/x", true),
            ("http://a.test/for-b.xml", "http://b.test:8080/x", true),
            ("http://a.test/for-b.xml", "http://www.b.test/x", false),
            ("http://a.test/for-b.xml?", "http://b.test/x", false),
            ("https://a.test/for-b.xml", "http://b.test/x", false),
            ("http://a.test/other.xml", "http://b.test/x", false),
            ("http://evil.test/for-b.xml", "http://b.test/x", false),
            ("http://a.test/for-c.xml", "https://c.test:8443/x", true),
            ("http://a.test/for-c.xml", "https://c.test/x", false),
            ("http://a.test/for-b.xml", "http://d.test/x", false),
            ("http://a.test/for-b.xml", "http://unknown.test/x", false),
        ] {
            assert_eq!(disk.permits(&rules, sitemap, listed), permitted, "{sitemap} of {listed}");
        }
    }

    /// The URL of a sitemap was rewritten before it was fetched.
    #[test]
    fn the_line_of_a_robots_txt_is_rewritten_as_links_are() {
        let disk = Disk::of(&[("http://b.test/robots.txt", &["http://a.test/s.xml?utm_source=b"])]);
        let (sitemap, listed) = ("https://a.test/s.xml", "http://b.test/x");
        assert!(!disk.permits(&rules(|_| {}), sitemap, listed));
        let rewriting =
            rules(|s| s.live.links.rewrite = vec![UrlRewrite::Tracking, UrlRewrite::ForceHttps]);
        assert!(disk.permits(&rewriting, sitemap, listed));
    }

    #[test]
    fn look_ups_are_bounded() {
        let names: Vec<String> = (0..=HOSTS_MAX).map(|n| format!("h{n}.test")).collect();
        let files: Vec<String> =
            names.iter().map(|name| format!("http://{name}/robots.txt")).collect();
        let named: &[&str] = &["http://a.test/s.xml"];
        let disk = Disk::of(&files.iter().map(|file| (file.as_str(), named)).collect::<Vec<_>>());
        let (rules, sitemap) = (rules(|_| {}), url("http://a.test/s.xml"));
        let mut others = CrossSubmission::new(&disk.database, &rules, &sitemap);
        let mut permitted = || {
            let urls = names.iter().map(|name| url(&format!("http://{name}/x")));
            urls.filter(|url| others.permits(url, key(url.host()))).count()
        };
        assert_eq!((permitted(), permitted()), (HOSTS_MAX, HOSTS_MAX));
    }

    /// Two hosts with one key would share their rows.
    #[test]
    fn another_host_with_the_same_key_permits_nothing() {
        let disk = Disk::of(&[("http://b.test/robots.txt", &["http://a.test/s.xml"])]);
        let (rules, sitemap) = (rules(|_| {}), url("http://a.test/s.xml"));
        let mut others = CrossSubmission::new(&disk.database, &rules, &sitemap);
        assert!(!others.permits(&url("http://c.test/x"), key("b.test")));
    }
}
