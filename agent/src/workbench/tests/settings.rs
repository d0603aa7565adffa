//! Tests of new settings for hosts and addresses in memory.

use super::fixture::{Fixture, ip, key, secs, urls};
use crate::messages::{ResolveError, RobotsOutcome, ToFrontier, Verdict};
use crivello_common::config::Settings;
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::politeness::VisitSignal;
use crivello_common::url::CrawlUrl;

fn change(fixture: &mut Fixture, configure: impl FnOnce(&mut Settings)) {
    configure(&mut fixture.settings);
    fixture.workbench.reconfigure(&fixture.settings.live, fixture.now);
}

/// Returns a workbench with one host that was just visited and has more to fetch.
fn visited(delay: u64, ip_delay: u64) -> Fixture {
    let mut fixture = Fixture::new(|settings| {
        settings.live.politeness.delay = secs(delay);
        settings.live.politeness.ip_delay = secs(ip_delay);
    });
    fixture.enter(fixture.host("a.example", urls(9)), ip(1));
    let visit = fixture.visit();
    fixture.done(&visit);
    fixture
}

#[test]
fn a_host_that_waits_goes_when_the_new_delays_say() {
    // Seconds: delay, delay of the address, time of the change, the new delays, next visit.
    for (delay, ip_delay, after, new_delay, new_ip_delay, goes) in [
        (10, 2, 1, 4, 2, 4),
        (10, 2, 6, 4, 2, 6),
        (10, 2, 1, 20, 2, 20),
        (10, 2, 1, 0, 2, 2),
        (10, 2, 1, 0, 15, 15),
        (1, 30, 3, 1, 5, 5),
        (1, 30, 3, 1, 1, 3),
        (10, 2, 1, 10, 2, 10),
    ] {
        let mut fixture = visited(delay, ip_delay);
        fixture.wait(secs(after));
        change(&mut fixture, |settings| {
            settings.live.politeness.delay = secs(new_delay);
            settings.live.politeness.ip_delay = secs(new_ip_delay);
        });
        if goes > after {
            fixture.none_for(secs(goes - after));
        }
        fixture.visit();
    }
}

#[test]
fn a_paused_host_sleeps_until_it_is_resumed_and_keeps_its_delay() {
    let mut fixture = visited(10, 0);
    let paused = |name: &str| {
        let mut settings = Settings::default();
        settings.apply_set(&format!("politeness.paused={name}")).unwrap();
        settings.live.politeness.paused
    };
    change(&mut fixture, |settings| settings.live.politeness.paused = paused("a.example"));
    fixture.wait(secs(1_000));
    assert!(fixture.workbench.acquire(fixture.now).is_none(), "a paused host was visited");
    fixture.due(fixture.host("b.example", urls(1)));
    change(&mut fixture, |settings| settings.live.politeness.paused = paused("b.example"));
    fixture.visit();
    assert!(
        fixture.workbench.acquire(fixture.now).is_none(),
        "b.example was visited although it is paused"
    );
    assert_eq!(fixture.workbench.stats(fixture.now).hosts, 2);
}

#[test]
fn a_blocked_host_is_dropped_wherever_it_stands() {
    for block in ["a.example", "*.example", "198.51.100.1"] {
        let blocked = |settings: &mut Settings| {
            settings.apply_set(&format!("links.blocked={block}")).unwrap();
        };
        let dropped = |fixture: &mut Fixture| {
            let notes = fixture.notes().into_iter();
            let mut notes = notes.skip_while(|note| !matches!(note, ToFrontier::BlockedBy { .. }));
            assert!(matches!(notes.next(), Some(ToFrontier::BlockedBy { by, .. }) if by == block));
            let Some(ToFrontier::Drop { host, reason, forever, unused, .. }) = notes.next() else {
                panic!("{block}: the host was not dropped");
            };
            assert_eq!((host, reason, forever), (key("a.example"), Discard::Blocked, false));
            unused.len()
        };
        let mut waits = visited(10, 0);
        let _ = waits.notes();
        change(&mut waits, blocked);
        assert_eq!(dropped(&mut waits), 8, "{block}");

        // A host on a visit is dropped when the visit ends.
        let mut flies = visited(10, 0);
        flies.wait(secs(10));
        let visit = flies.visit();
        let _ = flies.notes();
        change(&mut flies, blocked);
        assert!(flies.notes().iter().all(|note| !matches!(note, ToFrontier::Drop { .. })));
        flies.done(&visit);
        assert_eq!(dropped(&mut flies), 7, "{block}");
        assert_eq!(flies.workbench.stats(flies.now).window_urls, 0);
    }
    // A host that is being resolved is dropped when its address is known.
    let mut fixture =
        Fixture::new(|settings| settings.apply_set("links.blocked=198.51.100.0/24").unwrap());
    fixture.due(fixture.host("a.example", urls(3)));
    fixture.resolve("a.example", Err(ResolveError::Blocked(ip(1))));
    let notes = fixture.notes();
    assert!(
        notes.iter().any(|note| matches!(note, ToFrontier::Drop { reason: Discard::Blocked, .. }))
    );
}

