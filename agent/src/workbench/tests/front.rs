//! Tests of the number of requested hosts, and of the hosts that leave.

use super::fixture::{Fixture, HTTP, ip, key, pages, secs, url, urls};
use crate::messages::{DueHost, Queued, RobotsOutcome, ToFrontier, ToWorkbench, Verdict};
use crate::workbench::front::Front;
use crivello_common::hash::HostKey;
use crivello_common::politeness::VisitSignal;
use crivello_common::url::CrawlUrl;
use std::time::Duration;

#[test]
fn the_front_begins_at_twice_the_fetchers_and_grows_when_they_starve() {
    let mut fixture = Fixture::new(|s| s.fixed.fetch.visits_max = 4);
    assert_eq!(fixture.order(), Some(8));
    assert_eq!(fixture.order(), None, "an order was repeated");
    for n in 0..8 {
        fixture.enter(fixture.host(&format!("{n}.example"), urls(2)), ip(n));
        fixture.workbench.starving(fixture.now);
    }
    assert_eq!(fixture.workbench.stats(fixture.now).front_wanted, 11);
    assert_eq!(fixture.order(), Some(3));
}

/// Returns a workbench with a front of sixty hosts and two fetchers.
fn full_front(delay: Duration) -> Fixture {
    let mut fixture = Fixture::new(|s| {
        s.fixed.fetch.visits_max = 2;
        s.live.politeness.delay = delay;
    });
    for n in 0..60 {
        fixture.enter(fixture.host(&format!("{n}.example"), urls(300)), ip(n));
        fixture.workbench.starving(fixture.now);
    }
    fixture
}

#[test]
fn the_front_shrinks_back_when_too_many_are_ready_for_a_while() {
    let mut fixture = full_front(Duration::from_millis(100));
    let grown = fixture.workbench.stats(fixture.now).front_wanted;
    assert!(grown >= 60, "{grown}");
    for _ in 0..200 {
        fixture.wait(secs(3));
        let visit = fixture.visit();
        fixture.done(&visit);
    }
    assert_eq!(fixture.workbench.stats(fixture.now).front_wanted, 4);
}

#[test]
fn the_front_shrinks_to_what_the_delay_needs_and_no_further() {
    let mut fixture = full_front(secs(16));
    for second in 0..300 {
        fixture.wait(secs(1));
        let Some(visit) = fixture.workbench.acquire(fixture.now) else {
            panic!("starved after {second} s")
        };
        fixture.done(&visit);
    }
    let stats = fixture.workbench.stats(fixture.now);
    assert!((17..=20).contains(&stats.front_wanted), "{stats:?}");
    assert!(stats.front_held <= stats.front_wanted + stats.front_wanted / 8, "{stats:?}");
}

#[test]
fn hosts_leave_when_the_front_has_shrunk_however_short_their_delay() {
    for delay in [Duration::ZERO, Duration::from_millis(250), secs(10)] {
        let mut fixture = full_front(delay);
        for _ in 0..200 {
            fixture.wait(secs(1));
            if let Some(visit) = fixture.workbench.acquire(fixture.now) {
                fixture.done(&visit);
            }
        }
        let stats = fixture.workbench.stats(fixture.now);
        let few = stats.front_wanted + stats.front_wanted / 8;
        assert!(stats.front_held <= few.min(20), "{delay:?}: {stats:?}");
    }
}

/// Returns the hosts that leave when `a.example` comes to rest, only one host may stay and
/// `b.example` could be visited. If `more`, a refill of `b.example` is pending; if `request`, a
/// request of another host waits there.
fn leaves_for(more: bool, request: bool) -> Vec<HostKey> {
    let mut fixture = Fixture::new(|s| {
        s.fixed.fetch.visits_max = 1;
        s.fixed.state.hosts_max = 3;
    });
    fixture.enter(fixture.host("a.example", urls(9)), ip(1));
    fixture.enter(DueHost { more, ..fixture.host("b.example", urls(2)) }, ip(2));
    for _ in 0..2 {
        let visit = fixture.visit();
        fixture.done(&visit);
    }
    if request {
        fixture.enter(fixture.stranger("c.example", urls(1)), ip(3));
        let visit = fixture.visit();
        let to = CrawlUrl::parse("http://b.example/robots.txt").unwrap();
        fixture.found(&visit, RobotsOutcome::Redirect(to));
    }
    fixture.wait(secs(60));
    let visit = fixture.visit();
    assert_eq!(visit.host, key("a.example"));
    fixture.settings.fixed.state.hosts_max = 1;
    fixture.workbench.front = Front::new(&fixture.settings, fixture.now);
    fixture.notes();
    fixture.done(&visit);
    let left = |note| if let ToFrontier::Leave { host, .. } = note { Some(host) } else { None };
    fixture.notes().into_iter().filter_map(left).collect()
}

