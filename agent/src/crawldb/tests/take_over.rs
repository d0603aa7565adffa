//! Tests of the wait after a group is taken over from a dead agent.

use super::super::CrawlDb;
use crate::messages::{
    Commit, Finder, Found, LinkKind, PRIORITY_DEFAULT, ReplicaStore as _, RobotsRecord, ToFrontier,
    ToWorkbench,
};
use crate::storage::values::HostRow;
use crate::storage::{Database, Family, Row, keys};
use crivello_common::config::Settings;
use crivello_common::hash::HostKey;
use crivello_common::identity::KeyedHasher;
use crivello_common::politeness::{HostState, WaitRule};
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_common::view::AgentId;
use std::sync::Arc;
use std::time::Duration;

const T: Timestamp = Timestamp::from_secs(1_000_000);

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

struct TestCrawlDb {
    disk: Arc<Database>,
    crawldb: CrawlDb,
}

impl TestCrawlDb {
    fn commit(&mut self, found: Vec<Found>) {
        let mut commit = Commit { found, ..Commit::default() };
        self.crawldb.apply(&mut commit, T).unwrap();
        self.disk.commit(&commit.batch).unwrap();
    }

    fn finish_jobs(&mut self) {
        while let Some(commit) = self.crawldb.step_job(T).unwrap() {
            self.disk.commit(&commit.batch).unwrap();
        }
    }

    fn state(&self, host: HostKey) -> HostState {
        let mut state = None;
        let key = keys::host(host);
        self.disk
            .walk(Family::Hosts, &key, &keys::end_of_host(host), |_, value| {
                state = Some(HostRow::decode(value)?.state);
                Ok(false)
            })
            .unwrap();
        state.expect("the host has a row")
    }
}

/// Adds a host with a visit long ago, or none, and with this robots.txt.
fn add(db: &mut TestCrawlDb, url: &str, robots: &str, visited: bool) -> HostKey {
    let url = CrawlUrl::parse(url).unwrap();
    let hasher = KeyedHasher::with_public_key();
    let (host, hash) = (hasher.host_key(url.host()), hasher.url(&url));
    let origin = url.origin();
    db.commit(vec![Found {
        url,
        host,
        hash,
        depth: 0,
        redirects: 0,
        kind: LinkKind::Page,
        finder: Finder::SEED,
        priority: PRIORITY_DEFAULT,
        listed_by: None,
    }]);
    // As if the workbench had it.
    db.crawldb.frontier.hosts.load(&[host]).unwrap();
    if visited {
        let at = T - secs(5_000);
        let state = HostState { last_ended: at, next: at, requests: 1, ..HostState::default() };
        db.crawldb.on_workbench(ToFrontier::HostState { host, state });
    }
    if !robots.is_empty() {
        let rules = Some(Rules::parse(robots.as_bytes(), "x").shared());
        let (asked, fetched) = (T - secs(5_000), T - secs(5_000));
        let record = RobotsRecord { asked, fetched, unreachable_since: None, failures: 0, rules };
        db.crawldb.on_workbench(ToFrontier::Robots { host, origin, record });
    }
    db.commit(Vec::new());
    host
}

#[test]
fn hosts_of_a_dead_agent_rest_for_their_own_delays_from_the_take_over_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = Settings::default();
    settings
        .apply_set("politeness.domains=[{ suffix = \"slow.example\", delay = \"40s\" }]")
        .unwrap();
    let reason = "{ host = \"exempt.example\", reason = \"ours\" }";
    settings.apply_set(&format!("politeness.robots-exempt=[{reason}]")).unwrap();
    let disk = Arc::new(Database::open(dir.path(), true, &settings.fixed.state).unwrap());
    let crawldb = CrawlDb::open(disk.clone(), &settings, KeyedHasher::with_public_key())
        .unwrap()
        .sharing(AgentId(1));
    let mut db = TestCrawlDb { disk, crawldb };
    let asks = "User-agent: *\nCrawl-delay: 70\n";
    let hosts = [
        (add(&mut db, "http://plain.example/", "", true), 10),
        (add(&mut db, "http://new.example/", "", false), 10),
        (add(&mut db, "http://www.slow.example/", "", true), 40),
        (add(&mut db, "http://asks.example/", asks, true), 70),
        (add(&mut db, "https://www.asks.slow.example/", asks, true), 70),
        (add(&mut db, "http://exempt.example/", asks, true), 10),
    ];
    for taken_over in [Timestamp::ZERO, T] {
        for (host, _) in hosts {
            db.crawldb.close_group(host.group).unwrap();
        }
        db.finish_jobs();
        for (host, _) in hosts {
            db.crawldb.open_group(host.group, taken_over).unwrap();
        }
        db.finish_jobs();
        for (host, wait) in hosts {
            let state = db.state(host);
            if taken_over == T {
                assert_eq!((state.next, state.rule), (T + secs(wait), WaitRule::TakeOver));
            } else {
                assert!(state.next < T, "a host whose rows are complete waits: {state:?}");
            }
        }
    }
}