#[test]
fn hosts_come_back_with_the_pages_that_other_limits_leave_them() {
    let mut fixture = visited(10, 0);
    let _ = fixture.notes();
    change(&mut fixture, |settings| settings.live.limits.pages_per_host_max = Some(5));
    assert!(fixture.notes().iter().any(|note| matches!(note, ToFrontier::Leave { .. })));
    assert_eq!(fixture.workbench.stats(fixture.now).hosts, 0);
    change(&mut fixture, |settings| settings.live.politeness.burst = 5);
    fixture.enter(fixture.host("b.example", urls(2)), ip(2));
    fixture.visit();
}

#[test]
fn a_host_whose_address_changed_stays_away_from_the_old_connections_whatever_the_delay() {
    // At first the delay is longer than the wait after the change, and hides it.
    let mut fixture = Fixture::new(|settings| settings.live.politeness.delay = secs(100));
    fixture.enter(fixture.host("a.example", urls(2)), ip(1));
    let visit = fixture.visit();
    let signal = VisitSignal::Failed(Failure::AddressChanged);
    fixture.release(Verdict { signal, pages: 0, ..fixture.verdict(&visit) });
    change(&mut fixture, |settings| {
        settings.live.politeness.delay = secs(1);
        settings.live.politeness.ip_delay = secs(0);
    });
    fixture.wait(secs(10));
    assert!(fixture.workbench.acquire(fixture.now).is_none());
    assert_eq!(fixture.names(), [""; 0], "a name was resolved too early");
    fixture.wait(secs(6));
    assert!(fixture.workbench.acquire(fixture.now).is_none());
    fixture.answer("a.example", ip(1));
    fixture.visit();
}

#[test]
fn a_robots_txt_at_a_paused_host_of_another_agent_is_waited_for() {
    let pause = |settings: &mut Settings| {
        settings.apply_set("politeness.paused=www.other.example").unwrap();
    };
    let resume = |settings: &mut Settings| settings.live.politeness.paused.clear();
    let robots = CrawlUrl::parse("http://www.other.example/robots.txt").unwrap();
    let mut fixture = Fixture::new(pause).with_ip_leases();
    fixture.enter(fixture.stranger("a.example", urls(1)), ip(1));
    let visit = fixture.visit();
    fixture.found(&visit, RobotsOutcome::Redirect(robots.clone()));
    fixture.elsewhere("www.other.example");
    let nothing_comes_of_it = |fixture: &mut Fixture| {
        // Longer than the longest wait for an answer.
        for _ in 0..3 {
            fixture.wait(secs(250));
            assert!(fixture.workbench.acquire(fixture.now).is_none());
        }
        assert!(
            fixture.workbench.take_remote_requests().is_empty(),
            "robots.txt was requested while the host is paused"
        );
        let notes = fixture.notes();
        let failed = notes.iter().any(|note| matches!(note, ToFrontier::Robots { .. }));
        assert!(!failed, "the pause was counted as a failure: {notes:?}");
    };
    nothing_comes_of_it(&mut fixture);
    change(&mut fixture, resume);
    assert_eq!(fixture.workbench.take_remote_requests(), std::slice::from_ref(&robots));
    // Paused while the request is sent: its agent gives up, which is no failure either.
    change(&mut fixture, pause);
    fixture.workbench.on_remote_robots(&robots, &RobotsOutcome::Unreachable, fixture.now);
    nothing_comes_of_it(&mut fixture);
    change(&mut fixture, resume);
    assert_eq!(fixture.workbench.take_remote_requests(), std::slice::from_ref(&robots));
    fixture.workbench.on_remote_robots(&robots, &RobotsOutcome::Missing, fixture.now);
    assert!(fixture.notes().iter().any(|note| matches!(note, ToFrontier::Robots { .. })));
    fixture.wait(secs(10));
    fixture.visit();
}
