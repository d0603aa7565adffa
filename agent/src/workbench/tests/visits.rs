//! Tests of the time of a visit, by host and address, and of its number of URLs.

use super::fixture::{Fixture, HTTP, HTTPS, ip, key, ms, pages, secs, url, urls};
use crate::messages::{DueHost, QueueKey, ToFrontier, ToWorkbench, Verdict};
use crivello_common::config::{DomainDelay, PolitenessMode};
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::politeness::{HostState, VisitSignal, WaitRule};
use std::time::Duration;

#[test]
fn the_delay_runs_from_the_end_of_a_request_to_the_start_of_the_next() {
    let mut fixture = Fixture::new(|_| {});
    fixture.enter(fixture.host("a.example", urls(2)), ip(1));
    let visit = fixture.visit();
    assert_eq!(pages(&visit), [0]);
    assert_eq!(visit.address, ip(1));
    fixture.wait(secs(7));
    assert!(fixture.workbench.acquire(fixture.now).is_none());
    fixture.done(&visit);
    fixture.none_for(secs(10));
    assert_eq!(pages(&fixture.visit()), [1]);
}

#[test]
fn hosts_of_one_address_are_visited_one_by_one_at_its_delay() {
    let mut fixture = Fixture::new(|_| {});
    fixture.enter(fixture.host("a.example", urls(1)), ip(1));
    fixture.enter(fixture.host("b.example", urls(1)), ip(1));
    let first = fixture.visit();
    assert!(
        fixture.workbench.acquire(fixture.now).is_none(),
        "two visits to one IP address at the same time"
    );
    assert_eq!(fixture.workbench.next_time(), None);
    fixture.done(&first);
    fixture.none_for(secs(2));
    let second = fixture.visit();
    assert_eq!((first.host, second.host), (key("a.example"), key("b.example")));
}

#[test]
fn an_address_is_remembered_when_its_last_host_has_left() {
    let mut fixture = Fixture::new(|_| {});
    fixture.enter(fixture.host("a.example", urls(1)), ip(1));
    let visit = fixture.visit();
    fixture.done(&visit);
    assert!(matches!(fixture.notes()[..], [ToFrontier::Leave { .. }]));
    assert_eq!(
        (fixture.workbench.stats(fixture.now).hosts, fixture.workbench.stats(fixture.now).ips),
        (0, 1)
    );
    fixture.enter(fixture.host("b.example", urls(1)), ip(1));
    fixture.none_for(secs(2));
    let visit = fixture.visit();
    fixture.done(&visit);
    fixture.wait(secs(2));
    assert!(fixture.workbench.acquire(fixture.now).is_none());
    assert_eq!(fixture.workbench.stats(fixture.now).ips, 0, "memory was not released");
}

#[test]
fn a_visit_takes_a_burst_of_one_origin() {
    let mut fixture = Fixture::new(|s| s.live.politeness.burst = 3);
    let mut queue = urls(5);
    queue[4].origin = HTTPS;
    fixture.enter(fixture.host("a.example", queue), ip(1));
    for expected in [&[0, 1, 2][..], &[3], &[4]] {
        let visit = fixture.visit();
        assert_eq!(pages(&visit), expected);
        fixture.done(&visit);
        fixture.wait(secs(10));
    }
}

#[test]
fn without_any_delay_a_visit_is_long_and_otherwise_never() {
    let no_delay = |s: &mut crivello_common::config::Settings| {
        s.live.politeness.delay = Duration::ZERO;
        s.live.politeness.ip_delay = Duration::ZERO;
    };
    let mut fixture = Fixture::new(no_delay);
    fixture.enter(fixture.host("a.example", urls(40)), ip(1));
    let visit = fixture.visit();
    assert_eq!(pages(&visit).len(), 32);
    fixture.done(&visit);
    assert_eq!(pages(&fixture.visit()).len(), 8);

    let mut fixture = Fixture::new(|s| {
        no_delay(s);
        let delay = ms(1);
        s.live.politeness.domains = vec![DomainDelay { suffix: "a.example".into(), delay }];
    });
    fixture.enter(fixture.host("www.a.example", urls(40)), ip(1));
    assert_eq!(pages(&fixture.visit()).len(), 1);
}

#[test]
fn urls_that_were_not_tried_come_back_in_their_order() {
    let mut fixture = Fixture::new(|s| s.live.politeness.burst = 3);
    fixture.enter(fixture.host("a.example", urls(4)), ip(1));
    let visit = fixture.visit();
    let returned = vec![url(HTTP, 1), url(HTTP, 2)];
    fixture.release(Verdict { returned, requests: 1, pages: 1, ..fixture.verdict(&visit) });
    fixture.wait(secs(10));
    assert_eq!(pages(&fixture.visit()), [1, 2, 3]);
}