#[test]
fn no_host_is_handed_out_before_all_rest_after_a_take_over_even_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = Settings::default();
    settings
        .apply_set("politeness.domains=[{ suffix = \"slow.example\", delay = \"40s\" }]")
        .unwrap();
    let open = |disk: &Arc<Database>| {
        CrawlDb::open(disk.clone(), &settings, KeyedHasher::with_public_key())
            .unwrap()
            .sharing(AgentId(1))
    };
    let disk = Arc::new(Database::open(dir.path(), true, &settings.fixed.state).unwrap());
    let mut db = TestCrawlDb { crawldb: open(&disk), disk: disk.clone() };
    let host = add(&mut db, "http://www.slow.example/", "", true);
    // More hosts of the group than a step of a job handles.
    for n in 0..20 {
        add(&mut db, &format!("http://h{n}.slow.example/"), "", true);
    }
    db.crawldb.close_group(host.group).unwrap();
    db.finish_jobs();
    db.crawldb.open_group(host.group, T).unwrap();
    let handed_out = |db: &mut TestCrawlDb, now| {
        let mut out = Vec::new();
        db.crawldb.on_workbench(ToFrontier::WantHosts { hosts: 50 });
        db.crawldb.on_workbench(ToFrontier::RequestHost { host, name: "www.slow.example".into() });
        db.crawldb.serve(now, &mut |_, _| Ok(true), &mut out).unwrap();
        out.len()
    };
    // A new link to it, and a restart, while the job is under way.
    let url = CrawlUrl::parse("http://www.slow.example/new").unwrap();
    let hash = KeyedHasher::with_public_key().url(&url);
    let (kind, finder) = (LinkKind::Page, Finder::SEED);
    db.commit(vec![Found {
        url,
        host,
        hash,
        depth: 0,
        redirects: 0,
        kind,
        finder,
        priority: PRIORITY_DEFAULT,
        listed_by: None,
    }]);
    assert_eq!(handed_out(&mut db, T), 0);
    let commit = db.crawldb.step_job(T).unwrap().unwrap();
    db.disk.commit(&commit.batch).unwrap();
    assert_eq!(handed_out(&mut db, T), 0);
    db.crawldb = open(&disk);
    assert_eq!(handed_out(&mut db, T), 0);
    db.finish_jobs();
    let state = db.state(host);
    assert_eq!((state.next, state.rule), (T + secs(40), WaitRule::TakeOver));
    // Now the request is answered; the queues are handed out when the hosts have rested.
    let mut out = Vec::new();
    db.crawldb.serve(T, &mut |_, _| Ok(true), &mut out).unwrap();
    assert!(matches!(&*out, [ToWorkbench::Due(due)] if due.host == host && due.urls.is_empty()));
    assert_eq!(handed_out(&mut db, T + secs(41)), 20);
}

#[test]
fn groups_are_opened_before_others_are_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings::default();
    let disk = Arc::new(Database::open(dir.path(), true, &settings.fixed.state).unwrap());
    let crawldb = CrawlDb::open(disk.clone(), &settings, KeyedHasher::with_public_key())
        .unwrap()
        .sharing(AgentId(1));
    let mut db = TestCrawlDb { disk, crawldb };
    let gone = add(&mut db, "http://www.gone.example/", "", true);
    for n in 0..50 {
        add(&mut db, &format!("http://h{n}.gone.example/"), "", true);
    }
    let group = |n| KeyedHasher::with_public_key().group(&format!("open{n}.example"));
    let n = (0..).find(|&n| group(n) > gone.group).unwrap();
    let host = add(&mut db, &format!("http://open{n}.example/"), "", true);
    db.crawldb.close_group(host.group).unwrap();
    db.finish_jobs();
    db.crawldb.delete_group(gone.group);
    db.crawldb.open_group(host.group, T).unwrap();
    let commit = db.crawldb.step_job(T).unwrap().unwrap();
    db.disk.commit(&commit.batch).unwrap();
    assert_eq!(db.state(host).rule, WaitRule::TakeOver);
    assert!(db.crawldb.is_deleting(gone.group));
}
