//! Tests of the number of requested hosts, and of the hosts that leave.

use super::desk::{Desk, HTTP, ip, key, pages, secs, url, urls};
use crate::messages::{DueHost, Queued, RobotsOutcome, Signal, ToFrontier, ToWorkbench, Verdict};
use crate::workbench::front::Front;
use crivello_common::hash::HostKey;
use crivello_common::url::CrawlUrl;
use std::time::Duration;

#[test]
fn the_front_begins_at_twice_the_fetchers_and_grows_when_they_starve() {
    let mut desk = Desk::new(|s| s.fixed.fetch.visits_max = 4);
    assert_eq!(desk.order(), Some(8));
    assert_eq!(desk.order(), None, "an order was repeated");
    for n in 0..8 {
        desk.enter(desk.host(&format!("{n}.example"), urls(2)), ip(n));
        desk.workbench.starving(desk.now);
    }
    assert_eq!(desk.workbench.stats(desk.now).front_wanted, 11);
    assert_eq!(desk.order(), Some(3));
}

/// Returns a bench with a front of sixty hosts and two fetchers.
fn crowd(delay: Duration) -> Desk {
    let mut desk = Desk::new(|s| {
        s.fixed.fetch.visits_max = 2;
        s.live.politeness.delay = delay;
    });
    for n in 0..60 {
        desk.enter(desk.host(&format!("{n}.example"), urls(300)), ip(n));
        desk.workbench.starving(desk.now);
    }
    desk
}

#[test]
fn the_front_shrinks_back_when_too_many_are_ready_for_a_while() {
    let mut desk = crowd(Duration::from_millis(100));
    let grown = desk.workbench.stats(desk.now).front_wanted;
    assert!(grown >= 60, "{grown}");
    for _ in 0..200 {
        desk.wait(secs(3));
        let visit = desk.visit();
        desk.done(&visit);
    }
    assert_eq!(desk.workbench.stats(desk.now).front_wanted, 4);
}

#[test]
fn the_front_shrinks_to_what_the_delay_needs_and_no_further() {
    let mut desk = crowd(secs(16));
    for second in 0..300 {
        desk.wait(secs(1));
        let Some(visit) = desk.workbench.acquire(desk.now) else {
            panic!("starved after {second} s")
        };
        desk.done(&visit);
    }
    let stats = desk.workbench.stats(desk.now);
    assert!((17..=20).contains(&stats.front_wanted), "{stats:?}");
    assert!(stats.front_held <= stats.front_wanted + stats.front_wanted / 8, "{stats:?}");
}

#[test]
fn hosts_leave_when_the_front_has_shrunk_however_short_their_delay() {
    for delay in [Duration::ZERO, Duration::from_millis(250), secs(10)] {
        let mut desk = crowd(delay);
        for _ in 0..200 {
            desk.wait(secs(1));
            if let Some(visit) = desk.workbench.acquire(desk.now) {
                desk.done(&visit);
            }
        }
        let stats = desk.workbench.stats(desk.now);
        let few = stats.front_wanted + stats.front_wanted / 8;
        assert!(stats.front_held <= few.min(20), "{delay:?}: {stats:?}");
    }
}

/// Returns the hosts that leave when `a.example` comes to rest, only one host may stay and
/// `b.example` could be visited. If `more`, a refill of `b.example` is pending; if `request`, a
/// request of another host waits there.
fn leaves_for(more: bool, request: bool) -> Vec<HostKey> {
    let mut desk = Desk::new(|s| {
        s.fixed.fetch.visits_max = 1;
        s.fixed.state.hosts_max = 3;
    });
    desk.enter(desk.host("a.example", urls(9)), ip(1));
    desk.enter(DueHost { more, ..desk.host("b.example", urls(2)) }, ip(2));
    for _ in 0..2 {
        let visit = desk.visit();
        desk.done(&visit);
    }
    if request {
        desk.enter(desk.stranger("c.example", urls(1)), ip(3));
        let visit = desk.visit();
        let to = CrawlUrl::parse("http://b.example/robots.txt").unwrap();
        desk.found(&visit, RobotsOutcome::Redirect(to));
    }
    desk.wait(secs(60));
    let visit = desk.visit();
    assert_eq!(visit.host, key("a.example"));
    desk.settings.fixed.state.hosts_max = 1;
    desk.workbench.front = Front::new(&desk.settings, desk.now);
    desk.notes();
    desk.done(&visit);
    let left = |note| if let ToFrontier::Leave { host, .. } = note { Some(host) } else { None };
    desk.notes().into_iter().filter_map(left).collect()
}

