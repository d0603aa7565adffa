//! Tests of the snapshot of a host, in each phase.

use super::fixture::{Fixture, HTTP, ip, key, ms, open, pages, request, secs, url, urls};
use crate::messages::{
    HostSnapshot, IpLeaseState, LeaseNotice, LeaseRequest, RobotsOutcome, RobotsRecord,
    SnapshotPhase, ToWorkbench,
};
use crivello_common::config::Settings;
use crivello_common::identity::KeyedHasher;
use crivello_common::politeness::WaitRule;
use crivello_common::url::CrawlUrl;
use std::sync::Arc;

impl Fixture {
    /// Returns the snapshot of a host, which must be in memory.
    fn snapshot(&self, name: &str) -> HostSnapshot {
        self.workbench.snapshot(&key(name), true, self.now).expect("the host is on the workbench")
    }
}

fn plain(settings: &mut Settings) {
    settings.live.politeness.delay = secs(10);
    settings.live.politeness.ip_delay = secs(1);
}

#[test]
fn a_host_is_reported_from_its_name_to_its_next_visit() {
    let mut fixture = Fixture::new(plain);
    assert!(fixture.workbench.snapshot(&key("a.test"), true, fixture.now).is_none());
    fixture.due(fixture.host("a.test", urls(3)));
    let snapshot = fixture.snapshot("a.test");
    assert_eq!(
        (snapshot.phase, snapshot.in_window, snapshot.address),
        (SnapshotPhase::Resolving, 3, None)
    );
    fixture.answer("a.test", ip(1));
    let snapshot = fixture.snapshot("a.test");
    assert_eq!(snapshot.phase, SnapshotPhase::Waiting);
    assert_eq!(snapshot.robots.len(), 2);
    let at = snapshot.address.expect("the host has an address");
    assert_eq!((at.address, at.last, at.lease), (ip(1), None, IpLeaseState::NotNeeded));

    let visit = fixture.visit();
    let snapshot = fixture.snapshot("a.test");
    assert_eq!((snapshot.phase, snapshot.in_window), (SnapshotPhase::InFlight, 2));
    assert_eq!(snapshot.address.and_then(|at| at.visited).as_deref(), Some("a.test"));
    fixture.done(&visit);
    let snapshot = fixture.snapshot("a.test");
    assert_eq!((snapshot.phase, snapshot.state.rule), (SnapshotPhase::Waiting, WaitRule::Delay));
    assert_eq!(snapshot.state.next, fixture.now + secs(10));
    let at = snapshot.address.expect("the host has an address");
    assert_eq!(
        (at.next, at.last.as_deref(), at.visited),
        (fixture.now + secs(1), Some("a.test"), None)
    );
}

#[test]
fn the_other_hosts_of_an_address_are_seen_from_each() {
    let mut fixture = Fixture::new(plain);
    fixture.enter(fixture.host("a.test", urls(2)), ip(1));
    fixture.enter(fixture.host("b.test", urls(2)), ip(1));
    fixture.enter(fixture.host("c.test", urls(2)), ip(1));
    let before =
        |fixture: &Fixture, name: &str| fixture.snapshot(name).address.expect("resolved").before;
    assert_eq!((before(&fixture, "a.test"), before(&fixture, "c.test")), (0, 2));
    let visit = fixture.visit();
    let at = fixture.snapshot("b.test").address.expect("resolved");
    assert_eq!((at.visited.as_deref(), at.last), (Some("a.test"), None));
    fixture.done(&visit);
    let at = fixture.snapshot("b.test").address.expect("resolved");
    assert_eq!((at.visited, at.last.as_deref()), (None, Some("a.test")));
    assert_eq!((at.next, at.before), (fixture.now + secs(1), 0));
    // After a visit without requests the address does not rest.
    fixture.wait(secs(1));
    let visit = fixture.visit();
    let mut verdict = fixture.verdict(&visit);
    (verdict.requests, verdict.pages) = (0, 0);
    fixture.release(verdict);
    let at = fixture.snapshot("c.test").address.expect("resolved");
    assert_eq!((at.visited, at.last.as_deref()), (None, Some("a.test")));
}

#[test]
fn a_host_without_an_address_sleeps_until_shortly_before_its_time() {
    let mut fixture = Fixture::new(plain);
    let mut host = fixture.host("a.test", urls(1));
    host.state.hold_until(fixture.now + secs(60), WaitRule::RetryAfter);
    fixture.due(host);
    let snapshot = fixture.snapshot("a.test");
    assert_eq!(
        (snapshot.phase, snapshot.state.rule),
        (SnapshotPhase::Asleep, WaitRule::RetryAfter)
    );
}

