//! Explanations from a disk whose rows are written by hand.

use super::*;
use crate::messages::{
    Finder, GroupRole, LinkKind, QueueKey as At, Queued, RecordPlace, RobotsRecord, Role,
};
use crate::process::links::LinkRules;
use crate::storage::group_row::GroupRow;
use crate::storage::values::{FinishedUrl, HostRow, Seen, UrlOutcome, encode_queued};
use crate::storage::{Batch, Database, Family, GroupState, keys};
use crivello_common::assignment::StrategyKind;
use crivello_common::config::Settings;
use crivello_common::failure::Failure;
use crivello_common::hash::UrlKey;
use crivello_common::identity::KeyedHasher;
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_common::url::{CrawlUrl, Origin, Scheme};
use crivello_proto::v1::{HoldKind, HostOrder, UrlFate};

const NOW: Timestamp = Timestamp::from_secs(1_700_000_000);
const ME: AgentId = AgentId(0);

struct Disk {
    sources: Sources,
    batch: Batch,
    _dir: tempfile::TempDir,
}

fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap()
}

impl Disk {
    fn new(change: impl FnOnce(&mut Settings)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut settings = Settings::default();
        change(&mut settings);
        let disk = Database::open(&dir.path().join("state"), true, &settings.fixed.state).unwrap();
        let hasher = KeyedHasher::with_public_key();
        let rules = LinkRules::compile(&settings.live, &settings.fixed, hasher).unwrap();
        let rules = Arc::new(rules);
        let sources = Sources {
            hasher: KeyedHasher::with_public_key(),
            me: ME,
            disk: Arc::new(disk),
            rules,
            lists: Lists::of(&settings.live),
            settings,
            archive: dir.path().to_owned(),
            shared: None,
        };
        Self { sources, batch: Batch::default(), _dir: dir }
    }

    fn key(&self, host: &str) -> HostKey {
        KeyedHasher::with_public_key().host_key(host)
    }

    fn put(&mut self, family: Family, key: &[u8], value: &[u8]) {
        self.batch.put(family, key, value);
    }

    fn host(&mut self, name: &str, change: impl FnOnce(&mut HostRow)) {
        let mut row = HostRow { name: name.into(), ..HostRow::default() };
        change(&mut row);
        let key = keys::host(self.key(name));
        self.put(Family::Hosts, &key, &row.encode());
    }

    fn seen(&mut self, url: &CrawlUrl, seen: &Seen) {
        let group = self.key(url.host()).group;
        let key = keys::seen(UrlKey { group, url: KeyedHasher::with_public_key().url(url) });
        self.put(Family::Seen, &key, &seen.encode());
    }

    /// Queues a URL at this place. Its `seen` row records the place if `is_recorded`.
    fn queued(&mut self, text: &str, at: At, is_recorded: bool) {
        let (url, key) = (url(text), self.key(url(text).host()));
        let row = queued(&url, at);
        self.put(Family::Frontier, &keys::frontier(key, at), &encode_queued(&row));
        self.seen(&url, &Seen::Queued(is_recorded.then_some((key.host, at))));
    }

    fn commit(&mut self) {
        self.sources.disk.commit(&std::mem::take(&mut self.batch)).unwrap();
    }

    fn ask(&self, subject: &str, owners: Option<&Owners>) -> v1::ExplainResponse {
        let subject = Subject::parse(subject).unwrap();
        let key = self.key(subject.host());
        let query = Query { asked: &subject, subject: &subject, key, archive_file: Some(3) };
        let crawl = CrawlFacts::running(10);
        explain(&self.sources, &query, owners, None, None, &crawl, NOW).unwrap()
    }

    fn url(&self, url: &str) -> v1::UrlStatus {
        self.ask(url, None).url.unwrap()
    }
}

fn queued(url: &CrawlUrl, queue_key: At) -> Queued {
    Queued {
        queue_key,
        hash: KeyedHasher::with_public_key().url(url),
        origin: url.origin(),
        path: url.path_and_query().into(),
        depth: 3,
        redirects: 0,
        attempts: 1,
        revisit: None,
        kind: LinkKind::Page,
        finder: Finder::SEED,
    }
}

fn at(seq: u64) -> At {
    At { priority: 128, seq, ..At::default() }
}