#[test]
fn one_that_is_ready_leaves_for_one_that_comes_to_rest_if_it_may() {
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
    let mut desk = Desk::new(|s| s.fixed.state.hosts_max = 2);
    assert_eq!(desk.order(), Some(2));
    for n in 0..3 {
        desk.due(desk.host(&format!("{n}.example"), urls(2)));
    }
    let notes = desk.notes();
    let [ToFrontier::Leave { unused, .. }] = &notes[..] else { panic!("{notes:?}") };
    assert_eq!(unused.len(), 2);
    for _ in 0..9 {
        desk.workbench.starving(desk.now);
    }
    assert_eq!(desk.workbench.stats(desk.now).front_wanted, 2);
    assert_eq!(desk.workbench.stats(desk.now).hosts, 2);
}

#[test]
fn no_more_urls_than_memory_allows() {
    let mut desk = Desk::new(|s| s.fixed.state.window_urls_max = 10);
    desk.enter(DueHost { more: true, ..desk.host("a.example", urls(2)) }, ip(1));
    desk.enter(desk.host("b.example", urls(9)), ip(2));
    desk.due(desk.host("c.example", urls(1)));
    assert!(
        matches!(desk.notes()[..], [ToFrontier::Leave { .. }]),
        "the host leaves: the windows are full"
    );
    let visits = [desk.visit(), desk.visit()];
    assert_eq!(desk.workbench.stats(desk.now).window_urls, 9);
    let refills = desk.notes().iter().filter(|n| matches!(n, ToFrontier::Refill { .. })).count();
    assert_eq!(refills, 0, "URLs were requested although the windows are full");
    for visit in &visits {
        desk.done(visit);
    }
}

#[test]
fn long_urls_take_more_of_memory() {
    let mut desk = Desk::new(|s| s.fixed.state.window_urls_max = 10);
    let long = |url| Queued { path: "/".repeat(2_048).into(), ..url };
    desk.enter(desk.host("a.example", urls(2).into_iter().map(long).collect()), ip(1));
    assert_eq!(desk.workbench.stats(desk.now).window_urls, 18);
    desk.due(desk.host("b.example", urls(1)));
    assert!(
        matches!(desk.notes()[..], [ToFrontier::Leave { .. }]),
        "the host leaves: the windows are full"
    );
    let visit = desk.visit();
    assert_eq!(desk.workbench.stats(desk.now).window_urls, 9);
    desk.done(&visit);
    desk.workbench.close(desk.now);
    assert_eq!(desk.workbench.stats(desk.now).window_urls, 0);
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
    let mut desk = Desk::new(|s| {
        s.fixed.fetch.visits_max = 2;
        s.live.politeness.burst = 5;
        s.fixed.state.window_urls_max = 100;
    });
    assert_eq!(desk.order(), Some(4));
    for (n, len) in [(0, 55), (1, 40), (2, 10)] {
        desk.enter(desk.host(&format!("{n}.example"), urls(len)), ip(n));
    }
    assert_eq!(desk.order(), Some(0), "a fourth host was ordered although the windows are full");
    let visit = desk.visit();
    assert_eq!((visit.host, pages(&visit)), (key("0.example"), (0..5).collect()));
    desk.workbench.starving(desk.now);
    let notes = desk.workbench.take_messages();
    // Each keeps half of a quarter of the maximum.
    let expected = [("0.example", 17..55), ("1.example", 12..40)];
    let expected = expected.map(|(name, places)| (key(name), places.collect::<Vec<u64>>()));
    assert_eq!(returned(&notes), expected);
    assert!(matches!(notes.last(), Some(ToFrontier::WantHosts { hosts: 1 })), "{notes:?}");
    assert_eq!(desk.workbench.stats(desk.now).window_urls, 12 + 12 + 10);
    // The URLs of the visit return to the front of the window; a refill follows when few remain.
    desk.release(Verdict { requests: 0, pages: 0, returned: urls(5), ..desk.verdict(&visit) });
    let mut visited = Vec::new();
    for round in 1..=3 {
        desk.wait(secs(600));
        while let Some(visit) = desk.workbench.acquire(desk.now) {
            visited.extend(pages(&visit).into_iter().filter(|_| visit.host == key("0.example")));
            desk.done(&visit);
        }
        let few_are_left = round == 3;
        assert_eq!(asked_for_more(&desk.notes(), "0.example"), few_are_left, "round {round}");
    }
    assert_eq!(visited, (0..15).collect::<Vec<u64>>());
}