#[test]
fn ready_host_yields_to_resting_host() {
    assert_eq!(leaves_for(false, false), [key("b.example")]);
    assert_eq!(
        leaves_for(true, false),
        [key("a.example")],
        "a host with more URLs on the way left"
    );
    assert_eq!(
        leaves_for(false, true),
        [key("a.example")],
        "a host that another one waits for left"
    );
}

#[test]
fn no_more_hosts_than_memory_allows() {
    let mut fixture = Fixture::new(|s| s.fixed.state.hosts_max = 2);
    assert_eq!(fixture.order(), Some(2));
    for n in 0..3 {
        fixture.due(fixture.host(&format!("{n}.example"), urls(2)));
    }
    let notes = fixture.notes();
    let [ToFrontier::Leave { unused, .. }] = &notes[..] else { panic!("{notes:?}") };
    assert_eq!(unused.len(), 2);
    for _ in 0..9 {
        fixture.workbench.starving(fixture.now);
    }
    assert_eq!(fixture.workbench.stats(fixture.now).front_wanted, 2);
    assert_eq!(fixture.workbench.stats(fixture.now).hosts, 2);
}

#[test]
fn no_more_urls_than_memory_allows() {
    let mut fixture = Fixture::new(|s| s.fixed.state.window_urls_max = 10);
    fixture.enter(DueHost { more: true, ..fixture.host("a.example", urls(2)) }, ip(1));
    fixture.enter(fixture.host("b.example", urls(9)), ip(2));
    fixture.due(fixture.host("c.example", urls(1)));
    assert!(
        matches!(fixture.notes()[..], [ToFrontier::Leave { .. }]),
        "the host leaves: the windows are full"
    );
    let visits = [fixture.visit(), fixture.visit()];
    assert_eq!(fixture.workbench.stats(fixture.now).window_urls, 9);
    let refills = fixture.notes().iter().filter(|n| matches!(n, ToFrontier::Refill { .. })).count();
    assert_eq!(refills, 0, "URLs were requested although the windows are full");
    for visit in &visits {
        fixture.done(visit);
    }
}

#[test]
fn long_urls_take_more_of_memory() {
    let mut fixture = Fixture::new(|s| s.fixed.state.window_urls_max = 10);
    let long = |url| Queued { path: "/".repeat(2_048).into(), ..url };
    fixture.enter(fixture.host("a.example", urls(2).into_iter().map(long).collect()), ip(1));
    assert_eq!(fixture.workbench.stats(fixture.now).window_urls, 18);
    fixture.due(fixture.host("b.example", urls(1)));
    assert!(
        matches!(fixture.notes()[..], [ToFrontier::Leave { .. }]),
        "the host leaves: the windows are full"
    );
    let visit = fixture.visit();
    assert_eq!(fixture.workbench.stats(fixture.now).window_urls, 9);
    fixture.done(&visit);
    fixture.workbench.close(fixture.now);
    assert_eq!(fixture.workbench.stats(fixture.now).window_urls, 0);
}

/// Returns the sequence numbers of the URLs that were returned by each host that stays.
fn returned(notes: &[ToFrontier]) -> Vec<(HostKey, Vec<u64>)> {
    let returned = notes.iter().filter_map(|note| match note {
        ToFrontier::ReturnUrls { host, unused } => Some((*host, unused)),
        _ => None,
    });
    returned.map(|(host, unused)| (host, unused.iter().map(|p| p.seq).collect())).collect()
}

#[test]
fn long_windows_make_room_for_hosts() {
    let mut fixture = Fixture::new(|s| {
        s.fixed.fetch.visits_max = 2;
        s.live.politeness.burst = 5;
        s.fixed.state.window_urls_max = 100;
    });
    assert_eq!(fixture.order(), Some(4));
    for (n, len) in [(0, 55), (1, 40), (2, 10)] {
        fixture.enter(fixture.host(&format!("{n}.example"), urls(len)), ip(n));
    }
    assert_eq!(fixture.order(), Some(0), "a fourth host was ordered although the windows are full");
    let visit = fixture.visit();
    assert_eq!((visit.host, pages(&visit)), (key("0.example"), (0..5).collect()));
    fixture.workbench.starving(fixture.now);
    let notes = fixture.workbench.take_messages();
    // Each keeps half of a quarter of the maximum.
    let expected = [("0.example", 17..55), ("1.example", 12..40)];
    let expected = expected.map(|(name, places)| (key(name), places.collect::<Vec<u64>>()));
    assert_eq!(returned(&notes), expected);
    assert!(matches!(notes.last(), Some(ToFrontier::WantHosts { hosts: 1 })), "{notes:?}");
    assert_eq!(fixture.workbench.stats(fixture.now).window_urls, 12 + 12 + 10);
    // The URLs of the visit return to the front of the window; a refill follows when few remain.
    fixture.release(Verdict {
        requests: 0,
        pages: 0,
        returned: urls(5),
        ..fixture.verdict(&visit)
    });
    let mut visited = Vec::new();
    for round in 1..=3 {
        fixture.wait(secs(600));
        while let Some(visit) = fixture.workbench.acquire(fixture.now) {
            visited.extend(pages(&visit).into_iter().filter(|_| visit.host == key("0.example")));
            fixture.done(&visit);
        }
        let few_are_left = round == 3;
        assert_eq!(requested_refill(&fixture.notes(), "0.example"), few_are_left, "round {round}");
    }
    assert_eq!(visited, (0..15).collect::<Vec<u64>>());
}

