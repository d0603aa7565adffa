//! Tests of the snapshot of a host, in each phase.

use super::desk::{Desk, HTTP, ip, key, ms, open, pages, request, secs, url, urls};
use crate::messages::{
    HostSnapshot, IpLeaseState, LeaseNotice, LeaseRequest, RobotsOutcome, RobotsRecord,
    SnapshotPhase, ToWorkbench,
};
use crivello_common::config::Settings;
use crivello_common::politeness::WaitRule;
use crivello_common::url::CrawlUrl;
use std::sync::Arc;

impl Desk {
    /// Returns the snapshot of a host, which must be in memory.
    fn said(&self, name: &str) -> HostSnapshot {
        self.workbench.snapshot(&key(name), true, self.now).expect("the host is on the workbench")
    }
}

fn plain(settings: &mut Settings) {
    settings.live.politeness.delay = secs(10);
    settings.live.politeness.ip_delay = secs(1);
}

#[test]
fn a_host_is_told_of_from_its_name_to_its_next_visit() {
    let mut desk = Desk::new(plain);
    assert!(desk.workbench.snapshot(&key("a.test"), true, desk.now).is_none());
    desk.due(desk.host("a.test", urls(3)));
    let said = desk.said("a.test");
    assert_eq!((said.phase, said.in_window, said.address), (SnapshotPhase::Resolving, 3, None));
    desk.answer("a.test", ip(1));
    let said = desk.said("a.test");
    assert_eq!(said.phase, SnapshotPhase::Waiting);
    assert_eq!(said.robots.len(), 2);
    let at = said.address.expect("the host has an address");
    assert_eq!((at.address, at.last, at.turn), (ip(1), None, IpLeaseState::NotNeeded));

    let visit = desk.visit();
    let said = desk.said("a.test");
    assert_eq!((said.phase, said.in_window), (SnapshotPhase::InFlight, 2));
    assert_eq!(said.address.and_then(|at| at.visited).as_deref(), Some("a.test"));
    desk.done(&visit);
    let said = desk.said("a.test");
    assert_eq!((said.phase, said.state.rule), (SnapshotPhase::Waiting, WaitRule::Delay));
    assert_eq!(said.state.next, desk.now + secs(10));
    let at = said.address.expect("the host has an address");
    assert_eq!(
        (at.next, at.last.as_deref(), at.visited),
        (desk.now + secs(1), Some("a.test"), None)
    );
}

#[test]
fn the_other_hosts_of_an_address_are_seen_from_each() {
    let mut desk = Desk::new(plain);
    desk.enter(desk.host("a.test", urls(2)), ip(1));
    desk.enter(desk.host("b.test", urls(2)), ip(1));
    desk.enter(desk.host("c.test", urls(2)), ip(1));
    let before = |desk: &Desk, name: &str| desk.said(name).address.expect("resolved").before;
    assert_eq!((before(&desk, "a.test"), before(&desk, "c.test")), (0, 2));
    let visit = desk.visit();
    let at = desk.said("b.test").address.expect("resolved");
    assert_eq!((at.visited.as_deref(), at.last), (Some("a.test"), None));
    desk.done(&visit);
    let at = desk.said("b.test").address.expect("resolved");
    assert_eq!((at.visited, at.last.as_deref()), (None, Some("a.test")));
    assert_eq!((at.next, at.before), (desk.now + secs(1), 0));
    // After a visit without requests the address does not rest.
    desk.wait(secs(1));
    let visit = desk.visit();
    let mut verdict = desk.verdict(&visit);
    (verdict.requests, verdict.pages) = (0, 0);
    desk.release(verdict);
    let at = desk.said("c.test").address.expect("resolved");
    assert_eq!((at.visited, at.last.as_deref()), (None, Some("a.test")));
}

#[test]
fn a_host_without_an_address_sleeps_until_shortly_before_its_time() {
    let mut desk = Desk::new(plain);
    let mut host = desk.host("a.test", urls(1));
    host.state.hold_until(desk.now + secs(60), WaitRule::RetryAfter);
    desk.due(host);
    let said = desk.said("a.test");
    assert_eq!((said.phase, said.state.rule), (SnapshotPhase::Asleep, WaitRule::RetryAfter));
}