#[test]
fn a_share_is_that_of_a_host_however_many_an_address_has() {
    let mut desk = Desk::new(|s| {
        s.fixed.fetch.visits_max = 2;
        s.fixed.state.window_urls_max = 400;
    });
    for n in 0..10 {
        desk.enter(desk.host(&format!("{n}.example"), urls(40)), ip(1));
    }
    desk.workbench.starving(desk.now);
    // Four addresses are wanted. With ten hosts each, as here, that is forty hosts.
    let notes = desk.workbench.take_messages();
    let returned = returned(&notes);
    assert_eq!(returned.len(), 10);
    assert!(returned.iter().all(|(_, places)| *places == (5..40).collect::<Vec<u64>>()));
    assert!(matches!(notes.last(), Some(ToFrontier::WantHosts { hosts: 3 })), "{notes:?}");
}

fn asked_for_more(notes: &[ToFrontier], name: &str) -> bool {
    notes.iter().any(|note| matches!(note, ToFrontier::Refill { host } if *host == key(name)))
}

#[test]
fn a_window_is_whole_while_more_of_it_is_on_its_way() {
    let mut desk = Desk::new(|s| {
        s.fixed.fetch.visits_max = 2;
        s.live.politeness.burst = 20;
        s.fixed.state.window_urls_max = 100;
    });
    desk.enter(DueHost { more: true, ..desk.host("a.example", urls(80)) }, ip(0));
    for _ in 0..2 {
        let visit = desk.visit();
        desk.done(&visit);
        desk.wait(secs(600));
    }
    assert!(asked_for_more(&desk.notes(), "a.example"));
    desk.enter(desk.host("b.example", urls(60)), ip(1));
    desk.workbench.starving(desk.now);
    assert_eq!(returned(&desk.notes()), [(key("b.example"), (12..60).collect())]);
    let more = (80..90).map(|seq| url(HTTP, seq)).collect();
    desk.workbench.on_frontier(
        ToWorkbench::MoreUrls { host: key("a.example"), urls: more, more: false },
        desk.now,
    );
    let visits = [desk.visit(), desk.visit()];
    let of = visits.iter().find(|visit| visit.host == key("a.example"));
    assert_eq!(of.map(pages), Some((40..60).collect()), "the head of the window was changed");
}

#[test]
fn windows_are_whole_where_shorter_ones_would_let_no_host_in() {
    let mut desk = Desk::new(|s| {
        s.fixed.state.hosts_max = 2;
        s.fixed.state.window_urls_max = 100;
    });
    for n in 0..2 {
        desk.enter(desk.host(&format!("{n}.example"), urls(60)), ip(1));
    }
    desk.workbench.starving(desk.now);
    assert_eq!(returned(&desk.notes()), []);
}

#[test]
fn resting_hosts_make_room_when_others_want_it() {
    let mut desk = Desk::new(|s| s.fixed.state.hosts_max = 2);
    for n in 0..2 {
        desk.enter(desk.host(&format!("{n}.example"), urls(9)), ip(n));
    }
    let (a, b) = (desk.visit(), desk.visit());
    desk.notes();
    let signal = Signal::SlowDown(Some(secs(100)));
    desk.release(Verdict { signal, ..desk.verdict(&a) });
    assert!(
        matches!(desk.notes()[..], [ToFrontier::Leave { .. }]),
        "the host leaves: the front is full"
    );
    desk.release(Verdict { signal, ..desk.verdict(&b) });
    assert!(
        matches!(desk.notes()[..], [ToFrontier::HostState { .. }]),
        "the host stays: the front has room"
    );
    desk.enter(desk.host("2.example", urls(9)), ip(2));
    desk.workbench.starving(desk.now);
    assert!(desk.notes().iter().any(|n| matches!(n, ToFrontier::Leave { .. })));
}

#[test]
fn memory_of_a_host_is_small() {
    let entry = size_of::<crate::workbench::host_entry::HostEntry>();
    let node = size_of::<crate::workbench::heap::Node>();
    let record = size_of::<(crivello_common::url::Origin, crate::messages::RobotsRecord)>();
    let index = 2 * (size_of::<u32>() + 1);
    assert!(entry + node + record + index <= 300, "{entry} + {node} + {record} + {index}");
}
