//! A simple model of the crawl database: maps in memory, compared with a real one on disk.

pub mod exchange;
mod workbench;

use super::super::CrawlDb;
use crate::messages::{Commit, PageEnd, PendingPage};
use crate::messages::{
    Fact, Finder, Found, LinkKind, PRIORITY_DEFAULT, Queued, RobotsRecord, ToFrontier, ToWorkbench,
};
use crate::storage::values::decode_queued;
use crate::storage::{Database, Family, keys};
use crivello_common::config::{Limits, Settings, SieveKind};
use crivello_common::failure::Failure;
use crivello_common::fields::link::LinkRecord;
use crivello_common::fields::priority::PriorityRule;
use crivello_common::hash::{GroupHash, HostKey, UrlHash};
use crivello_common::identity::KeyedHasher;
use crivello_common::politeness::HostState;
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_common::url::{CrawlUrl, Origin, Scheme};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Clone)]
pub enum Step {
    Find(Vec<u16>),
    Want(u32),
    Fetch {
        pick: u16,
        n: u8,
    },
    /// The host leaves after a visit that rests it for `rest_ms` milliseconds, or without a visit.
    Leave {
        pick: u16,
        rest_ms: Option<u16>,
    },
    Refill(u16),
    /// The window is cut to `keep` URLs.
    Return {
        pick: u16,
        keep: u8,
    },
    Drop {
        pick: u16,
        forever: bool,
    },
    /// A robots.txt redirects to the host of this URL.
    Call(u16),
    Commit,
    /// A commit while this many pages are still being parsed.
    CommitBut(u8),
    /// A commit of pages with links to other agents.
    CommitAway,
    /// Acknowledgement of all links so far.
    Safe,
    /// A new value of `links.priority`.
    Prioritize(u8),
    /// A step of the reordering that follows.
    Reorder,
    /// The limit of pages is reached, or is no longer.
    LimitReached(bool),
    Kill,
}

/// A host on the model's workbench.
struct OnWorkbench {
    window: Vec<Queued>,
    pages_left: u64,
    state: HostState,
    /// True if it was requested only for its robots.txt.
    called: bool,
}

pub struct Model {
    dir: tempfile::TempDir,
    settings: Settings,
    crawldb: Option<CrawlDb>,
    disk: Option<Arc<Database>>,
    n_hosts: u16,
    /// Status of all pages.
    pub status: u16,
    now: Timestamp,
    workbench: BTreeMap<HostKey, OnWorkbench>,
    names: BTreeMap<HostKey, Arc<str>>,
    group: Commit,
    pending_pages: Vec<PendingPage>,
    /// Facts of all commits so far.
    pub changes: Vec<Fact>,
    /// True if other agents' facts are among the rows.
    merged: bool,
    /// True if the priorities have been changed, or facts with others were merged.
    is_prioritized: bool,
    /// URLs that were on the workbench at some time: a change of priorities may have skipped them.
    handed_out: BTreeSet<UrlHash>,
    found: BTreeSet<UrlHash>,
    dealt_with: BTreeSet<UrlHash>,
    found_open: BTreeSet<UrlHash>,
    pages_by_domain: BTreeMap<GroupHash, u64>,
}

impl Model {
    pub fn new(n_hosts: u16) -> Self {
        Self::with_limits(n_hosts, Limits::default())
    }

    pub fn with_limits(n_hosts: u16, limits: Limits) -> Self {
        let mut settings = Settings::default();
        settings.live.limits = limits;
        settings.fixed.state.window_urls_max = 64;
        settings.live.politeness.delay = Duration::ZERO;
        let mut model = Self {
            dir: tempfile::tempdir().unwrap(),
            settings,
            crawldb: None,
            disk: None,
            n_hosts,
            status: 200,
            now: Timestamp::from_secs(1_000_000),
            workbench: BTreeMap::new(),
            names: BTreeMap::new(),
            group: Commit::default(),
            pending_pages: Vec::new(),
            changes: Vec::new(),
            merged: false,
            is_prioritized: false,
            handed_out: BTreeSet::new(),
            found: BTreeSet::new(),
            dealt_with: BTreeSet::new(),
            found_open: BTreeSet::new(),
            pages_by_domain: BTreeMap::new(),
        };
        model.open();
        model
    }

