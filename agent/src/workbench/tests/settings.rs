//! Tests of new settings for hosts and addresses in memory.

use super::desk::{Desk, ip, key, secs, urls};
use crate::messages::{ResolveError, RobotsOutcome, Signal, ToFrontier, Verdict};
use crivello_common::config::Settings;
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::url::CrawlUrl;

fn change(desk: &mut Desk, configure: impl FnOnce(&mut Settings)) {
    configure(&mut desk.settings);
    desk.workbench.reconfigure(&desk.settings.live, desk.now);
}

/// Returns a bench with one host that was just visited and has more to fetch.
fn visited(delay: u64, ip_delay: u64) -> Desk {
    let mut desk = Desk::new(|settings| {
        settings.live.politeness.delay = secs(delay);
        settings.live.politeness.ip_delay = secs(ip_delay);
    });
    desk.enter(desk.host("a.example", urls(9)), ip(1));
    let visit = desk.visit();
    desk.done(&visit);
    desk
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
        let mut desk = visited(delay, ip_delay);
        desk.wait(secs(after));
        change(&mut desk, |settings| {
            settings.live.politeness.delay = secs(new_delay);
            settings.live.politeness.ip_delay = secs(new_ip_delay);
        });
        if goes > after {
            desk.none_for(secs(goes - after));
        }
        desk.visit();
    }
}

#[test]
fn a_paused_host_sleeps_until_it_is_resumed_and_keeps_its_delay() {
    let mut desk = visited(10, 0);
    let paused = |name: &str| {
        let mut settings = Settings::default();
        settings.apply_set(&format!("politeness.paused={name}")).unwrap();
        settings.live.politeness.paused
    };
    change(&mut desk, |settings| settings.live.politeness.paused = paused("a.example"));
    desk.wait(secs(1_000));
    assert!(desk.workbench.acquire(desk.now).is_none(), "a paused host was visited");
    desk.due(desk.host("b.example", urls(1)));
    change(&mut desk, |settings| settings.live.politeness.paused = paused("b.example"));
    desk.visit();
    assert!(
        desk.workbench.acquire(desk.now).is_none(),
        "b.example was visited although it is paused"
    );
    assert_eq!(desk.workbench.stats(desk.now).hosts, 2);
}

#[test]
fn a_blocked_host_is_dropped_wherever_it_stands() {
    for block in ["a.example", "*.example", "198.51.100.1"] {
        let blocked = |settings: &mut Settings| {
            settings.apply_set(&format!("links.blocked={block}")).unwrap();
        };
        let dropped = |desk: &mut Desk| {
            let notes = desk.notes().into_iter();
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
    let mut desk =
        Desk::new(|settings| settings.apply_set("links.blocked=198.51.100.0/24").unwrap());
    desk.due(desk.host("a.example", urls(3)));
    desk.resolve("a.example", Err(ResolveError::Blocked(ip(1))));
    let notes = desk.notes();
    assert!(
        notes.iter().any(|note| matches!(note, ToFrontier::Drop { reason: Discard::Blocked, .. }))
    );
}

#[test]
fn hosts_come_back_with_the_pages_that_other_limits_leave_them() {
    let mut desk = visited(10, 0);
    let _ = desk.notes();
    change(&mut desk, |settings| settings.live.limits.pages_per_host_max = Some(5));
    assert!(desk.notes().iter().any(|note| matches!(note, ToFrontier::Leave { .. })));
    assert_eq!(desk.workbench.stats(desk.now).hosts, 0);
    change(&mut desk, |settings| settings.live.politeness.burst = 5);
    desk.enter(desk.host("b.example", urls(2)), ip(2));
    desk.visit();
}

#[test]
fn a_host_whose_address_changed_stays_away_from_the_old_connections_whatever_the_delay() {
    // At first the delay is longer than the hold after the change, and hides it.
    let mut desk = Desk::new(|settings| settings.live.politeness.delay = secs(100));
    desk.enter(desk.host("a.example", urls(2)), ip(1));
    let visit = desk.visit();
    let signal = Signal::Failed(Failure::AddressChanged);
    desk.release(Verdict { signal, pages: 0, ..desk.verdict(&visit) });
    change(&mut desk, |settings| {
        settings.live.politeness.delay = secs(1);
        settings.live.politeness.ip_delay = secs(0);
    });
    desk.wait(secs(10));
    assert!(desk.workbench.acquire(desk.now).is_none());
    assert_eq!(desk.names(), [""; 0], "a name was resolved too early");
    desk.wait(secs(6));
    assert!(desk.workbench.acquire(desk.now).is_none());
    desk.answer("a.example", ip(1));
    desk.visit();
}

#[test]
fn a_robots_txt_at_a_paused_host_of_another_agent_is_waited_for() {
    let pause = |settings: &mut Settings| {
        settings.apply_set("politeness.paused=www.other.example").unwrap();
    };
    let resume = |settings: &mut Settings| settings.live.politeness.paused.clear();
    let robots = CrawlUrl::parse("http://www.other.example/robots.txt").unwrap();
    let mut desk = Desk::new(pause).among_others();
    desk.enter(desk.stranger("a.example", urls(1)), ip(1));
    let visit = desk.visit();
    desk.found(&visit, RobotsOutcome::Redirect(robots.clone()));
    desk.elsewhere("www.other.example");
    let nothing_comes_of_it = |desk: &mut Desk| {
        // Longer than the longest wait for an answer.
        for _ in 0..3 {
            desk.wait(secs(250));
            assert!(desk.workbench.acquire(desk.now).is_none());
        }
        assert!(
            desk.workbench.take_remote_requests().is_empty(),
            "robots.txt was requested while the host is paused"
        );
        let notes = desk.notes();
        let failed = notes.iter().any(|note| matches!(note, ToFrontier::Robots { .. }));
        assert!(!failed, "the pause was counted as a failure: {notes:?}");
    };
    nothing_comes_of_it(&mut desk);
    change(&mut desk, resume);
    assert_eq!(desk.workbench.take_remote_requests(), std::slice::from_ref(&robots));
    // Paused while the request is sent: its agent gives up, which is no failure either.
    change(&mut desk, pause);
    desk.workbench.on_remote_robots(&robots, &RobotsOutcome::Unreachable, desk.now);
    nothing_comes_of_it(&mut desk);
    change(&mut desk, resume);
    assert_eq!(desk.workbench.take_remote_requests(), std::slice::from_ref(&robots));
    desk.workbench.on_remote_robots(&robots, &RobotsOutcome::Missing, desk.now);
    assert!(desk.notes().iter().any(|note| matches!(note, ToFrontier::Robots { .. })));
    desk.wait(secs(10));
    desk.visit();
}