#[test]
fn a_queued_url_is_found_whether_or_not_its_place_was_recorded() {
    let mut disk = Disk::new(|_| {});
    disk.host("a.test", |row| row.queued = 4);
    disk.host("b.test", |row| row.queued = 1);
    disk.queued("http://b.test/", at(1), false);
    for (seq, is_recorded) in [(2, false), (3, true), (5, false), (9, true)] {
        disk.queued(&format!("http://a.test/{seq}"), at(seq), is_recorded);
    }
    disk.queued("http://a.test/behind", At::pending(1), true);
    disk.commit();
    for (seq, ahead) in [(2, 0), (3, 1), (5, 2), (9, 3)] {
        let url = disk.url(&format!("http://a.test/{seq}"));
        assert_eq!((url.fate(), url.ahead), (UrlFate::Queued, Some(ahead)), "{seq}");
        assert_eq!((url.depth, url.attempts), (3, 1));
    }
    let url = disk.url("http://a.test/behind");
    assert_eq!((url.fate(), url.ahead), (UrlFate::LinksPending, None));
    let host = disk.ask("a.test", None).host.unwrap();
    let reason = serde_json::to_value(&host.wait).unwrap()["reason"].clone();
    assert_eq!((host.queued, reason), (4, "due".into()));
}

#[test]
fn a_finished_url_has_its_outcome() {
    let mut disk = Disk::new(|_| {});
    let file = "crivello-00c0ffee-20261121120000-00003.warc.gz";
    std::fs::write(disk.sources.archive.join(file), "").unwrap();
    let kept = |by| {
        let page = queued(&url("http://a.test/own"), at(1));
        Some(Arc::new(FinishedUrl { by: AgentId(by), name: "a.test".into(), url: page }))
    };
    let fetched =
        |record, page| Seen::Done(UrlOutcome::Fetched { at: NOW, status: 200, record, page });
    disk.seen(&url("http://a.test/alone"), &fetched(Some(RecordPlace::here((3, 77))), None));
    disk.seen(&url("http://a.test/own"), &fetched(Some(RecordPlace::here((3, 99))), kept(0)));
    disk.seen(
        &url("http://a.test/other"),
        &fetched(Some(RecordPlace::here((3, 11)).elsewhere()), kept(5)),
    );
    disk.seen(&url("http://a.test/nowhere"), &fetched(None, None));
    disk.seen(&url("http://a.test/failed"), &Seen::Done(UrlOutcome::Failed(Failure::Tls, None)));
    let robots = crivello_common::discard::Discard::Robots;
    disk.seen(&url("http://a.test/private/x"), &Seen::Done(UrlOutcome::Discarded(robots, None)));
    let rules = Rules::parse(b"User-agent: *\nDisallow: /private/", "crivello");
    let record = RobotsRecord {
        asked: NOW,
        fetched: NOW,
        unreachable_since: None,
        failures: 0,
        rules: Some(Arc::new(rules)),
    };
    let origin = Origin { scheme: Scheme::Http, port: 80 };
    let key = keys::robots(disk.key("a.test"), origin);
    disk.put(Family::Robots, &key, &record.encode());
    disk.commit();
    let record = |path: &str| {
        let url = disk.url(&format!("http://a.test/{path}"));
        assert_eq!((url.fate(), url.status, url.fetched), (UrlFate::Fetched, 200, NOW.0));
        (url.archived_by, url.file, url.file_serial, url.offset)
    };
    assert_eq!(record("alone"), (Some(0), file.to_owned(), Some(3), 77));
    assert_eq!(record("own"), (Some(0), file.to_owned(), Some(3), 99));
    assert_eq!(record("other"), (Some(5), String::new(), Some(3), 0));
    assert_eq!(record("nowhere"), (None, String::new(), None, 0));
    assert_eq!(disk.ask("a.test", None).archive_file, file);
    let url = disk.url("http://a.test/failed");
    assert_eq!((url.fate(), &*url.failure), (UrlFate::Failed, "tls"));
    let url = disk.url("http://a.test/private/x");
    assert_eq!((url.fate(), &*url.discard), (UrlFate::Discarded, "robots"));
    let text = "discarded: disallowed by robots.txt, line 2: Disallow: /private/ (robots)";
    assert_eq!(url.text(), text);
    let url = disk.url("http://a.test/private/new");
    assert_eq!((url.fate(), &*url.discard), (UrlFate::Unknown, "robots"));
    assert!(url.text().contains("line 2: Disallow: /private/"), "{}", url.text());
}

#[test]
fn a_url_that_would_be_rejected_names_the_rule() {
    let rule = |host: &str| crivello_common::config::LinkRule {
        host_suffix: Some(host.to_owned()),
        path_prefix: None,
        regex: None,
    };
    let mut disk = Disk::new(|s| {
        s.live.links.include = vec![rule("test")];
        s.live.links.exclude = vec![rule("x.test"), rule("y.test")];
        s.live.limits.hosts_per_domain_max = Some(2);
    });
    disk.host("full.test", |row| {
        row.closed = Some(crivello_common::discard::Discard::HostLimit);
    });
    let group = keys::group(disk.key("a.many.test").group);
    let mut row = GroupRow::default();
    row.change(Finder::OWN, |taken| taken.hosts = 2);
    disk.put(Family::Hosts, &group, &row.encode());
    disk.commit();
    let verdict = |url: &str| {
        let url = disk.url(url);
        (url.fate(), url.text(), url.discard)
    };
    let (fate, text, discard) = verdict("http://y.test/");
    assert_eq!((fate, &*discard), (UrlFate::Rejected, "out-of-scope"));
    let rule = "rule 2 of links.exclude matches: host-suffix \"y.test\" (out-of-scope)";
    assert!(text.ends_with(rule), "{text}");
    let (_, text, discard) = verdict("http://a.example/");
    assert_eq!(discard, "out-of-scope");
    let rule = "the rule of links.include does not match: host-suffix \"test\" (out-of-scope)";
    assert!(text.ends_with(rule), "{text}");
    assert_eq!(verdict("http://full.test/").2, "host-limit");
    assert_eq!(verdict("http://a.many.test/").2, "too-many-hosts");
    assert_eq!(verdict("http://a.test/").0, UrlFate::Unknown);
}

