//! Tests of the time of a visit, by host and address, and of its number of URLs.

use super::desk::{Desk, HTTP, HTTPS, ip, key, ms, pages, secs, url, urls};
use crate::messages::{DueHost, QueueKey, Signal, ToFrontier, ToWorkbench, Verdict};
use crivello_common::config::{DomainDelay, PolitenessMode};
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::politeness::{HostState, WaitRule};
use std::time::Duration;

#[test]
fn the_delay_runs_from_the_end_of_a_request_to_the_start_of_the_next() {
    let mut desk = Desk::new(|_| {});
    desk.enter(desk.host("a.example", urls(2)), ip(1));
    let visit = desk.visit();
    assert_eq!(pages(&visit), [0]);
    assert_eq!(visit.address, ip(1));
    desk.wait(secs(7));
    assert!(desk.workbench.acquire(desk.now).is_none());
    desk.done(&visit);
    desk.none_for(secs(10));
    assert_eq!(pages(&desk.visit()), [1]);
}

#[test]
fn hosts_of_one_address_take_turns_at_its_delay() {
    let mut desk = Desk::new(|_| {});
    desk.enter(desk.host("a.example", urls(1)), ip(1));
    desk.enter(desk.host("b.example", urls(1)), ip(1));
    let first = desk.visit();
    assert!(
        desk.workbench.acquire(desk.now).is_none(),
        "two visits to one IP address at the same time"
    );
    assert_eq!(desk.workbench.next_time(), None);
    desk.done(&first);
    desk.none_for(secs(2));
    let second = desk.visit();
    assert_eq!((first.host, second.host), (key("a.example"), key("b.example")));
}

#[test]
fn an_address_is_remembered_when_its_last_host_has_left() {
    let mut desk = Desk::new(|_| {});
    desk.enter(desk.host("a.example", urls(1)), ip(1));
    let visit = desk.visit();
    desk.done(&visit);
    assert!(matches!(desk.notes()[..], [ToFrontier::Leave { .. }]));
    assert_eq!((desk.workbench.stats(desk.now).hosts, desk.workbench.stats(desk.now).ips), (0, 1));
    desk.enter(desk.host("b.example", urls(1)), ip(1));
    desk.none_for(secs(2));
    let visit = desk.visit();
    desk.done(&visit);
    desk.wait(secs(2));
    assert!(desk.workbench.acquire(desk.now).is_none());
    assert_eq!(desk.workbench.stats(desk.now).ips, 0, "memory was not released");
}

#[test]
fn a_visit_takes_a_burst_of_one_origin() {
    let mut desk = Desk::new(|s| s.live.politeness.burst = 3);
    let mut queue = urls(5);
    queue[4].origin = HTTPS;
    desk.enter(desk.host("a.example", queue), ip(1));
    for expected in [&[0, 1, 2][..], &[3], &[4]] {
        let visit = desk.visit();
        assert_eq!(pages(&visit), expected);
        desk.done(&visit);
        desk.wait(secs(10));
    }
}

#[test]
fn without_any_delay_a_visit_is_long_and_otherwise_never() {
    let no_delay = |s: &mut crivello_common::config::Settings| {
        s.live.politeness.delay = Duration::ZERO;
        s.live.politeness.ip_delay = Duration::ZERO;
    };
    let mut desk = Desk::new(no_delay);
    desk.enter(desk.host("a.example", urls(40)), ip(1));
    let visit = desk.visit();
    assert_eq!(pages(&visit).len(), 32);
    desk.done(&visit);
    assert_eq!(pages(&desk.visit()).len(), 8);

    let mut desk = Desk::new(|s| {
        no_delay(s);
        let delay = ms(1);
        s.live.politeness.domains = vec![DomainDelay { suffix: "a.example".into(), delay }];
    });
    desk.enter(desk.host("www.a.example", urls(40)), ip(1));
    assert_eq!(pages(&desk.visit()).len(), 1);
}

#[test]
fn urls_that_were_not_tried_come_back_in_their_order() {
    let mut desk = Desk::new(|s| s.live.politeness.burst = 3);
    desk.enter(desk.host("a.example", urls(4)), ip(1));
    let visit = desk.visit();
    let returned = vec![url(HTTP, 1), url(HTTP, 2)];
    desk.release(Verdict { returned, requests: 1, pages: 1, ..desk.verdict(&visit) });
    desk.wait(secs(10));
    assert_eq!(pages(&desk.visit()), [1, 2, 3]);
}