#[test]
fn a_window_that_runs_dry_is_told() {
    let mut desk = Desk::new(plain);
    let mut host = desk.host("a.test", urls(1));
    host.more = true;
    desk.enter(host, ip(1));
    let visit = desk.visit();
    assert_eq!(pages(&visit), [0]);
    desk.done(&visit);
    assert_eq!(desk.said("a.test").phase, SnapshotPhase::Dry);
    let (host, urls) = (key("a.test"), vec![url(HTTP, 1)]);
    desk.workbench.on_frontier(ToWorkbench::MoreUrls { host, urls, more: false }, desk.now);
    assert_eq!(desk.said("a.test").phase, SnapshotPhase::Waiting);
}

#[test]
fn a_robots_txt_that_is_wanted_and_leads_elsewhere_is_told() {
    let mut desk = Desk::new(plain);
    desk.enter(desk.stranger("a.test", urls(1)), ip(1));
    assert_eq!(desk.said("a.test").asks_robots, Some(HTTP));
    let visit = desk.visit();
    assert_eq!(request(&visit).for_host, key("a.test"));
    let target = CrawlUrl::parse("http://b.other/robots.txt").expect("a URL");
    desk.found(&visit, RobotsOutcome::Redirect(target));
    let SnapshotPhase::Away { origin, at, deadline } = desk.said("a.test").phase else {
        panic!("{:?}", desk.said("a.test").phase)
    };
    assert_eq!(
        (origin, at.as_deref()),
        (HTTP, Some("b.other")),
        "the redirect to a host that is not in memory"
    );
    assert!(deadline > desk.now);
    desk.enter(desk.host("b.other", urls(1)), ip(2));
    let SnapshotPhase::Away { at, .. } = desk.said("a.test").phase else {
        panic!("expected phase `Away`")
    };
    assert_eq!(at.as_deref(), Some("b.other"), "the redirect to a host in memory");
}

#[test]
fn rules_that_have_had_their_time_are_asked_for_first() {
    let mut desk = Desk::new(plain);
    let mut host = desk.host("a.test", urls(1));
    let old = desk.now - secs(25 * 3_600);
    host.robots = vec![(HTTP, RobotsRecord { rules: Some(Arc::default()), ..open(old) })];
    desk.enter(host, ip(1));
    assert_eq!(desk.said("a.test").asks_robots, Some(HTTP));
    let quick = desk
        .workbench
        .snapshot(&key("a.test"), false, desk.now)
        .expect("the host is on the workbench");
    assert_eq!(
        (quick.asks_robots, quick.robots.len()),
        (None, 0),
        "a snapshot without details contains robots.txt"
    );
}

#[test]
fn whose_turn_it_is_at_a_shared_address_is_told() {
    let mut desk = Desk::new(plain);
    desk.workbench =
        crate::workbench::Workbench::new(&desk.settings, desk.now, false).among_others();
    let turn = |desk: &Desk| desk.said("a.test").address.expect("resolved").turn;
    desk.enter(desk.host("a.test", urls(2)), ip(1));
    assert_eq!(turn(&desk), IpLeaseState::NotAsked);
    assert!(desk.workbench.acquire(desk.now).is_none(), "visited without an IP lease");
    let notes = desk.workbench.take_lease_requests(desk.now);
    let [LeaseRequest::Acquire { address, requested_at }] = notes[..] else { panic!("{notes:?}") };
    assert_eq!(turn(&desk), IpLeaseState::Asked(requested_at));
    desk.wait(ms(20));
    desk.workbench
        .on_lease_notice(&LeaseNotice::Granted { address, requested_at, rest: ms(0) }, desk.now);
    assert_eq!(turn(&desk), IpLeaseState::Here);
    let _ = desk.visit();
}

#[test]
fn a_host_that_is_called_back_says_so() {
    let mut desk = Desk::new(plain);
    desk.enter(desk.host("a.test", urls(2)), ip(1));
    let visit = desk.visit();
    let groups = vec![key("a.test").group];
    desk.workbench.on_frontier(ToWorkbench::Recall { groups }, desk.now);
    assert!(desk.said("a.test").leaves);
    desk.done(&visit);
    assert!(desk.workbench.snapshot(&key("a.test"), true, desk.now).is_none());
}