#[test]
fn the_holding_of_a_group_follows_from_the_view_and_the_tag() {
    let mut disk = Disk::new(|_| {});
    let mut view = View::of_one("me");
    let mut other = view.agents[0].clone();
    (other.id, other.name, other.slot) = (AgentId(1), "other".to_owned(), 1);
    view.agents.push(other);
    (view.epoch, view.agents[0].joined_epoch) = (9, 4);
    let owners = Owners::new(StrategyKind::MinHash, Arc::new(view)).unwrap();
    let mut names = (0..).map(|n| format!("site{n}.test"));
    let mut name_of = |owner| {
        names.find(|name| owners.owner(disk_key(name).group) == Some(AgentId(owner))).unwrap()
    };
    let (own, others) = (name_of(0), name_of(1));
    let authority = || Role::Authority { in_sync: Vec::new() };
    let copy = || Role::Replica { from: Vec::new() };
    for (host, tag, kind) in [
        (&own, None, HoldKind::None),
        (&own, Some((4, authority())), HoldKind::Authority),
        // The agent was declared dead since.
        (&own, Some((3, authority())), HoldKind::Pending),
        (&own, Some((9, copy())), HoldKind::Pending),
        (&own, Some((9, Role::Pending { new: true })), HoldKind::Pending),
        (&others, None, HoldKind::None),
        (&others, Some((9, copy())), HoldKind::Replica),
        (&others, Some((9, authority())), HoldKind::Leaving),
    ] {
        let tag = tag.map(|(epoch, role)| GroupRole { epoch, role });
        let state = GroupState { open: true, tag };
        let key = disk.key(host).group.to_bytes();
        disk.put(Family::Groups, &key, &state.encode());
        disk.commit();
        let answer = disk.ask(host, Some(&owners));
        assert_eq!(answer.holding(), kind, "{host}: {state:?}");
        assert_eq!(answer.owner, Some(u32::from(host == &others)));
    }
}

fn disk_key(host: &str) -> HostKey {
    KeyedHasher::with_public_key().host_key(host)
}

#[test]
fn hosts_are_listed_in_order_and_a_full_name_is_always_found() {
    let mut disk = Disk::new(|_| {});
    for n in 0..9_u64 {
        disk.host(&format!("h{n}.test"), |row| {
            (row.queued, row.pages) = (n, 100 - n);
            (0..n % 4).for_each(|_| row.state.failures.count(Failure::Tls));
        });
    }
    let group = keys::group(disk.key("h0.test").group);
    disk.put(Family::Hosts, &group, &GroupRow::default().encode());
    disk.commit();
    let list = |contains: &str, limit, order, rows_max| {
        let query = HostsQuery { contains: contains.to_owned(), limit, order };
        let found = hosts::find(&disk.sources, &query, rows_max).unwrap();
        let workbench = vec![None; found.rows.len()];
        let crawl = CrawlFacts::running(1);
        let answer = hosts::statuses(&disk.sources, &found, &workbench, None, &crawl, NOW).unwrap();
        let names: Vec<String> = answer.hosts.into_iter().map(|host| host.name).collect();
        (names, answer.truncated)
    };
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let queued = list("", 3, HostOrder::Unspecified, 100);
    assert_eq!(queued, (names(&["h8.test", "h7.test", "h6.test"]), false));
    assert_eq!(list("", 2, HostOrder::Pages, 100).0, names(&["h0.test", "h1.test"]));
    let failing = list("", 2, HostOrder::Failures, 100).0;
    assert!(failing.iter().all(|name| ["h3.test", "h7.test"].contains(&&**name)), "{failing:?}");
    assert_eq!(list("5", 9, HostOrder::Queued, 100).0, names(&["h5.test"]));
    assert_eq!(list("nobody", 9, HostOrder::Queued, 100), (Vec::new(), false));
    for n in 0..9 {
        let name = format!("h{n}.test");
        assert_eq!(list(&name, 9, HostOrder::Queued, 2), (vec![name], true));
    }
}