#[test]
fn a_window_that_runs_dry_is_reported() {
    let mut fixture = Fixture::new(plain);
    let mut host = fixture.host("a.test", urls(1));
    host.more = true;
    fixture.enter(host, ip(1));
    let visit = fixture.visit();
    assert_eq!(pages(&visit), [0]);
    fixture.done(&visit);
    assert_eq!(fixture.snapshot("a.test").phase, SnapshotPhase::Dry);
    let (host, urls) = (key("a.test"), vec![url(HTTP, 1)]);
    fixture.workbench.on_frontier(ToWorkbench::MoreUrls { host, urls, more: false }, fixture.now);
    assert_eq!(fixture.snapshot("a.test").phase, SnapshotPhase::Waiting);
}

#[test]
fn a_robots_txt_that_is_wanted_and_leads_elsewhere_is_reported() {
    let mut fixture = Fixture::new(plain);
    fixture.enter(fixture.stranger("a.test", urls(1)), ip(1));
    assert_eq!(fixture.snapshot("a.test").asks_robots, Some(HTTP));
    let visit = fixture.visit();
    assert_eq!(request(&visit).for_host, key("a.test"));
    let target = CrawlUrl::parse("http://b.other/robots.txt").expect("a URL");
    fixture.found(&visit, RobotsOutcome::Redirect(target));
    let SnapshotPhase::Away { origin, at, deadline } = fixture.snapshot("a.test").phase else {
        panic!("{:?}", fixture.snapshot("a.test").phase)
    };
    assert_eq!(
        (origin, at.as_deref()),
        (HTTP, Some("b.other")),
        "the redirect to a host that is not in memory"
    );
    assert!(deadline > fixture.now);
    fixture.enter(fixture.host("b.other", urls(1)), ip(2));
    let SnapshotPhase::Away { at, .. } = fixture.snapshot("a.test").phase else {
        panic!("expected phase `Away`")
    };
    assert_eq!(at.as_deref(), Some("b.other"), "the redirect to a host in memory");
}

#[test]
fn expired_rules_are_requested_first() {
    let mut fixture = Fixture::new(plain);
    let mut host = fixture.host("a.test", urls(1));
    let old = fixture.now - secs(25 * 3_600);
    host.robots = vec![(HTTP, RobotsRecord { rules: Some(Arc::default()), ..open(old) })];
    fixture.enter(host, ip(1));
    assert_eq!(fixture.snapshot("a.test").asks_robots, Some(HTTP));
    let quick = fixture
        .workbench
        .snapshot(&key("a.test"), false, fixture.now)
        .expect("the host is on the workbench");
    assert_eq!(
        (quick.asks_robots, quick.robots.len()),
        (None, 0),
        "a snapshot without details contains robots.txt"
    );
}

#[test]
fn the_lease_of_a_shared_address_is_reported() {
    let mut fixture = Fixture::new(plain);
    fixture.workbench = crate::workbench::Workbench::new(
        &fixture.settings,
        KeyedHasher::with_public_key(),
        fixture.now,
        false,
    )
    .with_ip_leases();
    let lease = |fixture: &Fixture| fixture.snapshot("a.test").address.expect("resolved").lease;
    fixture.enter(fixture.host("a.test", urls(2)), ip(1));
    assert_eq!(lease(&fixture), IpLeaseState::NotAsked);
    assert!(fixture.workbench.acquire(fixture.now).is_none(), "visited without an IP lease");
    let notes = fixture.workbench.take_lease_requests(fixture.now);
    let [LeaseRequest::Acquire { address, requested_at }] = notes[..] else { panic!("{notes:?}") };
    assert_eq!(lease(&fixture), IpLeaseState::Asked(requested_at));
    fixture.wait(ms(20));
    fixture.workbench.on_lease_notice(
        &LeaseNotice::Granted { address, requested_at, rest: ms(0), term: ms(10_000) },
        fixture.now,
    );
    assert_eq!(lease(&fixture), IpLeaseState::Here);
    let _ = fixture.visit();
}

#[test]
fn a_recalled_host_is_reported_as_leaving() {
    let mut fixture = Fixture::new(plain);
    fixture.enter(fixture.host("a.test", urls(2)), ip(1));
    let visit = fixture.visit();
    let groups = vec![key("a.test").group];
    fixture.workbench.on_frontier(ToWorkbench::Recall { groups }, fixture.now);
    assert!(fixture.snapshot("a.test").leaves);
    fixture.done(&visit);
    assert!(fixture.workbench.snapshot(&key("a.test"), true, fixture.now).is_none());
}