    /// Opens the crawl database, each time with the other of the two seen sets that a cluster may have.
    fn open(&mut self) {
        let sieve = &mut self.settings.fixed.state.sieve;
        *sieve = match sieve {
            SieveKind::Quotient => SieveKind::Rocksdb,
            _ => SieveKind::Quotient,
        };
        let disk = Database::open(self.dir.path(), true, &self.settings.fixed.state).unwrap();
        let disk = Arc::new(disk);
        self.crawldb = Some(
            CrawlDb::open(disk.clone(), &self.settings, KeyedHasher::with_public_key())
                .unwrap()
                .sharing(exchange::ME),
        );
        self.disk = Some(disk);
    }

    fn crawldb(&mut self) -> &mut CrawlDb {
        self.crawldb.as_mut().unwrap()
    }

    pub fn is_reordering(&mut self) -> bool {
        self.crawldb().is_reordering()
    }

    pub fn pages(&mut self) -> u64 {
        self.crawldb().totals().pages
    }

    pub fn unresolved(&mut self, kind: Failure) {
        self.crawldb().on_workbench(ToFrontier::NameFailed { kind });
    }

    /// Sets the robots.txt of all hosts on the workbench.
    pub fn learn(&mut self, rules: &Arc<Rules>) {
        self.learn_of(rules, |_| true);
    }

    /// Sets the robots.txt of some hosts on the workbench.
    pub fn learn_of(&mut self, rules: &Arc<Rules>, is_meant: impl Fn(HostKey) -> bool) {
        let origin = Origin { scheme: Scheme::Http, port: 80 };
        let at = self.now;
        for host in self.hosts_on_workbench().into_iter().filter(|&host| is_meant(host)) {
            let record = RobotsRecord {
                asked: at,
                fetched: at,
                unreachable_since: None,
                failures: 0,
                rules: Some(Arc::clone(rules)),
            };
            self.crawldb().on_workbench(ToFrontier::Robots { host, origin, record });
        }
    }

    pub fn hosts_on_workbench(&self) -> Vec<HostKey> {
        self.workbench.keys().copied().collect()
    }

    /// Returns the number of a host's URLs on the workbench.
    pub fn window(&self, host: HostKey) -> usize {
        self.workbench[&host].window.len()
    }

    pub fn failures(&mut self, kind: Failure) -> u64 {
        self.crawldb().totals().failures[kind as usize]
    }

    fn url(&mut self, n: u16) -> Found {
        let url = CrawlUrl::parse(&format!("http://h{}.site{}.test/p{n}", n % self.n_hosts, n % 3))
            .unwrap();
        let host = KeyedHasher::with_public_key().host_key(url.host());
        self.names.insert(host, url.host().into());
        let hash = KeyedHasher::with_public_key().url(&url);
        // Any class may find any URL; the limits are far away.
        let finder = Finder::from_code((n / 3 % 16) as u8).unwrap();
        Found {
            host,
            hash,
            depth: 0,
            redirects: 0,
            kind: LinkKind::Page,
            finder,
            priority: self.priority(&url),
            url,
            listed_by: None,
        }
    }

    fn priority(&self, url: &CrawlUrl) -> u8 {
        let rule = PriorityRule::compile(&self.settings.live.links.priority).unwrap();
        rule.map_or(PRIORITY_DEFAULT, |rule| rule.priority(&LinkRecord::seed(url, 0, false)))
    }

    fn prioritize(&mut self, n: u8) {
        self.is_prioritized = true;
        self.settings.live.links.priority = match n {
            0 => String::new(),
            1 => "254".to_owned(),
            n => format!("url.text.contains(\"{n}\") ? {n} : 200 - {n}"),
        };
        let live = self.settings.live.clone();
        self.crawldb().reconfigure(&live);
        let mut open = std::mem::take(&mut self.group.found);
        open.iter_mut().for_each(|found| found.priority = self.priority(&found.url));
        self.group.found = open;
    }

