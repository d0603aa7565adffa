//! Tests of the shares in a crawl database: what is refused for now comes in later, and what does not
//! exist makes room.

use super::super::CrawlDb;
use crate::messages::{
    Commit, Finder, Found, LinkKind, PRIORITY_DEFAULT, SieveResult, ToFrontier, ToWorkbench,
};
use crate::storage::Database;
use crivello_common::config::{Limits, Settings, SieveKind};
use crivello_common::discard::Discard;
use crivello_common::hash::HostKey;
use crivello_common::identity::KeyedHasher;
use crivello_common::politeness::HostState;
use crivello_common::time::Timestamp;
use crivello_common::units::ByteSize;
use crivello_common::url::CrawlUrl;
use std::sync::Arc;

struct TestCrawlDb {
    _dir: tempfile::TempDir,
    disk: Arc<Database>,
    crawldb: CrawlDb,
    now: Timestamp,
}

fn found(url: &str, from: &str) -> Found {
    let url = CrawlUrl::parse(url).unwrap();
    let hasher = KeyedHasher::with_public_key();
    let (host, hash) = (hasher.host_key(url.host()), hasher.url(&url));
    let finder = match from {
        "seed" => Finder::SEED,
        _ => Finder::of_link(hasher.group(from), host.group),
    };
    Found {
        url,
        host,
        hash,
        depth: 1,
        redirects: 0,
        kind: LinkKind::Page,
        finder,
        priority: PRIORITY_DEFAULT,
        listed_by: None,
    }
}

fn victim(from: &str, name: &str) -> Found {
    found(&format!("http://{name}.victim.test/"), from)
}

/// Returns a domain whose links have another class than those of `domain`.
fn of_another_class(domain: &str) -> String {
    let class = |from: &str| victim(from, "www").finder;
    let names = (0..).map(|n| format!("good{n}.test"));
    names.into_iter().find(|name| class(name) != class(domain)).unwrap()
}

impl TestCrawlDb {
    fn new(limits: Limits, sieve: SieveKind) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut settings = Settings::default();
        settings.live.limits = limits;
        settings.fixed.state.sieve = sieve;
        settings.fixed.state.sieve_memory = ByteSize::mib(1);
        let disk = Arc::new(Database::open(dir.path(), true, &settings.fixed.state).unwrap());
        let crawldb =
            CrawlDb::open(disk.clone(), &settings, KeyedHasher::with_public_key()).unwrap();
        Self { _dir: dir, disk, crawldb, now: Timestamp::from_secs(1) }
    }

    fn commit(&mut self, found: impl IntoIterator<Item = Found>) -> Vec<SieveResult> {
        self.now = self.now + std::time::Duration::from_secs(60);
        let mut commit = Commit { found: found.into_iter().collect(), ..Commit::default() };
        self.crawldb.apply(&mut commit, self.now).unwrap();
        self.disk.commit(&commit.batch).unwrap();
        commit.results
    }

    /// Hands out all hosts that are due; each is resolved, or its name does not exist.
    fn look_up(&mut self, exists: impl Fn(&str) -> bool) -> Vec<HostKey> {
        self.crawldb.on_workbench(ToFrontier::WantHosts { hosts: 1_000 });
        let mut notes = Vec::new();
        self.crawldb.serve(self.now, &mut |_, _| Ok(true), &mut notes).unwrap();
        let mut hosts = Vec::new();
        for note in notes {
            let ToWorkbench::Due(due) = note else { continue };
            let host = due.host;
            hosts.push(host);
            let unused = due.urls.iter().map(|url| url.queue_key).collect();
            let state = HostState::default();
            let note = if exists(&due.name) {
                self.crawldb.on_workbench(ToFrontier::NameResolved { host });
                ToFrontier::Leave { host, state, unused }
            } else {
                ToFrontier::Drop { host, state, unused, reason: Discard::GaveUp, forever: false }
            };
            self.crawldb.on_workbench(note);
        }
        self.commit([]);
        hosts
    }
}

fn admitted(results: &[SieveResult]) -> usize {
    results.iter().filter(|result| **result == Ok(true)).count()
}

fn few_names() -> Limits {
    let unresolved_hosts_per_domain_max = Some(16);
    Limits { unresolved_hosts_per_domain_max, ..Limits::default() }
}