#[test]
fn a_share_is_that_of_a_host_however_many_an_address_has() {
    let mut fixture = Fixture::new(|s| {
        s.fixed.fetch.visits_max = 2;
        s.fixed.state.window_urls_max = 400;
    });
    for n in 0..10 {
        fixture.enter(fixture.host(&format!("{n}.example"), urls(40)), ip(1));
    }
    fixture.workbench.starving(fixture.now);
    // Four addresses are wanted. With ten hosts each, as here, that is forty hosts.
    let notes = fixture.workbench.take_messages();
    let returned = returned(&notes);
    assert_eq!(returned.len(), 10);
    assert!(returned.iter().all(|(_, places)| *places == (5..40).collect::<Vec<u64>>()));
    assert!(matches!(notes.last(), Some(ToFrontier::WantHosts { hosts: 3 })), "{notes:?}");
}

fn requested_refill(notes: &[ToFrontier], name: &str) -> bool {
    notes.iter().any(|note| matches!(note, ToFrontier::Refill { host } if *host == key(name)))
}

#[test]
fn a_window_is_not_cut_while_a_refill_is_pending() {
    let mut fixture = Fixture::new(|s| {
        s.fixed.fetch.visits_max = 2;
        s.live.politeness.burst = 20;
        s.fixed.state.window_urls_max = 100;
    });
    fixture.enter(DueHost { more: true, ..fixture.host("a.example", urls(80)) }, ip(0));
    for _ in 0..2 {
        let visit = fixture.visit();
        fixture.done(&visit);
        fixture.wait(secs(600));
    }
    assert!(requested_refill(&fixture.notes(), "a.example"));
    fixture.enter(fixture.host("b.example", urls(60)), ip(1));
    fixture.workbench.starving(fixture.now);
    assert_eq!(returned(&fixture.notes()), [(key("b.example"), (12..60).collect())]);
    let more = (80..90).map(|seq| url(HTTP, seq)).collect();
    fixture.workbench.on_frontier(
        ToWorkbench::MoreUrls { host: key("a.example"), urls: more, more: false },
        fixture.now,
    );
    let visits = [fixture.visit(), fixture.visit()];
    let of = visits.iter().find(|visit| visit.host == key("a.example"));
    assert_eq!(of.map(pages), Some((40..60).collect()), "the head of the window was changed");
}

#[test]
fn windows_are_not_cut_where_shorter_ones_would_let_no_host_in() {
    let mut fixture = Fixture::new(|s| {
        s.fixed.state.hosts_max = 2;
        s.fixed.state.window_urls_max = 100;
    });
    for n in 0..2 {
        fixture.enter(fixture.host(&format!("{n}.example"), urls(60)), ip(1));
    }
    fixture.workbench.starving(fixture.now);
    assert_eq!(returned(&fixture.notes()), []);
}

#[test]
fn resting_hosts_make_room_when_others_want_it() {
    let mut fixture = Fixture::new(|s| s.fixed.state.hosts_max = 2);
    for n in 0..2 {
        fixture.enter(fixture.host(&format!("{n}.example"), urls(9)), ip(n));
    }
    let (a, b) = (fixture.visit(), fixture.visit());
    fixture.notes();
    let signal = VisitSignal::SlowDown(Some(secs(100)));
    fixture.release(Verdict { signal, ..fixture.verdict(&a) });
    assert!(
        matches!(fixture.notes()[..], [ToFrontier::Leave { .. }]),
        "the host leaves: the front is full"
    );
    fixture.release(Verdict { signal, ..fixture.verdict(&b) });
    assert!(
        matches!(fixture.notes()[..], [ToFrontier::HostState { .. }]),
        "the host stays: the front has room"
    );
    fixture.enter(fixture.host("2.example", urls(9)), ip(2));
    fixture.workbench.starving(fixture.now);
    assert!(fixture.notes().iter().any(|n| matches!(n, ToFrontier::Leave { .. })));
}

#[test]
fn memory_of_a_host_is_small() {
    let entry = size_of::<crate::workbench::hosts::HostEntry>();
    let node = size_of::<crate::workbench::heap::Node>();
    let record = size_of::<(crivello_common::url::Origin, crate::messages::RobotsRecord)>();
    let index = 2 * (size_of::<u32>() + 1);
    assert!(entry + node + record + index <= 300, "{entry} + {node} + {record} + {index}");
}