#[test]
fn a_visit_without_a_request_costs_no_delay() {
    let mut desk = Desk::new(|_| {});
    desk.enter(desk.host("a.example", urls(2)), ip(1));
    let visit = desk.visit();
    desk.release(Verdict { requests: 0, pages: 0, ..desk.verdict(&visit) });
    assert_eq!(pages(&desk.visit()), [1]);
}

#[test]
fn a_budget_is_never_exceeded_and_ends_the_host() {
    let mut desk = Desk::new(|s| s.live.politeness.burst = 2);
    desk.enter(DueHost { pages_left: 3, ..desk.host("a.example", urls(9)) }, ip(1));
    let visit = desk.visit();
    assert_eq!(pages(&visit), [0, 1]);
    desk.release(Verdict { pages: 1, ..desk.verdict(&visit) });
    desk.wait(secs(10));
    let visit = desk.visit();
    assert_eq!(pages(&visit), [2, 3], "URLs without a page were charged to the limit");
    desk.notes();
    desk.done(&visit);
    match &desk.notes()[..] {
        [ToFrontier::Drop { host, reason: Discard::HostLimit, forever: true, state, .. }] => {
            assert_eq!((*host, state.requests), (key("a.example"), 4));
        }
        notes => panic!("{notes:?}"),
    }
    assert_eq!(desk.workbench.stats(desk.now).hosts, 0);
}

/// The crawl database counts the URLs that it hands out as held here until they are returned.
#[test]
fn a_host_that_asked_for_more_is_dropped_only_when_that_has_come() {
    let mut desk = Desk::new(|s| s.live.politeness.delay = ms(1));
    desk.enter(DueHost { pages_left: 2, more: true, ..desk.host("a.example", urls(2)) }, ip(1));
    for _ in 0..2 {
        let visit = desk.visit();
        desk.done(&visit);
        desk.wait(secs(2));
    }
    let notes = desk.notes();
    assert!(notes.iter().any(|n| matches!(n, ToFrontier::Refill { .. })), "{notes:?}");
    assert!(!notes.iter().any(|n| matches!(n, ToFrontier::Drop { .. })), "{notes:?}");
    assert!(desk.workbench.acquire(desk.now).is_none());
    let more =
        ToWorkbench::MoreUrls { host: key("a.example"), urls: vec![url(HTTP, 2)], more: true };
    desk.workbench.on_frontier(more, desk.now);
    match &desk.notes()[..] {
        [ToFrontier::Drop { unused, reason: Discard::HostLimit, .. }] => {
            assert_eq!(unused.iter().map(|queue_key| queue_key.seq).collect::<Vec<_>>(), [2]);
        }
        notes => panic!("{notes:?}"),
    }
}

#[test]
fn a_slow_down_rests_the_host_and_retry_after_counts() {
    let mut desk = Desk::new(|_| {});
    desk.enter(desk.host("a.example", urls(3)), ip(1));
    let visit = desk.visit();
    let signal = Signal::SlowDown(Some(secs(120)));
    desk.release(Verdict { signal, ..desk.verdict(&visit) });
    let stats = desk.workbench.stats(desk.now);
    assert_eq!((stats.resting, stats.waiting), (1, 0));
    desk.none_for(secs(120));
    let visit = desk.visit();
    desk.notes();
    let signal = Signal::SlowDown(Some(secs(3_600)));
    desk.release(Verdict { signal, ..desk.verdict(&visit) });
    match &desk.notes()[..] {
        [ToFrontier::Leave { state, unused, .. }] => {
            assert_eq!(state.next, desk.now + secs(3_600), "the long wait is not stored");
            assert_eq!(state.rule, WaitRule::RetryAfter);
            assert_eq!(unused[..], [QueueKey { priority: 0, seq: 2 }]);
        }
        notes => panic!("{notes:?}"),
    }
}

