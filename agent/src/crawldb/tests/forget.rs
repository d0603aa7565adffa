//! Forgotten URLs and hosts leave the queues and all counts, and never come back.

use super::super::{CrawlDb, ForgetCounts, ForgetJob};
use crate::messages::{Commit, Finder, Found, LinkKind, PRIORITY_DEFAULT};
use crate::storage::values::{ContentRow, HostRow, Seen, UrlOutcome};
use crate::storage::{Batch, Database, Family, Row as _, keys};
use crivello_common::config::Settings;
use crivello_common::discard::Discard;
use crivello_common::forget_list::ForgetList;
use crivello_common::hash::UrlKey;
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

const NOW: Timestamp = Timestamp::from_secs(1_000_000);
const URLS: u64 = 10;

struct State {
    disk: Arc<Database>,
    crawldb: CrawlDb,
}

impl State {
    fn open(dir: &Path) -> Self {
        let settings = Settings::default();
        let disk = Arc::new(Database::open(dir, true, &settings.fixed.state).unwrap());
        let hasher = KeyedHasher::with_public_key();
        Self { crawldb: CrawlDb::open(disk.clone(), &settings, hasher).unwrap(), disk }
    }

    fn find(&mut self, urls: &[String]) -> Vec<Result<bool, Discard>> {
        let found = urls.iter().map(|url| found(url)).collect();
        let mut commit = Commit { found, ..Commit::default() };
        self.crawldb.apply(&mut commit, NOW).unwrap();
        self.disk.commit(&commit.batch).unwrap();
        commit.results
    }

    fn forget(&mut self, what: &[&str]) -> ForgetCounts {
        let what: Vec<String> = what.iter().map(ToString::to_string).collect();
        let list = ForgetList::parse(&what, false).unwrap();
        let (urls, unreferable) = (BTreeSet::new(), BTreeSet::new());
        let hasher = KeyedHasher::with_public_key();
        let job = ForgetJob { list: &list, urls: &urls, unreferable: &unreferable, hasher };
        self.crawldb.forget(&job, NOW).unwrap()
    }

    fn rows(&self, family: Family) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut rows = Vec::new();
        let all = |key: &[u8], value: &[u8]| {
            rows.push((key.to_vec(), value.to_vec()));
            Ok(true)
        };
        self.disk.walk(family, &[], &[0xff; 40], all).unwrap();
        rows
    }

    /// Checks that the totals and the rows of hosts count the rows.
    fn recount(&self) {
        let n_queued = self.rows(Family::Frontier).len() as u64;
        assert_eq!(self.crawldb.totals().queued, n_queued);
        assert_eq!(self.crawldb.totals().seen, self.rows(Family::Seen).len() as u64);
        let hosts = self.rows(Family::Hosts);
        let hosts = hosts.iter().filter(|(key, _)| keys::read_hosts(key).unwrap().is_some());
        let hosts: Vec<_> = hosts.map(|(_, value)| HostRow::decode(value).unwrap()).collect();
        assert_eq!(hosts.iter().map(|host| host.queued).sum::<u64>(), n_queued);
        assert_eq!(self.crawldb.totals().hosts, hosts.len() as u64);
        let n_open = hosts.iter().filter(|host| host.queued > 0).count();
        assert_eq!(self.rows(Family::Schedule).len(), n_open);
    }
}

fn urls(host: &str) -> Vec<String> {
    (0..URLS).map(|n| format!("http://{host}/{n}")).collect()
}

fn found(url: &str) -> Found {
    let url = CrawlUrl::parse(url).unwrap();
    let hasher = KeyedHasher::with_public_key();
    let (host, hash) = (hasher.host_key(url.host()), hasher.url(&url));
    Found {
        url,
        host,
        hash,
        depth: 0,
        redirects: 0,
        kind: LinkKind::Page,
        finder: Finder::SEED,
        priority: PRIORITY_DEFAULT,
        listed_by: None,
    }
}

#[test]
fn what_is_forgotten_leaves_the_queues_and_never_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut state = State::open(dir.path());
    let [a, b, c] = ["a.site.test", "b.site.test", "c.test"].map(urls);
    state.find(&[&a[..], &b, &c].concat());
    state.recount();
    let unknown = "http://c.test/unknown";
    let counts = state.forget(&["a.site.test", "new.test", &b[3], unknown]);
    let expected = ForgetCounts { hosts: 1, urls: URLS + 2, ..ForgetCounts::default() };
    assert_eq!(counts, expected);
    state.recount();
    assert_eq!(state.crawldb.totals().queued, 2 * URLS - 1);
    drop(state);

    let mut state = State::open(dir.path());
    let again = [&b[3], "http://a.site.test/other", "http://new.test/", unknown, &c[0]];
    let results = state.find(&again.map(str::to_owned));
    let (seen, refused) = (Ok(false), Err(Discard::Forgotten));
    assert_eq!(results, [seen, refused, refused, seen, seen]);
    state.recount();
    let key = |url: &str| {
        let found = found(url);
        keys::seen(UrlKey { group: found.host.group, url: found.hash })
    };
    for url in [&a[0], &b[3], unknown] {
        let row: Option<Seen> = state.disk.row(&key(url)).unwrap();
        let forgotten = Seen::Done(UrlOutcome::Discarded(Discard::Forgotten, None));
        assert_eq!(row, Some(forgotten), "{url}");
    }
    assert_eq!(state.forget(&["a.site.test", "new.test", &b[3], unknown]), ForgetCounts::default());
}

#[test]
fn rows_of_payloads_that_lead_to_forgotten_captures_are_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let mut state = State::open(dir.path());
    let mut batch = Batch::default();
    let all = [urls("a.test"), urls("b.test")].concat();
    for (n, url) in all.iter().enumerate() {
        let row = ContentRow { at: NOW, url: url.as_str().into() };
        batch.put(Family::Content, &[n as u8; 16], &row.encode());
    }
    state.disk.commit(&batch).unwrap();
    assert_eq!(state.forget(&["a.test", &all[12]]).payloads, URLS + 1);
    let rows = state.rows(Family::Content);
    let kept: Vec<u8> = rows.iter().map(|(key, _)| key[0]).collect();
    assert_eq!(kept, [10, 11, 13, 14, 15, 16, 17, 18, 19]);
}