    /// Performs a step. Checks the order of all rows after the last one.
    fn reorder(&mut self) {
        let now = self.now;
        let Some(mut commit) = self.crawldb().step_reorder(now).unwrap() else { return };
        self.disk.as_ref().unwrap().commit(&commit.batch).unwrap();
        let of_host = |fact: &Fact| matches!(fact, Fact::Host { .. } | Fact::Robots { .. });
        assert!(commit.changes.iter().all(of_host), "the order is no change for others");
        self.changes.append(&mut commit.changes);
        if self.crawldb().is_reordering() || self.merged {
            return;
        }
        let mut rows = Vec::new();
        let disk = self.disk.as_ref().unwrap();
        disk.walk(Family::Frontier, &[], &[0xff; 30], |key, value| {
            let (host, queue_key) = keys::read_frontier(key)?;
            rows.push((host, decode_queued(queue_key, value)?));
            Ok(true)
        })
        .unwrap();
        for (host, row) in rows {
            let is_pending = row.queue_key.is_pending();
            if is_pending || self.handed_out.contains(&row.hash) {
                continue;
            }
            let url = CrawlUrl::from_parts(row.origin, &self.names[&host], &row.path);
            assert_eq!(row.queue_key.priority, self.priority(&url), "{url}");
        }
    }

    fn host_rows(&self) -> u64 {
        let mut n = 0;
        let disk = self.disk.as_ref().unwrap();
        disk.walk(Family::Hosts, &[], &[0xff; 17], |key, _| {
            n += u64::from(key[8..] != [0; 8]); // not a group's own row
            Ok(true)
        })
        .unwrap();
        n
    }

    pub fn take(&mut self, step: Step) {
        self.now = self.now + Duration::from_millis(700);
        match step {
            Step::Find(urls) => {
                for n in urls {
                    let found = self.url(n);
                    self.found_open.insert(found.hash);
                    self.group.found.push(found);
                }
            }
            Step::Want(hosts) => {
                self.crawldb().on_workbench(ToFrontier::WantHosts { hosts });
                self.serve();
            }
            Step::Fetch { pick, n } => self.fetch(pick, n),
            Step::Leave { pick, rest_ms } => self.leave(pick, rest_ms),
            Step::Refill(pick) => {
                if let Some(host) = self.pick(pick).filter(|host| !self.workbench[host].called) {
                    self.crawldb().on_workbench(ToFrontier::Refill { host });
                    self.serve();
                }
            }
            Step::Return { pick, keep } => self.give_back(pick, keep),
            Step::Call(n) => {
                let Found { url, host, .. } = self.url(n);
                if !self.workbench.contains_key(&host) {
                    self.crawldb()
                        .on_workbench(ToFrontier::RequestHost { host, name: url.host().into() });
                    self.serve();
                }
            }
            Step::Drop { pick, forever } => self.drop_host(pick, forever),
            Step::Commit => self.commit(),
            Step::CommitBut(n) => {
                let keep = self.group.pages.len().saturating_sub(usize::from(n));
                let later = self.group.pages.split_off(keep);
                self.commit();
                self.group.pages = later;
            }
            Step::CommitAway => {
                self.group.routing.sent_links = vec![true; self.group.pages.len()];
                self.commit();
            }
            Step::Prioritize(n) => self.prioritize(n),
            Step::Reorder => self.reorder(),
            Step::LimitReached(is_reached) => self.crawldb().set_only_again(is_reached),
            Step::Safe => self.group.routing.released.append(&mut self.pending_pages),
            Step::Kill => self.kill(),
        }
    }

    fn pick(&self, pick: u16) -> Option<HostKey> {
        let n = self.workbench.len();
        (n > 0).then(|| *self.workbench.keys().nth(usize::from(pick) % n).unwrap())
    }

    fn serve(&mut self) {
        let mut notes = Vec::new();
        let now = self.now;
        self.crawldb().serve(now, &mut |_, _| Ok(true), &mut notes).unwrap();
        let is_limited = self.crawldb().frontier.only_again;
        for note in notes {
            match note {
                ToWorkbench::Due(due) => {
                    assert!(!is_limited || due.urls.is_empty(), "a page beyond the limit");
                    self.handed_out.extend(due.urls.iter().map(|url| url.hash));
                    self.check_window(due.host, &due.urls);
                    let called = due.urls.is_empty();
                    let (window, pages_left) = (due.urls, due.pages_left);
                    let host = OnWorkbench { window, pages_left, state: due.state, called };
                    let before = self.workbench.insert(due.host, host);
                    assert!(before.is_none(), "a host was handed out twice");
                }
                ToWorkbench::MoreUrls { host, urls, .. } => {
                    assert!(!is_limited || urls.is_empty(), "a page beyond the limit");
                    self.handed_out.extend(urls.iter().map(|url| url.hash));
                    self.check_window(host, &urls);
                    self.workbench.get_mut(&host).unwrap().window.extend(urls);
                }
                ToWorkbench::NotOwned { .. } | ToWorkbench::Recall { .. } => {
                    panic!("unexpected message: all groups may be fetched")
                }
            }
        }
    }