#[test]
fn dead_names_of_a_stranger_leave_room_and_give_it_back() {
    use SieveKind::{BlockedBloom, Bloom, Memory, Quotient, Rocksdb};
    for sieve in [Rocksdb, Memory, Bloom, BlockedBloom, Quotient] {
        let mut db = TestCrawlDb::new(few_names(), sieve);
        let dead = || (0..1_000).map(|n| victim("evil.test", &format!("n{n}")));
        let results = db.commit(dead());
        assert_eq!(admitted(&results), 2, "an eighth of 16, {sieve:?}");
        assert_eq!(results[999], Err(Discard::TooManyUnresolvedHosts));
        assert_eq!(db.crawldb.totals().seen, 2, "what is refused for now is not seen");
        // Others still get in: another stranger, the domain itself, a seed.
        let good = of_another_class("evil.test");
        for from in [&*good, "victim.test", "seed"] {
            assert_eq!(admitted(&db.commit([victim(from, &format!("www-{from}"))])), 1, "{from}");
        }
        // The names turn out not to exist, and make room for the next ones.
        let asked = db.look_up(|name| name.starts_with("www"));
        assert_eq!(asked.len(), 5);
        let results = db.commit(dead());
        assert_eq!(admitted(&results), 2, "the two that were refused first, {sieve:?}");
    }
}

#[test]
fn hosts_that_exist_count_for_good() {
    let limits = Limits { hosts_per_domain_max: Some(8), ..Limits::default() };
    let mut db = TestCrawlDb::new(limits, SieveKind::Rocksdb);
    let own = |range: std::ops::Range<u32>| {
        range.map(|n| victim("victim.test", &format!("h{n}"))).collect::<Vec<_>>()
    };
    assert_eq!(admitted(&db.commit(own(0..20))), 8);
    db.look_up(|name| !name.starts_with("h7"));
    let results = db.commit(own(8..20));
    assert_eq!(admitted(&results), 1, "the place of the only name that does not exist");
    assert_eq!(results[11], Err(Discard::TooManyHosts));
    assert_eq!(admitted(&db.commit([victim("seed", "www")])), 1, "a seed is never refused");
}

#[test]
fn a_url_refused_to_a_stranger_is_admitted_for_its_own_domain_in_the_same_commit() {
    let mut db = TestCrawlDb::new(few_names(), SieveKind::Rocksdb);
    let flood = (0..9).map(|n| victim("evil.test", &format!("n{n}")));
    let again = [victim("evil.test", "www"), victim("victim.test", "www")];
    let results = db.commit(flood.chain(again));
    assert_eq!(results[9], Err(Discard::TooManyUnresolvedHosts));
    assert_eq!(results[10], Ok(true));
    let known = db.commit([victim("victim.test", "www")]);
    assert_eq!(known, [Ok(false)], "it is seen from then on");
}

#[test]
fn a_full_queue_refuses_for_now_and_keeps_room_for_its_own_links() {
    let limits = Limits {
        queued_urls_per_host_max: Some(20),
        queued_urls_per_domain_max: Some(40),
        ..Limits::default()
    };
    let mut db = TestCrawlDb::new(limits, SieveKind::Rocksdb);
    let page = |from: &str, n: u32| found(&format!("http://www.victim.test/{n}"), from);
    let from: Vec<String> = (0..40).map(|n| format!("evil{n}.test")).collect();
    let flood = |start: u32| {
        let from = &from;
        (0..400).map(move |n| page(&from[n as usize % from.len()], start + n))
    };
    let results = db.commit(flood(0));
    assert_eq!(admitted(&results), 10, "half of the host's queue");
    assert_eq!(results[399], Err(Discard::HostQueueFull));
    let own: Vec<_> = (1_000..1_100).map(|n| page("victim.test", n)).collect();
    assert_eq!(admitted(&db.commit(own)), 10, "the other half");
    assert_eq!(admitted(&db.commit([page("seed", 5_000)])), 1);
    assert_eq!(admitted(&db.commit(flood(2_000))), 0);
    // The domain has room beside this host, for its own links and for others.
    let beside = |from: &str, n: u32| found(&format!("http://beside.victim.test/{n}"), from);
    let others = admitted(&db.commit((0..400).map(|n| beside("evil0.test", n))));
    assert!(others <= 2, "an eighth of a host's queue is 3, and one class has 1 at least");
    let own = (1_000..1_100).map(|n| beside("victim.test", n));
    let results = db.commit(own);
    assert_eq!(admitted(&results), 40 - 21 - others, "the rest of the domain's queue");
    assert_eq!(results[99], Err(Discard::DomainQueueFull));
}