#[test]
fn a_host_that_keeps_failing_is_given_up() {
    let mut desk = Desk::new(|_| {});
    desk.enter(desk.host("a.example", urls(9)), ip(1));
    for wait in [60, 120, 240, 299] {
        let visit = desk.visit();
        let signal = Signal::Failed(Failure::ConnectTimeout);
        desk.release(Verdict { signal, pages: 0, ..desk.verdict(&visit) });
        if wait == 299 {
            break;
        }
        desk.wait(secs(wait));
        assert!(
            desk.workbench.acquire(desk.now).is_none(),
            "visited before the name is resolved again"
        );
        desk.answer("a.example", ip(1));
    }
    // The fourth rest is longer than five minutes, so the host rests on disk.
    let notes = desk.notes();
    let Some(ToFrontier::Leave { state, unused, .. }) = notes.last() else { panic!("{notes:?}") };
    assert_eq!((state.next, unused.len()), (desk.now + secs(480), 5));
    desk.wait(secs(480));
    desk.enter(DueHost { state: state.clone(), ..desk.host("a.example", urls(5)) }, ip(1));
    let visit = desk.visit();
    let signal = Signal::Failed(Failure::ConnectTimeout);
    desk.release(Verdict { signal, pages: 0, ..desk.verdict(&visit) });
    let notes = desk.notes();
    let dropped = ToFrontier::Drop {
        host: key("a.example"),
        state: HostState::default(),
        unused: Vec::new(),
        reason: Discard::GaveUp,
        forever: false,
    };
    let same = |a: &ToFrontier| std::mem::discriminant(a) == std::mem::discriminant(&dropped);
    assert!(same(notes.last().unwrap()), "{notes:?}");
}

#[test]
fn relative_mode_multiplies_the_time_the_site_took() {
    let mut desk = Desk::new(|s| s.live.politeness.mode = PolitenessMode::Relative);
    desk.enter(desk.host("a.example", urls(2)), ip(1));
    let visit = desk.visit();
    desk.release(Verdict { served: secs(3), ..desk.verdict(&visit) });
    desk.none_for(secs(30));
    desk.visit();
}

#[test]
fn after_a_kill_nobody_is_visited_before_a_whole_delay() {
    let mut desk = Desk::started(|_| {}, true);
    desk.due(desk.host("a.example", urls(1)));
    desk.none_for(secs(5));
    assert!(desk.workbench.acquire(desk.now).is_none());
    desk.answer("a.example", ip(1));
    desk.none_for(secs(5));
    desk.visit();
    let mut desk = Desk::started(|s| s.live.politeness.delay = Duration::ZERO, true);
    desk.enter(desk.host("a.example", urls(1)), ip(1));
    desk.none_for(secs(2));
    desk.visit();
}

#[test]
fn a_window_is_refilled_once_before_it_is_dry() {
    let mut desk = Desk::new(|s| s.live.politeness.delay = ms(1));
    desk.enter(DueHost { more: true, ..desk.host("a.example", urls(4)) }, ip(1));
    let mut refills = 0;
    for expected in 0..4 {
        let visit = desk.visit();
        assert_eq!(pages(&visit), [expected]);
        desk.done(&visit);
        refills += desk.notes().iter().filter(|n| matches!(n, ToFrontier::Refill { .. })).count();
        assert_eq!(refills, usize::from(expected > 0));
        desk.wait(secs(2));
    }
    assert!(desk.workbench.acquire(desk.now).is_none());
    assert_eq!(desk.workbench.stats(desk.now).dry, 1);
    let more =
        ToWorkbench::MoreUrls { host: key("a.example"), urls: vec![url(HTTP, 4)], more: false };
    desk.workbench.on_frontier(more, desk.now);
    let visit = desk.visit();
    desk.done(&visit);
    assert!(
        matches!(desk.notes()[..], [ToFrontier::Leave { .. }]),
        "the host leaves: its queue is empty"
    );
}

#[test]
fn new_settings_hold_from_the_next_visit_on() {
    let mut desk = Desk::new(|_| {});
    desk.enter(desk.host("a.example", urls(3)), ip(1));
    let visit = desk.visit();
    let mut settings = desk.settings.clone();
    settings.live.politeness.delay = secs(3);
    desk.workbench.reconfigure(&settings.live, desk.now);
    desk.done(&visit);
    desk.none_for(secs(3));
    desk.visit();
}

#[test]
fn a_closed_workbench_gives_everything_back() {
    let mut desk = Desk::new(|_| {});
    for (n, name) in ["a.example", "b.example", "c.example"].into_iter().enumerate() {
        desk.due(desk.host(name, urls(2)));
        if n < 2 {
            desk.answer(name, ip(n as u8));
        }
    }
    let visit = desk.visit();
    desk.workbench.close(desk.now);
    assert!(desk.workbench.acquire(desk.now).is_none());
    assert_eq!(desk.workbench.stats(desk.now).hosts, 1);
    desk.done(&visit);
    let left = desk.notes().into_iter().filter_map(|note| match note {
        ToFrontier::Leave { unused, .. } => Some(unused.len()),
        _ => None,
    });
    assert_eq!(left.sum::<usize>(), 5);
    assert_eq!(desk.workbench.stats(desk.now).window_urls, 0);
}