#[test]
fn a_visit_without_a_request_costs_no_delay() {
    let mut fixture = Fixture::new(|_| {});
    fixture.enter(fixture.host("a.example", urls(2)), ip(1));
    let visit = fixture.visit();
    fixture.release(Verdict { requests: 0, pages: 0, ..fixture.verdict(&visit) });
    assert_eq!(pages(&fixture.visit()), [1]);
}

#[test]
fn a_budget_is_never_exceeded_and_ends_the_host() {
    let mut fixture = Fixture::new(|s| s.live.politeness.burst = 2);
    fixture.enter(DueHost { pages_left: 3, ..fixture.host("a.example", urls(9)) }, ip(1));
    let visit = fixture.visit();
    assert_eq!(pages(&visit), [0, 1]);
    fixture.release(Verdict { pages: 1, ..fixture.verdict(&visit) });
    fixture.wait(secs(10));
    let visit = fixture.visit();
    assert_eq!(pages(&visit), [2, 3], "URLs without a page were charged to the limit");
    fixture.notes();
    fixture.done(&visit);
    match &fixture.notes()[..] {
        [ToFrontier::Drop { host, reason: Discard::HostLimit, forever: true, state, .. }] => {
            assert_eq!((*host, state.requests), (key("a.example"), 4));
        }
        notes => panic!("{notes:?}"),
    }
    assert_eq!(fixture.workbench.stats(fixture.now).hosts, 0);
}

/// The crawl database counts the URLs that it hands out as being here until they are returned.
#[test]
fn a_host_with_a_pending_refill_is_dropped_only_when_that_has_arrived() {
    let mut fixture = Fixture::new(|s| s.live.politeness.delay = ms(1));
    fixture
        .enter(DueHost { pages_left: 2, more: true, ..fixture.host("a.example", urls(2)) }, ip(1));
    for _ in 0..2 {
        let visit = fixture.visit();
        fixture.done(&visit);
        fixture.wait(secs(2));
    }
    let notes = fixture.notes();
    assert!(notes.iter().any(|n| matches!(n, ToFrontier::Refill { .. })), "{notes:?}");
    assert!(!notes.iter().any(|n| matches!(n, ToFrontier::Drop { .. })), "{notes:?}");
    assert!(fixture.workbench.acquire(fixture.now).is_none());
    let more =
        ToWorkbench::MoreUrls { host: key("a.example"), urls: vec![url(HTTP, 2)], more: true };
    fixture.workbench.on_frontier(more, fixture.now);
    match &fixture.notes()[..] {
        [ToFrontier::Drop { unused, reason: Discard::HostLimit, .. }] => {
            assert_eq!(unused.iter().map(|queue_key| queue_key.seq).collect::<Vec<_>>(), [2]);
        }
        notes => panic!("{notes:?}"),
    }
}

#[test]
fn a_slow_down_rests_the_host_and_retry_after_counts() {
    let mut fixture = Fixture::new(|_| {});
    fixture.enter(fixture.host("a.example", urls(3)), ip(1));
    let visit = fixture.visit();
    let signal = VisitSignal::SlowDown(Some(secs(120)));
    fixture.release(Verdict { signal, ..fixture.verdict(&visit) });
    let stats = fixture.workbench.stats(fixture.now);
    assert_eq!((stats.resting, stats.waiting), (1, 0));
    fixture.none_for(secs(120));
    let visit = fixture.visit();
    fixture.notes();
    let signal = VisitSignal::SlowDown(Some(secs(3_600)));
    fixture.release(Verdict { signal, ..fixture.verdict(&visit) });
    match &fixture.notes()[..] {
        [ToFrontier::Leave { state, unused, .. }] => {
            assert_eq!(state.next, fixture.now + secs(3_600), "the long wait is not stored");
            assert_eq!(state.rule, WaitRule::RetryAfter);
            assert_eq!(unused[..], [QueueKey { seq: 2, ..QueueKey::default() }]);
        }
        notes => panic!("{notes:?}"),
    }
}