    /// Checks that no URL is finished or handed out already, and that all are in the order of
    /// priority, then of first appearance.
    fn check_window(&self, host: HostKey, urls: &[Queued]) {
        let before = self.workbench.get(&host).filter(|_| !self.is_prioritized);
        let mut last = before.and_then(|host| host.window.last()).map(|url| url.queue_key);
        for url in urls {
            assert!(last < Some(url.queue_key), "out of order");
            last = Some(url.queue_key);
            assert!(!self.dealt_with.contains(&url.hash), "fetched twice");
            let on_the_way = self.group.pages.iter().any(|(p, _)| {
                p.host == host && p.row.as_ref().is_some_and(|r| r.queue_key == url.queue_key)
            });
            assert!(!on_the_way, "handed out twice");
            let name = &self.names[&host];
            let text = CrawlUrl::from_parts(url.origin, name, &url.path);
            assert_eq!(
                KeyedHasher::with_public_key().url(&text),
                url.hash,
                "the row names another URL"
            );
        }
    }

    fn commit(&mut self) {
        let mut group = std::mem::take(&mut self.group);
        let now = self.now;
        self.crawldb().apply(&mut group, now).unwrap();
        self.disk.as_ref().unwrap().commit(&group.batch).unwrap();
        self.changes.append(&mut group.changes);
        self.pending_pages.append(&mut group.pending);
        self.found.append(&mut self.found_open);
        for (page, _) in &group.pages {
            let hash = page.row.as_ref().unwrap().hash;
            assert!(self.dealt_with.insert(hash), "accounted for twice");
            let counts = matches!(page.end, PageEnd::Response { status: 200, .. });
            *self.pages_by_domain.entry(page.host.group).or_default() += u64::from(counts);
        }
        if let Some(max) = self.settings.live.limits.pages_per_domain_max {
            let over = self.pages_by_domain.values().find(|&&n| n > max);
            assert_eq!(over, None, "a domain has more pages than its limit of {max}");
        }
        let totals = self.crawldb().totals().clone();
        assert_eq!(
            totals.hosts,
            self.host_rows(),
            "the host count differs from the number of rows"
        );
        assert_eq!(totals.pages, self.dealt_with.len() as u64);
        if self.merged {
            return;
        }
        assert_eq!(
            self.found.len() as u64,
            totals.queued + totals.pages + totals.discards.iter().map(|(_, n)| n).sum::<u64>(),
            "a URL is neither queued nor fetched nor discarded"
        );
    }

    /// Kills the process: all that was not committed is lost, and may be found or fetched again.
    fn kill(&mut self) {
        let lost: Vec<Found> = self.group.found.clone();
        // The outbox still has them.
        self.pending_pages.append(&mut self.group.routing.released);
        self.group = Commit::default();
        self.found_open.clear();
        self.workbench.clear();
        (self.crawldb, self.disk) = (None, None);
        self.open();
        // Their senders got no acknowledgement, so they send them again.
        for mut found in lost {
            found.priority = self.priority(&found.url);
            self.found_open.insert(found.hash);
            self.group.found.push(found);
        }
    }

    /// Crawls until the frontier is empty.
    pub fn drain(&mut self) {
        self.take(Step::LimitReached(false));
        for _ in 0..2_000 {
            self.now = self.now + Duration::from_secs(2);
            self.take(Step::Safe);
            self.take(Step::Reorder);
            self.commit();
            if self.crawldb().totals().queued == 0 && self.pending_pages.is_empty() {
                return;
            }
            self.crawldb().on_workbench(ToFrontier::WantHosts { hosts: 3 });
            self.serve();
            for pick in (0..self.hosts_on_workbench().len()).rev() {
                let pick = u16::try_from(pick).unwrap();
                self.fetch(pick, u8::MAX);
                let workbench = self.workbench.values().nth(usize::from(pick)).unwrap();
                match (workbench.window.is_empty(), workbench.pages_left) {
                    (_, 0) => self.reach_limit(pick),
                    (true, _) => self.leave(pick, Some(0)),
                    (false, _) => {}
                }
            }
        }
        panic!("the frontier does not become empty: {:?}", self.crawldb().totals());
    }
}