#[test]
fn a_host_that_keeps_failing_is_given_up() {
    let mut fixture = Fixture::new(|_| {});
    fixture.enter(fixture.host("a.example", urls(9)), ip(1));
    for wait in [60, 120, 240, 299] {
        let visit = fixture.visit();
        let signal = VisitSignal::Failed(Failure::ConnectTimeout);
        fixture.release(Verdict { signal, pages: 0, ..fixture.verdict(&visit) });
        if wait == 299 {
            break;
        }
        fixture.wait(secs(wait));
        assert!(
            fixture.workbench.acquire(fixture.now).is_none(),
            "visited before the name is resolved again"
        );
        fixture.answer("a.example", ip(1));
    }
    // The fourth rest is longer than five minutes, so the host rests on disk.
    let notes = fixture.notes();
    let Some(ToFrontier::Leave { state, unused, .. }) = notes.last() else { panic!("{notes:?}") };
    assert_eq!((state.next, unused.len()), (fixture.now + secs(480), 5));
    fixture.wait(secs(480));
    fixture.enter(DueHost { state: state.clone(), ..fixture.host("a.example", urls(5)) }, ip(1));
    let visit = fixture.visit();
    let signal = VisitSignal::Failed(Failure::ConnectTimeout);
    fixture.release(Verdict { signal, pages: 0, ..fixture.verdict(&visit) });
    let notes = fixture.notes();
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
    let mut fixture = Fixture::new(|s| s.live.politeness.mode = PolitenessMode::Relative);
    fixture.enter(fixture.host("a.example", urls(2)), ip(1));
    let visit = fixture.visit();
    fixture.release(Verdict { served: secs(3), ..fixture.verdict(&visit) });
    fixture.none_for(secs(30));
    fixture.visit();
}

#[test]
fn after_a_kill_nobody_is_visited_before_a_whole_delay() {
    let mut fixture = Fixture::started(|_| {}, true);
    fixture.due(fixture.host("a.example", urls(1)));
    fixture.none_for(secs(5));
    assert!(fixture.workbench.acquire(fixture.now).is_none());
    fixture.answer("a.example", ip(1));
    fixture.none_for(secs(5));
    fixture.visit();
    let mut fixture = Fixture::started(|s| s.live.politeness.delay = Duration::ZERO, true);
    fixture.enter(fixture.host("a.example", urls(1)), ip(1));
    fixture.none_for(secs(2));
    fixture.visit();
}

#[test]
fn a_window_is_refilled_once_before_it_is_dry() {
    let mut fixture = Fixture::new(|s| s.live.politeness.delay = ms(1));
    fixture.enter(DueHost { more: true, ..fixture.host("a.example", urls(4)) }, ip(1));
    let mut refills = 0;
    for expected in 0..4 {
        let visit = fixture.visit();
        assert_eq!(pages(&visit), [expected]);
        fixture.done(&visit);
        refills +=
            fixture.notes().iter().filter(|n| matches!(n, ToFrontier::Refill { .. })).count();
        assert_eq!(refills, usize::from(expected > 0));
        fixture.wait(secs(2));
    }
    assert!(fixture.workbench.acquire(fixture.now).is_none());
    assert_eq!(fixture.workbench.stats(fixture.now).dry, 1);
    let more =
        ToWorkbench::MoreUrls { host: key("a.example"), urls: vec![url(HTTP, 4)], more: false };
    fixture.workbench.on_frontier(more, fixture.now);
    let visit = fixture.visit();
    fixture.done(&visit);
    assert!(
        matches!(fixture.notes()[..], [ToFrontier::Leave { .. }]),
        "the host leaves: its queue is empty"
    );
}

#[test]
fn new_settings_apply_from_the_next_visit_on() {
    let mut fixture = Fixture::new(|_| {});
    fixture.enter(fixture.host("a.example", urls(3)), ip(1));
    let visit = fixture.visit();
    let mut settings = fixture.settings.clone();
    settings.live.politeness.delay = secs(3);
    fixture.workbench.reconfigure(&settings.live, fixture.now);
    fixture.done(&visit);
    fixture.none_for(secs(3));
    fixture.visit();
}

#[test]
fn a_closed_workbench_gives_everything_back() {
    let mut fixture = Fixture::new(|_| {});
    for (n, name) in ["a.example", "b.example", "c.example"].into_iter().enumerate() {
        fixture.due(fixture.host(name, urls(2)));
        if n < 2 {
            fixture.answer(name, ip(n as u8));
        }
    }
    let visit = fixture.visit();
    fixture.workbench.close(fixture.now);
    assert!(fixture.workbench.acquire(fixture.now).is_none());
    assert_eq!(fixture.workbench.stats(fixture.now).hosts, 1);
    fixture.done(&visit);
    let left = fixture.notes().into_iter().filter_map(|note| match note {
        ToFrontier::Leave { unused, .. } => Some(unused.len()),
        _ => None,
    });
    assert_eq!(left.sum::<usize>(), 5);
    assert_eq!(fixture.workbench.stats(fixture.now).window_urls, 0);
}
